//! Groups of candidate pairs that must be processed in order and verified by something else than fingerprints.

use super::diameter::DiameterSets;
use super::edges::{Edge, Edges, Order};
use super::pairs::Pair;
use super::union_find::UnionFind;
use crate::external::{Host, Phase, Result};
use crate::interrupt;
use crate::memory::Room;

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

/// The fewest and the most pairs of Single-Pass that are verified together.
const TOGETHER: [usize; 2] = [64, 4096];

/// Collects candidate pairs, then groups those that are verified.
///
/// The result is that of verifying every pair, but pairs that can change nothing any more are not verified. What does not
/// fit in memory waits in a file, 12 bytes per pair.
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
    /// for some pairs whether the earlier and the later row of each belong together.
    ///
    /// # Errors
    /// A file or `verify` fails, or there is no memory.
    pub fn finish(
        self,
        fps: &[u64],
        host: &mut H,
        mut verify: impl FnMut(&mut H, &[(u32, u32)]) -> Result<Vec<bool>>,
    ) -> Result<UnionFind> {
        host.progress(Phase::Link, 0.0);
        match self.linkage {
            Linkage::Diameter(diameter) => {
                let mut groups = DiameterSets::new(fps, diameter)?;
                self.each(host, |host, Edge { a, b, .. }| {
                    if let Some(roots) = groups.may_join(a, b)?
                        && verify(host, &[(a, b)])? == [true]
                    {
                        groups.join(roots);
                    }
                    Ok(())
                })?;
                Ok(groups.into_sets())
            }
            Linkage::SinglePass => {
                let mut waiting = Waiting {
                    groups: UnionFind::new(fps.len()),
                    pairs: Vec::new(),
                    most: TOGETHER[0],
                    verify,
                };
                self.each(host, |host, edge| waiting.add(edge, host))?;
                waiting.link(host)?;
                Ok(waiting.groups)
            }
        }
    }

    /// Takes the pairs in the order of the linkage, with checks for interrupts and progress.
    fn each(self, host: &mut H, mut take: impl FnMut(&mut H, Edge) -> Result<()>) -> Result<()> {
        let total = self.count() as f64;
        let mut taken = 0u64;
        self.edges.for_each(|edge| {
            if taken.is_multiple_of(EDGES_PER_CHECK) {
                host.progress(Phase::Link, taken as f64 / total);
                interrupt::check();
            }
            taken += 1;
            take(host, edge)
        })
    }
}

/// Pairs of Single-Pass that are verified together, before it is known whether all of them matter.
struct Waiting<V> {
    groups: UnionFind,
    pairs: Vec<(u32, u32)>,
    /// How many are verified together. Among rows that are all near each other few of them matter, and then it is less.
    most: usize,
    verify: V,
}

impl<V> Waiting<V> {
    fn add<H: Host>(&mut self, edge: Edge, host: &mut H) -> Result<()>
    where
        V: FnMut(&mut H, &[(u32, u32)]) -> Result<Vec<bool>>,
    {
        let pair = (edge.a, edge.b);
        if self.matters(pair) {
            self.pairs.room(1)?;
            self.pairs.push(pair);
        }
        if self.pairs.len() >= self.most { self.link(host) } else { Ok(()) }
    }

    /// Whether the earlier row may be a centre and the later one has none. Rows come in order, so once the pairs
    /// before are linked this is known.
    fn matters(&mut self, (earlier, later): (u32, u32)) -> bool {
        self.groups.find(later) == later && self.groups.find(earlier) == earlier
    }

    fn link<H: Host>(&mut self, host: &mut H) -> Result<()>
    where
        V: FnMut(&mut H, &[(u32, u32)]) -> Result<Vec<bool>>,
    {
        let pairs = std::mem::take(&mut self.pairs);
        let verdicts = (self.verify)(host, &pairs)?;
        let mut wasted = 0;
        for (&pair, verified) in pairs.iter().zip(verdicts) {
            if !self.matters(pair) {
                wasted += 1;
            } else if verified {
                self.groups.union(pair.0, pair.1);
            }
        }
        let most = if 4 * wasted > pairs.len() { self.most / 2 } else { self.most * 2 };
        self.most = most.clamp(TOGETHER[0], TOGETHER[1]);
        Ok(())
    }
}
