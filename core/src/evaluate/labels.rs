//! Precision and recall of found pairs against true pairs, each side given as pairs or as groups.

use crate::memory::{OrRaise, Room};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use thiserror::Error;

/// The classification of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// True and found.
    Correct,
    /// True and not found.
    Missed,
    /// Found and not true.
    Wrong,
}

impl Verdict {
    /// Its name in SQL: `correct`, `missed` or `wrong`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Correct => "correct",
            Verdict::Missed => "missed",
            Verdict::Wrong => "wrong",
        }
    }
}

/// A row that is in two groups.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("row {0} is in more than one group")]
pub struct InTwoGroups(
    /// Its id.
    pub String,
);

/// Pairs of rows, without order inside a pair, each once.
#[derive(Debug, Clone)]
pub enum PairSet {
    /// Given one by one.
    Pairs(BTreeSet<(String, String)>),
    /// All pairs within groups.
    Groups(Groups),
}

/// The group of each row.
#[derive(Debug, Clone, Default)]
pub struct Groups {
    of: BTreeMap<String, u32>,
    numbers: HashMap<String, u32>,
}

/// Pairs that were found, and true ones.
#[derive(Debug, Clone)]
pub struct Labels {
    /// Those found.
    pub found: PairSet,
    /// Those that are true.
    pub truth: PairSet,
}

/// The number of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// Pairs found.
    pub found: u64,
    /// True pairs.
    pub truth: u64,
    /// Pairs both found and true.
    pub correct: u64,
}

impl Score {
    /// The share of found pairs that are true, 0 to 1; `None` if no pair was found.
    pub fn precision(&self) -> Option<f64> {
        (self.found > 0).then(|| self.correct as f64 / self.found as f64)
    }

    /// The share of true pairs that were found, 0 to 1; `None` if no pair is true.
    pub fn recall(&self) -> Option<f64> {
        (self.truth > 0).then(|| self.correct as f64 / self.truth as f64)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> Option<f64> {
        let (precision, recall) = (self.precision()?, self.recall()?);
        Some(if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 })
    }
}

/// The number of pairs of `n` rows.
fn pairs_of(n: u64) -> u64 {
    n * n.saturating_sub(1) / 2
}

/// How many pairs of rows share a label.
fn pairs_within<L: std::hash::Hash + Eq>(labels: impl Iterator<Item = L>) -> u64 {
    let mut sizes: HashMap<L, u64> = HashMap::new();
    labels.for_each(|label| *sizes.entry(label).or_default() += 1);
    sizes.into_values().map(pairs_of).sum()
}

impl Default for PairSet {
    fn default() -> PairSet {
        PairSet::Pairs(BTreeSet::new())
    }
}

impl PairSet {
    /// All pairs within groups, of which there are none yet.
    pub fn groups() -> PairSet {
        PairSet::Groups(Groups::default())
    }

    /// Adds a pair of rows, or a row and its group. A row and itself are not a pair.
    ///
    /// # Errors
    /// The row has another group already.
    pub fn add(&mut self, a: String, b: String) -> Result<(), InTwoGroups> {
        match self {
            PairSet::Pairs(pairs) => {
                if a != b {
                    pairs.insert(if a < b { (a, b) } else { (b, a) });
                }
            }
            PairSet::Groups(groups) => {
                let next = groups.numbers.len() as u32;
                let number = *groups.numbers.entry(b).or_insert(next);
                if groups.of.get(&a).is_some_and(|&other| other != number) {
                    return Err(InTwoGroups(a));
                }
                groups.of.insert(a, number);
            }
        }
        Ok(())
    }

    /// How many pairs there are.
    fn count(&self) -> u64 {
        match self {
            PairSet::Pairs(pairs) => pairs.len() as u64,
            PairSet::Groups(groups) => pairs_within(groups.of.values()),
        }
    }

    fn contains(&self, pair: (&str, &str)) -> bool {
        match self {
            PairSet::Pairs(pairs) => pairs.contains(&(pair.0.to_owned(), pair.1.to_owned())),
            PairSet::Groups(groups) => {
                groups.of.get(pair.0).is_some_and(|group| groups.of.get(pair.1) == Some(group))
            }
        }
    }

    /// Calls `each` with every pair, the lesser id first.
    fn each<'a>(&'a self, mut each: impl FnMut((&'a str, &'a str))) {
        match self {
            PairSet::Pairs(pairs) => pairs.iter().for_each(|(a, b)| each((a, b))),
            PairSet::Groups(groups) => {
                let mut members: HashMap<u32, Vec<&str>> = HashMap::new();
                groups.of.iter().for_each(|(id, &group)| members.entry(group).or_default().push(id));
                for ids in members.values() {
                    for (at, a) in ids.iter().enumerate() {
                        crate::interrupt::check();
                        ids[at + 1..].iter().for_each(|b| each((a, b)));
                    }
                }
            }
        }
    }
}

impl Labels {
    /// The counts. Pairs within groups are counted by the sizes of the groups and of what two of them share, and never
    /// listed.
    pub fn score(&self) -> Score {
        let correct = match (&self.found, &self.truth) {
            (PairSet::Pairs(found), PairSet::Pairs(truth)) => found.intersection(truth).count() as u64,
            (PairSet::Groups(found), PairSet::Groups(truth)) => {
                let both = |(id, group): (&String, &u32)| Some((*group, *truth.of.get(id)?));
                pairs_within(found.of.iter().filter_map(both))
            }
            (pairs @ PairSet::Pairs(_), groups) | (groups, pairs) => {
                let mut correct = 0;
                pairs.each(|pair| correct += u64::from(groups.contains(pair)));
                correct
            }
        };
        Score { found: self.found.count(), truth: self.truth.count(), correct }
    }

    /// Every pair with its verdict, in order; correct ones on demand. `check` is told the bytes that they take.
    pub fn verdicts(&self, correct_too: bool, mut check: impl FnMut(usize)) -> Vec<(&str, &str, Verdict)> {
        let mut all: Vec<(&str, &str, Verdict)> = Vec::new();
        let mut add = |(a, b), verdict| {
            all.room(1).or_raise();
            check(all.capacity() * size_of::<(&str, &str, Verdict)>());
            all.push((a, b, verdict));
        };
        self.found.each(|pair| match self.truth.contains(pair) {
            true if correct_too => add(pair, Verdict::Correct),
            true => {}
            false => add(pair, Verdict::Wrong),
        });
        self.truth.each(|pair| {
            if !self.found.contains(pair) {
                add(pair, Verdict::Missed);
            }
        });
        all.sort_unstable();
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(mut set: PairSet, rows: &[(&str, &str)]) -> PairSet {
        for (a, b) in rows {
            set.add((*a).to_owned(), (*b).to_owned()).unwrap();
        }
        set
    }

    #[test]
    fn pairs_count_once_in_either_order() {
        let labels = Labels {
            found: of(PairSet::default(), &[("1", "2"), ("2", "1"), ("1", "3"), ("4", "4")]),
            truth: of(PairSet::default(), &[("2", "1"), ("5", "6"), ("6", "5")]),
        };
        let score = labels.score();
        assert_eq!(score, Score { found: 2, truth: 2, correct: 1 });
        assert_eq!((score.precision(), score.recall(), score.f1()), (Some(0.5), Some(0.5), Some(0.5)));
        assert_eq!(
            labels.verdicts(true, |_| ()),
            [("1", "2", Verdict::Correct), ("1", "3", Verdict::Wrong), ("5", "6", Verdict::Missed)]
        );
        assert_eq!(labels.verdicts(false, |_| ()).len(), 2);
    }

    #[test]
    fn nothing_has_no_share() {
        let score = Labels { found: PairSet::default(), truth: PairSet::groups() }.score();
        assert_eq!((score.precision(), score.recall(), score.f1()), (None, None, None));
    }

    #[test]
    fn a_row_has_one_group() {
        let mut groups = of(PairSet::groups(), &[("1", "a"), ("1", "a")]);
        assert_eq!(groups.add("1".into(), "b".into()), Err(InTwoGroups("1".into())));
    }

    proptest! {
        /// Groups are what all their pairs are, on either side.
        #[test]
        fn groups_are_their_pairs(
            found in prop::collection::btree_map(0u8..12, 0u8..4, 0..12),
            truth in prop::collection::btree_map(0u8..12, 0u8..4, 0..12),
        ) {
            let both = |groups: &BTreeMap<u8, u8>| {
                let (mut by_group, mut by_pair) = (PairSet::groups(), PairSet::default());
                for (a, group) in groups {
                    by_group.add(a.to_string(), group.to_string()).unwrap();
                    for (b, _) in groups.iter().filter(|(_, other)| *other == group) {
                        by_pair.add(a.to_string(), b.to_string()).unwrap();
                    }
                }
                [by_group, by_pair]
            };
            let (founds, truths) = (both(&found), both(&truth));
            let expected = Labels { found: founds[1].clone(), truth: truths[1].clone() };
            for (found, truth) in founds.iter().flat_map(|found| truths.iter().map(move |truth| (found, truth))) {
                let labels = Labels { found: found.clone(), truth: truth.clone() };
                prop_assert_eq!(labels.score(), expected.score());
                prop_assert_eq!(labels.verdicts(true, |_| ()), expected.verdicts(true, |_| ()));
            }
        }
    }
}
