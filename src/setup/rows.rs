//! How many rows a table has by now.

use pgrx::{PgList, pg_sys};

// pgrx has no binding of it; the call is guarded below as those that pgrx has.
unsafe extern "C-unwind" {
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        lockmode: pg_sys::LOCKMODE,
        numparents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
}

/// Rows of a table and of those that inherit from it, as the planner estimates them: by their pages now, and the rows that
/// a page had when they were last counted.
pub(super) fn rows_of(table: pg_sys::Oid) -> u64 {
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    // SAFETY: any oid is answered, with itself at least; what is dropped meanwhile is left out.
    let tables = unsafe {
        PgList::<()>::from_pg(pg_sys::ffi::pg_guard_ffi_boundary(|| {
            find_all_inheritors(table, lock, std::ptr::null_mut())
        }))
    };
    let rows = tables.iter_oid().map(|table| {
        let (mut pages, mut rows, mut visible) = (0, 0.0, 0.0);
        // SAFETY: a relation that is open is estimated and closed again.
        unsafe {
            let relation = pg_sys::try_relation_open(table, lock);
            if !relation.is_null() {
                // What a partitioned table was counted to have is that of its partitions.
                if (*(*relation).rd_rel).relkind as u8 != pg_sys::RELKIND_PARTITIONED_TABLE {
                    pg_sys::estimate_rel_size(
                        relation,
                        std::ptr::null_mut(),
                        &mut pages,
                        &mut rows,
                        &mut visible,
                    );
                }
                pg_sys::relation_close(relation, lock);
            }
        }
        rows.max(0.0)
    });
    rows.sum::<f64>() as u64
}
