//! Model numbers and the like, wherever they stand among the words of records.

use super::column::{Known, Strings};
use super::values::{Kind, SPELLED, chance};
use crate::hash::city64;
use crate::interrupt::checked;
use crate::memory::{Grow, OrRaise, Room, collect};
use crate::similarity::Frequencies;
use crate::words::Lists;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What is known of model numbers and the like.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct KnownIdentifiers {
    /// Rows that have some.
    filled: usize,
    /// The chance that two rows have one in common.
    pub same: f64,
    counts: Frequencies,
}

/// Model numbers and the like, wherever they stand among words.
#[derive(Debug)]
pub(super) struct Identifiers {
    /// Those of each row, twice their number, and one more if they stand among words: what two columns of codes have in
    /// common these tell themselves.
    of: Lists,
    spelled: Strings,
    /// How common each is beside any two rows' agreement: 1 if as common, less if it is rare.
    common: Vec<f32>,
}

impl Identifiers {
    /// Full agreement: one is in both. In between: one begins as one of the other does.
    pub const TOP: u8 = 3;

    /// Those in the columns of words and codes, and how many rows have each.
    fn new(columns: &[Known], values: &[Strings], order: &[u32]) -> (Identifiers, Vec<u32>) {
        let wordy = |it: &&Known| matches!(it.kind, Kind::Name | Kind::Text | Kind::Code);
        let columns: Vec<_> = columns.iter().filter(wordy).collect();
        let mut ids = FxHashMap::<String, u32>::default();
        let mut all = Identifiers { of: Lists::default(), spelled: Strings::default(), common: Vec::new() };
        let (mut list, mut counts) = (Vec::new(), Vec::new());
        for &row in checked(order) {
            list.clear();
            for &&Known { at, kind, .. } in &columns {
                for word in identifiers(values[at].get(row as usize)) {
                    if !ids.contains_key(&word) {
                        ids.room(1).or_raise();
                        all.spelled.add(&word);
                        counts.grow(0).or_raise();
                    }
                    let next = ids.len() as u32;
                    list.grow(*ids.entry(word).or_insert(next) << 1 | u32::from(kind != Kind::Code))
                        .or_raise();
                }
            }
            list.sort_unstable_by(|a, b| b.cmp(a));
            list.dedup_by_key(|id| *id >> 1);
            list.reverse();
            list.iter().for_each(|&id| counts[id as usize >> 1] += 1);
            all.of.add(&list);
        }
        (all, counts)
    }

    fn hashes(&self) -> impl Iterator<Item = u64> {
        checked(0..self.spelled.count()).map(|id| city64(self.spelled.get(id).as_bytes()))
    }

    /// Those in columns of words and codes, and what is known of them; `None`: few rows have some.
    pub fn learned(columns: &[Known], values: &[Strings], order: &[u32]) -> Option<(Self, KnownIdentifiers)> {
        let (mut all, counts) = Identifiers::new(columns, values, order);
        let filled = checked(0..order.len()).filter(|&row| all.is_among_words(row as u32)).count();
        let same = chance(&counts, filled).max(1e-9);
        if filled * 5 <= order.len() {
            return None;
        }
        let counts = Frequencies::counted(all.hashes().zip(counts), filled);
        let known = KnownIdentifiers { filled, same, counts };
        all.weigh(&known);
        Some((all, known))
    }

    /// Those of other rows.
    pub fn read(known: &KnownIdentifiers, columns: &[Known], values: &[Strings], order: &[u32]) -> Self {
        let (mut all, _) = Identifiers::new(columns, values, order);
        all.weigh(known);
        all
    }

    fn weigh(&mut self, known: &KnownIdentifiers) {
        let all = known.filled.max(1) as f64;
        let common = |hash: u64| (f64::from(known.counts.count(hash).max(2) - 1) / all / known.same) as f32;
        self.common = collect(self.hashes().map(common)).or_raise();
    }

    fn is_among_words(&self, row: u32) -> bool {
        self.of.get(row as usize).iter().any(|id| id & 1 == 1)
    }

    fn shared<'i>(&'i self, [a, b]: [u32; 2]) -> impl Iterator<Item = u32> + 'i {
        let other = self.of.get(b as usize);
        let both = |id: u32| {
            let found = other.binary_search_by_key(&(id >> 1), |it| it >> 1).ok()?;
            ((id | other[found]) & 1 == 1).then_some(id >> 1)
        };
        self.of.get(a as usize).iter().filter_map(move |&id| both(id))
    }

    pub fn level(&self, rows: [u32; 2]) -> u8 {
        let [x, y] = rows.map(|row| self.of.get(row as usize));
        if x.is_empty() || y.is_empty() || !rows.iter().any(|&row| self.is_among_words(row)) {
            return 0;
        }
        if self.shared(rows).next().is_some() {
            return Self::TOP;
        }
        // KX100 may be KX100B.
        let begins = |x: &str, y: &str| x.starts_with(y) || y.starts_with(x);
        let mut pairs = x.iter().flat_map(|x| y.iter().map(move |y| (x, y))).take(SPELLED * SPELLED);
        let spelled = |id: u32| self.spelled.get(id as usize >> 1);
        1 + u8::from(pairs.any(|(&x, &y)| (x | y) & 1 == 1 && begins(spelled(x), spelled(y))))
    }

    /// As `common`, of the rarest that both have.
    pub fn commonness(&self, rows: [u32; 2]) -> f64 {
        self.shared(rows).map(|id| f64::from(self.common[id as usize])).reduce(f64::min).unwrap_or(1.0)
    }

    pub fn of(&self, row: u32) -> Vec<&str> {
        self.of.get(row as usize).iter().map(|&id| self.spelled.get(id as usize >> 1)).collect()
    }
}

/// Four characters with a digit at least, that are more than a quantity with its unit.
fn identifiers(value: &str) -> impl Iterator<Item = String> + '_ {
    const UNITS: [&str; 24] = [
        "gb", "mb", "in", "inch", "mm", "cm", "ft", "lb", "st", "nd", "rd", "th", "hz", "w", "v", "x", "p",
        "mp", "pk", "ml", "oz", "kg", "g", "l",
    ];
    let parts = value.split(|c: char| c.is_whitespace() || "/,;:()".contains(c));
    let flat = parts.map(|part| {
        part.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect::<String>()
    });
    flat.filter(|word| {
        let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
        let letters = !unit.is_empty() || word.bytes().any(|byte| byte.is_ascii_alphabetic());
        word.len() >= 4
            && word.bytes().any(|byte| byte.is_ascii_digit())
            && (letters && !UNITS.contains(&unit) || word.len() >= 5)
    })
}
