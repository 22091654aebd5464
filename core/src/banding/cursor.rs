//! A reader's walk over the leaves of one tree.
//!
//! Locking: one shared lock at a time ([`descend`](super::descend)), and none between two leaves. The level-1 page of the
//! last descent is kept as a copy, so that a search of many buckets costs one page access per bucket; where the copy
//! is out of date, the right links lead on.
//!
//! Why a reader misses nothing and sees nothing twice. The leaves of a tree partition its key space at any
//! moment; a boundary is added (a split) or removed (a leaf goes, [`recycle`](super::recycle)) in one record
//! while both leaves are held exclusively, and entries keep their positions. A reader remembers the high key
//! of the last leaf it read as its *mark*: all positions below it are done. It then asks for the leaf that
//! covers some position at or above the mark, and leaves out what that holds below the mark, should the mark
//! be no boundary any more. An entry that was there when the scan began sits, at the moment the leaf covering
//! its position is locked, in that leaf. So no lock or pin is needed between two leaves, nor across calls.
//!
//! Why a serializable search misses nobody who changes its answer. A row belongs into the answer if it has its position in one of
//! the ranges that are read. While the leaf covering that is locked, a reader leaves its predicate and an inserter looks for others':
//! the one who comes second sees the entry or the predicate. A record that gives positions to another leaf gives that one the
//! predicates first, for it holds the old leaf exclusively. An inserter puts an entry into a second level that can be read before it returns.

use super::descend::{Locked, Trace, descend, read_covering, retry};
use super::error::{Result, Way};
use super::key::{Position, Tree};
use super::leaf::Leaf;
use super::page::Separator;
use super::ranges::Ranges;
use super::storage::Pages;
use std::collections::VecDeque;
use std::ops::Deref;

/// A reader's position in one tree.
pub(crate) struct Cursor<'p, P: Pages> {
    pages: &'p P,
    tree: Tree,
    root: u32,
    /// What the caller will ask for: only for prefetching.
    ranges: Ranges,
    /// Leaves below this one have been announced, and how many of them are not read yet.
    prefetched: Position,
    ahead: usize,
    /// The same of level-1 pages.
    parents_prefetched: Position,
    parents_ahead: usize,
    /// The level-1 page last descended to, as it was then, and some that follow.
    parents: VecDeque<Parent>,
    spare: Vec<u8>,
    /// The page above the last of them.
    above: Option<Parent>,
    /// Pages locked so far.
    pub reads: u64,
    /// An estimate of the leaves of the tree, or of the scope's part of it, since the first descent.
    pub leaves: Option<f64>,
}

/// Level-1 pages that are announced or read ahead, at most.
const MOST_PARENTS: usize = 4;

/// A copy of an inner page.
type Parent = Locked<Vec<u8>>;

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
            parents_prefetched: Position::MIN,
            parents_ahead: 0,
            parents: VecDeque::new(),
            spare: Vec::new(),
            above: None,
            reads: 0,
            leaves: None,
        }
    }

    /// The leaf that covers `target`, which must not decrease from call to call by the caller's mark. It may hold entries
    /// below the mark. No leaf of an earlier call may be held.
    pub(crate) fn seek(&mut self, target: Position) -> Result<LeafPage<'p, P>> {
        self.pages.delay_point();
        let mut trace = self.trace();
        let leaf = retry(self.pages, || {
            let leaf = self.leaf(target, &mut trace);
            if leaf.is_err() {
                self.parents.clear();
            }
            leaf
        });
        self.reads += trace.reads;
        leaf.inspect(|leaf| self.pages.lock_predicate(leaf.block))
    }

    /// Announces the leaf that covers `target`, of which `seek` will be asked first, and reads the pages above it.
    pub(crate) fn announce(&mut self, target: Position) -> Result<()> {
        let mut trace = self.trace();
        let root = retry(self.pages, || self.approach(target, &mut trace).map(drop));
        self.reads += trace.reads;
        root?;
        if let Some(parent) = self.parents.front() {
            self.pages.prefetch(parent.child(target)?.child);
        }
        Ok(())
    }

    fn trace(&self) -> Trace {
        let within = self.leaves.is_none().then(|| self.ranges.within()).flatten();
        Trace { within, ..Trace::new() }
    }

    fn leaf(&mut self, target: Position, trace: &mut Trace) -> Way<LeafPage<'p, P>> {
        if let Some(root) = self.approach(target, trace)? {
            return Ok(root);
        }
        if self.pages.prefetch_distance() > 0 {
            self.look_ahead(target, trace)?;
        }
        let child = match self.parents.front() {
            Some(parent) => parent.child(target)?,
            None => Separator { low: Position::MIN, child: self.root },
        };
        read_covering(self.pages, self.tree, child, 0, target, trace)
    }

    /// Makes the level-1 page that covers `target` the first of the parents. A root that is a leaf has none, and is given.
    fn approach(&mut self, target: Position, trace: &mut Trace) -> Way<Option<LeafPage<'p, P>>> {
        let passed = |parent: &Parent| parent.header.high.is_some_and(|high| high <= target);
        while self.parents.front().is_some_and(passed) {
            self.spare = self.parents.pop_front().map(|parent| parent.body).unwrap_or_default();
        }
        if !self.parents.front().is_some_and(|parent| parent.header.covers(target)) {
            self.parents.clear();
            let page = descend(self.pages, self.tree, self.root, 1, target, trace)?;
            if page.header.level == 0 {
                self.leaves.get_or_insert(1.0);
                return Ok(Some(page));
            }
            self.leaves.get_or_insert(trace.fanout * page.children(trace.within));
            let parent = copy_of(&page, std::mem::take(&mut self.spare));
            self.parents.push_back(parent);
        }
        Ok(None)
    }

    /// Announces the leaves that will be asked for after that of `target`, and reads the pages above them, which it has
    /// announced before.
    fn look_ahead(&mut self, target: Position, trace: &mut Trace) -> Way<()> {
        self.ahead = self.ahead.saturating_sub(1);
        let Some(parent) = self.parents.front() else { return Ok(()) };
        let mut from = self.prefetched.max(parent.behind(target));
        while self.ahead < self.pages.prefetch_distance() && from < Position::MAX {
            let (Some(next), Some(last)) = (self.ranges.next(from), self.parents.back()) else { break };
            if last.header.covers(next) {
                self.pages.prefetch(last.child(next)?.child);
                self.ahead += 1;
                from = last.behind(next).max(from);
                continue;
            }
            if self.parents.len() > MOST_PARENTS {
                break;
            }
            let parent = self.parent_of(next, trace)?;
            let covers = parent.header.covers(next);
            self.parents.push_back(parent);
            if !covers {
                break;
            }
        }
        self.prefetched = from;
        Ok(())
    }

    /// The level-1 page that covers `next`; announces some that follow.
    fn parent_of(&mut self, next: Position, trace: &mut Trace) -> Way<Parent> {
        let above = match self.above.take().filter(|above| above.header.covers(next)) {
            Some(above) => above,
            None => {
                let page = descend(self.pages, self.tree, self.root, 2, next, trace)?;
                if page.header.level < 2 {
                    return Ok(copy_of(&page, Vec::new()));
                }
                copy_of(&page, Vec::new())
            }
        };
        self.parents_ahead = self.parents_ahead.saturating_sub(1);
        let mut from = self.parents_prefetched.max(above.behind(next));
        while self.parents_ahead < MOST_PARENTS && from < Position::MAX {
            let Some(later) = self.ranges.next(from).filter(|later| above.header.covers(*later)) else {
                break;
            };
            self.pages.prefetch(above.child(later)?.child);
            self.parents_ahead += 1;
            from = above.behind(later).max(from);
        }
        self.parents_prefetched = from;
        let page = read_covering(self.pages, self.tree, above.child(next)?, 1, next, trace)?;
        self.above = Some(above);
        Ok(copy_of(&page, Vec::new()))
    }
}

fn copy_of<B: Deref<Target = [u8]>>(page: &Locked<B>, mut body: Vec<u8>) -> Parent {
    body.clear();
    body.extend_from_slice(&page.body[..page.header.used]);
    Locked { block: page.block, header: page.header, body }
}
