//! Whole fingerprints, of which an index has the parts: read from the table, as a scan's snapshot sees it.
//!
//! Locking: as the executor, which fetches a row by its pointer; the last page read stays pinned until the end.

use super::bits::parts_of;
use super::pointer_of;
use super::scope::{parts, scope_columns};
use crate::pg::version;
use dedup_core::banding::Tid;
use pgrx::pg_sys;

/// Reads rows of the table of a scan.
pub(super) struct Wholes {
    scan: pg_sys::IndexScanDesc,
    fetch: *mut pg_sys::IndexFetchTableData,
    slot: *mut pg_sys::TupleTableSlot,
    info: *mut pg_sys::IndexInfo,
    state: *mut pg_sys::EState,
}

impl Wholes {
    /// # Safety
    /// A plain scan, begun, that outlives the value.
    pub(super) unsafe fn of(scan: pg_sys::IndexScanDesc) -> Wholes {
        // SAFETY: the caller's promise; what is begun here is ended in `drop`, or with the query if that fails.
        unsafe {
            let table = (*scan).heapRelation;
            let state = pg_sys::CreateExecutorState();
            let slot = pg_sys::table_slot_create(table, std::ptr::null_mut());
            (*pg_sys::MakePerTupleExprContext(state)).ecxt_scantuple = slot;
            let fetch = version::since_19!(table_index_fetch_begin(table); 0);
            let before = pg_sys::MemoryContextSwitchTo((*state).es_query_cxt);
            let info = pg_sys::BuildIndexInfo((*scan).indexRelation);
            pg_sys::MemoryContextSwitchTo(before);
            Wholes { scan, fetch, slot, info, state }
        }
    }

    /// The fingerprint of a row, if the snapshot sees it; and whether nobody sees it any more.
    pub(super) fn get(&mut self, tid: Tid) -> (Option<Vec<u64>>, bool) {
        let mut pointer = pointer_of(tid);
        let (mut again, mut dead) = (false, false);
        let mut values = [pg_sys::Datum::from(0usize); pg_sys::INDEX_MAX_KEYS as usize];
        let mut nulls = [true; pg_sys::INDEX_MAX_KEYS as usize];
        // SAFETY: everything is as `of` made it; an index has at most so many columns. Versions of one chain have one
        // fingerprint.
        unsafe {
            let (snapshot, index) = ((*self.scan).xs_snapshot, (*self.scan).indexRelation);
            let (again, dead) = (&raw mut again, &raw mut dead);
            if !pg_sys::table_index_fetch_tuple(self.fetch, &mut pointer, snapshot, self.slot, again, dead) {
                return (None, *dead);
            }
            let (values, nulls) = (values.as_mut_ptr(), nulls.as_mut_ptr());
            pg_sys::FormIndexDatum(self.info, self.slot, self.state, values, nulls);
            let last = scope_columns(index);
            let whole = (!*nulls.add(last)).then(|| parts_of(*values.add(last), Some(parts(index))));
            pg_sys::MemoryContextReset((*(*self.state).es_per_tuple_exprcontext).ecxt_per_tuple_memory);
            (whole, false)
        }
    }
}

impl Drop for Wholes {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: as in `of`.
            unsafe {
                pg_sys::table_index_fetch_end(self.fetch);
                pg_sys::ExecDropSingleTupleTableSlot(self.slot);
                pg_sys::FreeExecutorState(self.state);
            }
        }
    }
}
