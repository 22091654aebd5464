//! Why two fingerprints differ: the contribution of each feature to their Hamming distance.
//!
//! Bit `b` of a fingerprint is the sign of a sum over the features, each with its weight for or against. Where two
//! texts differ in a bit, the difference of the two sums comes from the features that they do not share: shared
//! ones of equal weight cancel out. A feature's part in a differing bit is its share of that difference; its parts
//! in all differing bits add up to its bits, and the bits of all features to the distance.
//!
//! And what two texts have in common, in a few words: the heaviest features of both, and of each alone.

use super::Bag;
use crate::fingerprint::hamming;
use crate::interrupt::{Meter, checked};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// One feature of either text.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Explained {
    /// The feature, as [`crate::features::Feature`] has it.
    pub feature: String,
    /// The whole feature.
    pub whole: Part,
    /// The part of each column of a row, by the column's position in the recipe.
    pub columns: BTreeMap<usize, Part>,
}

/// A feature, or a column's share of it, in both texts.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Part {
    /// Its weight in the first text, 0 if it is not there.
    pub weight_a: f64,
    /// Its weight in the second.
    pub weight_b: f64,
    /// The differing bits that it accounts for; negative if it counteracts the difference.
    pub bits: f64,
}

/// The whole comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Features, those with the largest contribution first.
    pub features: Vec<Explained>,
    /// The Hamming distance; `None` if a text has no fingerprint.
    pub distance: Option<u32>,
}

/// Compares two bags.
pub fn explain(a: &Bag, b: &Bag) -> Explanation {
    let mut all: BTreeMap<(&str, u64), Explained> = BTreeMap::new();
    let weight_a: fn(&mut Part) -> &mut f64 = |part| &mut part.weight_a;
    for (bag, weight_of) in [(a, weight_a), (b, |part| &mut part.weight_b)] {
        for feature in checked(bag.features()) {
            let explained = all.entry((&feature.text, feature.hash)).or_default();
            *weight_of(&mut explained.whole) = feature.weight.value();
            for &(column, weight) in &feature.columns {
                *weight_of(explained.columns.entry(column).or_default()) += weight.value();
            }
        }
    }
    let (print_a, print_b) = (a.simhash(), b.simhash());
    let differing = match (print_a, print_b) {
        (Some(x), Some(y)) => x ^ y,
        _ => 0,
    };
    let (sums_a, sums_b) = (a.sums().sums(), b.sums().sums());
    let mut features: Vec<Explained> = Vec::with_capacity(all.len());
    for ((text, hash), Explained { mut whole, mut columns, .. }) in checked(all) {
        // What one unit of weight does: a feature's part is that times the
        // weights' difference, and so is a column's share of it.
        let of_one = |bit: usize| {
            let sign = if hash >> bit & 1 == 1 { 1.0 } else { -1.0 };
            sign / (sums_b[bit] - sums_a[bit])
        };
        let of_one: f64 = (0..64).filter(|bit| differing >> bit & 1 == 1).map(of_one).sum();
        for part in columns.values_mut().chain([&mut whole]) {
            part.bits = (part.weight_b - part.weight_a) * of_one;
        }
        features.push(Explained { feature: text.to_owned(), whole, columns });
    }
    let mut meter = Meter::new();
    let order = |it: &Explained| (it.whole.bits.abs(), it.whole.weight_a + it.whole.weight_b);
    features.sort_by(|x, y| {
        meter.work(1);
        let (x, y) = (order(x), order(y));
        y.0.total_cmp(&x.0).then(y.1.total_cmp(&x.1))
    });
    Explanation { features, distance: print_a.zip(print_b).map(|(a, b)| hamming(a, b)) }
}

/// The heaviest features of two bags, by where they are found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shared {
    /// In both; the weight that counts is the smaller one.
    pub both: Vec<String>,
    /// In the first only.
    pub only_a: Vec<String>,
    /// In the second only.
    pub only_b: Vec<String>,
}

/// Compares two bags; at most `most` features in each list, the heaviest first,
/// of equal weights the longest, of those in alphabetical order.
pub fn shared(a: &Bag, b: &Bag, most: usize) -> Shared {
    let weights = |bag: &Bag| -> FxHashMap<u64, f64> {
        checked(bag.features()).map(|feature| (feature.hash, feature.weight.value())).collect()
    };
    let (in_a, in_b) = (weights(a), weights(b));
    let (mut both, mut only_a) = (Vec::new(), Vec::new());
    for feature in checked(a.features()) {
        let weight = feature.weight.value();
        match in_b.get(&feature.hash) {
            Some(&other) => both.push((weight.min(other), feature.text.as_str())),
            None => only_a.push((weight, feature.text.as_str())),
        }
    }
    let only_b = checked(b.features())
        .filter(|feature| !in_a.contains_key(&feature.hash))
        .map(|feature| (feature.weight.value(), feature.text.as_str()))
        .collect();
    Shared { both: heaviest(both, most), only_a: heaviest(only_a, most), only_b: heaviest(only_b, most) }
}

fn heaviest(mut features: Vec<(f64, &str)>, most: usize) -> Vec<String> {
    let order = |x: &(f64, &str), y: &(f64, &str)| {
        let longer = || y.1.chars().count().cmp(&x.1.chars().count());
        y.0.total_cmp(&x.0).then_with(longer).then_with(|| x.1.cmp(y.1))
    };
    if features.len() > most {
        features.select_nth_unstable_by(most, order);
        features.truncate(most);
    }
    features.sort_unstable_by(order);
    features.into_iter().map(|(_, text)| text.to_owned()).collect()
}
