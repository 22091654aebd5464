//! Shingling (Broder 1997): a text as the set of its runs of `w` words, L - w + 1
//! of them (P1, P2), compared by Jaccard similarity ("resemblance") and
//! containment ([`dedup_core::similarity::Overlap`]).
//!
//! Two ways to reduce the sets: DSC keeps the shingles whose hash is 0
//! modulo `m`; DSC-SS, super-shingles, takes runs of what DSC kept, in the
//! order of the hashes, so that one equal value stands for many equal
//! shingles, and candidates are found by equality.

use super::terms::words;
use dedup_core::hash::city64;
use dedup_core::interrupt::{self, Meter};
use rustc_hash::FxHashSet;

/// The different shingles of `w` words of a text, in the order in which they
/// first appear, words separated by one space. A text of fewer words is one
/// shingle of them all; a text without words has none. `w` is at least 1.
///
/// ```
/// use dedup_detectors::shingle::shingles;
/// assert_eq!(shingles("A rose is a rose is a rose.", 4), ["a rose is a", "rose is a rose", "is a rose is"]);
/// ```
pub fn shingles(content: &str, w: usize) -> Vec<String> {
    let (mut seen, mut all) = (FxHashSet::default(), Vec::new());
    each(content, w, |shingle| {
        if seen.insert(city64(shingle.as_bytes())) {
            all.push(shingle.to_owned());
        }
    });
    all
}

/// The hashes (CityHash64) of the shingles, those that are 0 modulo `modulus`
/// only, in ascending order, each once. With modulus 1 that is all of them;
/// with `m` it is a sample of 1/m of the set, the same shingles out of every
/// text, so samples estimate resemblance and containment. A short text may
/// have an empty sample.
pub fn hashes(content: &str, w: usize, modulus: u64) -> Vec<u64> {
    let mut all = Vec::new();
    each(content, w, |shingle| {
        let hash = city64(shingle.as_bytes());
        if hash.is_multiple_of(modulus.max(1)) {
            all.push(hash);
        }
    });
    interrupt::sort_and_dedup(&mut all);
    all
}

/// The super-shingles of a sample in ascending order (as [`hashes`] gives
/// it): one hash for each run of `size` neighbours. Fewer than `size` are one
/// run; an empty sample has none.
pub fn super_shingles(sample: &[u64], size: usize) -> Vec<u64> {
    let mut meter = Meter::new();
    let mut hash = |run: &[u64]| {
        meter.work(1 + run.len());
        let bytes: Vec<u8> = run.iter().flat_map(|hash| hash.to_le_bytes()).collect();
        city64(&bytes)
    };
    let mut all: Vec<u64> = match sample.len() {
        0 => Vec::new(),
        length if length < size => vec![hash(sample)],
        _ => sample.windows(size.max(1)).map(hash).collect(),
    };
    interrupt::sort_and_dedup(&mut all);
    all
}

/// Calls `each` with every shingle, in order, repetitions included.
fn each(content: &str, w: usize, mut each: impl FnMut(&str)) {
    // The words one after the other, and where each begins and ends.
    let (mut joined, mut bounds) = (String::new(), Vec::new());
    words(content, |word| {
        if !joined.is_empty() {
            joined.push(' ');
        }
        bounds.push((joined.len(), joined.len() + word.len()));
        joined.push_str(word);
    });
    if !bounds.is_empty() && bounds.len() < w {
        each(&joined);
    }
    let mut meter = Meter::new();
    bounds.windows(w.max(1)).for_each(|run| {
        meter.work(4 + w);
        each(&joined[run[0].0..run[run.len() - 1].1]);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terms::word_list;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn short_and_empty_texts() {
        assert_eq!(shingles("停水", 3), ["停水"]);
        assert_eq!(shingles("！", 3), [""; 0]);
        assert_eq!(super_shingles(&[], 3), [0; 0]);
    }

    /// CityHash64 of the runs, eight bytes a number with the little end first,
    /// computed by another implementation.
    #[test]
    fn super_shingles_are_hashes_of_runs() {
        let runs = [4_637_341_837_814_698_137, 10_400_429_121_076_899_341, 11_704_152_771_153_838_323];
        assert_eq!(super_shingles(&[1, 2, 3, 4], 2), runs);
        assert_eq!(super_shingles(&[1, 2, 3, 4], 3), [1_466_896_019_045_356_643, 11_868_072_288_491_916_226]);
        assert_eq!(super_shingles(&[7, 11], 3), [13_818_084_508_656_487_721]);
    }

    proptest! {
        #[test]
        fn shingles_are_the_windows(text in "[ab 水电。]{0,24}", w in 1usize..5) {
            let list = word_list(&text);
            let mut expected: BTreeSet<String> = list.windows(w).map(|run| run.join(" ")).collect();
            if expected.is_empty() && !list.is_empty() {
                expected.insert(list.join(" "));
            }
            let all = shingles(&text, w);
            prop_assert_eq!(all.len(), expected.len());
            prop_assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), expected);
        }

        /// The samples of all residues would make up the whole: nothing is
        /// in a sample that is not a shingle, and sampling is by the shingle
        /// alone, not by the text around it.
        #[test]
        fn samples_are_those_of_the_set(text in "[a-e 水电区。]{0,60}", m in 1u64..5) {
            let sampled: Vec<u64> = hashes(&text, 2, 1).into_iter().filter(|hash| hash % m == 0).collect();
            prop_assert_eq!(hashes(&text, 2, m), sampled);
        }
    }
}
