//! Bulk delete: VACUUM's walk over all pages.
//!
//! Locking: one page at a time, in block order, nothing else held: shared, and exclusively only where an entry is dead.
//! WAL: one record per page that loses entries.
//!
//! Why the walk misses nothing. Pages are never unlinked or recycled, and an entry that moves (a split,
//! a root's content) moves to a page that is new at that moment, hence at the end; the walk asks for
//! the length again before it ends, so it gets there. Entries of the rows to delete are not added
//! meanwhile: their tids are dead until VACUUM has finished with all indexes. An emptied leaf stays
//! where it is and takes the future entries of its range.

use super::error::{Result, corrupt};
use super::key::{Position, Tid, Tree};
use super::leaf::{Layout, Leaf, packed_image};
use super::meta::Index;
use super::page::{Header, Kind};
use super::promote::{BucketCounts, MaintainStats};
use super::scan::NO_ROW;
use super::storage::{Change, Edit, Pages};

/// The result of a bulk delete. Rows are counted once, in the first main tree or that of NULLs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DeleteStats {
    /// Rows left.
    pub remaining: u64,
    /// Rows removed.
    pub removed: u64,
    /// Pages walked.
    pub pages: u32,
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
    /// Removes, from all trees, the entries of the rows for which `is_dead` returns true. It is called
    /// at least once for each row, and up to twice per tree.
    ///
    /// # Errors
    /// A damaged page (the pages before it are done), or a failure of the storage.
    pub fn bulk_delete<P: Pages>(
        &self,
        pages: &P,
        mut is_dead: impl FnMut(Tid) -> bool,
    ) -> Result<DeleteStats> {
        let dead = |tids: &[Tid], dead: &mut Vec<bool>| dead.extend(tids.iter().map(|tid| is_dead(*tid)));
        self.walk(pages, dead, None)
    }

    /// A VACUUM's whole work in one pass: removes the entries of dead rows as [`bulk_delete`](Self::bulk_delete) does,
    /// counts the buckets on the way and promotes those that have become hot, as [`maintain`](Self::maintain) does.
    /// `dead` is asked of rows and adds an answer for each, in order.
    ///
    /// # Errors
    /// As those two.
    pub fn vacuum<P: Pages>(
        &self,
        pages: &P,
        dead: impl FnMut(&[Tid], &mut Vec<bool>),
    ) -> Result<(DeleteStats, MaintainStats)> {
        let mut counts = BucketCounts::new(self)?;
        let stats = self.walk(pages, dead, Some(&mut counts))?;
        let promoted = self.promote_counted(pages, &counts)?;
        Ok((stats, MaintainStats { rows: stats.remaining, promoted }))
    }

    fn walk<P: Pages>(
        &self,
        pages: &P,
        mut dead: impl FnMut(&[Tid], &mut Vec<bool>),
        mut counts: Option<&mut BucketCounts>,
    ) -> Result<DeleteStats> {
        let mut stats = DeleteStats::default();
        let (mut block, mut end) = (1, pages.len()?);
        let ahead = pages.prefetch_distance() as u32;
        (block..end.min(block + ahead)).for_each(|block| pages.prefetch(block));
        loop {
            while block < end {
                if ahead > 0 && end - block > ahead {
                    pages.prefetch(block + ahead);
                }
                if let Some((tree, left)) = delete_on_page(pages, block, &mut dead, &mut stats)?
                    && let Some(counts) = &mut counts
                {
                    left.into_iter().for_each(|entry| counts.add(tree, entry.key));
                }
                block += 1;
                pages.delay_point();
            }
            end = pages.len()?;
            if block >= end {
                stats.pages = block;
                return Ok(stats);
            }
        }
    }
}

/// Returns the tree of a leaf and what is left on it.
fn delete_on_page<P: Pages>(
    pages: &P,
    block: u32,
    is_dead: &mut impl FnMut(&[Tid], &mut Vec<bool>),
    stats: &mut DeleteStats,
) -> Result<Option<(Tree, Vec<Position>)>> {
    let mut dead = Vec::new();
    let page = pages.read(block)?;
    let Some((header, _, known)) = leaf_entries(block, &page)? else { return Ok(None) };
    drop(page);
    ask(&known, is_dead, &mut dead);
    if !dead.contains(&true) {
        stats.count(&header, known.len(), 0);
        return Ok(Some((header.tree, known)));
    }
    let mut page = pages.lock(block)?;
    // None: a root that has been split meanwhile. Its entries are on new pages.
    let Some((header, layout, mut entries)) = leaf_entries(block, &page)? else { return Ok(None) };
    let before = entries.len();
    // Usually nothing has happened but an insert or two.
    if entries.starts_with(&known) {
        ask(&entries[known.len()..], is_dead, &mut dead);
    } else {
        dead.clear();
        ask(&entries, is_dead, &mut dead);
    }
    // The last entry replaces a removed one: entries that do not move are not logged.
    for n in (0..before).rev().filter(|n| dead.get(*n) == Some(&true)) {
        entries.swap_remove(n);
    }
    stats.count(&header, entries.len(), before - entries.len());
    if entries.len() < before {
        let image = packed_image(header, &layout, &entries);
        pages.commit(&mut [Edit { page: &mut page, change: Change::Image(&image), fresh: false }])?;
    }
    Ok(Some((header.tree, entries)))
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
    match entries.iter().all(|entry| entry.tid.can_be_a_row()) {
        true => Ok(Some((header, leaf.layout, entries))),
        false => corrupt(block, NO_ROW),
    }
}

fn ask(entries: &[Position], is_dead: &mut impl FnMut(&[Tid], &mut Vec<bool>), dead: &mut Vec<bool>) {
    let tids: Vec<Tid> = entries.iter().map(|entry| entry.tid).collect();
    is_dead(&tids, dead);
}
