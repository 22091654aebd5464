//! Groups against labels: rows with the same label are duplicates in truth.

use super::sample::Distances;
use crate::evaluate::Score;
use crate::fingerprint::hamming;
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{OrRaise, collect};

/// A row with its group and its label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Labelled {
    /// The number of its group.
    pub group: u32,
    /// The hash of its label; `None`: it has none, so no row is its duplicate in truth.
    pub label: Option<u64>,
    /// Its fingerprint, if it has one.
    pub fp: Option<u64>,
}

/// True pairs whose distances are looked at, at most.
const PAIRS: usize = 100_000;

/// Pairs found, true and correct. Pairs are counted by sizes and never listed.
pub fn score(rows: &[Labelled]) -> Score {
    let mut keys = collect(checked(rows).map(|row| (row.group, row.label))).or_raise();
    sort_unstable_by(&mut keys, Ord::cmp);
    let correct = pairs(keys.iter().filter(|key| key.1.is_some()));
    let found = pairs(keys.iter().map(|key| key.0));
    sort_unstable_by(&mut keys, |x, y| x.1.cmp(&y.1));
    Score { found, truth: pairs(keys.iter().filter_map(|key| key.1)), correct }
}

/// Pairs of equal neighbours in an ordered list.
fn pairs<T: PartialEq>(ordered: impl Iterator<Item = T>) -> u64 {
    let (mut count, mut run, mut last) = (0, 0, None);
    for each in checked(ordered) {
        run = if last.as_ref() == Some(&each) { run + 1 } else { 0 };
        count += run;
        last = Some(each);
    }
    count
}

/// Distances of true pairs; of too many those of some labels, drawn by their hashes.
pub fn true_pairs(rows: &[Labelled]) -> Distances {
    let marked = checked(rows).filter_map(|row| Some((row.label?, row.fp?)));
    let mut prints = collect(marked).or_raise();
    sort_unstable_by(&mut prints, Ord::cmp);
    let (mut found, mut left) = ([0; 65], PAIRS);
    for same in prints.chunk_by(|x, y| x.0 == y.0) {
        for (at, (_, a)) in checked(same.iter().enumerate()) {
            for (_, b) in same[..at].iter().take(left) {
                found[hamming(*a, *b) as usize] += 1;
            }
            left = left.saturating_sub(at);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Counting by sizes is counting pair by pair.
        #[test]
        fn counts_every_pair(rows in prop::collection::vec((0u32..5, prop::option::of(0u64..4), any::<u64>()), 0..40)) {
            let rows: Vec<_> =
                rows.into_iter().map(|(group, label, fp)| Labelled { group, label, fp: Some(fp) }).collect();
            let mut expected = Score { found: 0, truth: 0, correct: 0 };
            let mut distances = [0; 65];
            for (at, b) in rows.iter().enumerate() {
                for a in &rows[..at] {
                    let (found, truth) = (a.group == b.group, a.label.is_some() && a.label == b.label);
                    expected.found += u64::from(found);
                    expected.truth += u64::from(truth);
                    expected.correct += u64::from(found && truth);
                    distances[hamming(a.fp.unwrap(), b.fp.unwrap()) as usize] += u64::from(truth);
                }
            }
            prop_assert_eq!(score(&rows), expected);
            prop_assert_eq!(true_pairs(&rows), distances);
        }
    }

    /// Protects memory and time: one label for all rows.
    #[test]
    fn many_true_pairs_are_cut() {
        let rows = vec![Labelled { group: 1, label: Some(7), fp: Some(0) }; 3000];
        assert_eq!(score(&rows).truth, 3000 * 2999 / 2);
        assert_eq!(true_pairs(&rows)[0], PAIRS as u64);
    }
}
