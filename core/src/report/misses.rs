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

/// The pairs that are most alike, from half the similarity asked for on. `text` gives the text of a row.
pub fn misses(
    pairs: &[Nearest],
    limit: u32,
    alike: &Alike,
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
        let similarity = alike.likeness(&a, &b);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::Kinds;

    /// Protects the reasons, the order and that a pair is shown once.
    #[test]
    fn reasons() {
        let texts = [
            "我们是翠湖春天小区的居民，小区停水三天了",
            "我们是金桂嘉园小区的居民，小区停水三天了",
            "学校门口的路灯坏了一个月，晚上接孩子不安全",
            "学校门口的路灯坏了一个月，晚上接孩子不安全！",
        ];
        let pair = |row, nearest, distance| Nearest { row, nearest, distance };
        let pairs = [pair(0, 1, 3), pair(1, 0, 3), pair(2, 3, 5), pair(0, 2, 3), pair(1, 3, 40)];
        let alike = Alike {
            similarity: 0.5,
            n: 2,
            details: Some(Kinds::ALL),
            normal: Default::default(),
            statistics: None,
            weighed: false,
        };
        let shown = misses(&pairs, 10, &alike, |row| texts[row].to_owned());
        let shown: Vec<_> = shown.iter().map(|miss| (miss.pair, miss.reason)).collect();
        assert_eq!(shown, [(pairs[2], Reason::Grouping), (pairs[0], Reason::Details)]);
        let strict = Alike { similarity: 0.9, ..alike };
        let reasons = |limit| misses(&pairs[..1], limit, &strict, |row| texts[row].to_owned());
        assert_eq!([reasons(3)[0].reason, reasons(2)[0].reason], [Reason::Text, Reason::Distance]);
    }
}
