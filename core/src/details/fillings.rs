//! How the texts of a table fill the slots of its templates: what tells two of them apart at a glance, each value kept once.

use super::filling::{Filling, Value};
use super::templates::{Known, Templates};
use super::tokens::{Ids, Text};
use crate::external::Result;
use crate::groups::Mark;
use crate::interrupt::checked;
use crate::memory::{Grow, OfKey, Room, filled};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;
use std::sync::Arc;

/// Texts of a template from which on they are marked.
const MANY: usize = 1 << 9;
/// Values of a slot that are compared with each other at most.
const FEW: usize = 1 << 6;
/// Bits of a mark for a slot of more.
const WIDTH: u32 = 8;

/// How texts fill the slots of the templates that they are of, by their numbers.
#[derive(Debug)]
pub struct Fillings {
    /// The templates.
    pub templates: Arc<Templates>,
    /// Whether other values tell two texts apart.
    tells: bool,
    rows: FxHashMap<u32, Row>,
    /// The values in the slots of each text, by their numbers in [`Slot::values`].
    filled: Vec<u32>,
    /// The slots of each template.
    slots: Vec<Vec<Slot>>,
}

/// Its template, and where its values begin.
#[derive(Debug, Clone, Copy)]
struct Row {
    template: u32,
    start: usize,
}

/// The values that stand in a slot; the first is none.
#[derive(Debug)]
struct Slot {
    values: Vec<Value>,
    numbers: FxHashMap<u64, u32>,
}

impl Slot {
    fn number(&mut self, value: Value) -> Result<u32> {
        if value.is_none() {
            return Ok(0);
        }
        let number = self.numbers.of_key(FxBuildHasher.hash_one(&value))?;
        if self.values.get(*number as usize).is_none_or(|known| *known != value) {
            *number = self.values.len() as u32;
            self.values.grow(value)?;
        }
        Ok(*number)
    }

    /// What bits say of each value, and how many bits: those of two values that may be one are the same.
    fn bits(&self, known: &Known) -> (u32, Vec<Option<u64>>) {
        if self.values.len() > FEW {
            let bits = |sign: u32| u64::from(sign) % (1 << WIDTH);
            return (WIDTH, self.values.iter().map(|value| value.sign().map(bits)).collect());
        }
        let mut classes: Vec<usize> = (0..self.values.len()).collect();
        for (at, value) in self.values.iter().enumerate().skip(1) {
            for other in 1..at {
                let [new, old] = [at, other].map(|at| classes[at]);
                if new != old && !known.differ([value, &self.values[other]]) {
                    classes.iter_mut().filter(|class| **class == new).for_each(|class| *class = old);
                }
            }
        }
        let mut numbers = classes[1..].to_vec();
        numbers.sort_unstable();
        numbers.dedup();
        let number = |class| numbers.binary_search(class).ok().map(|number| number as u64);
        (numbers.len().max(1).next_power_of_two().ilog2(), classes.iter().map(number).collect())
    }
}

/// Reads how texts fill the slots of templates, one after the other.
#[derive(Debug)]
pub struct Filler {
    templates: Arc<Templates>,
    ids: Ids,
}

impl Filler {
    /// How a text, as somebody reads it, fills the slots of the template that it is of; `None`: it is of none.
    pub fn read(&mut self, plain: &str) -> Option<Filling> {
        if self.templates.candidates(plain).is_empty() {
            return None;
        }
        self.ids.keep_small();
        let text = Text::new(plain, &mut self.ids);
        self.templates.read(plain, &text).map(|it| it.filling)
    }
}

impl Fillings {
    /// Of no texts yet; with `tells` other values tell two texts apart.
    pub fn new(templates: &Arc<Templates>, tells: bool) -> Fillings {
        let slot = |_: &Known| Slot { values: vec![Value::default()], numbers: FxHashMap::default() };
        let slots = templates.all.iter().map(|template| template.known.iter().map(slot).collect());
        Fillings {
            templates: Arc::clone(templates),
            tells,
            rows: FxHashMap::default(),
            filled: Vec::new(),
            slots: slots.collect(),
        }
    }

    /// What reads the texts.
    pub fn filler(&self) -> Filler {
        Filler { templates: Arc::clone(&self.templates), ids: Ids::default() }
    }

    /// Takes what was read of the text of this number.
    pub fn add(&mut self, text: u32, Filling { template, values }: Filling) -> Result<()> {
        self.rows.room(1)?;
        self.rows.insert(text, Row { template, start: self.filled.len() });
        for (slot, value) in self.slots[template as usize].iter_mut().zip(values) {
            self.filled.grow(slot.number(value)?)?;
        }
        Ok(())
    }

    /// Whether two of the texts are of one template and have other values in a slot, so that they need not be compared.
    pub fn differ(&self, pair: [u32; 2]) -> bool {
        self.tells && (self.differing(pair).next().is_some() || self.is_one_blank(pair))
    }

    /// Whether one text of a template alone has nothing in the slots that tell.
    fn is_one_blank(&self, pair: [u32; 2]) -> bool {
        self.of_one(pair).is_some_and(|(template, both)| {
            let known = self.templates.known(template);
            let [a, b] = both.map(|it| it.iter().zip(known).all(|(value, of)| !of.tells || *value == 0));
            a != b
        })
    }

    /// The template of two texts, and the slot of it, if there is one alone in which they have other values.
    pub fn slot(&self, pair: [u32; 2]) -> Option<(u32, usize)> {
        let mut slots = self.differing(pair);
        let slot = slots.next()?;
        slots.next().is_none().then_some((self.template(pair)?, slot))
    }

    /// The slots in which two texts have other values for certain.
    fn differing(&self, pair: [u32; 2]) -> impl Iterator<Item = usize> {
        self.of_one(pair).into_iter().flat_map(|(template, [a, b])| {
            let known = self.templates.known(template).iter().zip(&self.slots[template as usize]);
            let slots = a.iter().zip(b).zip(known).enumerate();
            let differ = |a: u32, b: u32, (known, slot): (&Known, &Slot)| {
                known.tells && a != b && known.differ([a, b].map(|it| &slot.values[it as usize]))
            };
            slots.filter(move |(_, ((a, b), known))| differ(**a, **b, *known)).map(|it| it.0)
        })
    }

    /// The template that two texts are of.
    pub fn template(&self, pair: [u32; 2]) -> Option<u32> {
        self.of_one(pair).map(|it| it.0)
    }

    /// Whether two texts are of templates.
    pub fn have(&self, rows: [u32; 2]) -> bool {
        rows.iter().all(|row| self.rows.contains_key(row))
    }

    fn of_one(&self, [a, b]: [u32; 2]) -> Option<(u32, [&[u32]; 2])> {
        let [a, b] = [*self.rows.get(&a)?, *self.rows.get(&b)?];
        (a.template == b.template).then(|| (a.template, [a, b].map(|row| self.values(row))))
    }

    fn values(&self, row: Row) -> &[u32] {
        &self.filled[row.start..][..self.slots[row.template as usize].len()]
    }

    /// What tells the first `count` texts apart before they are compared, if many are of one template: those of two that are
    /// marked apart [differ](Fillings::differ).
    pub fn marks(&self, count: usize) -> Result<Option<Vec<Mark>>> {
        let mut of: Vec<Vec<(u32, Row)>> = vec![Vec::new(); self.slots.len()];
        for (&number, &row) in checked(&self.rows) {
            of[row.template as usize].grow((number, row))?;
        }
        if !self.tells || of.iter().all(|rows| rows.len() < MANY) {
            return Ok(None);
        }
        let mut marks = filled(Mark::default(), count)?;
        for (template, rows) in of.iter().enumerate().filter(|it| it.1.len() >= MANY) {
            let known = self.templates.known(template as u32);
            let mut slots: Vec<(f64, usize, u32, Vec<Option<u64>>)> = Vec::new();
            for (at, (known, slot)) in known.iter().zip(&self.slots[template]).enumerate() {
                if !known.tells {
                    continue;
                }
                let (width, bits) = slot.bits(known);
                let mut often = FxHashMap::<u64, f64>::default();
                for (_, row) in checked(rows) {
                    if let Some(bits) = bits[self.values(*row)[at] as usize] {
                        *often.entry(bits).or_default() += 1.0;
                    }
                }
                // The share of pairs that it leaves.
                let [told, same] = [often.values().sum::<f64>(), often.values().map(|it| it * it).sum()];
                let left = 1.0 - (told * told - same) / (rows.len() as f64).powi(2);
                if width > 0 && left < 1.0 {
                    slots.push((left.ln() / f64::from(width), at, width, bits));
                }
            }
            slots.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let mut free = 64;
            slots.retain(|(_, _, width, _)| {
                let fits = *width <= free;
                free -= if fits { *width } else { 0 };
                fits
            });
            for &(number, row) in checked(rows) {
                let mark = &mut marks[number as usize];
                mark.kind = template as u32;
                let mut shift = 0;
                for (_, at, width, bits) in &slots {
                    if let Some(bits) = bits[self.values(row)[*at] as usize] {
                        mark.known |= ((1 << width) - 1) << shift;
                        mark.value |= bits << shift;
                    }
                    shift += width;
                }
            }
        }
        Ok(Some(marks))
    }
}
