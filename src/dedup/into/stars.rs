//! Stars while a batch is grouped.

use super::batch::Batch;
use dedup_core::groups::{Pair, UnionFind};
use dedup_core::memory::{OrRaise, Room};
use std::collections::HashMap;

/// The components of new rows and of the kept ones near them.
pub(super) struct Stars {
    /// New rows first.
    pub sets: UnionFind,
    pub joined: Vec<(u32, u32)>,
    /// The arrival numbers of the kept ones, and their numbers.
    pub old: Vec<i64>,
    numbers: HashMap<i64, u32>,
}

impl Stars {
    pub(super) fn new(batch: &Batch) -> Stars {
        let sets = UnionFind::new(batch.rows.len());
        Stars { sets, joined: Vec::new(), old: Vec::new(), numbers: HashMap::new() }
    }

    /// The component of a row, if it has a number.
    pub(super) fn find(&mut self, batch: &Batch, arrival: i64) -> Option<u32> {
        let number = batch.row(arrival).or_else(|| self.numbers.get(&arrival).copied())?;
        Some(self.sets.find(number))
    }

    fn number(&mut self, batch: &Batch, arrival: i64) -> u32 {
        batch.row(arrival).unwrap_or_else(|| {
            self.numbers.room(1).or_raise();
            self.old.room(1).or_raise();
            *self.numbers.entry(arrival).or_insert_with(|| {
                self.old.push(arrival);
                self.sets.push()
            })
        })
    }

    /// Takes a verified pair.
    pub(super) fn join(&mut self, batch: &Batch, pair: Pair) {
        let (a, b) = (self.number(batch, pair.a), self.number(batch, pair.b));
        if self.sets.union(a, b) {
            self.joined.room(1).or_raise();
            self.joined.push((a.min(b), a.max(b)));
        }
    }
}
