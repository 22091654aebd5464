//! Pairs that a detector finds, and how right they are.

use crate::data::Doc;
use dedup_core::fingerprint::hamming;
use std::collections::HashMap;

/// Precision and recall as the papers count: texts, not pairs.
#[derive(Debug, Clone, Copy, Default)]
pub struct Score {
    /// Texts for which the detector found a partner.
    pub found: usize,
    /// Those of them with a partner of their own cluster.
    pub correct: usize,
    /// Texts that have a partner.
    pub known: usize,
}

impl Score {
    /// Of pairs of positions in `docs`.
    pub fn of(docs: &[&Doc], pairs: impl IntoIterator<Item = (usize, usize)>) -> Score {
        let mut state = vec![(false, false); docs.len()];
        for (a, b) in pairs {
            let same = docs[a].cluster == docs[b].cluster;
            for at in [a, b] {
                state[at] = (true, state[at].1 || same);
            }
        }
        let mut sizes: HashMap<u64, usize> = HashMap::new();
        docs.iter().for_each(|doc| *sizes.entry(doc.cluster).or_default() += 1);
        Score {
            found: state.iter().filter(|state| state.0).count(),
            correct: state.iter().filter(|state| state.1).count(),
            known: docs.iter().filter(|doc| sizes[&doc.cluster] > 1).count(),
        }
    }

    /// The sum over several collections.
    pub fn plus(self, other: Score) -> Score {
        Score {
            found: self.found + other.found,
            correct: self.correct + other.correct,
            known: self.known + other.known,
        }
    }

    /// Correct over found, 1 if none was.
    pub fn precision(&self) -> f64 {
        if self.found == 0 { 1.0 } else { self.correct as f64 / self.found as f64 }
    }

    /// Correct over known.
    pub fn recall(&self) -> f64 {
        if self.known == 0 { 0.0 } else { self.correct as f64 / self.known as f64 }
    }

    /// Their harmonic mean.
    pub fn f1(&self) -> f64 {
        let (p, r) = (self.precision(), self.recall());
        if p + r == 0.0 { 0.0 } else { 2.0 * p * r / (p + r) }
    }

    /// As a cell of a table.
    pub fn cell(&self) -> String {
        format!("{:.3} / {:.3}", self.precision(), self.recall())
    }
}

/// All pairs within a Hamming distance, by comparing each with each.
pub fn near(prints: &[Option<u64>], distance: u32) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for (a, x) in prints.iter().enumerate() {
        let Some(x) = x else { continue };
        for (b, y) in prints[..a].iter().enumerate() {
            if y.is_some_and(|y| hamming(*x, y) <= distance) {
                pairs.push((b, a));
            }
        }
    }
    pairs
}

/// All pairs that share a key; keys that more than `most` texts have are left
/// out (0: none).
pub fn sharing<K: std::hash::Hash + Eq>(
    keys: impl IntoIterator<Item = impl IntoIterator<Item = K>>,
    most: usize,
) -> Vec<(usize, usize)> {
    let mut owners: HashMap<K, Vec<usize>> = HashMap::new();
    for (at, keys) in keys.into_iter().enumerate() {
        keys.into_iter().for_each(|key| owners.entry(key).or_default().push(at));
    }
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for owners in owners.values().filter(|owners| most == 0 || owners.len() <= most) {
        for (i, &a) in owners.iter().enumerate() {
            pairs.extend(owners[i + 1..].iter().filter(|&&b| b != a).map(|&b| (a, b)));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}
