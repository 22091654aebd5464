//! Connected components of edges that come one by one from elsewhere.

use super::union_find::UnionFind;
use crate::interrupt::Meter;
use crate::memory::{self, OutOfMemory, Room};
use rustc_hash::FxHashMap;

/// Components of nodes that the caller keeps, in the order in which they were new; here they are numbers.
///
/// Edges are not kept. A node takes about 40 bytes.
#[derive(Debug, Default)]
pub struct EdgeComponents {
    /// The latest node of each hash.
    latest: FxHashMap<u64, u32>,
    /// For each node an earlier one with the same hash; itself if there is none.
    earlier: Vec<u32>,
    sets: UnionFind,
}

impl EdgeComponents {
    /// The number of a node by its hash; `is` says whether an earlier node is the same. The number of a new one is
    /// that of those before it.
    pub fn node(&mut self, hash: u64, mut is: impl FnMut(u32) -> bool) -> memory::Result<u32> {
        let mut meter = Meter::new();
        let latest = self.latest.get(&hash).copied();
        let mut at = latest;
        while let Some(node) = at {
            if is(node) {
                return Ok(node);
            }
            meter.work(8);
            at = Some(self.earlier[node as usize]).filter(|&earlier| earlier != node);
        }
        if self.earlier.len() >= u32::MAX as usize {
            return Err(OutOfMemory { bytes: size_of_val(&self.earlier[..]) });
        }
        self.latest.room(1)?;
        self.earlier.room(1)?;
        let node = self.sets.push();
        self.earlier.push(latest.unwrap_or(node));
        self.latest.insert(hash, node);
        Ok(node)
    }

    /// Takes an edge.
    pub fn join(&mut self, a: u32, b: u32) {
        self.sets.union(a, b);
    }

    /// The number of nodes.
    pub fn count(&self) -> usize {
        self.earlier.len()
    }

    /// For each node the least of its component, in the order in which `is_less`.
    pub fn least(mut self, mut is_less: impl FnMut(u32, u32) -> bool) -> memory::Result<Vec<u32>> {
        drop(std::mem::take(&mut self.latest));
        let mut meter = Meter::new();
        let mut least: Vec<u32> = memory::collect(0..self.earlier.len() as u32)?;
        for node in 0..least.len() as u32 {
            meter.work(8);
            let root = self.sets.find(node) as usize;
            if is_less(node, least[root]) {
                least[root] = node;
            }
        }
        // A root is the first of its nodes, so its own entry is read before those of the others are written over.
        for node in 0..least.len() as u32 {
            meter.work(2);
            least[node as usize] = least[self.sets.find(node) as usize];
        }
        Ok(least)
    }
}
