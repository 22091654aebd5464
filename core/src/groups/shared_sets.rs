//! Disjoint sets that one thread joins while others look.

use super::union_find::UnionFind;
use crate::memory::{self, OrRaise};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The rows of a fingerprint are not in one set.
pub(super) const MIXED: u32 = u32::MAX;

/// Disjoint sets of rows with the ids `first`, `first` + 1 and so on, by their numbers from 0; each is identified by its
/// least member. What a look from another thread sees may be old: two rows that are in one set are so for ever.
#[derive(Debug)]
pub struct SharedSets {
    first: i64,
    /// A row's parent is in its set, and less than it but for the root.
    parents: Vec<AtomicU32>,
}

impl SharedSets {
    /// `count` sets of one row each.
    pub fn new(first: i64, count: usize) -> SharedSets {
        SharedSets { first, parents: memory::collect((0..count as u32).map(AtomicU32::new)).or_raise() }
    }

    /// The number of an id.
    pub fn number(&self, id: i64) -> u32 {
        (id - self.first) as u32
    }

    /// The least member of the set of `number`.
    #[inline]
    pub fn find(&self, number: u32) -> u32 {
        let parent = |at: u32| self.parents[at as usize].load(Relaxed);
        let mut at = number;
        loop {
            let (one, two) = (parent(at), parent(parent(at)));
            if one == two {
                return one;
            }
            // Path halving, on any thread: only who is no root gets another parent here, and never will it be one again.
            self.parents[at as usize].store(two, Relaxed);
            at = two;
        }
    }

    /// Joins the sets of two numbers, on one thread only; false if they were the same.
    pub fn union(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.parents[a.max(b) as usize].store(a.min(b), Relaxed);
        }
        a != b
    }
}

impl From<SharedSets> for UnionFind {
    fn from(sets: SharedSets) -> UnionFind {
        UnionFind::of(memory::collect(sets.parents.into_iter().map(AtomicU32::into_inner)).or_raise())
    }
}
