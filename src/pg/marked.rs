//! Whether a table is as it was, and where it is not, told by its pages alone: the write-ahead log has a record of every
//! change, and a page says where its last one ends. That is far less to read than the rows, and nothing to compute.

use dedup_core::interrupt;
use dedup_core::memory::{self, OrRaise, Room};
use pgrx::pg_sys;
use std::ffi::c_char;

/// Bytes before the bits of a page of the visibility map, and the pages that it has two bits for.
const MAP_HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
const MAPPED: u32 = (pg_sys::BLCKSZ - MAP_HEADER as u32) * 4;

/// An open heap whose changes are in the write-ahead log.
pub(crate) struct Heap(pg_sys::Relation);

impl Heap {
    pub(crate) fn open(table: pg_sys::Oid) -> Option<Heap> {
        // SAFETY: a table that is there; it is closed again by `drop`.
        unsafe {
            let heap = Heap(pg_sys::table_open(table, pg_sys::AccessShareLock as pg_sys::LOCKMODE));
            let class = heap.class();
            let logged = class.relpersistence == pg_sys::RELPERSISTENCE_PERMANENT as c_char;
            // Some catalogues have no file of their own number.
            let filed = class.relfilenode != pg_sys::InvalidOid;
            (class.relam == pg_sys::HEAP_TABLE_AM_OID && logged && filed).then_some(heap)
        }
    }

    fn class(&self) -> &pg_sys::FormData_pg_class {
        // SAFETY: the table is open.
        unsafe { &*(*self.0).rd_rel }
    }

    /// What is another where the place in the log means something else: the cluster, the database (a copy has files of
    /// the same names), and the table's file.
    pub(crate) fn place(&self) -> String {
        // SAFETY: plain reads.
        let (cluster, database) = unsafe { (pg_sys::GetSystemIdentifier(), pg_sys::MyDatabaseId) };
        format!("{cluster}/{}/{}", database.to_u32(), self.class().relfilenode.to_u32())
    }

    /// Whether all rows are in this heap, and whoever may read it sees all that are committed.
    pub(crate) fn is_all_of_table(&self) -> bool {
        let class = self.class();
        // SAFETY: any table and role are answered.
        let readable = unsafe {
            pg_sys::pg_class_aclcheck(class.oid, pg_sys::GetUserId(), pg_sys::ACL_SELECT as pg_sys::AclMode)
                == pg_sys::AclResult::ACLCHECK_OK
        };
        readable
            && class.relkind == pg_sys::RELKIND_RELATION as c_char
            && !class.relhassubclass
            && !class.relrowsecurity
    }

    pub(crate) fn blocks(&self) -> u32 {
        // SAFETY: the table is open.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.0, pg_sys::ForkNumber::MAIN_FORKNUM) }
    }

    /// Calls `each` with the number of every page whose rows may have changed behind a place in the log, where its last
    /// change ends and its buffer, which is pinned and not locked, until it returns false. Returns whether it never did.
    /// Nobody may shorten the table: the caller has a lock of it.
    fn for_each_page(
        &self,
        blocks: u32,
        since: u64,
        mut each: impl FnMut(u32, u64, pg_sys::Buffer) -> bool,
    ) -> bool {
        // SAFETY: the blocks exist, for VACUUM needs a lock of its own to remove some; each buffer is released.
        unsafe {
            let ring = pg_sys::GetAccessStrategy(pg_sys::BufferAccessStrategyType::BAS_BULKREAD);
            let mut map = Vec::new();
            let all = (0..blocks).all(|block| {
                interrupt::check();
                let mapped = block % MAPPED;
                if mapped == 0 {
                    map = self.visible_since(block, since);
                }
                if map.get(mapped as usize / 4).is_some_and(|bits: &u8| bits >> (mapped % 4 * 2) & 1 == 1) {
                    return true;
                }
                let main = pg_sys::ForkNumber::MAIN_FORKNUM;
                let normal = pg_sys::ReadBufferMode::RBM_NORMAL;
                let buffer = pg_sys::ReadBufferExtended(self.0, main, block, normal, ring);
                // Whoever is changing the page has it locked until this is set: so a record that was in the log before
                // has its place here, of a writer without a transaction (VACUUM) too, and both halves of it are.
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                let changed = pg_sys::BufferGetLSNAtomic(buffer);
                pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
                let more = each(block, changed, buffer);
                pg_sys::ReleaseBuffer(buffer);
                more
            });
            pg_sys::FreeAccessStrategy(ring);
            all
        }
    }

    /// The visibility map's page for a page and those that follow, or nothing if a bit was set in it behind a place in the
    /// log. A bit that was set before and still is says that no row of its page has come, gone or changed since: whoever
    /// does that clears it, and the log has a record of each that is set.
    fn visible_since(&self, block: u32, since: u64) -> Vec<u8> {
        // SAFETY: the table is open; the buffer is pinned by the look at it and locked while it is read.
        unsafe {
            let mut buffer = pg_sys::InvalidBuffer as pg_sys::Buffer;
            pg_sys::visibilitymap_get_status(self.0, block, &mut buffer);
            if buffer == pg_sys::InvalidBuffer as pg_sys::Buffer {
                return Vec::new();
            }
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
            let bits = if pg_sys::BufferGetLSNAtomic(buffer) <= since {
                let page = pg_sys::BufferGetPage(buffer).cast::<u8>();
                memory::copy(std::slice::from_raw_parts(page.add(MAP_HEADER), MAPPED as usize / 4))
            } else {
                Ok(Vec::new())
            };
            pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
            pg_sys::ReleaseBuffer(buffer);
            bits.or_raise()
        }
    }

    /// The places of rows on pages that were changed behind a place in the log, as pairs of page and number; `None`: more
    /// than `most`.
    pub(crate) fn changed_since(&self, lsn: u64, most: usize) -> Option<Vec<(u32, u16)>> {
        let mut places = Vec::new();
        let all = self.for_each_page(self.blocks(), lsn, |block, changed, buffer| {
            if changed > lsn {
                // SAFETY: the buffer is pinned, and locked while the page is looked at.
                let rows = unsafe {
                    pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_SHARE as i32);
                    let rows = pg_sys::PageGetMaxOffsetNumber(pg_sys::BufferGetPage(buffer));
                    pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as i32);
                    rows
                };
                places.room(rows.into()).or_raise();
                places.extend((1..=rows).map(|row| (block, row)));
            }
            places.len() <= most
        });
        all.then_some(places)
    }
}

impl Drop for Heap {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        // SAFETY: the table was opened with this lock; after an error its resource owner closes it instead.
        unsafe { pg_sys::table_close(self.0, pg_sys::AccessShareLock as pg_sys::LOCKMODE) }
    }
}

/// The place where the log ends now.
pub(crate) fn end_of_log() -> u64 {
    // SAFETY: the server is not in recovery, or there would be no writer.
    unsafe { pg_sys::GetXLogInsertRecPtr() }
}

/// The number of the next transaction to write.
pub(crate) fn next_transaction() -> u64 {
    // SAFETY: a plain question.
    unsafe { pg_sys::ReadNextFullTransactionId().value }
}

/// The oldest transaction that wrote and had not ended when the statement that calls began: all of lower numbers had.
pub(crate) fn oldest_running() -> u64 {
    let next = next_transaction();
    // SAFETY: a function is called with a snapshot.
    let oldest = u64::from(unsafe { (*pg_sys::GetActiveSnapshot()).xmin }.into_inner());
    let full = next >> 32 << 32 | oldest;
    if full > next { full.saturating_sub(1 << 32) } else { full }
}

/// What [`is_as_marked`] needs to know later. The caller has locked out writers; `None`: it could not tell.
pub(crate) fn mark(table: pg_sys::Oid) -> Option<String> {
    let heap = Heap::open(table)?;
    Some(format!("{} {} {}", heap.place(), heap.blocks(), end_of_log()))
}

/// Whether no page of a table was changed since it was marked. The caller has locked out writers.
pub(crate) fn is_as_marked(table: pg_sys::Oid, mark: &str) -> bool {
    let Some(heap) = Heap::open(table) else { return false };
    let mut parts = mark.split(' ');
    let (place, blocks, then) = (parts.next(), parts.next(), parts.next());
    let (Some(blocks), Some(then)) = (
        blocks.and_then(|blocks| blocks.parse::<u32>().ok()),
        then.and_then(|then| then.parse::<u64>().ok()),
    ) else {
        return false;
    };
    place == Some(heap.place().as_str())
        && blocks == heap.blocks()
        && heap.for_each_page(blocks, then, |_, changed, _| changed <= then)
}
