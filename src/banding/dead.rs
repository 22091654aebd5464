//! Which rows are dead for good: those whose line pointer the pruning of their page has marked dead. A page is pruned here
//! where PostgreSQL would: if it is nearly full.
//!
//! Locking: pages of the table are pinned, and pruned if they hold old versions, with nothing else locked; one shared lock
//! at a time while a line pointer is looked at, perhaps under locks on leaves of the index: as a B-tree does, and nobody
//! waits for a leaf while holding a page of a table.
//!
//! WAL: none. The record of the pruning has ended the queries of standbys that could still see such a row, and comes
//! before the record that removes its entries.

use crate::pg::version;
use dedup_core::banding::{Dead, Result, Tid};
use pgrx::pg_sys;

/// Pages of the table that are pinned at once, and the share of all buffers that they are at most: other sessions pin some too.
const MOST_PINNED: usize = 32;
const SHARE_PINNED: i32 = 128;

/// The line pointers of some pages of a table.
pub(super) struct LinePointers {
    table: pg_sys::Relation,
    blocks: u32,
    pinned: Vec<(u32, pg_sys::Buffer)>,
}

impl LinePointers {
    /// Those of `table`; `None` if it is not a heap, or this is a standby.
    ///
    /// # Safety
    /// Null, or a table that stays open and locked for as long as the value lives.
    pub(super) unsafe fn of(table: pg_sys::Relation) -> Option<LinePointers> {
        // SAFETY: the caller's promise.
        unsafe {
            let heap = !table.is_null()
                && std::ptr::eq((*table).rd_tableam, pg_sys::GetHeapamTableAmRoutine())
                && !pg_sys::RecoveryInProgress();
            heap.then_some(LinePointers { table, blocks: 0, pinned: Vec::new() })
        }
    }

    fn release(&mut self) {
        for (_, buffer) in self.pinned.drain(..) {
            // SAFETY: pinned by `visit`.
            unsafe { pg_sys::ReleaseBuffer(buffer) }
        }
    }
}

impl Dead for LinePointers {
    fn visit(&mut self, rows: &[Tid]) -> Result<()> {
        self.release();
        // SAFETY: the table is open (see `of`); NBuffers is set once, when the server starts.
        unsafe {
            let main = pg_sys::ForkNumber::MAIN_FORKNUM;
            let most = ((pg_sys::NBuffers / SHARE_PINNED) as usize).clamp(2, MOST_PINNED);
            let mut blocks: Vec<u32> = rows.iter().map(|row| row.block()).collect();
            blocks.sort_unstable();
            blocks.dedup();
            if blocks.last().is_some_and(|last| *last >= self.blocks) {
                self.blocks = pg_sys::RelationGetNumberOfBlocksInFork(self.table, main);
            }
            blocks.retain(|block| *block < self.blocks);
            blocks.truncate(most);
            for block in blocks {
                let buffer = pg_sys::ReadBuffer(self.table, block);
                self.pinned.push((block, buffer));
                version::heap_page_prune_opt(self.table, buffer);
            }
        }
        Ok(())
    }

    fn is_dead(&mut self, row: Tid) -> bool {
        let Ok(at) = self.pinned.binary_search_by_key(&row.block(), |page| page.0) else { return false };
        let buffer = self.pinned[at].1;
        // SAFETY: the buffer is pinned, and locked while its page is read. A page that is new has no line pointer.
        unsafe {
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as _);
            let page = pg_sys::BufferGetPage(buffer).cast::<pg_sys::PageHeaderData>();
            let header = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
            let count =
                usize::from((*page).pd_lower).saturating_sub(header) / size_of::<pg_sys::ItemIdData>();
            let dead = (1..=count).contains(&usize::from(row.offset())) && {
                let lines = page.cast::<u8>().add(header).cast::<pg_sys::ItemIdData>();
                (*lines.add(usize::from(row.offset()) - 1)).lp_flags() == pg_sys::LP_DEAD
            };
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as _);
            dead
        }
    }
}

impl Drop for LinePointers {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.release();
        }
    }
}
