//! Precision and recall of found pairs against true pairs.

use std::collections::BTreeSet;

/// The classification of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// True and found.
    Right,
    /// True and not found.
    Missed,
    /// Found and not true.
    Wrong,
}

impl Verdict {
    /// Its name in SQL: `right`, `missed` or `wrong`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Right => "right",
            Verdict::Missed => "missed",
            Verdict::Wrong => "wrong",
        }
    }
}

/// Found and true pairs of ids. The order within a pair does not matter, and each pair counts once.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    found: BTreeSet<(String, String)>,
    truth: BTreeSet<(String, String)>,
    /// Bytes of the ids.
    names: usize,
}

/// The number of pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Score {
    /// Pairs found.
    pub found: u64,
    /// True pairs.
    pub truth: u64,
    /// Pairs both found and true.
    pub right: u64,
}

impl Score {
    /// The share of found pairs that are true, 0 to 1; `None` if no pair was found.
    pub fn precision(&self) -> Option<f64> {
        (self.found > 0).then(|| self.right as f64 / self.found as f64)
    }

    /// The share of true pairs that were found, 0 to 1; `None` if no pair is true.
    pub fn recall(&self) -> Option<f64> {
        (self.truth > 0).then(|| self.right as f64 / self.truth as f64)
    }

    /// The harmonic mean of precision and recall.
    pub fn f1(&self) -> Option<f64> {
        let (precision, recall) = (self.precision()?, self.recall()?);
        Some(if precision + recall > 0.0 { 2.0 * precision * recall / (precision + recall) } else { 0.0 })
    }
}

fn pair(a: &str, b: &str) -> Option<(String, String)> {
    let (low, high) = if a <= b { (a, b) } else { (b, a) };
    (low != high).then(|| (low.to_owned(), high.to_owned()))
}

/// Adds a pair; the bytes of its ids, if it is new.
fn insert(pairs: &mut BTreeSet<(String, String)>, pair: (String, String)) -> usize {
    let bytes = pair.0.len() + pair.1.len();
    if pairs.insert(pair) { bytes } else { 0 }
}

impl Labels {
    /// Adds the found pair of `a` and `b`; ignored if they are equal.
    pub fn found(&mut self, a: &str, b: &str) {
        self.names += pair(a, b).map_or(0, |pair| insert(&mut self.found, pair));
    }

    /// Adds the true pair of `a` and `b`; ignored if they are equal.
    pub fn truth(&mut self, a: &str, b: &str) {
        self.names += pair(a, b).map_or(0, |pair| insert(&mut self.truth, pair));
    }

    /// Its size in bytes, approximately.
    pub fn memory(&self) -> usize {
        /// A pair in a tree that is two thirds full, and the allocations of its names.
        const BYTES_PER_PAIR: usize = 136;
        (self.found.len() + self.truth.len()) * BYTES_PER_PAIR + self.names
    }

    /// The counts.
    pub fn score(&self) -> Score {
        Score {
            found: self.found.len() as u64,
            truth: self.truth.len() as u64,
            right: self.found.intersection(&self.truth).count() as u64,
        }
    }

    /// Every pair with its verdict, in order.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, &str, Verdict)> {
        self.found.union(&self.truth).map(|pair| {
            let verdict = match (self.found.contains(pair), self.truth.contains(pair)) {
                (true, true) => Verdict::Right,
                (true, false) => Verdict::Wrong,
                _ => Verdict::Missed,
            };
            (pair.0.as_str(), pair.1.as_str(), verdict)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_count_once_in_either_order() {
        let mut labels = Labels::default();
        for (a, b) in [("1", "2"), ("2", "1"), ("1", "3"), ("4", "4")] {
            labels.found(a, b);
        }
        for (a, b) in [("2", "1"), ("5", "6"), ("6", "5")] {
            labels.truth(a, b);
        }
        let score = labels.score();
        assert_eq!(score, Score { found: 2, truth: 2, right: 1 });
        assert_eq!((score.precision(), score.recall(), score.f1()), (Some(0.5), Some(0.5), Some(0.5)));
        let verdicts: Vec<_> = labels.verdicts().collect();
        assert_eq!(
            verdicts,
            [("1", "2", Verdict::Right), ("1", "3", Verdict::Wrong), ("5", "6", Verdict::Missed)]
        );
    }

    #[test]
    fn nothing_has_no_share() {
        let score = Labels::default().score();
        assert_eq!((score.precision(), score.recall(), score.f1()), (None, None, None));
    }
}
