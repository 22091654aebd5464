//! What two sets or multisets share; Jaccard similarity and containment of two texts, from 0 to 1.
//!
//! A text without any feature (empty, or nothing but punctuation) has similarity 0 to every text, itself
//! included.

use crate::hash::city64;
use crate::interrupt::{self, Meter};
use crate::text::{Ngrams, PACKED, pack};

/// What two multisets have and share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Overlap {
    /// Elements of the first.
    pub left: usize,
    /// Elements of the second.
    pub right: usize,
    /// Elements of both.
    pub shared: usize,
}

impl Overlap {
    /// Of two sets: an element counts once however often it is given.
    pub fn of_sets<T: Ord>(mut a: Vec<T>, mut b: Vec<T>) -> Overlap {
        [&mut a, &mut b].into_iter().for_each(interrupt::sort_and_dedup);
        Overlap::of_sorted(&a, &b)
    }

    /// Of two multisets: an element counts as often as it is given.
    pub fn of_multisets<T: Ord>(mut a: Vec<T>, mut b: Vec<T>) -> Overlap {
        [&mut a, &mut b].into_iter().for_each(|list| interrupt::sort_unstable_by(list, T::cmp));
        Overlap::of_sorted(&a, &b)
    }

    /// Of two sorted lists; equal elements are matched one to one.
    pub fn of_sorted<T: Ord>(a: &[T], b: &[T]) -> Overlap {
        Overlap { left: a.len(), right: b.len(), shared: shared(a, b, 0).unwrap_or_default() }
    }

    /// What both have over what either has, 0 to 1; of multisets this is
    /// `Σ min / Σ max`. 0 if one is empty.
    pub fn jaccard(&self) -> f64 {
        ratio(self.shared, self.left + self.right - self.shared)
    }

    /// The share, 0 to 1, of the first that the second has too; 0 if the
    /// first is empty.
    pub fn containment(&self) -> f64 {
        ratio(self.shared, self.left)
    }
}

/// The smallest whole number that is not below `bound`, despite rounding.
pub(super) fn at_least(bound: f64) -> usize {
    (bound - 1e-9).ceil().max(1.0) as usize
}

/// The members of a set of this size that another one must have for their Jaccard coefficient to reach `threshold`: what
/// both have over what either has is no more than what both have over the one.
pub fn least_shared(threshold: f64, size: usize) -> usize {
    at_least(threshold * size as f64)
}

/// The overlap that two sets of these sizes need: J >= t means overlap >= t / (1 + t) of the sum.
pub(super) fn overlap_needed(threshold: f64, x: usize, y: usize) -> usize {
    at_least(threshold / (1.0 + threshold) * (x + y) as f64)
}

/// The overlap of two sorted sets or multisets, `None` as soon as it cannot reach `needed`.
pub(super) fn shared<T: Ord>(a: &[T], b: &[T], needed: usize) -> Option<usize> {
    /// Steps between two looks at what is left.
    const STEPS: usize = 32;
    let (mut i, mut j, mut shared, mut meter) = (0, 0, 0, Meter::new());
    loop {
        let left = (a.len() - i).min(b.len() - j);
        if shared + left < needed {
            return None;
        }
        if left == 0 {
            return Some(shared);
        }
        // A step goes on by one in each at most.
        for _ in 0..left.min(STEPS) {
            let (x, y) = (&a[i], &b[j]);
            shared += usize::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        meter.work(STEPS);
    }
}

fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What is given up early could not have been reached.
        #[test]
        fn the_early_end_is_right(
            a in prop::collection::btree_set(0u8..200, 0..150),
            b in prop::collection::btree_set(0u8..200, 0..150),
            needed in 0usize..160,
        ) {
            let both = a.intersection(&b).count();
            let (a, b): (Vec<u8>, Vec<u8>) = (a.into_iter().collect(), b.into_iter().collect());
            prop_assert_eq!(shared(&a, &b, needed), (both >= needed).then_some(both));
        }

        #[test]
        fn multisets_equal_their_definition(a in prop::collection::vec(0u8..5, 0..12), b in prop::collection::vec(0u8..5, 0..12)) {
            let count = |list: &[u8], x: u8| list.iter().filter(|&&y| y == x).count();
            let sum = |pick: fn(usize, usize) -> usize| (0..5).map(|x| pick(count(&a, x), count(&b, x))).sum::<usize>();
            let expected = ratio(sum(usize::min), sum(usize::max));
            prop_assert_eq!(Overlap::of_multisets(a.clone(), b.clone()).jaccard(), expected);
        }
    }
}
