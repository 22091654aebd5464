//! The words of records, column by column, and what they tell.

use crate::hash::city64;
use crate::interrupt::{self, Meter, checked};
use crate::memory::{OrRaise, Room, collect, filled};
use crate::text::{char_ngrams, is_spaceless_char, normalize_into};
use std::collections::HashMap;

/// Whether a word has letters and digits: the name of one thing.
fn is_identifier(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    word.len() > 2 && digits > 0 && digits < word.len()
}

/// The rows of a table of several columns.
#[derive(Debug, Default)]
pub struct Rows {
    columns: usize,
    numbers: HashMap<u64, u32>,
    spellings: String,
    spelled: Vec<usize>,
    /// The words of each column of each row, each once.
    words: Vec<u32>,
    ends: Vec<usize>,
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
        for value in values {
            let value = value.unwrap_or("");
            let from = self.words.len();
            let mut whole = std::mem::take(&mut self.joined);
            let mut normal = std::mem::take(&mut self.normal);
            whole.clear();
            for chunk in value.split_whitespace() {
                meter.work(chunk.len());
                normalize_into(chunk, &mut normal);
                let begin = whole.len();
                let mut parts = 0;
                for word in normal.split(' ').filter(|word| !word.is_empty()) {
                    whole.room(word.len()).or_raise();
                    whole.push_str(word);
                    parts += 1;
                    if word.contains(is_spaceless_char) {
                        char_ngrams(word, 2, |pair| self.word(pair));
                    } else {
                        self.word(word);
                    }
                }
                // KX-100 is KX100.
                let together = &whole[begin..];
                if parts > 1 && together.bytes().any(|byte| byte.is_ascii_digit()) {
                    self.word(together);
                }
            }
            interrupt::sort_unstable_by(&mut self.words[from..], Ord::cmp);
            let mut kept = from;
            for at in from..self.words.len() {
                if at == from || self.words[at] != self.words[at - 1] {
                    self.words[kept] = self.words[at];
                    kept += 1;
                }
            }
            self.words.truncate(kept);
            self.ends.room(1).or_raise();
            self.ends.push(kept);
            self.values.room(1).or_raise();
            self.values.push(number(value));
            self.compact.room(1).or_raise();
            self.compact.push(city64(whole.as_bytes()));
            (self.joined, self.normal) = (whole, normal);
        }
    }

    fn word(&mut self, word: &str) {
        self.numbers.room(1).or_raise();
        let next = self.spelled.len() as u32;
        let number = *self.numbers.entry(city64(word.as_bytes())).or_insert(next);
        if number == next {
            self.spellings.room(word.len()).or_raise();
            self.spellings.push_str(word);
            self.spelled.room(1).or_raise();
            self.spelled.push(self.spellings.len());
        }
        self.words.room(1).or_raise();
        self.words.push(number);
    }

    /// The words weighed.
    pub fn weigh(self) -> Weighed {
        let Rows { columns, numbers, spellings, spelled, mut words, ends, values, compact, .. } = self;
        let rows = ends.len() / columns.max(1);
        let count = spelled.len();
        let mut frequencies = filled(0u32, count).or_raise();
        let mut seen = filled(u32::MAX, count).or_raise();
        let mut from = 0;
        for (at, &end) in checked(ends.iter().enumerate()) {
            let row = (at / columns) as u32;
            for &word in &words[from..end] {
                if std::mem::replace(&mut seen[word as usize], row) != row {
                    frequencies[word as usize] += 1;
                }
            }
            from = end;
        }
        drop(seen);
        // The rarest words get the least numbers, whatever the order of rows was.
        let mut order: Vec<(u32, u64, u32)> = Vec::new();
        order.room(count).or_raise();
        order.extend(checked(&numbers).map(|(&hash, &word)| (frequencies[word as usize], hash, word)));
        drop(numbers);
        interrupt::sort_unstable_by(&mut order, Ord::cmp);
        let mut rank = filled(0u32, count).or_raise();
        checked(order.iter().zip(0..)).for_each(|(&(_, _, word), at)| rank[word as usize] = at);
        let spelling = |word: u32| {
            let at = word as usize;
            &spellings[if at == 0 { 0 } else { spelled[at - 1] }..spelled[at]]
        };
        let (mut text, mut spelled) = (String::new(), Vec::new());
        text.room(spellings.len()).or_raise();
        spelled.room(count).or_raise();
        for &(_, _, word) in checked(&order) {
            text.push_str(spelling(word));
            spelled.push(text.len());
        }
        let weight = |&(frequency, ..): &(u32, u64, u32)| ((rows as f64 + 1.0) / f64::from(frequency)).ln();
        let weights = collect(checked(&order).map(weight)).or_raise();
        let frequencies = collect(checked(&order).map(|of| of.0)).or_raise();
        checked(&mut words).for_each(|word| *word = rank[*word as usize]);
        let mut from = 0;
        for &end in checked(&ends) {
            interrupt::sort_unstable_by(&mut words[from..end], Ord::cmp);
            from = end;
        }
        let mut identifiers = Vec::new();
        identifiers.room(count).or_raise();
        let mut weighed = Weighed {
            columns,
            spellings: text,
            spelled,
            weights,
            frequencies,
            identifiers,
            words,
            ends,
            values,
            compact,
        };
        for word in checked(0..count as u32) {
            let is = is_identifier(weighed.spelling(word));
            weighed.identifiers.push(is);
        }
        weighed
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
    spellings: String,
    spelled: Vec<usize>,
    pub(super) weights: Vec<f64>,
    pub(super) frequencies: Vec<u32>,
    identifiers: Vec<bool>,
    words: Vec<u32>,
    ends: Vec<usize>,
    values: Vec<f64>,
    compact: Vec<u64>,
}

impl Weighed {
    pub(super) fn rows(&self) -> usize {
        self.ends.len() / self.columns.max(1)
    }

    pub(super) fn spelling(&self, word: u32) -> &str {
        let at = word as usize;
        &self.spellings[if at == 0 { 0 } else { self.spelled[at - 1] }..self.spelled[at]]
    }

    pub(super) fn is_identifier(&self, word: u32) -> bool {
        self.identifiers[word as usize]
    }

    fn end(&self, at: usize) -> usize {
        if at == 0 { 0 } else { self.ends[at - 1] }
    }

    /// The words of a column of a row.
    pub(super) fn of(&self, row: u32, column: usize) -> &[u32] {
        let at = row as usize * self.columns + column;
        &self.words[self.end(at)..self.ends[at]]
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
        let all = &self.words[self.end(at)..self.end(at + self.columns)];
        words.clear();
        words.room(all.len()).or_raise();
        words.extend_from_slice(all);
        interrupt::sort_and_dedup(words);
    }
}
