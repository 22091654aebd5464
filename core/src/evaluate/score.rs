//! Precision and recall of found pairs against true pairs.

use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{OrRaise, collect};

/// Numbers of pairs.
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
    /// Counts the pairs of rows that share a group or a label. A row is given as the number of its group and the hash of its
    /// label; one without a label is nobody's duplicate in truth. Pairs are counted by sizes and never listed.
    pub fn of_rows(rows: &[(u32, Option<u64>)]) -> Score {
        let mut rows = collect(checked(rows).copied()).or_raise();
        sort_unstable_by(&mut rows, Ord::cmp);
        let found = pairs(rows.iter().map(|row| row.0));
        let correct = pairs(rows.iter().filter(|row| row.1.is_some()));
        sort_unstable_by(&mut rows, |x, y| x.1.cmp(&y.1));
        Score { found, truth: pairs(rows.iter().filter_map(|row| row.1)), correct }
    }

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

/// Pairs of equal members of an ordered list.
fn pairs<T: PartialEq>(ordered: impl Iterator<Item = T>) -> u64 {
    let (mut count, mut run, mut last) = (0, 0, None);
    for each in checked(ordered) {
        run = if last.as_ref() == Some(&each) { run + 1 } else { 0 };
        count += run;
        last = Some(each);
    }
    count
}
