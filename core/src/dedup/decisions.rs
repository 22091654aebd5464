//! What people have decided of pairs of rows: they are one thing or not, whatever a comparison says.
//!
//! Decisions are of rows, and copies of one text go together: what is decided of a row holds for its copies, unless it would
//! break what is decided of them. Rows that are decided to be the same, and what follows from several such decisions, are a
//! *unit*; it goes where the first of its rows goes.

use crate::external::Result;
use crate::groups::UnionFind;
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Grow, OfKey, Room, collect};
use rustc_hash::{FxHashMap, FxHashSet};

/// Decisions about pairs of ids, also of such as no row has any more: what follows through them still holds.
#[derive(Debug, Default)]
pub struct Decisions {
    places: FxHashMap<String, u32>,
    same: Vec<[u32; 2]>,
    apart: Vec<[u32; 2]>,
    /// Those of them that nobody has looked at: they follow from what was done to many rows at once.
    implied: FxHashSet<[u32; 2]>,
    /// Rows that have an id of which something is decided, and its place.
    rows: Vec<(u32, u32)>,
}

impl Decisions {
    /// Adds one: whether the rows of two ids are the same, and whether that is a person's answer about these two.
    pub fn add(&mut self, ids: [String; 2], same: bool, is_answer: bool) -> Result<()> {
        let mut pair = [0; 2];
        for (place, id) in pair.iter_mut().zip(ids) {
            self.places.room(1)?;
            let next = self.places.len() as u32;
            *place = *self.places.entry(id).or_insert(next);
        }
        let pairs = if same { &mut self.same } else { &mut self.apart };
        pairs.grow(pair)?;
        if !is_answer {
            self.implied.room(1)?;
            self.implied.insert(pair);
        }
        Ok(())
    }

    /// The pairs of rows that somebody has given an answer about: whether they are the same.
    pub(super) fn answers(&self) -> Result<impl Iterator<Item = ([usize; 2], bool)>> {
        let mut rows: FxHashMap<u32, usize> = FxHashMap::default();
        rows.room(self.rows.len())?;
        rows.extend(self.rows.iter().map(|&(row, place)| (place, row as usize)));
        let all =
            self.same.iter().map(|pair| (pair, true)).chain(self.apart.iter().map(|pair| (pair, false)));
        let all = all.filter(|(pair, _)| !self.implied.contains(*pair));
        Ok(all.filter_map(move |(&[a, b], same)| Some(([*rows.get(&a)?, *rows.get(&b)?], same))))
    }

    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        self.places.is_empty()
    }

    /// Tells which row has an id.
    pub fn meet(&mut self, row: u32, id: &str) -> Result<()> {
        if let Some(&place) = self.places.get(id) {
            self.rows.grow((row, place))?;
        }
        Ok(())
    }
}

/// Sets that must not become one: of each, by the member that stands for it, members of such others.
#[derive(Debug, Default)]
pub(super) struct Apart(pub FxHashMap<u32, Vec<u32>>);

impl Apart {
    pub fn are(&self, a: u32, b: u32, mut find: impl FnMut(u32) -> u32) -> bool {
        let others = |of: u32| self.0.get(&of).map_or(&[][..], Vec::as_slice);
        let (few, other) = if others(a).len() <= others(b).len() { (others(a), b) } else { (others(b), a) };
        few.iter().any(|&it| find(it) == other)
    }

    /// Two sets have become one, which `of` stands for.
    pub fn join(&mut self, a: u32, b: u32, of: u32) {
        let [a, b] = [a, b].map(|it| self.0.remove(&it).unwrap_or_default());
        let (mut all, few) = if a.len() < b.len() { (b, a) } else { (a, b) };
        all.extend(few);
        if !all.is_empty() {
            self.0.insert(of, all);
        }
    }
}

/// What decisions make of texts, each known by the first row that has it.
#[derive(Debug, Default)]
pub struct Decided {
    units: FxHashMap<u32, Unit>,
    /// The unit of each text of which something is decided.
    of: FxHashMap<u32, u32>,
    /// Of each row what follows from decisions alone: those of one number are the same, those of a pair of numbers are not.
    rows: FxHashMap<u32, u32>,
    not_same: FxHashSet<[u32; 2]>,
}

#[derive(Debug, Default)]
struct Unit {
    /// The first of them leads the others.
    texts: Vec<u32>,
    /// Units with which it must not be in one group.
    apart: Vec<u32>,
}

impl Decided {
    /// Of texts whose `first` rows these are. A text whose rows must not be together becomes several.
    pub(super) fn of(decisions: &Decisions, first: &mut [u32]) -> Result<Decided> {
        let sets = UnionFind::new(decisions.places.len());
        decisions.same.iter().for_each(|&[a, b]| _ = sets.union(a, b));
        let mut decided = Decided::default();
        let mut apart = Apart::default();
        for &[a, b] in checked(&decisions.apart) {
            decided.not_same.room(2)?;
            decided.not_same.extend([[a, b], [b, a]].map(|pair| pair.map(|place| sets.find(place))));
            apart.0.of_key(sets.find(a))?.grow(b)?;
            apart.0.of_key(sets.find(b))?.grow(a)?;
        }
        let rows = decisions.rows.iter().map(|&(row, place)| (first[row as usize], row, place));
        let mut rows: Vec<(u32, u32, u32)> = collect(rows)?;
        sort_unstable_by(&mut rows, Ord::cmp);
        decided.rows.room(rows.len())?;
        decided.rows.extend(rows.iter().map(|&(_, row, place)| (row, sets.find(place))));
        let mut places: Vec<(u32, u32)> = Vec::new();
        for same in rows.chunk_by(|a, b| a.0 == b.0) {
            // What the text is divided into: a place, and the row that the part is known by.
            let mut parts: Vec<(u32, u32)> = Vec::new();
            for &(text, row, place) in checked(same) {
                let find = |place: u32| sets.find(place);
                let goes = |part: &&(u32, u32)| !apart.are(find(part.0), find(place), find);
                let part = parts.iter().find(goes).copied();
                let part = part.unwrap_or((place, if parts.is_empty() { text } else { row }));
                if part.0 == place {
                    parts.grow(part)?;
                    places.grow((part.1, place))?;
                } else {
                    let [a, b] = [part.0, place].map(find);
                    if sets.union(a, b) {
                        apart.join(a, b, find(a));
                    }
                }
                first[row as usize] = part.1;
            }
        }
        for &(text, place) in checked(&places) {
            let unit = sets.find(place);
            *decided.of.of_key(text)? = unit;
            decided.units.of_key(unit)?.texts.grow(text)?;
        }
        for (place, others) in apart.0 {
            let mut others: Vec<u32> = others.into_iter().map(|other| sets.find(other)).collect();
            others.sort_unstable();
            others.dedup();
            others.retain(|other| decided.units.contains_key(other));
            if let Some(unit) = decided.units.get_mut(&sets.find(place)) {
                unit.apart = others;
            }
        }
        Ok(decided)
    }

    /// Whether nothing is decided.
    pub fn is_empty(&self) -> bool {
        self.units.is_empty()
    }

    /// Whether some must not be in one group.
    pub(super) fn divides(&self) -> bool {
        self.units.values().any(|unit| !unit.apart.is_empty())
    }

    /// Takes the order of the texts: the first of a unit leads it.
    pub(super) fn order(&mut self, texts: &[u32]) {
        if self.is_empty() {
            return;
        }
        self.units.values_mut().for_each(|unit| unit.texts.clear());
        for text in checked(texts) {
            if let Some(unit) = self.of.get(text).and_then(|unit| self.units.get_mut(unit)) {
                unit.texts.push(*text);
            }
        }
    }

    fn unit(&self, text: u32) -> Option<&Unit> {
        self.units.get(self.of.get(&text)?)
    }

    /// Whether a text is of a unit with others.
    pub(super) fn has_company(&self, text: u32) -> bool {
        self.unit(text).is_some_and(|unit| unit.texts.len() > 1)
    }

    /// Whether a text goes where another one of its unit goes.
    pub(super) fn follows(&self, text: u32) -> bool {
        self.unit(text).is_some_and(|unit| unit.texts.first() != Some(&text))
    }

    /// Those that follow, each with the one that leads it.
    pub(super) fn followers(&self) -> impl Iterator<Item = [u32; 2]> {
        let pairs = |unit: &Unit| {
            let (first, others) = unit.texts.split_first()?;
            Some(others.iter().map(|&other| [*first, other]).collect::<Vec<_>>())
        };
        self.units.values().filter_map(pairs).flatten()
    }

    /// Sets of so many texts, each unit's in one.
    pub(super) fn sets(&self, count: usize) -> UnionFind {
        let sets = UnionFind::new(count);
        self.followers().for_each(|[first, other]| _ = sets.union(first, other));
        sets
    }

    /// The first texts of the units that must not be in one group with a text.
    pub(super) fn apart(&self, text: u32) -> impl Iterator<Item = u32> {
        let others = self.unit(text).into_iter().flat_map(|unit| &unit.apart);
        others.filter_map(|other| self.units.get(other)?.texts.first().copied())
    }

    /// Texts that must not be in one group with others, each with those.
    pub(super) fn divided(&self) -> impl Iterator<Item = (u32, Vec<u32>)> {
        let units = self.units.values().filter(|unit| !unit.apart.is_empty());
        units.filter_map(|unit| unit.texts.first().map(|&text| (text, self.apart(text).collect())))
    }

    /// Whether a text may be in one group with another one; `group` is that of a text which leads its unit.
    pub(super) fn may_join(&self, text: u32, kept: u32, mut group: impl FnMut(u32) -> u32) -> bool {
        if self.is_empty() {
            return true;
        }
        let into = group(kept);
        self.apart(text).all(|other| group(other) != into)
    }

    pub(super) fn are_one(&self, a: u32, b: u32) -> bool {
        self.of.get(&a).is_some_and(|unit| self.of.get(&b) == Some(unit))
    }

    /// What follows from decisions of two rows: whether they are the same.
    pub(super) fn decision(&self, rows: [u32; 2]) -> Option<bool> {
        let [x, y] = [self.rows.get(&rows[0])?, self.rows.get(&rows[1])?];
        if x == y { Some(true) } else { self.not_same.contains(&[*x, *y]).then_some(false) }
    }
}
