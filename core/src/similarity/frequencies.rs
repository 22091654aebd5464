//! How many texts of a table have an n-gram: what most of them have tells little about any two of them.

use super::grams::{Grams, Maker};
use crate::hash::GOLDEN;
use crate::interrupt::{Meter, checked, sort_unstable_by};
use crate::memory::{OrRaise, Room, collect};
use crate::text::{PACKED, has_digit};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// N-grams that are kept, the most frequent ones. All others weigh what the rarest of these do.
const KEPT: usize = 1 << 14;
/// Texts that have a kept n-gram at least: nobody is to learn from statistics what a few rows say.
const FEWEST: u32 = 9;
/// Bytes of the texts that are counted, but for the first one.
const BYTES: usize = 4 << 20;
/// Texts that are added to those there are: in a small table one more text that has an n-gram says little.
const SMOOTH: f64 = 10.0;
/// What an n-gram with a digit weighs more, by measurement: models, sizes and years tell things apart that share their words.
const OF_DIGITS: f64 = 1.5;

/// How many of some texts have an n-gram, or rows whatever is counted.
#[derive(Debug, Default, Clone, PartialEq, Serialize, Deserialize)]
#[serde(into = "Vec<u32>", try_from = "Vec<u32>")]
pub struct Frequencies {
    /// Characters of an n-gram.
    n: u32,
    /// Texts that were counted.
    texts: u32,
    /// How many have an n-gram that is not kept, at most, and how rare it is for that: most are asked for it.
    rest: u32,
    rare: f64,
    /// By the hash of the n-gram: how many have it, and how rare it is for that.
    kept: FxHashMap<u32, (u32, f64)>,
}

/// How alike two texts are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Likeness {
    /// The Jaccard coefficient of their n-grams, 0 to 1.
    pub jaccard: f64,
    /// The cosine of the n-grams, 0 to 1, weighed by how rare they are in the table; `None`: that is not known.
    pub cosine: Option<f64>,
}

/// What is kept of what is counted, and the rest, the most frequent first.
fn most(mut counts: Vec<(u32, u32)>) -> (FxHashMap<u32, u32>, Vec<(u32, u32)>) {
    sort_unstable_by(&mut counts, |a: &(u32, u32), b| (b.1, a.0).cmp(&(a.1, b.0)));
    let rest = counts.split_off(KEPT.min(counts.partition_point(|it| it.1 >= FEWEST)));
    (counts.into_iter().collect(), rest)
}

fn rarity(texts: u32, having: u32) -> f64 {
    ((f64::from(texts) + SMOOTH) / f64::from(having)).ln()
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
            grams.0.iter().for_each(|&gram| *counts.entry(hash(gram)).or_default() += 1);
        }
        let (kept, rest) = most(collect(counts).or_raise());
        // What is not kept weighs as the most frequent of it.
        let rest = rest.first().map_or(1, |cut| cut.1);
        Frequencies::new([n as u32, all, rest], kept)
    }

    /// Those of what is counted already, of so many rows; what is not kept counts as much as it does for its mean row.
    pub(crate) fn counted(counts: impl Iterator<Item = (u64, u32)>, rows: usize) -> Frequencies {
        let (kept, rest) = most(collect(counts.map(|(it, count)| (hash(it), count))).or_raise());
        let [sum, squares] =
            [1, 2].map(|power| rest.iter().map(|it| f64::from(it.1).powi(power)).sum::<f64>());
        let rest = (squares / sum.max(1.0)).round().max(1.0) as u32;
        Frequencies::new([0, rows as u32, rest], kept)
    }

    fn new([n, texts, rest]: [u32; 3], kept: FxHashMap<u32, u32>) -> Frequencies {
        let rare = |count: u32| rarity(texts, count.max(1));
        let kept = kept.into_iter().map(|(hash, count)| (hash, (count, rare(count)))).collect();
        Frequencies { n, texts, rest, rare: rare(rest), kept }
    }

    pub(crate) fn count(&self, of: u64) -> u32 {
        self.kept.get(&hash(of)).map_or(self.rest, |it| it.0).max(1)
    }

    /// Whether they are of `n`-grams, of any text.
    pub fn are_of(&self, n: usize) -> bool {
        self.n as usize == n && self.texts > 0
    }

    /// What an n-gram weighs: ln((N + 10) / df) of N texts of which df have it (P3, inverse document frequency), half as much
    /// again with a digit.
    pub(crate) fn weight(&self, gram: u64) -> f64 {
        let rare = self.kept.get(&hash(gram)).map_or(self.rare, |it| it.1);
        if (1..=PACKED as u32).contains(&self.n) && has_digit(gram) { OF_DIGITS * rare } else { rare }
    }

    pub(crate) fn square(&self, grams: &[u64]) -> f64 {
        grams.iter().map(|&gram| self.weight(gram).powi(2)).sum()
    }

    pub(crate) fn cosine(&self, a: &Grams, b: &Grams) -> f64 {
        let (a, b) = (&a.0, &b.0);
        let squares = collect(a.iter().map(|&gram| self.weight(gram).powi(2))).or_raise();
        let lengths = [squares.iter().sum(), self.square(b)];
        Frequencies::compare((a, &squares), b, lengths).1
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

    /// The fewest of a set's n-grams, the heaviest first, of which a set of at least this cosine has more than `but`: what
    /// follows them, and the `but` heaviest, are too light to reach it.
    pub(crate) fn prefix(&self, grams: impl Iterator<Item = u64> + Clone, cosine: f64, but: usize) -> usize {
        let squares = grams.map(|gram| self.weight(gram).powi(2));
        let mut left: f64 = squares.clone().sum();
        // As wide as rounding may be.
        let least = cosine * cosine * left * (1.0 - 1e-6) - squares.clone().take(but).sum::<f64>();
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
        let numbers = Vec::from(self.clone());
        bytes.room(4 * numbers.len()).or_raise();
        bytes.extend(numbers.into_iter().flat_map(u32::to_le_bytes));
    }

    /// Reads what was written, and what is behind it; `None`: these are none.
    pub fn read(bytes: &[u8]) -> Option<(Frequencies, &[u8])> {
        let (words, _) = bytes.as_chunks::<4>();
        let all = HEAD + 2 * u32::from_le_bytes(*words.get(HEAD - 1)?) as usize;
        let numbers = collect(words.get(..all)?.iter().map(|word| u32::from_le_bytes(*word))).or_raise();
        Some((Frequencies::try_from(numbers).ok()?, &bytes[4 * all..]))
    }
}

/// Numbers before those of what is kept.
const HEAD: usize = 4;

impl From<Frequencies> for Vec<u32> {
    fn from(of: Frequencies) -> Vec<u32> {
        let mut kept: Vec<(u32, u32)> =
            collect(of.kept.into_iter().map(|(hash, it)| (hash, it.0))).or_raise();
        sort_unstable_by(&mut kept, Ord::cmp);
        let head = [of.n, of.texts, of.rest, kept.len() as u32];
        collect(head.into_iter().chain(kept.into_iter().flat_map(|(hash, count)| [hash, count]))).or_raise()
    }
}

impl TryFrom<Vec<u32>> for Frequencies {
    type Error = &'static str;

    fn try_from(numbers: Vec<u32>) -> Result<Frequencies, Self::Error> {
        let Some(([n, texts, rest, count], kept)) = numbers.split_first_chunk::<HEAD>() else {
            return Err("these are no frequencies");
        };
        let kept = kept.as_chunks::<2>().0;
        if kept.len() != *count as usize {
            return Err("these are not as many frequencies as are told");
        }
        let kept = kept.iter().map(|&[hash, count]| (hash, count)).collect();
        Ok(Frequencies::new([*n, *texts, *rest], kept))
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
        let weight = |text: &str| frequencies.weight(of(text).0[0]);
        assert_eq!((weight("inv"), weight("xyz")), ((100f64 / 90.0).ln(), 100f64.ln()));
        assert_eq!((weight("e00"), weight("ce3")), (1.5 * 100f64.ln(), 1.5 * 10f64.ln()));
        let cosine = |a: &str, b: &str| frequencies.cosine(&of(a), &of(b));
        assert!(cosine("invoice 17", "invoice 71") < 0.1 && cosine("invoice 17", "the invoice 17") > 0.4);
        assert!((cosine("invoice 17", "invoice 17") - 1.0).abs() < 1e-12);
        assert_eq!(cosine("", "invoice"), 0.0);
    }
}
