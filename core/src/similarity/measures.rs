//! Jaccard similarity, containment and cosine of two texts, from 0 to 1.
//!
//! A text without any feature (empty, or nothing but punctuation) has similarity 0 to every text, itself
//! included.

use super::overlap::{Overlap, merge};
use crate::features::{Bag, Extractor, TextRecipe};
use crate::hash::city64;
use crate::interrupt::{self, checked};
use crate::memory::{self, OrRaise};
use crate::text::{Ngrams, PACKED, pack};

/// Jaccard's coefficient of the sets of character `n`-grams of the normal forms: what both have
/// over what either has.
pub fn jaccard(a: &str, b: &str, n: usize) -> f64 {
    overlap(a, b, n).jaccard()
}

/// The share of the character `n`-grams of `a` that `b` has too: 1 for a text quoted whole in
/// another.
pub fn containment(a: &str, b: &str, n: usize) -> f64 {
    overlap(a, b, n).containment()
}

/// The set of character `n`-grams of the normal form as numbers, in ascending order: by these an index finds similar texts.
pub fn numbers(text: &str, n: usize) -> Vec<i64> {
    let ngrams = Ngrams::of(text);
    let hash = |gram: &str| if n <= PACKED { pack(gram) } else { city64(gram.as_bytes()) };
    ngrams.set(n, |gram| hash(gram).cast_signed())
}

/// The cosine of the weighted bags of features that a recipe makes of the two texts.
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

fn overlap(a: &str, b: &str, n: usize) -> Overlap {
    let (a, b) = (Ngrams::of(a), Ngrams::of(b));
    if n <= PACKED {
        Overlap::of_sorted(&a.set(n, pack), &b.set(n, pack))
    } else {
        Overlap::of_sorted(&a.set(n, |gram| gram), &b.set(n, |gram| gram))
    }
}
