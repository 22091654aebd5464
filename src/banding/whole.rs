//! Whole fingerprints, of which an index has the parts: read from the table, as a scan's snapshot sees it.
//!
//! Locking: as the executor, which fetches a row by its pointer; the last page read stays pinned until the end.

use super::bits::parts_of;
use super::scope::{parts, scope_columns};
use super::{IndexRelation, pointer_of};
use crate::pg::{died_before, version};
use dedup_core::banding::Tid;
use pgrx::{PgList, pg_sys};

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
            let (table, index) = ((*scan).heapRelation, IndexRelation::new((*scan).indexRelation));
            let state = pg_sys::CreateExecutorState();
            let slot = pg_sys::table_slot_create(table, std::ptr::null_mut());
            (*pg_sys::MakePerTupleExprContext(state)).ecxt_scantuple = slot;
            let fetch = version::since_19!(table_index_fetch_begin(table); 0);
            let before = pg_sys::MemoryContextSwitchTo((*state).es_query_cxt);
            // The query names the last column's expression; those of the scope are another role's, and are not run.
            let (info, last) = (pg_sys::BuildIndexInfo(index.as_ptr()), scope_columns(index));
            (*info).ii_IndexAttrNumbers[0] = (*info).ii_IndexAttrNumbers[last];
            (*info).ii_NumIndexAttrs = 1;
            let mut expressions = PgList::<pg_sys::Node>::from_pg((*info).ii_Expressions);
            let mut of_last = PgList::<pg_sys::Node>::new();
            if (*info).ii_IndexAttrNumbers[0] == 0 {
                expressions.pop().into_iter().for_each(|it| of_last.push(it));
            }
            (*info).ii_Expressions = of_last.into_pg();
            pg_sys::MemoryContextSwitchTo(before);
            Wholes { scan, fetch, slot, info, state }
        }
    }

    /// Whether the version in the slot died before the search began, which reads every version: its long values may be gone.
    fn is_gone(&self) -> bool {
        // SAFETY: everything is as `of` made it; the slot has a version of a row of the table. A search of every version has the data
        // of a snapshot that is registered as long as it lasts.
        unsafe {
            let (table, mut owned) = ((*self.scan).heapRelation, false);
            let mut dirty = pg_sys::SnapshotData {
                snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
                ..Default::default()
            };
            if pg_sys::table_tuple_satisfies_snapshot(table, self.slot, &mut dirty) {
                return false;
            }
            let tuple = pg_sys::ExecFetchSlotHeapTuple(self.slot, false, &mut owned);
            died_before(tuple, (*self.scan).xs_snapshot)
        }
    }

    /// The fingerprint of a row, if the snapshot sees it; and whether nobody sees it any more.
    pub(super) fn get(&mut self, tid: Tid) -> (Option<Vec<u64>>, bool) {
        let mut pointer = pointer_of(tid);
        let (mut again, mut dead) = (false, false);
        let (mut value, mut null) = (pg_sys::Datum::from(0usize), true);
        // SAFETY: everything is as `of` made it, with one column. Versions of one chain have one fingerprint.
        unsafe {
            let (snapshot, index) =
                ((*self.scan).xs_snapshot, IndexRelation::new((*self.scan).indexRelation));
            let (again, dead) = (&raw mut again, &raw mut dead);
            if !pg_sys::table_index_fetch_tuple(self.fetch, &mut pointer, snapshot, self.slot, again, dead) {
                return (None, *dead);
            }
            if (*snapshot).snapshot_type == pg_sys::SnapshotType::SNAPSHOT_ANY && self.is_gone() {
                return (None, false);
            }
            pg_sys::FormIndexDatum(self.info, self.slot, self.state, &mut value, &mut null);
            let whole = (!null).then(|| parts_of(value, Some(parts(index))));
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
