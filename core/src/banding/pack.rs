//! Writing one tree bottom-up from entries in order.
//!
//! Pages are written once each and in block order: a tree's leaves one after the other, then each level
//! above, the root last. Memory holds one leaf of the tree being written, and one separator per leaf.

use super::error::{Result, failed};
use super::key::{Position, Tree};
use super::leaf::{Layout, MAX_WIDTH, leaf_image};
use super::page::{HEADER, Header, Kind, Separator, inner_image};
use crate::interrupt;
use crate::memory::{self, Grow};

/// Receives the pages of a build.
pub trait PageSink {
    /// Writes the body of a page. Blocks come as 1, 2, 3, … and, at the very end, 0.
    fn write(&mut self, block: u32, body: &[u8]) -> Result<()>;

    /// Reports progress: `done` of `total` entries are written (at least four per row).
    fn progress(&mut self, _done: u64, _total: u64) {}
}

/// Numbers pages and pads their bodies.
pub(crate) struct Output<'k, K: PageSink> {
    pub sink: &'k mut K,
    pub next: u32,
    body: Vec<u8>,
    pub entries: u64,
    pub total: u64,
}

impl<'k, K: PageSink> Output<'k, K> {
    pub(crate) fn new(sink: &'k mut K, body_len: usize, total: u64) -> Self {
        Output { sink, next: 1, body: vec![0; body_len], entries: 0, total }
    }

    pub(crate) fn body_len(&self) -> usize {
        self.body.len()
    }

    /// Writes the next page; returns its block.
    pub(crate) fn page(&mut self, image: &[u8]) -> Result<u32> {
        let block = self.next;
        self.at(block, image)?;
        self.next = match block.checked_add(1) {
            Some(next) if next < u32::MAX => next,
            _ => return failed("the index has no block number left"),
        };
        interrupt::check();
        Ok(block)
    }

    pub(crate) fn at(&mut self, block: u32, image: &[u8]) -> Result<()> {
        self.body[..image.len()].copy_from_slice(image);
        self.body[image.len()..].fill(0);
        self.sink.write(block, &self.body)
    }
}

/// A tree being written.
pub(crate) struct TreeWriter {
    tree: Tree,
    scoped: bool,
    fillfactor: usize,
    low: Position,
    /// Entries of the leaf being filled, and a few of the next.
    entries: Vec<Position>,
    /// Fewer than these fit whatever their width.
    always_fit: usize,
    max_block: u32,
    max_offset: u16,
    leaves: Vec<Separator>,
}

impl TreeWriter {
    pub(crate) fn new(tree: Tree, scoped: bool, fillfactor: u8, body_len: usize) -> Self {
        TreeWriter {
            tree,
            scoped,
            fillfactor: fillfactor.into(),
            low: Position::MIN,
            entries: Vec::new(),
            always_fit: (body_len - HEADER) / MAX_WIDTH,
            max_block: 0,
            max_offset: 0,
            leaves: Vec::new(),
        }
    }

    /// Adds the next entry; they must come in order.
    #[inline]
    pub(crate) fn push<K: PageSink>(&mut self, out: &mut Output<'_, K>, entry: Position) -> Result<()> {
        self.max_block = self.max_block.max(entry.tid.block());
        self.max_offset = self.max_offset.max(entry.tid.offset());
        self.entries.push(entry);
        if self.entries.len() > self.always_fit {
            // The leaf would end behind this entry, or before.
            let layout = Layout::new(&self.header(Some(beyond(entry))), self.max_block, self.max_offset);
            if self.entries.len() > layout.capacity(out.body_len()) {
                let wanted = (layout.capacity(out.body_len()) * self.fillfactor / 100).max(1);
                self.leaf(out, wanted)?;
            }
        }
        Ok(())
    }

    /// A leaf of what is at hand, up to `high`.
    fn header(&self, high: Option<Position>) -> Header {
        Header::new(Kind::Leaf, self.tree, 0, self.low, high).scoped(self.scoped)
    }

    /// Writes a leaf of about the first `wanted` entries; there are more.
    fn leaf<K: PageSink>(&mut self, out: &mut Output<'_, K>, wanted: usize) -> Result<()> {
        let (cut, high) = self.cut(wanted.min(self.entries.len() - 1));
        let mut header = self.header(Some(high));
        header.right = out.next + 1;
        let image = leaf_image(header, &self.entries[..cut], out.body_len());
        let Some(image) = image else {
            return failed("a leaf was packed beyond its page");
        };
        self.leaves.grow(Separator { low: self.low, child: out.page(&image)? })?;
        self.entries.drain(..cut);
        self.low = high;
        out.entries += cut as u64;
        out.sink.progress(out.entries, out.total);
        Ok(())
    }

    /// How many entries go into the leaf, and its high key: at the start of a bucket if one is near, so
    /// that a probe reads one leaf and not two.
    fn cut(&self, wanted: usize) -> (usize, Position) {
        let bucket_at = |n: usize| Position::is_cut(self.entries[n - 1], self.entries[n]);
        // As far up as down, so that alignment does not change the average fill.
        let slack = (wanted * (100 - self.fillfactor) / self.fillfactor).min(wanted / 8);
        let slack = slack.min(self.entries.len() - 1 - wanted).min(wanted - 1);
        let near = (0..=slack).flat_map(|d| [wanted - d, wanted + d]).find(|n| bucket_at(*n));
        let n = near.unwrap_or(wanted);
        (n, Position::between(self.entries[n - 1], self.entries[n]))
    }

    /// Writes what is left and the levels above; returns the root's block.
    pub(crate) fn finish<K: PageSink>(mut self, out: &mut Output<'_, K>) -> Result<u32> {
        // The last leaf's range is open, which can take wider keys than its entries need.
        loop {
            if let Some(image) = leaf_image(self.header(None), &self.entries, out.body_len()) {
                self.leaves.grow(Separator { low: self.low, child: out.page(&image)? })?;
                out.entries += self.entries.len() as u64;
                break;
            }
            self.leaf(out, self.entries.len() / 2)?;
        }
        let mut level = std::mem::take(&mut self.leaves);
        let mut height = 0;
        while level.len() > 1 {
            height += 1;
            level = self.level(out, height, &level)?;
        }
        Ok(level[0].child)
    }

    /// Writes the inner pages above `children`.
    fn level<K: PageSink>(
        &self,
        out: &mut Output<'_, K>,
        height: u8,
        children: &[Separator],
    ) -> Result<Vec<Separator>> {
        let header = |low, high| Header::new(Kind::Inner, self.tree, height, low, high).scoped(self.scoped);
        let capacity = (out.body_len() - HEADER) / header(Position::MIN, None).separator();
        let pages = match children.len() <= capacity {
            true => 1,
            false => children.len().div_ceil((capacity * self.fillfactor / 100).max(2)),
        };
        let mut above = memory::with_capacity(pages)?;
        for n in 0..pages {
            // Evenly, so that the last page is as full as the others.
            let (from, to) = (n * children.len() / pages, (n + 1) * children.len() / pages);
            let low = children[from].low;
            let mut header = header(low, children.get(to).map(|next| next.low));
            header.right = if to < children.len() { out.next + 1 } else { 0 };
            let child = out.page(&inner_image(header, &children[from..to]))?;
            above.push(Separator { low, child });
        }
        Ok(above)
    }
}

/// A high key just above an entry, for sizing.
fn beyond(entry: Position) -> Position {
    Position { tid: super::key::Tid::from_bits(u64::MAX), ..entry }
}
