//! Similarity of the texts themselves, to verify what fingerprints propose.
//!
//! Exact: nothing is hashed or sampled. All three are between 0 and 1, and a text without any
//! feature (empty, or nothing but punctuation) is similar to nothing, itself included: empty never
//! equals empty.

use crate::features::{Bag, Extractor, TextRecipe};
use crate::interrupt::{self, Meter, checked};
use crate::memory::{self, OrRaise, Room};
use crate::text::{char_ngrams, compact, normalize};
use std::cmp::Ordering;

/// Runs of so many characters fit into one number, 21 bits a character.
const PACKED: usize = 3;

/// Sizes of two sets and of what they share.
struct Overlap {
    left: usize,
    right: usize,
    shared: usize,
}

/// Jaccard's coefficient of the sets of character `n`-grams of the normal forms: what both have
/// over what either has.
///
/// ```
/// use dedup_core::signature::jaccard;
/// assert_eq!(jaccard("小区停水三天", "小区停水两天", 2), 3.0 / 7.0);
/// assert_eq!(jaccard("Same text.", "same  TEXT!", 2), 1.0);
/// assert_eq!(jaccard("", "…", 2), 0.0);
/// ```
pub fn jaccard(a: &str, b: &str, n: usize) -> f64 {
    let overlap = overlap(a, b, n);
    ratio(overlap.shared, overlap.left + overlap.right - overlap.shared)
}

/// The share of the character `n`-grams of `a` that `b` has too: 1 for a text quoted whole in
/// another.
///
/// ```
/// use dedup_core::signature::containment;
/// assert_eq!(containment("小区停水", "我们小区停水三天", 2), 1.0);
/// assert_eq!(containment("我们小区停水三天", "小区停水", 2), 3.0 / 7.0);
/// ```
pub fn containment(a: &str, b: &str, n: usize) -> f64 {
    let overlap = overlap(a, b, n);
    ratio(overlap.shared, overlap.left)
}

/// The cosine of the weighted bags of features that a recipe makes of the two texts.
///
/// ```
/// use dedup_core::{features::TextRecipe, signature::cosine};
/// let recipe = TextRecipe::default();
/// assert_eq!(cosine("小区停水", "小区停水！", &recipe), 1.0);
/// assert_eq!(cosine("小区停水", "opening hours", &recipe), 0.0);
/// ```
pub fn cosine(a: &str, b: &str, recipe: &TextRecipe) -> f64 {
    let mut extractor = Extractor::new();
    let (a, b) = (weighted(&extractor.bag(a, recipe)), weighted(&extractor.bag(b, recipe)));
    let square = |bag: &[(String, f64)]| checked(bag).map(|(_, weight)| weight * weight).sum::<f64>();
    let lengths = (square(&a) * square(&b)).sqrt();
    if lengths == 0.0 {
        return 0.0;
    }
    let mut product = 0.0;
    merge(&a, &b, |x, y| x.0.cmp(&y.0), |x, y| product += x.1 * y.1);
    (product / lengths).clamp(0.0, 1.0)
}

fn weighted(bag: &Bag) -> Vec<(String, f64)> {
    let features = checked(bag.features()).map(|feature| (feature.text.clone(), feature.weight.value()));
    let mut features = memory::collect(features).or_raise();
    interrupt::sort_unstable_by(&mut features, |x, y| x.0.cmp(&y.0));
    features
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn overlap(a: &str, b: &str, n: usize) -> Overlap {
    let compacted = |text| {
        let mut out = String::new();
        compact(&normalize(text), &mut out);
        out
    };
    let (a, b) = (compacted(a), compacted(b));
    let n = n.max(1);
    if n <= PACKED {
        // A short text is one run of itself; the packed form keeps its length apart, for no character
        // that a normal form holds is 0.
        let pack = |gram: &str| gram.chars().fold(0u64, |packed, c| packed << 21 | u64::from(c));
        return overlap_of(&set(&a, n, pack), &set(&b, n, pack));
    }
    overlap_of(&set(&a, n, |gram| gram), &set(&b, n, |gram| gram))
}

fn set<'a, T: Ord>(text: &'a str, n: usize, make: impl Fn(&'a str) -> T) -> Vec<T> {
    let mut grams = Vec::new();
    grams.room(text.len() / 3 + 1).or_raise();
    char_ngrams(text, n, |gram| {
        grams.room(1).or_raise();
        grams.push(make(gram));
    });
    interrupt::sort_and_dedup(&mut grams);
    grams
}

fn overlap_of<T: Ord>(a: &[T], b: &[T]) -> Overlap {
    let mut shared = 0;
    merge(a, b, T::cmp, |_, _| shared += 1);
    Overlap { left: a.len(), right: b.len(), shared }
}

/// Calls `both` for every element that two sorted lists without repetitions share.
fn merge<T>(a: &[T], b: &[T], compare: impl Fn(&T, &T) -> Ordering, mut both: impl FnMut(&T, &T)) {
    let (mut i, mut j, mut meter) = (0, 0, Meter::new());
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        meter.work(1);
        let order = compare(x, y);
        if order.is_eq() {
            both(x, y);
        }
        i += usize::from(order.is_le());
        j += usize::from(order.is_ge());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn grams(text: &str, n: usize) -> HashSet<Vec<char>> {
        let chars: Vec<char> = normalize(text).chars().filter(|c| *c != ' ').collect();
        if chars.is_empty() {
            return HashSet::new();
        }
        if chars.len() < n {
            return HashSet::from([chars]);
        }
        chars.windows(n).map(<[char]>::to_vec).collect()
    }

    proptest! {
        /// The definitions, over sets of vectors of characters, packed or not.
        #[test]
        fn equal_their_definitions(a in "[ab水区， 😀]{0,14}", b in "[ab水区， 😀]{0,14}", n in 1usize..6) {
            let (x, y) = (grams(&a, n), grams(&b, n));
            let (shared, all) = (x.intersection(&y).count(), x.union(&y).count());
            prop_assert_eq!(jaccard(&a, &b, n), ratio(shared, all));
            prop_assert_eq!(containment(&a, &b, n), ratio(shared, x.len()));
        }

        /// Symmetric, between 0 and 1, and 1 of a text with itself unless it is empty.
        #[test]
        fn cosine_is_a_similarity(a in "[ab水区停， ]{0,20}", b in "[ab水区停， ]{0,20}") {
            let recipe = TextRecipe::default();
            let similarity = cosine(&a, &b, &recipe);
            prop_assert!((0.0..=1.0).contains(&similarity));
            prop_assert!((similarity - cosine(&b, &a, &recipe)).abs() < 1e-12);
            let itself = f64::from(u8::from(!normalize(&a).is_empty()));
            prop_assert!((cosine(&a, &a, &recipe) - itself).abs() < 1e-12);
        }
    }

    #[test]
    fn cosine_of_known_bags() {
        let recipe = TextRecipe::from_json(&serde_json::json!({"tokens": "words"})).unwrap();
        // (1, 2) and (1, 1): 3 / sqrt(5 * 2).
        assert!((cosine("a b b", "a b", &recipe) - 3.0 / 10f64.sqrt()).abs() < 1e-12);
    }
}
