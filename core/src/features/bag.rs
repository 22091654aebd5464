//! A bag of features with their texts, for explanation.

use crate::fingerprint::{SimHash, Weight};
use crate::interrupt;
use crate::memory::{self, OrRaise, Room};
use rustc_hash::FxHashMap;

/// One feature of a text or row.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// What was hashed: a token of running text, or the whole value of a
    /// column with the column's name before it (`title=…`).
    pub text: String,
    /// Its weight over all its occurrences.
    pub weight: Weight,
    /// Its hash.
    pub hash: u64,
    /// The columns it comes from, by their place in the row's recipe, and its
    /// weight in each; empty if it comes out of a single text.
    pub columns: Vec<(usize, Weight)>,
}

/// Features with their texts, each once, in the order of first appearance.
#[derive(Debug, Default)]
pub struct Bag {
    features: Vec<Feature>,
    /// Where the feature with a hash is: equal hashes are one feature to the fingerprint.
    index: FxHashMap<u64, usize>,
}

impl Bag {
    /// Adds `weight` to the feature `text`, which comes from `column`.
    pub(crate) fn add(&mut self, column: Option<usize>, text: &str, hash: u64, weight: Weight) {
        self.index.room(1).or_raise();
        let at = *self.index.entry(hash).or_insert_with(|| {
            self.features.room(1).or_raise();
            // Longer than what it comes from where a document is deep: each of its leaves carries the path.
            let text = memory::copy_str(text).or_raise();
            self.features.push(Feature { text, weight: Weight::ZERO, hash, columns: Vec::new() });
            self.features.len() - 1
        });
        let feature = &mut self.features[at];
        feature.weight = feature.weight.plus(weight);
        let Some(column) = column else { return };
        match feature.columns.iter_mut().find(|(known, _)| *known == column) {
            Some((_, sum)) => *sum = sum.plus(weight),
            None => feature.columns.push((column, weight)),
        }
    }

    /// Adds the features of a column as this share of the whole: of the squares of all weights, which is what a column
    /// has of the cosine of two rows.
    pub(crate) fn add_share(&mut self, at: usize, column: &Bag, share: f64) {
        /// All weights together: far above the step of a weight.
        const WHOLE: f64 = 1000.0;
        let squares: f64 = column.features.iter().map(|feature| feature.weight.value().powi(2)).sum();
        if squares > 0.0 {
            let scale = WHOLE * (share / squares).sqrt();
            for feature in interrupt::checked(&column.features) {
                let weight = Weight::saturating(feature.weight.value() * scale);
                self.add(Some(at), &feature.text, feature.hash, weight);
            }
        }
    }

    /// The features, in the order of first appearance.
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The features, heaviest first; equal weights in order of appearance.
    pub fn into_heaviest_first(self) -> Vec<Feature> {
        let mut features = self.features;
        memory::ensure(size_of_val(&features[..])).or_raise();
        let mut meter = interrupt::Meter::new();
        features.sort_by(|x, y| {
            meter.work(1);
            y.weight.cmp(&x.weight)
        });
        features
    }

    /// The SimHash of the bag.
    pub fn simhash(&self) -> Option<u64> {
        self.sums().finish()
    }

    pub(super) fn sums(&self) -> SimHash {
        let mut sums = SimHash::new();
        interrupt::checked(&self.features).for_each(|feature| sums.add(feature.hash, feature.weight));
        sums
    }
}
