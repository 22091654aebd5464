//! The words of records, column by column, and what they tell.

use crate::hash::city64;
use crate::interrupt::{Meter, checked, sort_and_dedup};
use crate::memory::{OrRaise, Room};
use crate::text::normalize_into;
use crate::words::{Index, Words, words_of};

/// Whether a word has letters and digits: the name of one thing.
fn is_identifier(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.len() > 2 && digits > 0 && digits < word.len()
}

/// The rows of a table of several columns.
#[derive(Debug, Default)]
pub struct Rows {
    columns: usize,
    /// Those of each column of each row.
    words: Words,
    spelled: Spelled,
    /// The number that a value is; NaN: none.
    values: Vec<f64>,
    /// A value without what separates words.
    compact: Vec<u64>,
    normal: String,
    joined: String,
}

impl Rows {
    /// Rows of so many columns: so many that are not compared.
    pub fn new(columns: usize, empty: usize) -> Rows {
        let mut rows = Rows { columns, ..Rows::default() };
        (0..empty).for_each(|_| rows.add_empty());
        rows
    }

    /// Adds a row that is not compared.
    pub fn add_empty(&mut self) {
        self.add((0..self.columns).map(|_| None));
    }

    /// Adds a row, a value for each column; they are numbered in order.
    pub fn add<'t>(&mut self, values: impl Iterator<Item = Option<&'t str>>) {
        let mut meter = Meter::new();
        let Rows { words, spelled, values: numbers, compact, normal, joined, .. } = self;
        for value in values {
            let value = value.unwrap_or("");
            joined.clear();
            let mut add = |word: &str| {
                if words.add(word) {
                    spelled.add(word);
                }
            };
            for chunk in value.split_whitespace() {
                meter.work(chunk.len());
                normalize_into(chunk, normal);
                let begin = joined.len();
                let mut parts = 0;
                for part in normal.split(' ').filter(|part| !part.is_empty()) {
                    joined.room(part.len()).or_raise();
                    joined.push_str(part);
                    parts += 1;
                }
                words_of(normal, &mut add);
                // KX-100 is KX100.
                let together = &joined[begin..];
                if parts > 1 && together.bytes().any(|byte| byte.is_ascii_digit()) {
                    add(together);
                }
            }
            words.end();
            numbers.room(1).or_raise();
            numbers.push(number(value));
            compact.room(1).or_raise();
            compact.push(city64(joined.as_bytes()));
        }
    }

    /// The words weighed.
    pub fn weigh(self) -> Weighed {
        let Rows { columns, words, spelled: came, values, compact, .. } = self;
        let rows = compact.len() / columns.max(1);
        let (index, order) = words.weigh(columns);
        let (mut spelled, mut identifiers) = (Spelled::default(), Vec::new());
        identifiers.room(order.len()).or_raise();
        for &word in checked(&order) {
            let word = came.get(word);
            spelled.add(word);
            identifiers.push(is_identifier(word));
        }
        let weights = index.weights(|frequency| ((rows as f64 + 1.0) / frequency).ln());
        Weighed { columns, rows, index, spelled, weights, identifiers, values, compact }
    }
}

/// Words one after the other.
#[derive(Debug, Default)]
struct Spelled {
    all: String,
    ends: Vec<usize>,
}

impl Spelled {
    fn add(&mut self, word: &str) {
        self.all.room(word.len()).or_raise();
        self.all.push_str(word);
        self.ends.room(1).or_raise();
        self.ends.push(self.all.len());
    }

    fn get(&self, number: u32) -> &str {
        let at = number as usize;
        &self.all[if at == 0 { 0 } else { self.ends[at - 1] }..self.ends[at]]
    }
}

/// The number that a value is, as prices and years are written; NaN if it is none.
fn number(value: &str) -> f64 {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 || value.len() > 24 {
        return f64::NAN;
    }
    let plain: String = value.trim().trim_start_matches(['$', '€', '£', '¥', ' ']).replace(',', "");
    plain.parse().unwrap_or(f64::NAN)
}

/// The words of rows by number, the rarest first, and what they tell: ln((N + 1) / df).
#[derive(Debug)]
pub struct Weighed {
    pub(super) columns: usize,
    rows: usize,
    pub(super) index: Index,
    spelled: Spelled,
    pub(super) weights: Vec<f64>,
    identifiers: Vec<bool>,
    values: Vec<f64>,
    compact: Vec<u64>,
}

impl Weighed {
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    pub(super) fn spelling(&self, word: u32) -> &str {
        self.spelled.get(word)
    }

    pub(super) fn is_identifier(&self, word: u32) -> bool {
        self.identifiers[word as usize]
    }

    /// The words of a column of a row.
    pub(super) fn of(&self, row: u32, column: usize) -> &[u32] {
        self.index.of(row as usize * self.columns + column)
    }

    /// The number that a value is; NaN if it is none.
    pub(super) fn number(&self, row: u32, column: usize) -> f64 {
        self.values[row as usize * self.columns + column]
    }

    /// Whether two values differ in nothing but what separates words.
    pub(super) fn equal(&self, [a, b]: [u32; 2], column: usize) -> bool {
        let [a, b] = [a, b].map(|row| self.compact[row as usize * self.columns + column]);
        a == b
    }

    /// The words of all columns of a row, in order, each once.
    pub(super) fn all(&self, row: u32, words: &mut Vec<u32>) {
        let at = row as usize * self.columns;
        let all = self.index.of_all(at..at + self.columns);
        words.clear();
        words.room(all.len()).or_raise();
        words.extend_from_slice(all);
        sort_and_dedup(words);
    }
}
