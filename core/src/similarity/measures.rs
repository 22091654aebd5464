//! Jaccard similarity and containment of two texts, from 0 to 1.
//!
//! A text without any feature (empty, or nothing but punctuation) has similarity 0 to every text, itself
//! included.

use super::overlap::Overlap;
use crate::hash::city64;
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

fn overlap(a: &str, b: &str, n: usize) -> Overlap {
    let (a, b) = (Ngrams::of(a), Ngrams::of(b));
    if n <= PACKED {
        Overlap::of_sorted(&a.set(n, pack), &b.set(n, pack))
    } else {
        Overlap::of_sorted(&a.set(n, |gram| gram), &b.set(n, |gram| gram))
    }
}
