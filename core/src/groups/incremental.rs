//! Clusters that keep their names while rows arrive in batches.

use super::union_find::UnionFind;
use crate::memory::{self, OrRaise, Room};
use std::collections::HashMap;

/// Two clusters that became one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Merge<B> {
    /// The older cluster, which stays.
    pub kept: i64,
    /// The younger cluster, which ended.
    pub absorbed: i64,
    /// The reason given to [`IncrementalClusters::join`].
    pub because: B,
}

/// A verified pair of a new row and an earlier one that Single-Pass looks at; in the order in which
/// it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The new row.
    pub later: u32,
    /// The distance in bits.
    pub distance: u32,
    /// The number of the earlier row, a new one or the first of a cluster.
    pub earlier: i64,
    /// Its node.
    pub node: u32,
}

/// New rows and the existing clusters that they touch. A cluster is named by the number
/// of the first row it ever had, so the lesser of two names is the older.
#[derive(Debug, Default)]
pub struct IncrementalClusters<B> {
    /// New rows first, then clusters: a set with a new row has one as its root.
    sets: UnionFind,
    /// How many rows are new.
    rows: u32,
    /// The node of a cluster.
    nodes: HashMap<i64, u32>,
    /// The oldest cluster of a set, at its root.
    oldest: Vec<Option<i64>>,
    merges: Vec<Merge<B>>,
}

impl<B> IncrementalClusters<B> {
    /// `rows` new rows, each a set of its own.
    pub fn new(rows: usize) -> IncrementalClusters<B> {
        IncrementalClusters {
            sets: UnionFind::new(rows),
            rows: rows as u32,
            nodes: HashMap::new(),
            oldest: memory::filled(None, rows).or_raise(),
            merges: Vec::new(),
        }
    }

    /// The node that stands for a cluster, to join rows with.
    pub fn cluster(&mut self, name: i64) -> u32 {
        self.nodes.room(1).or_raise();
        self.oldest.room(1).or_raise();
        *self.nodes.entry(name).or_insert_with(|| {
            self.oldest.push(Some(name));
            self.sets.push()
        })
    }

    /// The node of a cluster that was touched.
    pub fn find_cluster(&self, name: i64) -> Option<u32> {
        self.nodes.get(&name).copied()
    }

    /// The node by which the set of a row or cluster is known: its first new
    /// row, if it has any.
    pub fn root(&mut self, node: u32) -> u32 {
        self.sets.find(node)
    }

    /// The name of the set's oldest existing cluster, if it has one.
    pub fn name(&mut self, node: u32) -> Option<i64> {
        let root = self.root(node);
        self.oldest[root as usize]
    }

    /// Joins two sets. If both have a name, the older one stays and the merge is recorded.
    pub fn join(&mut self, a: u32, b: u32, because: B) {
        let (x, y) = (self.name(a), self.name(b));
        if !self.sets.union(a, b) {
            return;
        }
        let root = self.root(a) as usize;
        self.oldest[root] = x.into_iter().chain(y).min();
        if let (Some(x), Some(y)) = (x, y) {
            self.merges.room(1).or_raise();
            self.merges.push(Merge { kept: x.min(y), absorbed: x.max(y), because });
        }
    }

    /// The names of the clusters that were touched, ascending.
    pub fn clusters(&self) -> Vec<i64> {
        let mut names = memory::collect(self.nodes.keys().copied()).or_raise();
        names.sort_unstable();
        names
    }

    /// Single-Pass (P4): each new row joins its nearest earlier centre, the oldest if several are as
    /// near, or is a centre itself. `candidates` are all pairs of a new row with a new one or with
    /// the first row of a cluster; a cluster stays a centre.
    pub fn single_pass(&mut self, mut candidates: Vec<Candidate>, because: impl Fn(&Candidate) -> B) {
        candidates.sort_unstable();
        for pair in candidates {
            // Rows come in order, so whether an earlier one is a centre is known.
            if self.is_free(pair.later) && (pair.node >= self.rows || self.is_free(pair.node)) {
                self.join(pair.node, pair.later, because(&pair));
            }
        }
    }

    /// Whether a new row has joined no earlier one.
    fn is_free(&mut self, row: u32) -> bool {
        self.root(row) == row && self.name(row).is_none()
    }

    /// All merges, in order: the cluster that one keeps may be absorbed by a later one.
    pub fn merges(&self) -> &[Merge<B>] {
        &self.merges
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dedup_detectors::single_pass::SinglePass;
    use proptest::prelude::*;

    proptest! {
        /// Batches of rows, of any size: the centres are those of all rows in one pass.
        #[test]
        fn single_pass_by_batches_equals_the_whole(
            fps in prop::collection::vec(0u64..256, 1..40),
            sizes in prop::collection::vec(1usize..9, 40),
            distance in 0u32..4,
        ) {
            let mut names: Vec<i64> = Vec::new();
            for size in sizes {
                let (base, new) = (names.len(), size.min(fps.len() - names.len()));
                let mut growing = IncrementalClusters::new(new);
                let mut candidates = Vec::new();
                for b in base..base + new {
                    for a in (0..b).filter(|&a| a >= base || names[a] == a as i64) {
                        let apart = (fps[a] ^ fps[b]).count_ones();
                        if apart <= distance {
                            let node = if a < base { growing.cluster(a as i64) } else { (a - base) as u32 };
                            let later = (b - base) as u32;
                            candidates.push(Candidate { later, distance: apart, earlier: a as i64, node });
                        }
                    }
                }
                candidates.reverse();
                growing.single_pass(candidates, |pair| (pair.earlier, pair.later));
                for row in 0..new as u32 {
                    names.push(growing.name(row).unwrap_or_else(|| base as i64 + i64::from(growing.root(row))));
                }
            }
            prop_assume!(names.len() == fps.len());
            let mut whole = SinglePass::new(distance);
            let truth: Vec<i64> = fps.iter().map(|&fp| i64::from(whole.assign(fp).row)).collect();
            prop_assert_eq!(names, truth);
        }

        /// Batches of rows, of any size: the clusters are those of all edges at
        /// once, each named by its first row; a name changes by a merge only,
        /// and the merges alone lead from the names of one batch to the next's.
        #[test]
        fn batches_equal_the_whole(
            rows in 1usize..40,
            edges in prop::collection::vec((0usize..40, 0usize..40), 0..60),
            sizes in prop::collection::vec(1usize..9, 40),
        ) {
            let edges: Vec<_> = edges.iter().map(|&(a, b)| (a % rows, b % rows)).collect();
            let mut names: Vec<i64> = Vec::new();
            for size in sizes {
                let (base, new) = (names.len(), size.min(rows - names.len()));
                let mut growing = IncrementalClusters::new(new);
                for &(a, b) in &edges {
                    let (a, b) = (a.min(b), a.max(b));
                    if b < base || b >= base + new {
                        continue;
                    }
                    let other = if a < base { growing.cluster(names[a]) } else { (a - base) as u32 };
                    growing.join((b - base) as u32, other, (a, b));
                }
                let mut replayed = names.clone();
                for merge in growing.merges().to_vec() {
                    prop_assert!(merge.kept < merge.absorbed);
                    replayed.iter_mut().filter(|name| **name == merge.absorbed).for_each(|name| *name = merge.kept);
                }
                let renamed: Vec<i64> = names.iter().map(|&name| {
                    let node = growing.cluster(name);
                    growing.name(node).unwrap()
                }).collect();
                prop_assert_eq!(&renamed, &replayed);
                names = renamed;
                for row in 0..new as u32 {
                    let name = growing.name(row).unwrap_or_else(|| base as i64 + i64::from(growing.root(row)));
                    names.push(name);
                }
            }
            prop_assume!(names.len() == rows);
            let mut whole = UnionFind::new(rows);
            for &(a, b) in &edges {
                whole.union(a as u32, b as u32);
            }
            let truth: Vec<i64> = (0..rows as u32).map(|row| i64::from(whole.find(row))).collect();
            prop_assert_eq!(names, truth);
        }
    }
}
