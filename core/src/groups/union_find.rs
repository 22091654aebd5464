//! Disjoint sets.

use crate::memory::{self, Grow, OrRaise};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Disjoint sets of numbers; each is identified by its least member. One thread may join sets while others look: what they
/// see may be old, but two numbers that are in one set are so for ever.
#[derive(Debug, Default)]
pub struct UnionFind {
    /// A number's parent is in its set, and less than it but for the root.
    parents: Vec<AtomicU32>,
}

impl UnionFind {
    /// `count` sets of one number each.
    pub fn new(count: usize) -> UnionFind {
        UnionFind { parents: memory::collect((0..count as u32).map(AtomicU32::new)).or_raise() }
    }

    /// Adds a set of one new number, and returns it.
    pub fn push(&mut self) -> u32 {
        let number = self.parents.len() as u32;
        self.parents.grow(number.into()).or_raise();
        number
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
            // Path halving, near constant time without ranks, on any thread: only who is no root gets another parent here,
            // and never will it be one again.
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
