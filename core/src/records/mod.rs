//! Records of several columns that are of one thing: which agreement tells how much is learned from the table itself,
//! without labels.
//!
//! Words weigh by how rare they are. Each row is compared with those that share most with it (`candidates`), column by
//! column (`compare`); a mixture of two kinds of pairs (`mixture`) gives each level of agreement its weight, and each pair
//! the odds that it is of one thing.

mod candidates;
mod compare;
mod mixture;
mod words;

pub use compare::{Agreement, Field};
pub use words::{Rows, Weighed};

use crate::interrupt::{self, checked};
use crate::memory::{OrRaise, Room, filled};
use candidates::{Candidate, Shares, candidates};
use compare::{Comparer, fields};
use mixture::{Alike, Mixture, probability};

/// Two rows are of one thing from this probability on.
pub const SURE: f64 = 0.9;
/// Pairs that weights are learned from, at most.
const LEARNED_FROM: usize = 200_000;
/// The share from which on a pair is more likely of one thing than not before anything is learned, and how sharply.
const BEGIN: (f64, f64) = (0.45, 12.0);
/// Parts of a share.
const PARTS: f64 = 1024.0;

/// A table whose weights are learned.
pub struct Records {
    of: Weighed,
    fields: Vec<Field>,
    shares: Shares,
    mixture: Mixture,
    candidates: Vec<Candidate>,
}

/// What two rows are told to be by, in logarithms of odds: their sum decides.
pub struct Evidence {
    /// Of any pair that is compared.
    pub prior: f64,
    /// How far each field agrees, and what that tells.
    pub told: Vec<(Field, Agreement, f64)>,
}

impl Records {
    /// Learns from the rows.
    pub fn learn(of: Weighed) -> Records {
        let fields = fields(&of);
        let (candidates, shares) = candidates(&of);
        let mut records = Records { of, fields, shares, mixture: Mixture::default(), candidates };
        let (levels, begin) = records.sample();
        let orders: Vec<Vec<u8>> = records.fields.iter().map(|field| field.order()).collect();
        records.mixture = Mixture::fit(&alike(&levels, &begin, orders.len()), &orders);
        records
    }

    /// The levels of candidates, of all of them or some of each share, and how likely they are to begin with, in parts.
    fn sample(&self) -> (Vec<u8>, Vec<u32>) {
        let mut order: Vec<u32> = crate::memory::collect(0..self.candidates.len() as u32).or_raise();
        if order.len() > LEARNED_FROM {
            let share = |at: u32| self.candidates[at as usize].share;
            interrupt::sort_unstable_by(&mut order, |&x, &y| share(x).total_cmp(&share(y)).then(x.cmp(&y)));
            let every = order.len().div_ceil(LEARNED_FROM);
            let mut at = 0;
            order.retain(|_| {
                at += 1;
                at % every == 0
            });
        }
        let width = self.fields.len();
        let mut comparer = Comparer::new(&self.of, &self.shares, &self.fields);
        let mut levels = filled(0u8, order.len() * width).or_raise();
        for (levels, &at) in checked(levels.chunks_mut(width).zip(&order)) {
            comparer.levels(self.candidates[at as usize], levels);
        }
        let begin = |at: u32| {
            let share = self.candidates[at as usize].share;
            (probability((share - BEGIN.0) * BEGIN.1) * PARTS) as u32
        };
        checked(&mut order).for_each(|at| *at = begin(*at));
        (levels, order)
    }

    /// How many pairs of rows were compared.
    pub fn compared(&self) -> usize {
        self.candidates.len()
    }

    /// What was compared, and what of it tells: the odds by which agreement in it multiplies those that rows are of one
    /// thing, as their logarithms, from no agreement to a full one.
    pub fn weights(&self) -> impl Iterator<Item = (Field, f64, f64)> {
        self.fields.iter().zip(&self.mixture.weights).map(|(&field, weights)| {
            let order = field.order();
            let of = |level: Option<&u8>| level.map_or(0.0, |&level| weights[level as usize]);
            (field, of(order.first()), of(order.last()))
        })
    }

    /// What makes two rows one thing, or two.
    pub fn evidence(&self, a: u32, b: u32) -> Evidence {
        let mut comparer = Comparer::new(&self.of, &self.shares, &self.fields);
        let pair = comparer.pair(a, b);
        let mut levels = [0; MOST_COLUMNS + compare::BEYOND_COLUMNS];
        comparer.levels(pair, &mut levels[..self.fields.len()]);
        let told = |((&field, weights), &level): ((&Field, &Vec<f64>), &u8)| {
            (field, field.agreement(level), weights.get(level as usize).copied().unwrap_or(0.0))
        };
        let told = self.fields.iter().zip(&self.mixture.weights).zip(&levels).map(told).collect();
        Evidence { prior: self.mixture.prior, told }
    }

    /// The model numbers and the like of a row.
    pub fn identifiers(&self, row: u32) -> Vec<&str> {
        let mut words = Vec::new();
        self.of.all(row, &mut words);
        words.retain(|&word| self.of.is_identifier(word));
        words.iter().map(|&word| self.of.spelling(word)).collect()
    }

    /// The probability that two rows are of one thing.
    pub fn probability(&self, a: u32, b: u32) -> f64 {
        let mut comparer = Comparer::new(&self.of, &self.shares, &self.fields);
        let pair = comparer.pair(a, b);
        probability(self.odds(&mut comparer, pair))
    }

    fn odds(&self, comparer: &mut Comparer<'_>, pair: Candidate) -> f64 {
        let mut levels = [0; MOST_COLUMNS + compare::BEYOND_COLUMNS];
        let levels = &mut levels[..self.fields.len()];
        comparer.levels(pair, levels);
        self.mixture.odds(levels)
    }

    /// The kept row of each row. The rows come in `order`, the best first: each repeats the one that it is of most
    /// likely, of those that are kept, or is kept.
    pub fn keepers(&self, order: &[u32]) -> Vec<u32> {
        let sure = (SURE / (1.0 - SURE)).ln();
        let mut comparer = Comparer::new(&self.of, &self.shares, &self.fields);
        // Both ways: a row, another one, and the odds.
        let mut sames: Vec<(u32, u32, f64)> = Vec::new();
        for &pair in checked(&self.candidates) {
            let odds = self.odds(&mut comparer, pair);
            if odds >= sure {
                sames.room(2).or_raise();
                sames.extend([(pair.a, pair.b, odds), (pair.b, pair.a, odds)]);
            }
        }
        interrupt::sort_unstable_by(&mut sames, |x, y| (x.0, x.1).cmp(&(y.0, y.1)));
        let mut keepers = filled(u32::MAX, self.of.rows()).or_raise();
        let mut place = filled(u32::MAX, self.of.rows()).or_raise();
        checked(order.iter().zip(0..)).for_each(|(&row, at)| place[row as usize] = at);
        let mut kept: Vec<(u32, f64)> = Vec::new();
        for &row in checked(order) {
            let from = sames.partition_point(|same| same.0 < row);
            let own = sames[from..].iter().take_while(|same| same.0 == row);
            kept.clear();
            for &(_, other, odds) in checked(own) {
                kept.room(1).or_raise();
                match keepers[other as usize] {
                    u32::MAX => {}
                    keeper if keeper == other => kept.push((other, odds)),
                    // What another one of them repeats, if it was not compared.
                    keeper => kept.push((keeper, f64::NAN)),
                }
            }
            interrupt::sort_unstable_by(&mut kept, |x, y| {
                (place[x.0 as usize], x.1.is_nan()).cmp(&(place[y.0 as usize], y.1.is_nan()))
            });
            kept.dedup_by_key(|kept| kept.0);
            for (keeper, odds) in kept.iter_mut().filter(|kept| kept.1.is_nan()) {
                let pair = comparer.pair(row, *keeper);
                *odds = self.odds(&mut comparer, pair);
            }
            let sure = kept.iter().filter(|kept| kept.1 >= sure);
            let best = sure.reduce(|best, next| if next.1 > best.1 { next } else { best });
            keepers[row as usize] = best.map_or(row, |best| best.0);
        }
        keepers
    }
}

/// Pairs of the same levels together.
fn alike<'l>(levels: &'l [u8], begin: &[u32], width: usize) -> Vec<Alike<'l>> {
    let mut pairs: Vec<(&[u8], u32)> = Vec::new();
    pairs.room(begin.len()).or_raise();
    pairs.extend(levels.chunks(width).zip(begin.iter().copied()));
    interrupt::sort_unstable_by(&mut pairs, Ord::cmp);
    let mut alike = Vec::new();
    alike.room(pairs.len()).or_raise();
    for same in checked(pairs.chunk_by(|x, y| x.0 == y.0)) {
        let count = same.len() as f64;
        // Whole parts: their sum does not depend on the order of rows.
        let begin = same.iter().map(|pair| f64::from(pair.1)).sum::<f64>();
        alike.push(Alike { levels: same[0].0, count, begin: begin / PARTS / count });
    }
    alike
}

/// Columns that are compared, at most.
pub const MOST_COLUMNS: usize = 32;

/// Stands between the columns of a record, and is a blank within one.
const BETWEEN: char = '\n';

/// The columns of a record as one text; `None` if there is none.
pub fn joined(columns: impl Iterator<Item = Option<String>>) -> Option<String> {
    let (mut content, mut is_there) = (String::new(), false);
    for (column, at) in columns.zip(0..) {
        let column = column.unwrap_or_default();
        content.room(column.len() + 1).or_raise();
        if at > 0 {
            content.push(BETWEEN);
        }
        is_there |= !column.is_empty();
        content.extend(checked(column.chars()).map(|c| if c == BETWEEN { ' ' } else { c }));
    }
    is_there.then_some(content)
}

/// The columns of a record that are joined; an empty one is none.
pub fn columns(content: &str) -> impl Iterator<Item = Option<&str>> {
    content.split(BETWEEN).map(|column| (!column.is_empty()).then_some(column))
}

#[cfg(test)]
mod tests;
