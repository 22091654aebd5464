//! What two texts have in common, in a few words: the heaviest features of both, and of each alone.

use super::bag::Bag;
use crate::interrupt::checked;
use rustc_hash::FxHashMap;

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
