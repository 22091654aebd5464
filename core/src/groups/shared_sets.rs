//! Disjoint sets of rows by their ids.

use super::union_find::UnionFind;

/// The rows of a fingerprint are not in one set.
pub(super) const MIXED: u32 = u32::MAX;

/// Disjoint sets of rows with the ids `first`, `first` + 1 and so on, by their numbers from 0.
#[derive(Debug)]
pub struct SharedSets {
    first: i64,
    sets: UnionFind,
}

impl SharedSets {
    /// `count` sets of one row each.
    pub fn new(first: i64, count: usize) -> SharedSets {
        SharedSets { first, sets: UnionFind::new(count) }
    }

    /// The number of an id.
    pub fn number(&self, id: i64) -> u32 {
        (id - self.first) as u32
    }

    /// The least member of the set of `number`.
    #[inline]
    pub fn find(&self, number: u32) -> u32 {
        self.sets.find(number)
    }

    /// Joins the sets of two numbers, on one thread only; false if they were the same.
    pub fn union(&self, a: u32, b: u32) -> bool {
        self.sets.union(a, b)
    }
}

impl From<SharedSets> for UnionFind {
    fn from(sets: SharedSets) -> UnionFind {
        sets.sets
    }
}
