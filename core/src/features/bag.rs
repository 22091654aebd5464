//! A bag of features that can be looked at.

use crate::signature::{SimHash, Weight};
use std::collections::HashMap;

/// One feature of a text or row.
#[derive(Debug, Clone, PartialEq)]
pub struct Feature {
    /// What was hashed: a token, with its column's name before it
    /// (`title=…`) if it comes out of a row.
    pub text: String,
    /// Its weight over all its occurrences.
    pub weight: Weight,
    /// Its hash.
    pub hash: u64,
}

/// Features with their texts, each once, in the order of first appearance.
#[derive(Debug, Default)]
pub struct Bag {
    features: Vec<Feature>,
    index: HashMap<String, usize>,
}

impl Bag {
    /// Adds `weight` to the feature `text`.
    pub(crate) fn add(&mut self, text: &str, hash: u64, weight: Weight) {
        match self.index.get(text) {
            Some(&at) => self.features[at].weight = self.features[at].weight.plus(weight),
            None => {
                self.index.insert(text.to_owned(), self.features.len());
                self.features.push(Feature { text: text.to_owned(), weight, hash });
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
        features.sort_by_key(|feature| std::cmp::Reverse(feature.weight));
        features
    }

    /// The SimHash of the bag.
    pub fn simhash(&self) -> Option<u64> {
        let mut sums = SimHash::new();
        self.features.iter().for_each(|feature| sums.add(feature.hash, feature.weight));
        sums.finish()
    }
}
