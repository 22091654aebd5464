//! What of two rows agrees, and how far: a level for each column, and for what does not keep to columns.

use super::candidates::{Candidate, Shares, common};
use super::words::Weighed;
use crate::interrupt::Meter;
use crate::memory::{OrRaise, Room};

/// The level of what one of the rows does not have.
pub(super) const MISSING: u8 = u8::MAX;

/// Shares of a value's words, by weight, from which on an agreement is of the next step.
const STEPS: [f64; 4] = [0.2, 0.5, 0.75, 0.97];
/// Two steps are a level: of the greater share and the lesser one.
const WORD_LEVELS: u8 = 15;
/// Relative differences of numbers up to which an agreement is of the next level.
const APART: [f64; 3] = [0.25, 0.02, 0.0];
/// A row's share beside its greatest one, from which on it is near it, or is it.
const NEAR: [f64; 2] = [0.8, 0.999];
/// Words that are compared letter by letter, at most.
const SPELLED: usize = 16;
/// That the commonest word counts for something.
const LEAST: f64 = 0.1;

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The words of a column.
    Words(usize),
    /// The number that a column is.
    Number(usize),
    /// Model numbers and the like, wherever they stand.
    Identifiers,
    /// How much the rows share beside what either of them shares with others.
    Rank,
}

/// How far a field of two rows agrees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// One of the rows does not have it, which tells nothing.
    Missing,
    /// Not at all, or by chance.
    None,
    /// By some of its words, or nearly.
    Partial,
    /// As far as it can.
    Full,
}

impl Field {
    pub(super) fn agreement(self, level: u8) -> Agreement {
        let order = self.order();
        match level {
            MISSING => Agreement::Missing,
            _ if order.last() == Some(&level) => Agreement::Full,
            _ if order.first() == Some(&level) => Agreement::None,
            _ => Agreement::Partial,
        }
    }

    /// Its levels by how much they tell, the least first.
    pub(super) fn order(self) -> Vec<u8> {
        let count = match self {
            Field::Words(_) => WORD_LEVELS,
            Field::Number(_) => APART.len() as u8 + 1,
            Field::Rank => 6,
            Field::Identifiers => 3,
        };
        let mut levels: Vec<u8> = (0..count).collect();
        if matches!(self, Field::Words(_) | Field::Rank) {
            levels.sort_by_key(|&level| {
                let high = (0..level).take_while(|&high| two_steps(high + 1, 0) <= level).count() as u8;
                let low = level - two_steps(high, 0);
                (high + low, low)
            });
        }
        levels
    }
}

/// The level of two steps.
fn two_steps(high: u8, low: u8) -> u8 {
    high * (high + 1) / 2 + low
}

fn step(limits: &[f64], value: f64) -> u8 {
    limits.iter().filter(|&&limit| value >= limit).count() as u8
}

/// Compares rows.
pub(super) struct Comparer<'w> {
    of: &'w Weighed,
    shares: &'w Shares,
    fields: &'w [Field],
    words: [Vec<u32>; 2],
    /// Those of a column that the other row does not have.
    own: [Vec<u32>; 2],
}

/// Fields that are of no column.
pub(super) const BEYOND_COLUMNS: usize = 2;

/// What can be compared of rows.
pub(super) fn fields(of: &Weighed) -> Vec<Field> {
    let mut meter = Meter::new();
    let column = |column: usize| {
        let (mut present, mut numbers) = (0, 0);
        for row in 0..of.rows() as u32 {
            meter.work(1);
            present += usize::from(!of.of(row, column).is_empty());
            numbers += usize::from(!of.number(row, column).is_nan());
        }
        // One in twenty may be written otherwise.
        if numbers * 20 >= present * 19 { Field::Number(column) } else { Field::Words(column) }
    };
    let columns = (0..of.columns).map(column).collect::<Vec<_>>().into_iter();
    // Nothing more: the model takes fields as independent, and what counts twice deceives it.
    columns.chain([Field::Identifiers, Field::Rank]).collect()
}

impl<'w> Comparer<'w> {
    pub(super) fn new(of: &'w Weighed, shares: &'w Shares, fields: &'w [Field]) -> Comparer<'w> {
        Comparer { of, shares, fields, words: Default::default(), own: Default::default() }
    }

    /// Two rows as a candidate.
    pub(super) fn pair(&mut self, a: u32, b: u32) -> Candidate {
        let (a, b) = (a.min(b), a.max(b));
        self.of.all(a, &mut self.words[0]);
        self.of.all(b, &mut self.words[1]);
        Candidate { a, b, share: self.shares.of(self.of, [a, b], &self.words) }
    }

    /// The level of each field of a pair.
    pub(super) fn levels(&mut self, pair: Candidate, levels: &mut [u8]) {
        let Candidate { a, b, share } = pair;
        self.of.all(a, &mut self.words[0]);
        self.of.all(b, &mut self.words[1]);
        for (level, &field) in levels.iter_mut().zip(self.fields) {
            *level = match field {
                Field::Words(column) => self.column([a, b], column),
                Field::Number(column) => self.number([a, b], column),
                Field::Identifiers => self.identifiers(),
                Field::Rank => {
                    let [x, y] = [a, b].map(|row| step(&NEAR, self.shares.relative(share, row)));
                    two_steps(x.max(y), x.min(y))
                }
            };
        }
    }

    fn number(&self, rows: [u32; 2], column: usize) -> u8 {
        let [x, y] = rows.map(|row| self.of.number(row, column));
        if x.is_nan() || y.is_nan() {
            return MISSING;
        }
        let apart = if x == y { 0.0 } else { (x - y).abs() / x.abs().max(y.abs()) };
        APART.iter().filter(|&&limit| apart <= limit).count() as u8
    }

    fn identifiers(&self) -> u8 {
        let [x, y] = &self.words;
        let is = |word: &u32| self.of.is_identifier(*word);
        if !x.iter().any(is) || !y.iter().any(is) {
            return MISSING;
        }
        if common(x, y).any(|word| is(&word)) {
            return 2;
        }
        // KX100 may be KX100B.
        let spelled = |of: usize| {
            self.words[of].iter().filter(|word| is(word)).take(SPELLED).map(|&word| self.of.spelling(word))
        };
        let begins = |x: &str, y: &str| x.len().min(y.len()) >= 4 && (x.starts_with(y) || y.starts_with(x));
        u8::from(spelled(0).any(|x| spelled(1).any(|y| begins(x, y))))
    }

    /// By the shares of the words that both have, or nearly: of the lighter value's, and of both values'.
    fn column(&mut self, rows: [u32; 2], column: usize) -> u8 {
        let of = self.of;
        let [x, y] = rows.map(|row| of.of(row, column));
        if x.is_empty() || y.is_empty() {
            return MISSING;
        }
        if of.equal(rows, column) {
            return WORD_LEVELS - 1;
        }
        let weight = |word: u32| of.weights[word as usize] + LEAST;
        let [whole_x, whole_y] = [x, y].map(|words| words.iter().map(|&word| weight(word)).sum::<f64>());
        let [left, right] = &mut self.own;
        for (own, words) in [(&mut *left, x), (&mut *right, y)] {
            own.clear();
            own.room(words.len()).or_raise();
        }
        let (mut both, mut i, mut j, mut meter) = (0.0, 0, 0, Meter::new());
        while i < x.len() || j < y.len() {
            meter.work(1);
            let [next, other] = [x.get(i), y.get(j)].map(|word| word.map_or(u32::MAX, |&word| word));
            match next.cmp(&other) {
                std::cmp::Ordering::Equal => both += weight(next),
                std::cmp::Ordering::Less => left.push(next),
                std::cmp::Ordering::Greater => right.push(other),
            }
            i += usize::from(next <= other);
            j += usize::from(other <= next);
        }
        let mut shared = [both; 2];
        if left.len() <= SPELLED && right.len() <= SPELLED {
            for &word in &*left {
                let likeness = |&other: &u32| likeness(of.spelling(word), of.spelling(other));
                let alike = right.iter().map(likeness).zip(0..);
                let best = alike.reduce(|best, next| if next.0 > best.0 { next } else { best });
                if let Some((likeness, at)) = best.filter(|best| best.0 > 0.0) {
                    shared[0] += likeness * weight(word);
                    shared[1] += likeness * weight(right.remove(at));
                }
            }
        }
        let lighter = (shared[0] / whole_x).max(shared[1] / whole_y);
        let all = (shared[0] + shared[1]) / (whole_x + whole_y);
        let high = step(&STEPS, lighter);
        two_steps(high, step(&STEPS, all).min(high))
    }
}

/// How far two words may be one, mistyped or shortened.
fn likeness(x: &str, y: &str) -> f64 {
    let (short, long) = if x.len() <= y.len() { (x, y) } else { (y, x) };
    // Other digits are another number.
    if x.bytes().chain(y.bytes()).any(|byte| byte.is_ascii_digit()) {
        0.0
    } else if long.starts_with(short) {
        match short.chars().count() {
            1 => 0.7,
            2 => 0.5,
            _ => 0.8,
        }
    } else if short.len() >= 4 && within_one_edit(short.as_bytes(), long.as_bytes()) {
        0.9
    } else {
        0.0
    }
}

/// Whether a byte less, another byte or two in the other order make the longer word the shorter one.
fn within_one_edit(short: &[u8], long: &[u8]) -> bool {
    let begins = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let (short, long) = (&short[begins..], &long[begins..]);
    let ends = short.iter().rev().zip(long.iter().rev()).take_while(|(x, y)| x == y).count();
    match (&short[..short.len() - ends], &long[..long.len() - ends]) {
        ([], [] | [_]) | ([_], [_]) => true,
        ([a, b], [c, d]) => a == d && b == c,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_mistyped_and_shortened() {
        for (x, y, alike) in [
            ("divesh", "d", 0.7),
            ("ave", "avenue", 0.8),
            ("query", "qeury", 0.9),
            ("query", "qury", 0.9),
            ("query", "quary", 0.9),
            ("query", "quarry", 0.0),
            ("kx100", "kx101", 0.0),
            ("abc", "abd", 0.0),
            ("a", "b", 0.0),
        ] {
            assert_eq!(likeness(x, y), alike, "{x} {y}");
            assert_eq!(likeness(y, x), alike, "{x} {y}");
        }
    }

    #[test]
    fn orders_have_every_level_once() {
        for field in [Field::Words(0), Field::Number(0), Field::Identifiers, Field::Rank] {
            let mut order = field.order();
            assert_eq!(order.last().copied(), order.iter().copied().max());
            order.sort_unstable();
            assert!(order.iter().copied().eq(0..order.len() as u8), "{field:?}");
        }
        assert_eq!(Field::Rank.order(), [0, 1, 3, 2, 4, 5]);
    }

    proptest! {
        /// One edit by its definition: some byte left out, replaced, or exchanged with the next.
        #[test]
        fn one_edit(short in "[ab]{0,5}", long in "[ab]{0,6}") {
            prop_assume!(short.len() <= long.len());
            let (x, y) = (short.as_bytes(), long.as_bytes());
            let without = |text: &[u8], at: usize| [&text[..at], &text[at + 1..]].concat();
            let left_out = (0..y.len()).any(|at| without(y, at) == x);
            let replaced = x.len() == y.len() && (x == y || (0..y.len()).any(|at| without(x, at) == without(y, at)));
            let exchanged = (1..y.len()).any(|at| { let mut y = y.to_vec(); y.swap(at - 1, at); y == x });
            prop_assert_eq!(within_one_edit(x, y), x == y || left_out || replaced && x.iter().zip(y).filter(|(x, y)| x != y).count() <= 1 || exchanged);
        }
    }
}
