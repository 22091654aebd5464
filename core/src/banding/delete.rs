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
use super::leaf::{Leaf, packed_image};
use super::meta::Index;
use super::page::{Header, Kind};
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
        let mut stats = DeleteStats::default();
        let (mut block, mut end) = (1, pages.len()?);
        let ahead = pages.prefetch_distance() as u32;
        (block..end.min(block + ahead)).for_each(|block| pages.prefetch(block));
        loop {
            while block < end {
                if ahead > 0 && end - block > ahead {
                    pages.prefetch(block + ahead);
                }
                delete_on_page(pages, block, &mut is_dead, &mut stats)?;
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

fn delete_on_page<P: Pages>(
    pages: &P,
    block: u32,
    is_dead: &mut impl FnMut(Tid) -> bool,
    stats: &mut DeleteStats,
) -> Result<()> {
    let (header, tids) = {
        let page = pages.read(block)?;
        let header = match Header::read(block, &page)? {
            Some(header) if header.kind == Kind::Leaf => header,
            _ => return Ok(()),
        };
        (header, Leaf::read(block, &page, header)?.iter().map(|entry| entry.tid).collect::<Vec<_>>())
    };
    // `is_dead` may rely on the tid being that of a row.
    if tids.iter().any(|tid| !tid.can_be_a_row()) {
        return corrupt(block, NO_ROW);
    }
    if !tids.into_iter().any(&mut *is_dead) {
        stats.count(&header, header.count, 0);
        return Ok(());
    }
    let mut page = pages.lock(block)?;
    let header = match Header::read(block, &page)? {
        Some(header) if header.kind == Kind::Leaf => header,
        // A root that has been split meanwhile: its entries are on new pages.
        _ => return Ok(()),
    };
    let leaf = Leaf::read(block, &page, header)?;
    let mut entries: Vec<Position> = leaf.iter().collect();
    if entries.iter().any(|entry| !entry.tid.can_be_a_row()) {
        return corrupt(block, NO_ROW);
    }
    let before = entries.len();
    // The last entry replaces a removed one: entries that do not move are not logged.
    let mut n = 0;
    while n < entries.len() {
        if is_dead(entries[n].tid) {
            entries.swap_remove(n);
        } else {
            n += 1;
        }
    }
    let layout = leaf.layout;
    stats.count(&header, entries.len(), before - entries.len());
    if entries.len() < before {
        let image = packed_image(header, &layout, &entries);
        pages.commit(&mut [Edit { page: &mut page, change: Change::Image(&image), fresh: false }])?;
    }
    Ok(())
}
