//! Sketches of sets: what two sets cannot share, told by a few words of each.
//!
//! Every member toggles one bit, chosen by a hash, so no more bits differ than there are members that only one of two sets
//! has: counting them bounds what the sets share from above. Nothing is lost: a pair that is ruled out is not similar
//! enough, whatever the hash does.

use super::overlap::overlap_needed;
use crate::hash::GOLDEN;

/// Bits per member at least, of a sketch that is not bounded otherwise.
const BITS: usize = 4;

/// The number of words, a power of two, of the sketch of a set of `size` members; `most` at most, if that is one.
pub(crate) fn words(size: usize, most: usize) -> usize {
    (size * BITS).div_ceil(64).next_power_of_two().min(most)
}

/// The bit of a member in a sketch of so many words, at most 1,024: from the high bits of a product, on which all of the
/// member tells. In half as many words it is that modulo their bits: a sketch becomes a smaller one by joining its halves.
#[inline]
pub(super) fn bit(member: u64, words: usize) -> usize {
    (member.wrapping_mul(GOLDEN) >> 48) as usize & (64 * words - 1)
}

#[inline]
pub(crate) fn add(sketch: &mut [u64], member: u64) {
    let bit = bit(member, sketch.len());
    sketch[bit / 64] ^= 1 << (bit % 64);
}

/// A set as the filter sees it: its size and sketch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sketched<'a> {
    pub size: usize,
    pub sketch: &'a [u64],
}

/// Whether the Jaccard coefficient of two sets may reach `threshold`.
pub(crate) fn may_reach(threshold: f64, a: Sketched<'_>, b: Sketched<'_>) -> bool {
    if a.size == 0 || b.size == 0 {
        return false;
    }
    let needed = overlap_needed(threshold, a.size, b.size);
    if a.size.min(b.size) < needed {
        return false;
    }
    let apart = if a.sketch.len() <= b.sketch.len() {
        differing(a.sketch, b.sketch)
    } else {
        differing(b.sketch, a.sketch)
    };
    a.size + b.size >= 2 * needed + apart
}

/// How many bits differ; `b` has as many words as `a` or a multiple.
#[inline]
fn differing(a: &[u64], b: &[u64]) -> usize {
    if a.len() == b.len() {
        return a.iter().zip(b).map(|(x, y)| (x ^ y).count_ones() as usize).sum();
    }
    let folded = |at: usize| b[at..].iter().step_by(a.len()).fold(0, |joined, word| joined ^ word);
    a.iter().enumerate().map(|(at, x)| (x ^ folded(at)).count_ones() as usize).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn sketch(set: &BTreeSet<u64>, most: usize) -> Vec<u64> {
        let mut sketch = vec![0; words(set.len(), most)];
        set.iter().for_each(|&member| add(&mut sketch, member));
        sketch
    }

    proptest! {
        /// No pair that reaches the threshold is ruled out, whatever the sizes of the sketches.
        #[test]
        fn nothing_similar_is_ruled_out(
            a in prop::collection::btree_set(0u64..300, 0..200),
            b in prop::collection::btree_set(0u64..300, 0..200),
            same in 0u64..300,
            (x, y) in (0u32..5, 0u32..5),
            threshold in 0.01f64..1.0,
        ) {
            // A part is the same in both, so that all coefficients occur.
            let of = |own: &BTreeSet<u64>| own.iter().map(|m| m + 1000).filter(|m| *m >= 1000 + same).chain(0..same).collect();
            let (a, b): (BTreeSet<u64>, BTreeSet<u64>) = (of(&a), of(&b));
            let both = a.intersection(&b).count() as f64;
            let jaccard = both / ((a.len() + b.len()) as f64 - both).max(1.0);
            let (x, y) = (sketch(&a, 1 << x), sketch(&b, 1 << y));
            let may = may_reach(threshold, Sketched { size: a.len(), sketch: &x }, Sketched { size: b.len(), sketch: &y });
            prop_assert!(may || jaccard < threshold);
        }
    }

    /// Protects what the sketch is for: sets that share a quarter are told apart without a look at them.
    #[test]
    fn most_others_are_ruled_out() {
        let mut random = crate::random::SplitMix64::new(1);
        let all: Vec<u64> = (0..320).map(|_| random.next()).collect();
        let (a, b): (BTreeSet<u64>, BTreeSet<u64>) =
            (all[..200].iter().copied().collect(), all[120..].iter().copied().collect());
        let (x, y) = (sketch(&a, 64), sketch(&b, 64));
        let of = |sketch| Sketched { size: 200, sketch };
        assert!(!may_reach(0.5, of(&x), of(&y)) && may_reach(0.25, of(&x), of(&y)));
    }
}
