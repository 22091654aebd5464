//! Bulk delete: VACUUM's walk over all pages.
//!
//! Locking: one page at a time, in block order, nothing else held: shared, and exclusively only where an entry is dead.
//! WAL: one record per page that loses entries.
//!
//! Each row stands in four trees: what was said of it is remembered, for the one who knows searches a list of all dead rows.
//!
//! Why the walk misses nothing. An entry that moves (a split, a root's content) moves to a page that is new at that moment,
//! hence at the end, for no page is used again while the walk lasts; the walk asks for
//! the length again before it ends, so it gets there. Entries of the rows to delete are not added
//! meanwhile: their tids are dead until VACUUM has finished with all indexes. Emptied leaves are [recycled](super::recycle).

use super::error::{Result, sound};
use super::key::{Position, Tid, Tree};
use super::leaf::{Layout, Leaf, packed_image, remove_dead};
use super::meta::Index;
use super::page::{Header, Kind};
use super::promote::BucketCounts;
use super::recycle::{reclaim, set_walked};
use super::scan::NO_ROW;
use super::storage::{Change, Edit, Pages};
use crate::memory;

/// The result of a bulk delete. Rows are counted once, in the first main tree or that of NULLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeleteStats {
    /// Rows left.
    pub remaining: u64,
    /// Rows removed.
    pub removed: u64,
    /// Pages walked.
    pub pages: u32,
    /// Pages that have become free.
    pub freed: u32,
    /// Pages that are free in the end.
    pub free: u32,
    /// Buckets that were given their second level.
    pub promoted: u32,
}

impl DeleteStats {
    fn count(&mut self, header: &Header, remaining: usize, removed: usize) {
        if header.tree == Tree::main(0) || header.tree == Tree::NULLS {
            self.remaining += remaining as u64;
            self.removed += removed as u64;
        }
    }
}

impl Index {
    /// Says that nobody walks over all pages, as a bulk delete that was cancelled could not: for a VACUUM, of which there is
    /// one at a time.
    pub fn end_walk<P: Pages>(pages: &P) -> Result<()> {
        set_walked(pages, false)
    }

    /// Removes, from all trees, the entries of the rows for which `is_dead` returns true. It is called
    /// at least once for each row, and must always say the same of it.
    pub fn bulk_delete<P: Pages>(
        &self,
        pages: &P,
        mut is_dead: impl FnMut(Tid) -> bool,
    ) -> Result<DeleteStats> {
        let dead = |tids: &[Tid], dead: &mut Vec<bool>| dead.extend(tids.iter().map(|tid| is_dead(*tid)));
        self.walk(pages, Answers::new(dead, 1 << 20), None)
    }

    /// A VACUUM's whole work in one pass: removes the entries of dead rows as [`bulk_delete`](Self::bulk_delete) does,
    /// counts the buckets on the way and promotes those that have become hot. A promotion that fails is begun anew next time.
    /// `dead` is asked of rows and adds an answer for each, in order, the same whenever it is asked; `memory` bytes at most
    /// remember them.
    pub fn vacuum<P: Pages>(
        &self,
        pages: &P,
        memory: usize,
        dead: impl FnMut(&[Tid], &mut Vec<bool>),
    ) -> Result<DeleteStats> {
        let mut counts = BucketCounts::new(self)?;
        let stats = self.walk(pages, Answers::new(dead, memory), Some(&mut counts))?;
        Ok(DeleteStats { promoted: self.promote_counted(pages, &counts)?, ..stats })
    }

    fn walk<P: Pages>(
        &self,
        pages: &P,
        mut dead: Answers<impl FnMut(&[Tid], &mut Vec<bool>)>,
        mut counts: Option<&mut BucketCounts>,
    ) -> Result<DeleteStats> {
        let mut stats = DeleteStats::default();
        set_walked(pages, true)?;
        let (mut block, mut end) = (1, pages.len()?);
        let ahead = pages.prefetch_distance() as u32;
        (block..end.min(block + ahead)).for_each(|block| pages.prefetch(block));
        loop {
            while block < end {
                if ahead > 0 && end - block > ahead {
                    pages.prefetch(block + ahead);
                }
                if let Some((header, left)) = delete_on_page(pages, block, &mut dead, &mut stats)? {
                    if left.is_empty() {
                        let freed = reclaim(pages, self, &header)?;
                        stats.freed += freed.len() as u32;
                        // The walk comes to the others.
                        stats.free += freed.iter().filter(|it| **it <= block).count() as u32;
                    }
                    if let Some(counts) = &mut counts {
                        left.into_iter().for_each(|entry| counts.add(header.tree, entry.key));
                    }
                }
                block += 1;
                pages.delay_point();
            }
            end = pages.len()?;
            if block >= end {
                set_walked(pages, false)?;
                stats.pages = block;
                return Ok(stats);
            }
        }
    }
}

/// Returns the header of a leaf and what is left on it.
fn delete_on_page<P: Pages>(
    pages: &P,
    block: u32,
    answers: &mut Answers<impl FnMut(&[Tid], &mut Vec<bool>)>,
    stats: &mut DeleteStats,
) -> Result<Option<(Header, Vec<Position>)>> {
    let mut dead = Vec::new();
    let page = pages.read(block)?;
    let Some((header, _, known)) = leaf_entries(block, &page)? else {
        stats.free += u32::from(Header::read(block, &page)?.is_some_and(|header| header.kind == Kind::Free));
        return Ok(None);
    };
    drop(page);
    answers.of(&known, &mut dead);
    if !dead.contains(&true) {
        stats.count(&header, known.len(), 0);
        return Ok(Some((header, known)));
    }
    let mut page = pages.lock(block)?;
    // None: a root that has been split meanwhile. Its entries are on new pages.
    let Some((header, layout, mut entries)) = leaf_entries(block, &page)? else { return Ok(None) };
    let before = entries.len();
    // Usually nothing has happened but an insert or two.
    if entries.starts_with(&known) {
        answers.of(&entries[known.len()..], &mut dead);
    } else {
        dead.clear();
        answers.of(&entries, &mut dead);
    }
    remove_dead(&mut entries, |n, _| dead.get(n) == Some(&true));
    stats.count(&header, entries.len(), before - entries.len());
    if entries.len() < before {
        let image = packed_image(header, &layout, &entries);
        pages.commit(&mut [Edit { page: &mut page, change: Change::Image(&image), fresh: false }])?;
    }
    Ok(Some((header, entries)))
}

/// What a page holds if it is a leaf.
fn leaf_entries(block: u32, body: &[u8]) -> Result<Option<(Header, Layout, Vec<Position>)>> {
    let header = match Header::read(block, body)? {
        Some(header) if header.kind == Kind::Leaf => header,
        _ => return Ok(None),
    };
    let leaf = Leaf::read(block, body, header)?;
    let entries: Vec<Position> = leaf.iter().collect();
    // Who is asked which rows are dead may rely on their being rows.
    sound(entries.iter().all(|entry| entry.tid.can_be_a_row()), block, NO_ROW)?;
    Ok(Some((header, leaf.layout, entries)))
}

/// Which rows are dead, as far as that was asked before.
struct Answers<F> {
    ask: F,
    /// Two bits a row, block after block: [`KNOWN`], and what was said.
    bits: Vec<u8>,
    /// Rows of a block that have a place, a multiple of four; 0 until the first rows are seen.
    stride: usize,
    /// The length that `bits` may have.
    most: usize,
    /// Rows to ask about, and their places among those wanted.
    unknown: Vec<Tid>,
    at: Vec<usize>,
    said: Vec<bool>,
}

const KNOWN: u8 = 1;
const DEAD: u8 = 2;

impl<F: FnMut(&[Tid], &mut Vec<bool>)> Answers<F> {
    fn new(ask: F, most: usize) -> Self {
        let (bits, unknown, at, said) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Answers { ask, bits, stride: 0, most, unknown, at, said }
    }

    /// A row's byte and shift, if there is memory for it.
    fn place(&self, row: Tid) -> Option<(usize, u32)> {
        let offset = usize::from(row.offset());
        let n = (row.block() as usize).checked_mul(self.stride)?.checked_add(offset)?;
        (offset < self.stride && n / 4 < self.most).then_some((n / 4, (n % 4 * 2) as u32))
    }

    /// Adds an answer for each entry.
    fn of(&mut self, entries: &[Position], dead: &mut Vec<bool>) {
        if self.stride == 0 {
            let highest = entries.iter().map(|entry| usize::from(entry.tid.offset())).max();
            self.stride = highest.map_or(0, |offset| (offset + 1).next_multiple_of(4));
        }
        self.unknown.clear();
        self.at.clear();
        for entry in entries {
            let known = self.place(entry.tid).and_then(|(byte, shift)| Some(self.bits.get(byte)? >> shift));
            if known.is_none_or(|bits| bits & KNOWN == 0) {
                self.unknown.push(entry.tid);
                self.at.push(dead.len());
            }
            dead.push(known.is_some_and(|bits| bits & DEAD > 0));
        }
        self.said.clear();
        (self.ask)(&self.unknown, &mut self.said);
        for n in 0..self.unknown.len() {
            dead[self.at[n]] = self.said[n];
            self.remember(self.unknown[n], self.said[n]);
        }
    }

    fn remember(&mut self, row: Tid, dead: bool) {
        let Some((byte, shift)) = self.place(row) else { return };
        if byte >= self.bits.len() {
            let len = (byte + 1).next_power_of_two().min(self.most);
            let known = self.bits.len();
            if memory::reserve_exact(&mut self.bits, len - known).is_err() {
                self.most = known;
                return;
            }
            self.bits.resize(len, 0);
        }
        self.bits[byte] |= (KNOWN | if dead { DEAD } else { 0 }) << shift;
    }
}
