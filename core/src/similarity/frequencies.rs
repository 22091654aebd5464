//! How many texts of a table have an n-gram: what most of them have tells little about any two of them.

use super::grams::{Grams, Maker};
use crate::hash::GOLDEN;
use crate::interrupt::{Meter, checked, sort_unstable_by};
use crate::memory::{OrRaise, Room, collect};
use rustc_hash::FxHashMap;

/// N-grams that are kept, the most frequent ones. All others weigh what the rarest of these do.
const KEPT: usize = 1 << 14;
/// Texts that have a kept n-gram at least: nobody is to learn from statistics what a few rows say.
const FEWEST: u32 = 9;
/// Bytes of the texts that are counted, but for the first one.
const BYTES: usize = 4 << 20;
/// Texts that are added to those there are: in a small table one more text that has an n-gram says little.
const SMOOTH: f64 = 10.0;

/// How many of some texts have an n-gram.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Frequencies {
    /// Characters of an n-gram.
    n: u32,
    /// Texts that were counted.
    texts: u32,
    /// How many have an n-gram that is not kept, at most.
    rest: u32,
    /// By the hash of the n-gram.
    kept: FxHashMap<u32, u32>,
}

/// How alike two texts are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    /// The Jaccard coefficient of their n-grams, 0 to 1.
    pub jaccard: f64,
    /// The cosine of the n-grams, 0 to 1, weighed by how rare they are in the table; `None`: that is not known.
    pub cosine: Option<f64>,
}

fn hash(gram: u64) -> u32 {
    (gram.wrapping_mul(GOLDEN) >> 32) as u32
}

impl Frequencies {
    /// Counts `n`-grams in the first of the texts.
    pub fn of<'t>(texts: impl Iterator<Item = &'t str>, n: usize) -> Frequencies {
        let (mut maker, mut counts, mut left, mut all) = (Maker::new(n), FxHashMap::default(), BYTES, 0);
        for text in checked(texts) {
            if all > 0 && text.len() > left {
                break;
            }
            (left, all) = (left.saturating_sub(text.len()), all + 1);
            let grams = maker.make(text);
            counts.room(grams.len()).or_raise();
            grams.wide().iter().for_each(|&gram| *counts.entry(hash(gram)).or_default() += 1);
        }
        let mut kept: Vec<(u32, u32)> = collect(counts).or_raise();
        sort_unstable_by(&mut kept, |a: &(u32, u32), b| (b.1, a.0).cmp(&(a.1, b.0)));
        kept.truncate(KEPT.min(kept.partition_point(|it| it.1 >= FEWEST)) + 1);
        // What is not kept weighs as the most frequent of it.
        let rest = kept.pop().map_or(1, |cut| cut.1);
        Frequencies { n: n as u32, texts: all, rest, kept: kept.into_iter().collect() }
    }

    /// Whether they are of `n`-grams, of any text.
    pub fn are_of(&self, n: usize) -> bool {
        self.n as usize == n && self.texts > 0
    }

    /// What an n-gram weighs: ln((N + 10) / df) of N texts of which df have it (P3, inverse document frequency).
    pub(crate) fn weight(&self, gram: u64) -> f64 {
        let count = self.kept.get(&hash(gram)).map_or(self.rest, |&count| count);
        ((f64::from(self.texts) + SMOOTH) / f64::from(count.max(1))).ln()
    }

    /// The sum of the squares of the weights of a set.
    pub(crate) fn square(&self, grams: &[u64]) -> f64 {
        grams.iter().map(|&gram| self.weight(gram).powi(2)).sum()
    }

    /// The cosine of two sets.
    pub(crate) fn cosine(&self, a: &Grams, b: &Grams) -> f64 {
        let (a, b) = (a.wide(), b.wide());
        let squares = collect(a.iter().map(|&gram| self.weight(gram).powi(2))).or_raise();
        let lengths = [squares.iter().sum(), self.square(&b)];
        Frequencies::compare((&a, &squares), &b, lengths).1
    }

    /// How many n-grams two sets share, which are in ascending order, and their cosine; the squares of the weights of the one
    /// and the sums of those of both are known.
    pub(super) fn compare((a, squares): (&[u64], &[f64]), b: &[u64], sums: [f64; 2]) -> (usize, f64) {
        let (mut i, mut j, mut shared, mut product, mut meter) = (0, 0, 0, 0.0, Meter::new());
        meter.work(a.len() + b.len());
        while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
            if x == y {
                shared += 1;
                product += squares[i];
            }
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        (shared, product / (sums[0] * sums[1]).sqrt().max(f64::MIN_POSITIVE))
    }

    /// The fewest of a set's n-grams, given in some order, of which a set of at least this cosine has one: what follows them
    /// is too light to reach it alone.
    pub(crate) fn prefix(&self, grams: impl Iterator<Item = u64> + Clone, cosine: f64) -> usize {
        let squares = grams.map(|gram| self.weight(gram).powi(2));
        let mut left: f64 = squares.clone().sum();
        // As wide as rounding may be.
        let least = cosine * cosine * left * (1.0 - 1e-6);
        squares
            .take_while(|square| {
                let goes_on = left >= least;
                left -= square;
                goes_on
            })
            .count()
    }

    /// Appends its bytes.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        let mut kept: Vec<(u32, u32)> =
            collect(self.kept.iter().map(|(hash, count)| (*hash, *count))).or_raise();
        sort_unstable_by(&mut kept, Ord::cmp);
        bytes.room(16 + 8 * kept.len()).or_raise();
        let head = [self.n, self.texts, self.rest, kept.len() as u32];
        let all = head.into_iter().chain(kept.into_iter().flat_map(|(hash, count)| [hash, count]));
        bytes.extend(all.flat_map(u32::to_le_bytes));
    }

    /// Reads what was written, and what is behind it; `None`: these are none.
    pub fn read(bytes: &[u8]) -> Option<(Frequencies, &[u8])> {
        let (head, rest) = bytes.split_at_checked(16)?;
        let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let (kept, behind) = rest.split_at_checked((number(12) as usize).checked_mul(8)?)?;
        let pair = |pair: &[u8; 8]| {
            let [a, b, c, d, e, f, g, h] = *pair;
            (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]))
        };
        let kept: FxHashMap<u32, u32> = kept.as_chunks::<8>().0.iter().map(pair).collect();
        Some((Frequencies { n: number(0), texts: number(4), rest: number(8), kept }, behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the weights: what all texts have weighs little, what none has most, and copies of the definition agree.
    #[test]
    fn rare_ngrams_weigh_most() {
        let texts: Vec<String> = (0..90).map(|at| format!("invoice {}{}", at % 9, at / 9)).collect();
        let frequencies = Frequencies::of(texts.iter().map(String::as_str), 3);
        let of = |text: &str| Maker::new(3).make(text);
        let weight = |text: &str| frequencies.weight(of(text).wide()[0]);
        assert_eq!((weight("inv"), weight("xyz")), ((100f64 / 90.0).ln(), 100f64.ln()));
        assert_eq!((weight("e00"), weight("ce3")), (100f64.ln(), 10f64.ln()));
        let cosine = |a: &str, b: &str| frequencies.cosine(&of(a), &of(b));
        assert!(cosine("invoice 17", "invoice 71") < 0.1 && cosine("invoice 17", "the invoice 17") > 0.4);
        assert!((cosine("invoice 17", "invoice 17") - 1.0).abs() < 1e-12);
        assert_eq!(cosine("", "invoice"), 0.0);
    }
}
