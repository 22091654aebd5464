//! Why two fingerprints are as far apart as they are.
//!
//! Bit `b` of a fingerprint is the sign of a sum over the features, each with
//! its weight for or against. Where two texts differ in a bit, the difference
//! of the two sums is made by the features that they do not share: shared ones
//! of equal weight cancel out. A feature's part in a differing bit is the share
//! of that difference that it makes; its parts over all differing bits add up
//! to the bits that are its doing, and over all features to the distance.

use crate::features::Bag;
use crate::signature::{SimHash, hamming};
use std::collections::BTreeMap;

/// One feature of either text.
#[derive(Debug, Clone, PartialEq)]
pub struct Explained {
    /// The feature, with its column before it if it comes out of a row.
    pub feature: String,
    /// Its weight in the first text, 0 if it is not there.
    pub weight_a: f64,
    /// Its weight in the second.
    pub weight_b: f64,
    /// How many of the differing bits are its doing; negative if it held
    /// against the difference.
    pub bits: f64,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Features, those that did most first.
    pub features: Vec<Explained>,
    /// The Hamming distance; `None` if a text has no fingerprint.
    pub distance: Option<u32>,
    /// The fingerprints.
    pub fingerprints: (Option<u64>, Option<u64>),
    /// Jaccard's coefficient of the weighted bags: the smaller weights over
    /// the larger ones.
    pub jaccard: f64,
}

/// Compares two bags.
pub fn explain(a: &Bag, b: &Bag) -> Explanation {
    let mut all: BTreeMap<&str, (f64, f64, u64)> = BTreeMap::new();
    for feature in a.features() {
        all.entry(&feature.text).or_insert((0.0, 0.0, feature.hash)).0 = feature.weight.value();
    }
    for feature in b.features() {
        all.entry(&feature.text).or_insert((0.0, 0.0, feature.hash)).1 = feature.weight.value();
    }
    let (print_a, print_b) = (a.simhash(), b.simhash());
    let differing = match (print_a, print_b) {
        (Some(x), Some(y)) => x ^ y,
        _ => 0,
    };
    let (sums_a, sums_b) = (sums(a), sums(b));
    let (mut smaller, mut larger) = (0.0, 0.0);
    let mut features: Vec<Explained> = Vec::with_capacity(all.len());
    for (text, (weight_a, weight_b, hash)) in all {
        smaller += weight_a.min(weight_b);
        larger += weight_a.max(weight_b);
        let part = |bit: usize| {
            let sign = if hash >> bit & 1 == 1 { 1.0 } else { -1.0 };
            sign * (weight_b - weight_a) / (sums_b[bit] - sums_a[bit])
        };
        let bits = (0..64).filter(|bit| differing >> bit & 1 == 1).map(part).sum();
        features.push(Explained { feature: text.to_owned(), weight_a, weight_b, bits });
    }
    features.sort_by(|x, y| {
        y.bits
            .abs()
            .total_cmp(&x.bits.abs())
            .then((y.weight_a + y.weight_b).total_cmp(&(x.weight_a + x.weight_b)))
    });
    Explanation {
        features,
        distance: print_a.zip(print_b).map(|(a, b)| hamming(a, b)),
        fingerprints: (print_a, print_b),
        jaccard: if larger > 0.0 { smaller / larger } else { 0.0 },
    }
}

fn sums(bag: &Bag) -> [f64; 64] {
    let mut sums = SimHash::new();
    bag.features().iter().for_each(|feature| sums.add(feature.hash, feature.weight));
    sums.sums()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::{Extractor, TextRecipe};
    use proptest::prelude::*;

    fn compare(a: &str, b: &str) -> Explanation {
        let recipe = TextRecipe::default();
        explain(&Extractor::new().bag(a, &recipe), &Extractor::new().bag(b, &recipe))
    }

    #[test]
    fn equal_texts_differ_in_nothing() {
        let same = compare("小区停水三天", "小区停水，三天！");
        assert_eq!((same.distance, same.jaccard), (Some(0), 1.0));
        assert!(same.features.iter().all(|f| f.bits == 0.0 && f.weight_a == f.weight_b));
        assert_eq!(compare("", "停水").distance, None);
        assert_eq!(compare("", "").jaccard, 0.0);
    }

    proptest! {
        /// The parts of all features are the distance, and what both texts
        /// have alike has no part.
        #[test]
        fn parts_add_up(a in "[水停电小区业主天]{1,30}", b in "[水停电小区业主天]{1,30}") {
            let compared = compare(&a, &b);
            let total: f64 = compared.features.iter().map(|f| f.bits).sum();
            prop_assert!((total - f64::from(compared.distance.unwrap())).abs() < 1e-6);
            let alike = compared.features.iter().filter(|f| f.weight_a == f.weight_b);
            prop_assert!(alike.clone().all(|f| f.bits == 0.0));
        }
    }
}
