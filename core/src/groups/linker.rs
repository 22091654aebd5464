//! Groups of candidate pairs that must be processed in order and verified by something else than fingerprints.

use super::diameter::DiameterSets;
use super::edges::{Edge, Edges, Order};
use super::pairs::Pair;
use super::union_find::UnionFind;
use crate::external::{Host, Phase, Result};
use crate::interrupt;

/// How pairs are linked into groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Linkage {
    /// From the nearest pair to the farthest, equal distances by the rows' numbers. A pair joins its groups if
    /// no two rows of the joined group are more than this many bits apart.
    Diameter(u32),
    /// Single-Pass (P4): in the order of rows, each joins its nearest earlier centre, the oldest of those
    /// equally near, or becomes a centre.
    SinglePass,
}

/// Edges between two checks for interrupts.
const EDGES_PER_CHECK: u64 = 1024;

/// Collects candidate pairs, then groups those that are verified.
///
/// The result is that of verifying every pair, but only pairs that can still change it are verified. What does not fit in memory
/// waits in a file, 12 bytes per pair.
pub struct Linker<H: Host> {
    linkage: Linkage,
    edges: Edges<H::File>,
}

impl<H: Host> Linker<H> {
    /// No pairs yet; `memory`: bytes to sort them in.
    pub fn new(linkage: Linkage, memory: usize, host: &mut H) -> Linker<H> {
        let order = match linkage {
            Linkage::Diameter(_) => Order::Nearest,
            Linkage::SinglePass => Order::LaterRow,
        };
        Linker { linkage, edges: Edges::new(order, memory, host.file()) }
    }

    /// Adds a pair of row numbers.
    ///
    /// # Errors
    /// Writing to the file fails, or there is no memory.
    pub fn add(&mut self, pair: Pair) -> Result<()> {
        self.edges.add(Edge { a: pair.a as u32, b: pair.b as u32, distance: pair.distance })
    }

    /// The number of pairs added.
    pub fn count(&self) -> u64 {
        self.edges.count()
    }

    /// The groups of rows with the fingerprints `fps`. `verify` returns
    /// whether the earlier and the later row of a pair belong together.
    ///
    /// # Errors
    /// A file or `verify` fails, or there is no memory.
    pub fn finish(
        self,
        fps: &[u64],
        host: &mut H,
        verify: impl FnMut(&mut H, u32, u32) -> Result<bool>,
    ) -> Result<UnionFind> {
        host.progress(Phase::Link, 0.0);
        match self.linkage {
            Linkage::Diameter(diameter) => self.within(DiameterSets::new(fps, diameter)?, host, verify),
            Linkage::SinglePass => self.single_pass(UnionFind::new(fps.len()), host, verify),
        }
    }

    fn within(
        self,
        mut groups: DiameterSets<'_>,
        host: &mut H,
        mut verify: impl FnMut(&mut H, u32, u32) -> Result<bool>,
    ) -> Result<UnionFind> {
        let mut turns = Turns::new(self.count());
        self.edges.for_each(|edge| {
            turns.next(host);
            if let Some(roots) = groups.may_join(edge.a, edge.b)?
                && verify(host, edge.a, edge.b)?
            {
                groups.join(roots);
            }
            Ok(())
        })?;
        Ok(groups.into_sets())
    }

    fn single_pass(
        self,
        mut sets: UnionFind,
        host: &mut H,
        mut verify: impl FnMut(&mut H, u32, u32) -> Result<bool>,
    ) -> Result<UnionFind> {
        let mut turns = Turns::new(self.count());
        self.edges.for_each(|edge| {
            turns.next(host);
            // Rows come in order, so whether an earlier one is a centre is known. A row that has a centre
            // is not verified again.
            let free = sets.find(edge.b) == edge.b && sets.find(edge.a) == edge.a;
            if free && verify(host, edge.a, edge.b)? {
                sets.union(edge.a, edge.b);
            }
            Ok(())
        })?;
        Ok(sets)
    }
}

/// Counts edges, checks for interrupts and reports progress.
struct Turns {
    taken: u64,
    total: u64,
}

impl Turns {
    fn new(total: u64) -> Turns {
        Turns { taken: 0, total }
    }

    fn next<H: Host>(&mut self, host: &mut H) {
        if self.taken.is_multiple_of(EDGES_PER_CHECK) {
            host.progress(Phase::Link, self.taken as f64 / self.total as f64);
            interrupt::check();
        }
        self.taken += 1;
    }
}
