//! All pairs of texts whose sets of character n-grams are similar, exactly.
//!
//! For short texts this is the better way: where one changed character turns
//! fifteen bits of a fingerprint, no radius is both safe and wide enough, while
//! the sets are small and their rare members tell at once who can be alike.
//!
//! The method is the prefix filter (Chaudhuri, Ganti and Kaushik 2006; Bayardo,
//! Ma and Srikant 2007; Xiao and others 2008). N-grams are numbered from the
//! rarest to the most frequent. Two sets of a Jaccard coefficient of at least t
//! must share an n-gram among the first |x| - ceil(t |x|) + 1 of each; their
//! sizes differ at most by the factor t; and what is left after the shared one
//! bounds what they can share at all. What passes, and agrees well enough in a
//! 128-bit sketch of its members, is compared.

use crate::text::{char_ngrams, compact, normalize_into};
use rustc_hash::FxHashMap;
use std::ops::ControlFlow;

/// Two texts that are alike.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarPair {
    /// Number of the text that came first.
    pub a: usize,
    /// Number of the other.
    pub b: usize,
    /// Jaccard's coefficient of their n-grams.
    pub similarity: f64,
}

struct Set {
    text: usize,
    /// N-grams by rank, the rarest first.
    grams: Box<[u32]>,
    sketch: u128,
}

/// Calls `sink` with every pair of `texts` whose character `n`-grams have a
/// Jaccard coefficient of at least `threshold`, each once, until it breaks. A
/// text without any n-gram is in no pair.
///
/// `threshold` is above 0 and at most 1.
pub fn similar_pairs<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    n: usize,
    threshold: f64,
    mut sink: impl FnMut(SimilarPair) -> ControlFlow<()>,
) {
    let sets = ranked_sets(texts, n);
    // Who has this n-gram in its prefix.
    let mut holders: FxHashMap<u32, Vec<Holder>> = FxHashMap::default();
    let mut seen = vec![false; sets.len()];
    let mut candidates: Vec<u32> = Vec::new();
    for (at, x) in sets.iter().enumerate() {
        let size = x.grams.len();
        let smallest = at_least(threshold * size as f64);
        let prefix = size - smallest + 1;
        for (position, gram) in x.grams[..prefix].iter().enumerate() {
            let Some(list) = holders.get(gram) else { continue };
            // Sets come in order of size: those too small are at the front.
            let first = list.partition_point(|holder| (holder.size as usize) < smallest);
            for holder in &list[first..] {
                let needed = overlap_needed(threshold, size, holder.size as usize);
                let apart = (x.sketch ^ holder.sketch).count_ones() as usize;
                if size + (holder.size as usize) < 2 * needed + apart {
                    continue;
                }
                // A set that was here before shares a rarer n-gram too, so
                // only the first meeting bounds what is left to share.
                let rest = (size - position).min(holder.size as usize - holder.position as usize);
                if !seen[holder.set as usize] && rest >= needed {
                    seen[holder.set as usize] = true;
                    candidates.push(holder.set);
                }
            }
        }
        for y in candidates.drain(..) {
            seen[y as usize] = false;
            let other = &sets[y as usize];
            let needed = overlap_needed(threshold, size, other.grams.len());
            let Some(overlap) = overlap(&x.grams, &other.grams, needed) else { continue };
            let similarity = overlap as f64 / (size + other.grams.len() - overlap) as f64;
            if similarity >= threshold {
                let (a, b) = (x.text.min(other.text), x.text.max(other.text));
                if sink(SimilarPair { a, b, similarity }).is_break() {
                    return;
                }
            }
        }
        for (position, gram) in x.grams[..prefix].iter().enumerate() {
            holders.entry(*gram).or_default().push(Holder {
                set: at as u32,
                size: size as u32,
                position: position as u32,
                sketch: x.sketch,
            });
        }
    }
}

/// A set in the list of an n-gram: with all that rejects most of them, so that
/// the set itself need not be looked up.
struct Holder {
    set: u32,
    size: u32,
    position: u32,
    sketch: u128,
}

/// The smallest whole number that is not below `bound`, despite rounding.
fn at_least(bound: f64) -> usize {
    (bound - 1e-9).ceil().max(1.0) as usize
}

/// How much two sets of these sizes must share: J >= t means
/// overlap >= t / (1 + t) of the sum.
fn overlap_needed(threshold: f64, x: usize, y: usize) -> usize {
    at_least(threshold / (1.0 + threshold) * (x + y) as f64)
}

/// How much two sets share, `None` as soon as it cannot be `needed`.
fn overlap(a: &[u32], b: &[u32], needed: usize) -> Option<usize> {
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        if shared + (a.len() - i).min(b.len() - j) < needed {
            return None;
        }
        shared += usize::from(a[i] == b[j]);
        let (x, y) = (a[i], b[j]);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    (shared >= needed).then_some(shared)
}

/// The sets, the smallest first, their n-grams numbered by rising frequency.
fn ranked_sets<'a>(texts: impl IntoIterator<Item = &'a str>, n: usize) -> Vec<Set> {
    let mut numbers: FxHashMap<Box<str>, u32> = FxHashMap::default();
    let mut frequency: Vec<u32> = Vec::new();
    let (mut normal, mut compacted) = (String::new(), String::new());
    let mut sets = Vec::new();
    for (text, content) in texts.into_iter().enumerate() {
        normalize_into(content, &mut normal);
        compact(&normal, &mut compacted);
        let mut grams: Vec<u32> = Vec::new();
        char_ngrams(&compacted, n.max(1), |gram| {
            let next = frequency.len() as u32;
            let number = match numbers.get(gram) {
                Some(&number) => number,
                None => {
                    numbers.insert(gram.into(), next);
                    frequency.push(0);
                    next
                }
            };
            grams.push(number);
        });
        grams.sort_unstable();
        grams.dedup();
        grams.iter().for_each(|&gram| frequency[gram as usize] += 1);
        if !grams.is_empty() {
            sets.push(Set { text, grams: grams.into(), sketch: 0 });
        }
    }
    drop(numbers);
    let mut order: Vec<u32> = (0..frequency.len() as u32).collect();
    order.sort_unstable_by_key(|&gram| (frequency[gram as usize], gram));
    let mut rank = vec![0u32; order.len()];
    order.iter().enumerate().for_each(|(at, &gram)| rank[gram as usize] = at as u32);
    for set in &mut sets {
        set.grams.iter_mut().for_each(|gram| *gram = rank[*gram as usize]);
        set.grams.sort_unstable();
        let bit = |gram: &u32| u64::from(*gram).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 57;
        // Toggled: the number of differing bits never exceeds the number of
        // members that only one of two sets has.
        set.sketch = set.grams.iter().fold(0, |sketch, gram| sketch ^ 1u128 << bit(gram));
    }
    sets.sort_by_key(|set| set.grams.len());
    sets
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::jaccard;
    use proptest::prelude::*;

    fn pairs(texts: &[String], n: usize, threshold: f64) -> Vec<(usize, usize, f64)> {
        let mut all = Vec::new();
        similar_pairs(texts.iter().map(String::as_str), n, threshold, |pair| {
            all.push((pair.a, pair.b, pair.similarity));
            ControlFlow::Continue(())
        });
        all.sort_by_key(|&(a, b, _)| (a, b));
        all
    }

    proptest! {
        /// Exactly the pairs that comparing every text with every other finds.
        #[test]
        fn equals_all_against_all(
            texts in prop::collection::vec("[水停电小区a，]{0,9}", 0..40),
            n in 1usize..4,
            threshold in prop::sample::select(vec![0.1, 0.25, 0.5, 2.0 / 3.0, 0.8, 1.0]),
        ) {
            let mut expected = Vec::new();
            for b in 0..texts.len() {
                for a in 0..b {
                    let similarity = jaccard(&texts[a], &texts[b], n);
                    if similarity >= threshold {
                        expected.push((a, b, similarity));
                    }
                }
            }
            expected.sort_by_key(|&(a, b, _)| (a, b));
            prop_assert_eq!(pairs(&texts, n, threshold), expected);
        }
    }

    #[test]
    fn stops_when_told() {
        let texts = ["停水", "停水", "停水"];
        let mut calls = 0;
        similar_pairs(texts, 2, 0.5, |_| {
            calls += 1;
            ControlFlow::Break(())
        });
        assert_eq!(calls, 1);
    }
}
