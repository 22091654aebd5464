//! The rows of a table as an index sees them: through its expressions and its
//! predicate, one a HOT chain.

use super::tid_of;
use dedup_core::banding::Tid;
use pgrx::{pg_guard, pg_sys};
use std::ffi::c_void;

/// What is read.
pub(super) struct Rows {
    pub heap: pg_sys::Relation,
    pub index: pg_sys::Relation,
    pub info: *mut pg_sys::IndexInfo,
    /// A scan of the table that was begun; null: one of its own, which reports
    /// the build's progress.
    pub scan: pg_sys::TableScanDesc,
}

/// What is done with each row.
type Take<'a> = &'a mut dyn FnMut(u64, Tid);

impl Rows {
    /// Gives each row that has a fingerprint, and says how many rows there are.
    ///
    /// # Safety
    /// Table and index are open, the info is the index's, the scan is of the table.
    pub(super) unsafe fn each(&self, mut take: impl FnMut(u64, Tid)) -> f64 {
        let mut take: Take = &mut take;
        let state = std::ptr::from_mut(&mut take).cast::<c_void>();
        // SAFETY: the caller's promise; the scan may raise an error, hence the
        // guard around the call through a pointer.
        unsafe {
            let read = (*(*self.heap).rd_tableam).index_build_range_scan;
            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                read.map_or(0.0, |read| {
                    let (own, start, blocks) = (self.scan.is_null(), 0, pg_sys::InvalidBlockNumber);
                    let (index, info, scan) = (self.index, self.info, self.scan);
                    read(self.heap, index, info, true, false, own, start, blocks, Some(take_row), state, scan)
                })
            })
        }
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn take_row(
    _index: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
    values: *mut pg_sys::Datum,
    is_null: *mut bool,
    _alive: bool,
    state: *mut c_void,
) {
    // SAFETY: PostgreSQL gives one value and one flag for the one column, and
    // the state that `Rows::each` has given it.
    unsafe {
        if !*is_null {
            (*state.cast::<Take>())((*values).value() as u64, tid_of(*tid));
        }
    }
}
