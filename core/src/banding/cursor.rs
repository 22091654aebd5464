//! How readers descend to leaves.
//!
//! Locking: a descent couples shared locks, each child locked before its parent is released. The
//! level-1 page stays locked between leaves as long as the wanted leaves are its children, so that
//! a search of many buckets costs one page access per bucket; no more than two locks are held at any
//! time (that page, and a leaf), and after [`STRIDE`] leaves they are released for interrupts.
//!
//! Why a reader misses nothing and sees nothing twice. The leaves of a tree partition its key space at any
//! moment; boundaries are only ever added (a split), never moved or removed, and a split changes leaf and
//! parent in one record while holding both exclusively. A reader remembers the high key of the last
//! leaf it read as its *mark*: all positions below it are done. It then asks for the leaf that
//! covers some position at or above the mark; that leaf begins at the mark or above, since the mark
//! stays a boundary. An entry that was there when the scan began sits, at the moment the leaf
//! covering its position is locked, in that leaf. So no lock or pin is needed between two leaves,
//! nor across calls.

use super::error::{Result, corrupt};
use super::key::{Position, Tree};
use super::leaf::Leaf;
use super::page::{Header, MAX_LEVEL, find_child, separator};
use super::ranges::Ranges;
use super::storage::Pages;

/// Leaves read under one lock of their parent.
const STRIDE: u32 = 48;

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
    parent: Option<(u32, Header, P::Read<'p>)>,
    /// Leaves read since the parent was locked.
    stride: u32,
    /// Pages locked so far.
    pub reads: u64,
    /// Separators on the pages of the first descent, multiplied: an estimate of the tree's leaves.
    pub leaves: Option<f64>,
}

/// A leaf under a shared lock.
pub(crate) struct LeafPage<'p, P: Pages + 'p> {
    pub block: u32,
    header: Header,
    body: P::Read<'p>,
}

impl<'p, P: Pages> LeafPage<'p, P> {
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
            stride: 0,
            reads: 0,
            leaves: None,
        }
    }

    fn read(&mut self, block: u32) -> Result<P::Read<'p>> {
        self.reads += 1;
        self.pages.read(block)
    }

    /// The leaf that covers `target`, which must not decrease from call to call by the caller's mark. No
    /// leaf of an earlier call may be held.
    pub(crate) fn seek(&mut self, target: Position) -> Result<LeafPage<'p, P>> {
        self.stride += 1;
        if self.stride > STRIDE {
            self.release();
            self.pages.delay_point();
        }
        if !matches!(&self.parent, Some((_, header, _)) if header.covers(target)) {
            self.release();
            if let Some(root_leaf) = self.descend(target)? {
                return Ok(root_leaf);
            }
        }
        let Some((block, header, body)) = &self.parent else {
            return corrupt(self.root, "the descent did not end at level 1");
        };
        let parent = *block;
        let child = separator(body, find_child(body, header.count, target)).child;
        if self.pages.prefetch_distance() > 0 {
            self.prefetch(target);
        }
        if child == parent {
            return corrupt(parent, "a separator points to its own page");
        }
        let body = self.read(child)?;
        let header = Header::expect(child, &body, self.tree, 0, target)?;
        Ok(LeafPage { block: child, header, body })
    }

    /// Releases all locks.
    pub(crate) fn release(&mut self) {
        self.parent = None;
        self.stride = 0;
    }

    /// Locks the level-1 page that covers `target`, or returns the root if it is a leaf.
    fn descend(&mut self, target: Position) -> Result<Option<LeafPage<'p, P>>> {
        let mut block = self.root;
        let mut body = self.read(block)?;
        let mut header = Header::read_tree(block, &body, self.tree)?;
        if header.level > MAX_LEVEL || !header.covers(target) {
            return corrupt(block, "the root does not cover all keys");
        }
        let mut leaves = 1.0;
        while header.level > 0 {
            leaves *= header.count as f64;
            if header.level == 1 {
                self.leaves.get_or_insert(leaves);
                self.parent = Some((block, header, body));
                return Ok(None);
            }
            let child = separator(&body, find_child(&body, header.count, target)).child;
            if child == block {
                return corrupt(block, "a separator points to its own page");
            }
            let child_body = self.read(child)?;
            header = Header::expect(child, &child_body, self.tree, header.level - 1, target)?;
            (block, body) = (child, child_body);
        }
        self.leaves.get_or_insert(1.0);
        Ok(Some(LeafPage { block, header, body }))
    }

    /// Prefetches the leaves that will be asked for next: those that the ranges want, among the children of
    /// the locked page.
    fn prefetch(&mut self, target: Position) {
        let (distance, Some((_, header, body))) = (self.pages.prefetch_distance(), &self.parent) else {
            return;
        };
        self.ahead = self.ahead.saturating_sub(1);
        let mut from = self.prefetched.max(target);
        while self.ahead < distance {
            let Some(next) = self.ranges.next(from).filter(|next| header.covers(*next)) else { break };
            let at = find_child(body, header.count, next);
            self.pages.prefetch(separator(body, at).child);
            self.ahead += 1;
            // A damaged page's separators may not ascend.
            from = match at + 1 == header.count {
                true => header.high.unwrap_or(Position::MAX),
                false => separator(body, at + 1).low.max(from),
            };
        }
        self.prefetched = from;
    }
}
