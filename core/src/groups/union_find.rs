//! Disjoint sets.

use crate::memory::{self, Grow, OrRaise};

/// Disjoint sets of numbers; each is identified by its least member.
#[derive(Debug, Clone, Default)]
pub struct UnionFind {
    parents: Vec<u32>,
}

impl UnionFind {
    /// `count` sets of one number each.
    pub fn new(count: usize) -> UnionFind {
        UnionFind { parents: memory::collect(0..count as u32).or_raise() }
    }

    /// Those in which each number has this parent: one of its set that is not greater.
    pub(super) fn of(parents: Vec<u32>) -> UnionFind {
        UnionFind { parents }
    }

    /// Adds a set of one new number, and returns it.
    pub fn push(&mut self) -> u32 {
        self.parents.grow(self.parents.len() as u32).or_raise();
        self.parents.len() as u32 - 1
    }

    /// The least member of the set of `number`.
    pub fn find(&mut self, number: u32) -> u32 {
        let mut at = number;
        while self.parents[at as usize] != at {
            // Path halving: near constant time without ranks.
            let parent = self.parents[at as usize];
            self.parents[at as usize] = self.parents[parent as usize];
            at = self.parents[at as usize];
        }
        at
    }

    /// Joins the sets of two numbers; false if they were the same.
    pub fn union(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
        a != b
    }
}
