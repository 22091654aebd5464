//! Whether a table is as it was, told by its pages alone: the write-ahead log has a record of every change, and a page
//! says where its last one ends. That is far less to read than the rows, and nothing to compute.

use dedup_core::interrupt;
use pgrx::pg_sys;

/// An open heap whose changes are in the write-ahead log.
struct Heap(pg_sys::Relation);

impl Heap {
    fn open(table: pg_sys::Oid) -> Option<Heap> {
        // SAFETY: a table that is there; it is closed again by `drop`.
        unsafe {
            let heap = Heap(pg_sys::table_open(table, pg_sys::AccessShareLock as pg_sys::LOCKMODE));
            let class = &*(*heap.0).rd_rel;
            let logged = class.relpersistence == pg_sys::RELPERSISTENCE_PERMANENT as std::ffi::c_char;
            (class.relam == pg_sys::HEAP_TABLE_AM_OID && logged).then_some(heap)
        }
    }

    /// What is another where the place in the log means something else: the cluster, the database (a copy has files of
    /// the same names), and the table's file.
    fn place(&self) -> String {
        // SAFETY: the table is open.
        let (cluster, database, file) =
            unsafe { (pg_sys::GetSystemIdentifier(), pg_sys::MyDatabaseId, (*(*self.0).rd_rel).relfilenode) };
        format!("{cluster}/{}/{}", database.to_u32(), file.to_u32())
    }

    fn blocks(&self) -> u32 {
        // SAFETY: the table is open.
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.0, pg_sys::ForkNumber::MAIN_FORKNUM) }
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

/// What [`is_as_marked`] needs to know later. The caller has locked out writers; `None`: it could not tell.
pub(crate) fn mark(table: pg_sys::Oid) -> Option<String> {
    let heap = Heap::open(table)?;
    // SAFETY: the server is not in recovery, or there would be no writer.
    let now = unsafe { pg_sys::GetXLogInsertRecPtr() };
    Some(format!("{} {} {now}", heap.place(), heap.blocks()))
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
    if place != Some(heap.place().as_str()) || blocks != heap.blocks() {
        return false;
    }
    // SAFETY: the blocks exist while no writer is there to remove them, nor VACUUM; each buffer is released at once.
    unsafe {
        let ring = pg_sys::GetAccessStrategy(pg_sys::BufferAccessStrategyType::BAS_BULKREAD);
        let unchanged = (0..blocks).all(|block| {
            interrupt::check();
            let main = pg_sys::ForkNumber::MAIN_FORKNUM;
            let normal = pg_sys::ReadBufferMode::RBM_NORMAL;
            let buffer = pg_sys::ReadBufferExtended(heap.0, main, block, normal, ring);
            let changed = pg_sys::BufferGetLSNAtomic(buffer);
            pg_sys::ReleaseBuffer(buffer);
            changed <= then
        });
        pg_sys::FreeAccessStrategy(ring);
        unchanged
    }
}
