//! How readers and inserters get to a page: Lehman and Yao's way.
//!
//! Locking: one shared lock at a time. A page's lock is released before its child is read, perhaps from disk, so
//! nobody waits for a page because somebody else waits for another one below it.
//!
//! Why that is safe. Inner pages never go away, and all but a root stay at their level and keep
//! their low key; a split moves what is at or above some position to a new page, to which the right link points. So
//! where a separator led at some moment, there or further right is the page that covers the position for ever after. A
//! root keeps its block when it splits: what it held goes one level down, to two new pages, and a separator that was
//! read before leads where it led. A split and the separator for its new page are one record ([`insert`](super::insert)),
//! so that one step to the right is rare, and a second one rarer. Leaves do go away ([`recycle`](super::recycle)): one is
//! taken only if it says itself that it begins where it should and covers the position; else the way begins [`retry`].

use super::error::{Astray, Result, Way, corrupt, moved, sound};
use super::key::{Position, Tree};
use super::page::{Header, MAX_LEVEL, Separator, find_child, separator};
use super::storage::{Pages, WritePage};
use std::ops::Deref;

pub(crate) struct Locked<B> {
    pub block: u32,
    pub header: Header,
    pub body: B,
}

impl<B: Deref<Target = [u8]>> Locked<B> {
    /// The separator of an inner page whose child covers `target`, or lies to the left of the one that does.
    #[inline]
    pub(crate) fn child(&self, target: Position) -> Result<Separator> {
        let to = separator(&self.body, find_child(&self.body, self.header.count, target));
        sound(to.child != self.block, to.child, "a separator points to its own page")?;
        Ok(to)
    }

    /// Where the child that covers `target` ends.
    pub(crate) fn behind(&self, target: Position) -> Position {
        let at = find_child(&self.body, self.header.count, target) + 1;
        match at < self.header.count {
            true => separator(&self.body, at).low.max(target),
            false => self.header.high.unwrap_or(Position::MAX),
        }
    }

    /// How many children it has within a part of the tree, or in all.
    pub(crate) fn children(&self, within: Option<(Position, Position)>) -> f64 {
        let child = |of| find_child(&self.body, self.header.count, of);
        match within {
            Some((first, last)) => (1 + child(last).saturating_sub(child(first))) as f64,
            None => self.header.count as f64,
        }
    }
}

/// Ways to a leaf, of which all but the last may have led to a page that was recycled meanwhile.
pub(crate) const WAYS: usize = 100;

/// Goes the way to a leaf again where it led to a page that has moved. Damage ends it at once.
#[inline]
pub(crate) fn retry<P: Pages, T>(pages: &P, mut way: impl FnMut() -> Way<T>) -> Result<T> {
    for _ in 1..WAYS {
        match way() {
            Err(Astray::Moved { .. }) => pages.delay_point(),
            other => return other.map_err(Astray::damage),
        }
    }
    way().map_err(Astray::damage)
}

/// What a descent cost.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Trace {
    /// Pages read.
    pub reads: u64,
    /// Separators on the inner pages that were read, multiplied: an estimate of the pages below the last one.
    pub fanout: f64,
    /// Count only those of a part of the tree: from its first position to its last.
    pub within: Option<(Position, Position)>,
}

impl Trace {
    pub(crate) fn new() -> Self {
        Trace { reads: 0, fanout: 1.0, within: None }
    }
}

/// The page of `level` that covers `target`, or the root if the tree is not as high.
pub(crate) fn descend<'p, P: Pages>(
    pages: &'p P,
    tree: Tree,
    root: u32,
    level: u8,
    target: Position,
    trace: &mut Trace,
) -> Way<Locked<P::Read<'p>>> {
    trace.reads += 1;
    let body = pages.read(root)?;
    // A root stays where it is.
    let header = Header::read_tree(root, &body, tree).map_err(Astray::damage)?;
    let mut page = Locked { block: root, header, body };
    let is_root = page.header.level <= MAX_LEVEL && page.header.covers(target);
    sound(is_root, root, "the root does not cover all keys")?;
    while page.header.level > level {
        trace.fanout *= page.children(trace.within);
        let (child, below) = (page.child(target)?, page.header.level - 1);
        drop(page);
        page = read_covering(pages, tree, child, below, target, trace)?;
    }
    Ok(page)
}

/// The page of `level` that covers `target`, from the one of a separator on to the right.
pub(crate) fn read_covering<'p, P: Pages>(
    pages: &'p P,
    tree: Tree,
    from: Separator,
    level: u8,
    target: Position,
    trace: &mut Trace,
) -> Way<Locked<P::Read<'p>>> {
    covering(tree, from, level, target, |block| {
        trace.reads += 1;
        pages.read(block)
    })
}

/// The same, locked exclusively, for a caller that holds `held`.
pub(crate) fn lock_covering<'p, P: Pages>(
    pages: &'p P,
    tree: Tree,
    from: Separator,
    level: u8,
    target: Position,
    held: &P::Write<'p>,
) -> Way<Locked<P::Write<'p>>> {
    covering(tree, from, level, target, |block| {
        sound(block != held.block(), block, "a page is reached from a page above it a second time")?;
        pages.lock(block)
    })
}

#[inline]
fn covering<B: Deref<Target = [u8]>>(
    tree: Tree,
    Separator { mut low, child: mut block }: Separator,
    level: u8,
    target: Position,
    mut get: impl FnMut(u32) -> Result<B>,
) -> Way<Locked<B>> {
    loop {
        let body = get(block)?;
        let header = Header::read_tree(block, &body, tree)?;
        // A free page may become an inner one, and a root gets levels below it. Other inner pages keep level and low key.
        if header.level != level {
            let what = format!("level {} where {level} is expected", header.level);
            return if header.level > level { moved(block, what) } else { Ok(corrupt(block, what)?) };
        }
        if header.low > target || header.low != low {
            let what = "the page does not cover the key its parent leads here for";
            return if level == 0 { moved(block, what) } else { Ok(corrupt(block, what)?) };
        }
        match header.high {
            // The low key grows from page to page: this ends.
            Some(high) if high <= target => {
                let links = header.right != block && header.right != 0;
                sound(links, block, "the page does not link to the one to its right")?;
                (block, low) = (header.right, high);
            }
            _ => return Ok(Locked { block, header, body }),
        }
    }
}
