//! Reads the rows of a table as an index build does: through the expressions and the predicate of
//! the index, one row per HOT chain.

use super::scope::for_each_entry;
use super::{IndexRelation, tid_of};
use dedup_core::banding::Tid;
use pgrx::{pg_guard, pg_sys};
use std::ffi::c_void;

pub(super) struct Rows {
    pub heap: pg_sys::Relation,
    pub index: IndexRelation,
    pub info: *mut pg_sys::IndexInfo,
}

/// What PostgreSQL knows of an index, for reading the rows of its table through a
/// snapshot as a concurrent build does. It lives in the current memory context.
pub(super) fn info_of(index: IndexRelation) -> *mut pg_sys::IndexInfo {
    // SAFETY: the index is open.
    unsafe {
        let info = pg_sys::BuildIndexInfo(index.as_ptr());
        (*info).ii_Concurrent = true;
        // A check of uniqueness would want more rows than the snapshot sees.
        (*info).ii_Unique = false;
        (*info).ii_ExclusionOps = std::ptr::null_mut();
        (*info).ii_ExclusionProcs = std::ptr::null_mut();
        (*info).ii_ExclusionStrats = std::ptr::null_mut();
        info
    }
}

/// The callback for each entry of a row: its scope and its fingerprint.
type Take<'a> = &'a mut dyn FnMut(u32, Option<u64>, Tid);

impl Rows {
    /// Calls `take` for each entry of each row of a scan that the caller has begun, or of one of all rows if that is null, and
    /// returns the number of rows. The scan is ended. `progress` reports it as that of a build.
    ///
    /// # Safety
    /// Table and index are open, the info is the index's, the scan is of the table.
    pub(super) unsafe fn each(
        &self,
        scan: pg_sys::TableScanDesc,
        progress: bool,
        mut take: impl FnMut(u32, Option<u64>, Tid),
    ) -> f64 {
        let mut take: Take = &mut take;
        let state = std::ptr::from_mut(&mut take).cast::<c_void>();
        // SAFETY: the caller's promise; the scan may raise an error, hence the guard around the call through a pointer.
        unsafe {
            let read = (*(*self.heap).rd_tableam).index_build_range_scan;
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                read.map_or(0.0, |read| {
                    let (heap, index, info) = (self.heap, self.index.as_ptr(), self.info);
                    let all = pg_sys::InvalidBlockNumber;
                    read(heap, index, info, true, false, progress, 0, all, Some(take_row), state, scan)
                })
            })
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn take_row(
    index: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut c_void,
) {
    // SAFETY: PostgreSQL gives a value and a flag for each column, and the state that `Rows::each` has given it.
    unsafe {
        let (take, tid) = (&mut *state.cast::<Take>(), tid_of(*tid));
        for_each_entry(IndexRelation::new(index), values, is_null, |scope, fingerprint| {
            take(scope, fingerprint, tid)
        });
    }
}
