//! Pairs of rows that stay although they are near: which limit told them apart.

use super::sample::Nearest;
use crate::dedup::Alike;
use crate::details::Detail as Particular;
use crate::interrupt::checked;
use crate::memory::{OrRaise, Room};
use std::collections::HashSet;

/// What told two rows apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Their fingerprints are too far apart.
    Distance,
    /// Their texts share too little.
    Text,
    /// They differ in particulars that count.
    Particulars(Vec<Particular>),
    /// The rule for groups: they are alike.
    Grouping,
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

/// How many rows were told apart from their nearest one by what.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// By their texts.
    pub text: u64,
    /// By a particular.
    pub particulars: u64,
    /// By the rule for groups.
    pub grouping: u64,
    /// By a distance that is at most [`BEYOND`] bits too large.
    pub beyond: u64,
    /// By a larger distance.
    pub farther: u64,
}

/// Bits beyond the limit that are just beyond it.
pub const BEYOND: u32 = 4;
/// Pairs that are kept to be shown.
const SHOWN: usize = 30;

/// Looks at the pairs: how many were told apart by what, and those that are most alike, from half the similarity asked
/// for on. `text` gives the text of a row.
pub fn misses(
    pairs: &[Nearest],
    limit: u32,
    alike: &Alike,
    mut text: impl FnMut(usize) -> String,
) -> (LeftOut, Vec<Miss>) {
    let mut left_out = LeftOut::default();
    let mut shown: Vec<Miss> = Vec::new();
    let mut seen = HashSet::new();
    for &pair in checked(pairs) {
        if pair.distance > limit + BEYOND {
            left_out.farther += 1;
            continue;
        }
        let (a, b) = (text(pair.row), text(pair.nearest));
        let similarity = alike.jaccard(&a, &b);
        let reason = if pair.distance > limit {
            left_out.beyond += 1;
            Reason::Distance
        } else if similarity < alike.similarity {
            left_out.text += 1;
            Reason::Text
        } else {
            let differing = alike.differing(&a, &b);
            if differing.is_empty() {
                left_out.grouping += 1;
                Reason::Grouping
            } else {
                left_out.particulars += 1;
                Reason::Particulars(differing)
            }
        };
        seen.room(1).or_raise();
        let is_new = seen.insert((pair.row.min(pair.nearest), pair.row.max(pair.nearest)));
        if is_new && similarity > 0.0 && similarity >= alike.similarity / 2.0 {
            let at = shown.partition_point(|other| other.similarity >= similarity);
            shown.insert(at, Miss { pair, similarity, reason });
            shown.truncate(SHOWN);
        }
    }
    (left_out, shown)
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
        let pairs =
            [pair(0, 1, 3), pair(1, 0, 3), pair(2, 3, 5), pair(3, 2, 12), pair(0, 2, 3), pair(1, 3, 40)];
        let alike =
            Alike { similarity: 0.5, n: 2, particulars: Some(Kinds::ALL), normal: Default::default() };
        let (left_out, shown) = misses(&pairs, 10, &alike, |row| texts[row].to_owned());
        assert_eq!(left_out, LeftOut { text: 1, particulars: 2, grouping: 1, beyond: 1, farther: 1 });
        assert_eq!(shown.len(), 2);
        assert_eq!((shown[0].pair, &shown[0].reason), (pairs[2], &Reason::Grouping));
        assert!(matches!(&shown[1].reason, Reason::Particulars(found) if found[0].a.contains("翠湖春天")));
    }
}
