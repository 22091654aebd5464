//! How similar unrelated texts are by chance, and the similarity beyond which chance is no explanation.
//!
//! Sharing half of the n-grams means much where random texts share almost none (pairs of Chinese characters)
//! and little where they share a fifth (three letters of English names and titles). So the Jaccard similarity
//! of random pairs is measured. Few random pairs are as similar as a threshold must be, and in a small table
//! most of those are the near-duplicates themselves. So the tail is extrapolated from where there are many
//! pairs: the logarithm of the share above a similarity falls at least linearly there.

use crate::hash::city64;
use crate::interrupt;
use crate::memory::{Grow, OfKey, OrRaise, collect};
use crate::random::SplitMix64;
use crate::similarity::{Frequencies, Maker, Overlap};
use crate::text::{Ngrams, Normal};
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// The most pairs measured.
const PAIRS: u64 = 1_000_000;
/// The most n-grams compared in all.
const STEPS: u64 = 200_000_000;
/// Cells per unit of similarity.
const CELLS: usize = 1000;
/// The shares of random pairs between which the tail's slope is taken; the second pair in tables so small that
/// near-duplicates are one pair in a thousand.
const ANCHORS: (f64, f64) = (1e-2, 1e-3);
const ANCHORS_OF_FEW: (f64, f64) = (1e-1, 1e-2);
/// Rows up to which a table is small.
const FEW: usize = 2_000;
/// The largest share of random pairs that may reach a threshold.
const MAY_PASS: f64 = 1e-5;

/// Two thirds of the n-grams of either are shared.
const HIGHEST: f64 = 0.5;

/// Similarities of random pairs of texts.
#[derive(Debug, Clone)]
pub struct Chance {
    /// Pairs of at least this similarity, in thousandths.
    above: Vec<u64>,
    anchors: (f64, f64),
}

/// The most n-grams of all texts together: 64 MB.
const MOST_GRAMS: usize = 8 << 20;

impl Chance {
    /// Measures texts by their character `n`-grams: all pairs of few, random ones of many, drawn with a fixed seed.
    pub fn measure<T: AsRef<str>>(texts: &[T], n: usize) -> Chance {
        let (mut sets, mut kept) = (Vec::new(), 0);
        for set in texts.iter().filter_map(|text| grams(text.as_ref(), n)) {
            kept += set.len();
            sets.grow(set).or_raise();
            if kept > MOST_GRAMS {
                break;
            }
        }
        // Copies are not similar by chance.
        interrupt::sort_and_dedup(&mut sets);
        let mut above = vec![0; CELLS + 1];
        let anchors = if sets.len() < FEW { ANCHORS_OF_FEW } else { ANCHORS };
        if sets.len() < 2 {
            return Chance { above, anchors };
        }
        let size = sets.iter().map(|set| set.len() as u64).sum::<u64>() / sets.len() as u64;
        let mut count = |a: &[u64], b: &[u64]| {
            interrupt::check();
            above[(Overlap::of_sorted(a, b).jaccard() * CELLS as f64) as usize] += 1;
        };
        let (rows, most) = (sets.len() as u64, PAIRS.min(STEPS / (2 * size + 1)));
        if rows * (rows - 1) / 2 <= most {
            for (at, b) in sets.iter().enumerate() {
                sets[..at].iter().for_each(|a| count(a, b));
            }
        } else {
            let mut random = SplitMix64::new(0x5EED);
            for _ in 0..most {
                let (a, b) = (random.below(sets.len()), random.below(sets.len()));
                if a != b {
                    count(&sets[a], &sets[b]);
                }
            }
        }
        for cell in (0..CELLS).rev() {
            above[cell] += above[cell + 1];
        }
        Chance { above, anchors }
    }

    /// The similarity that the share `share` of unrelated pairs would reach.
    fn quantile(&self, share: f64) -> f64 {
        // The lowest similarity that at most so many of the random pairs reach, as measured.
        let reached_by = |share: f64| {
            let most = share * self.above[0] as f64;
            self.above.iter().position(|&pairs| pairs as f64 <= most).unwrap_or(CELLS) as f64 / CELLS as f64
        };
        let (near, far) = (reached_by(self.anchors.0), reached_by(self.anchors.1));
        let decades = (self.anchors.1 / share).log10() / (self.anchors.0 / self.anchors.1).log10();
        far + (far - near) * decades.max(0.0)
    }

    /// The share of random pairs, 0 to 1, that are so similar at least.
    pub fn share(&self, similarity: f64) -> f64 {
        self.above[(similarity * CELLS as f64) as usize] as f64 / self.above[0].max(1) as f64
    }

    /// The threshold for a table of so many rows: `least`, or, if chance alone leads further, the similarity that
    /// at most one unrelated pair in a hundred thousand reaches, and in all at most one for every two rows.
    /// Rounded up to hundredths, at most 0.5: where random pairs share more, most texts are near-duplicates of
    /// each other.
    pub fn threshold(&self, rows: u64, least: f64) -> f64 {
        let by_chance = self.quantile(MAY_PASS.min(1.0 / rows.max(1) as f64));
        if by_chance <= least { least } else { ((by_chance * 100.0).ceil() / 100.0).min(HIGHEST) }
    }
}

/// How many n-grams a join of texts compares in a table of so many rows, of which these are some: those of both texts for each one
/// that they share among the rarest of each, of which texts of the similarity `least` share one.
pub(super) fn steps_of_join<T: AsRef<str>>(texts: &[T], n: usize, least: f64, rows: u64) -> f64 {
    let texts: Vec<Cow<str>> =
        collect(texts[..texts.len().min(FEW)].iter().map(|text| Normal::default().form(text.as_ref())))
            .or_raise();
    let weights = Frequencies::of(texts.iter().map(AsRef::as_ref), n);
    let mut maker = Maker::new(n);
    let mut counts: FxHashMap<u64, u32> = FxHashMap::default();
    let mut looks = FxHashMap::<u64, u32>::default();
    let mut sets = collect(texts.iter().map(|text| maker.make(text).0)).or_raise();
    // Equal texts are joined once.
    interrupt::sort_and_dedup(&mut sets);
    for &gram in sets.iter().flatten() {
        *counts.of_key(gram).or_raise() += 1;
    }
    for mut grams in sets {
        grams.sort_unstable_by_key(|gram| (counts[gram], *gram));
        let by_number = (grams.len() + 1).saturating_sub((least * grams.len() as f64).ceil() as usize);
        let by_weight = weights.prefix(grams.iter().copied(), least, 0);
        for &gram in grams.iter().take(by_number.max(by_weight)) {
            *looks.of_key(gram).or_raise() += 1;
        }
    }
    let grams = counts.values().map(|&count| f64::from(count)).sum::<f64>() / texts.len().max(1) as f64;
    let looks: f64 = looks.values().map(|&count| f64::from(count) * f64::from(count - 1) / 2.0).sum();
    2.0 * grams * looks * (rows as f64 / texts.len().max(1) as f64).powi(2)
}

/// The n-grams of a text as numbers, `None` if there are none.
pub(super) fn grams(text: &str, n: usize) -> Option<Vec<u64>> {
    let mut grams = Ngrams::of(text).set(n, |gram| city64(gram.as_bytes()));
    // Many sets are kept side by side.
    grams.shrink_to_fit();
    (!grams.is_empty()).then_some(grams)
}
