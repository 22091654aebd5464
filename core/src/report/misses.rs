//! Pairs of rows that stay although they are near: which limit told them apart.

use crate::dedup::Alike;
use crate::evaluate::Nearest;
use crate::interrupt::checked;
use std::collections::HashSet;

/// What told two rows apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// Their fingerprints are too far apart.
    Distance,
    /// Their texts share too little.
    Text,
    /// They differ in details that count.
    Details,
    /// The rule for groups: they are alike.
    Grouping,
    /// Somebody.
    Decision,
}

/// Two rows that were told apart.
#[derive(Debug, Clone, PartialEq)]
pub struct Miss {
    /// The pair.
    pub pair: Nearest,
    /// Jaccard coefficient of their texts.
    pub similarity: f64,
    /// What told them apart.
    pub reason: Reason,
}

/// Bits beyond the limit that are just beyond it.
const BEYOND: u32 = 4;
/// Pairs that are kept to be shown.
const SHOWN: usize = 30;

/// The pairs that are most alike, from half the similarity asked for on; of hashes of so many `bits` those nearest to each
/// other. `text` gives the text of a row.
pub fn misses(
    pairs: &[Nearest],
    limit: u32,
    alike: &Alike,
    bits: Option<u32>,
    mut text: impl FnMut(usize) -> String,
) -> Vec<Miss> {
    let mut shown: Vec<Miss> = Vec::new();
    let mut seen = HashSet::new();
    for &pair in checked(pairs) {
        let is_new = seen.insert((pair.row.min(pair.nearest), pair.row.max(pair.nearest)));
        if !is_new || pair.distance > limit + BEYOND {
            continue;
        }
        let (a, b) = (text(pair.row), text(pair.nearest));
        let of_hashes = bits.map(|bits| 1.0 - f64::from(pair.distance) / f64::from(bits));
        let similarity = of_hashes.unwrap_or_else(|| alike.likeness(&a, &b));
        let at = shown.partition_point(|other| other.similarity >= similarity);
        if similarity <= 0.0 || similarity < alike.similarity / 2.0 || at == SHOWN {
            continue;
        }
        let reason = if pair.distance > limit {
            Reason::Distance
        } else if similarity < alike.similarity {
            Reason::Text
        } else if alike.differing(&a, &b).is_empty() {
            Reason::Grouping
        } else {
            Reason::Details
        };
        shown.truncate(SHOWN - 1);
        shown.insert(at, Miss { pair, similarity, reason });
    }
    shown
}
