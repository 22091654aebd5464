//! A reader's walk over the leaves of one tree.
//!
//! Locking: one shared lock at a time ([`descend`](super::descend)), and none between two leaves. The level-1 page of the
//! last descent is kept as a copy, so that a search of many buckets costs one page access per bucket; where the copy
//! is out of date, the right links lead on.
//!
//! Why a reader misses nothing and sees nothing twice. The leaves of a tree partition its key space at any
//! moment; boundaries are only ever added (a split), never moved or removed, and a split changes both halves in one
//! record while holding both exclusively. A reader remembers the high key of the last
//! leaf it read as its *mark*: all positions below it are done. It then asks for the leaf that
//! covers some position at or above the mark; that leaf begins at the mark or above, since the mark
//! stays a boundary. An entry that was there when the scan began sits, at the moment the leaf
//! covering its position is locked, in that leaf. So no lock or pin is needed between two leaves,
//! nor across calls.

use super::descend::{Locked, Trace, descend, read_covering};
use super::error::Result;
use super::key::{Position, Tree};
use super::leaf::Leaf;
use super::page::{Separator, find_child, separator};
use super::ranges::Ranges;
use super::storage::Pages;
use std::ops::Deref;

/// A reader's position in one tree.
pub(crate) struct Cursor<'p, P: Pages> {
    pages: &'p P,
    tree: Tree,
    root: u32,
    /// What the caller will ask for: only for prefetching.
    ranges: Ranges,
    prefetched: Position,
    /// Leaves prefetched and not read yet.
    ahead: usize,
    /// The level-1 page last descended to, as it was then.
    parent: Option<Locked<Vec<u8>>>,
    /// Pages locked so far.
    pub reads: u64,
    /// An estimate of the leaves of the tree, or of the scope's part of it, since the first descent.
    pub leaves: Option<f64>,
}

/// A leaf under a shared lock.
pub(crate) type LeafPage<'p, P> = Locked<<P as Pages>::Read<'p>>;

impl<B: Deref<Target = [u8]>> Locked<B> {
    #[inline]
    pub(crate) fn leaf(&self) -> Result<Leaf<'_>> {
        Leaf::read(self.block, &self.body, self.header)
    }

    /// Where the leaf ends; `None` if it is the tree's last.
    pub(crate) fn high(&self) -> Option<Position> {
        self.header.high
    }
}

impl<'p, P: Pages> Cursor<'p, P> {
    /// A cursor whose caller is going to ask for the leaves of `ranges`.
    pub(crate) fn new(pages: &'p P, tree: Tree, root: u32, ranges: Ranges) -> Self {
        Cursor {
            pages,
            tree,
            root,
            ranges,
            prefetched: Position::MIN,
            ahead: 0,
            parent: None,
            reads: 0,
            leaves: None,
        }
    }

    /// The leaf that covers `target`, which must not decrease from call to call by the caller's mark. No
    /// leaf of an earlier call may be held.
    pub(crate) fn seek(&mut self, target: Position) -> Result<LeafPage<'p, P>> {
        self.pages.delay_point();
        let within = self.leaves.is_none().then(|| self.ranges.within()).flatten();
        let mut trace = Trace { within, ..Trace::new() };
        let leaf = self.leaf(target, &mut trace);
        self.reads += trace.reads;
        leaf
    }

    fn leaf(&mut self, target: Position, trace: &mut Trace) -> Result<LeafPage<'p, P>> {
        if !matches!(&self.parent, Some(parent) if parent.header.covers(target)) {
            let mut copy = self.parent.take().map(|parent| parent.body).unwrap_or_default();
            let page = descend(self.pages, self.tree, self.root, 1, target, trace)?;
            if page.header.level == 0 {
                self.leaves.get_or_insert(1.0);
                return Ok(page);
            }
            self.leaves.get_or_insert(trace.fanout * page.children(trace.within));
            copy.clear();
            copy.extend_from_slice(&page.body[..page.header.used]);
            self.parent = Some(Locked { block: page.block, header: page.header, body: copy });
        }
        let child = match &self.parent {
            Some(parent) => parent.child(target)?,
            None => Separator { low: Position::MIN, child: self.root },
        };
        if self.pages.prefetch_distance() > 0 {
            self.prefetch(target);
        }
        read_covering(self.pages, self.tree, child, 0, target, trace)
    }

    /// Prefetches the leaves that will be asked for next: those that the ranges want, among the children of
    /// the level-1 page.
    fn prefetch(&mut self, target: Position) {
        let (distance, Some(Locked { header, body, .. })) = (self.pages.prefetch_distance(), &self.parent)
        else {
            return;
        };
        self.ahead = self.ahead.saturating_sub(1);
        // Behind a leaf. A damaged page's separators may not ascend.
        let behind = |at: usize, least: Position| match at + 1 == header.count {
            true => header.high.unwrap_or(Position::MAX),
            false => separator(body, at + 1).low.max(least),
        };
        let mut from = self.prefetched.max(behind(find_child(body, header.count, target), target));
        while self.ahead < distance {
            let Some(next) = self.ranges.next(from).filter(|next| header.covers(*next)) else { break };
            let at = find_child(body, header.count, next);
            self.pages.prefetch(separator(body, at).child);
            self.ahead += 1;
            from = behind(at, from);
        }
        self.prefetched = from;
    }
}
