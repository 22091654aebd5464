//! How many rows a table has by now.

use crate::pg::{Argument, inheritors, scalar};
use pgrx::pg_sys;

/// Rows of the table that this one is a partition of, or of it and those that inherit from it, as the planner estimates
/// them: by their pages now, and the rows that a page had when they were last counted. A call that reads one partition
/// must not wait for whoever alters another: that one has the rows that were counted last.
pub(super) fn rows_of(whole: pg_sys::Oid, table: pg_sys::Oid) -> u64 {
    let none = pg_sys::NoLock as pg_sys::LOCKMODE;
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    let rows = inheritors(whole, pg_sys::NoLock).into_iter().map(|part| {
        // SAFETY: any oid can be locked.
        if part == table || unsafe { pg_sys::ConditionalLockRelationOid(part, lock) } {
            estimated(part, if part == table { lock } else { none })
        } else {
            counted(part)
        }
    });
    rows.sum::<f64>() as u64
}

/// The rows of a table that is locked with `mode`, if with none already; it is unlocked.
fn estimated(table: pg_sys::Oid, mode: pg_sys::LOCKMODE) -> f64 {
    let lock = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
    let (mut pages, mut rows, mut visible) = (0, 0.0, 0.0);
    // SAFETY: a relation that is open is estimated and closed again; what is dropped meanwhile is left out.
    unsafe {
        let relation = pg_sys::try_relation_open(table, mode);
        if relation.is_null() {
            // With the lock, PostgreSQL has given it up itself.
            if mode == pg_sys::NoLock as pg_sys::LOCKMODE {
                pg_sys::UnlockRelationOid(table, lock);
            }
            return 0.0;
        }
        // What a partitioned table was counted to have is that of its partitions.
        if (*(*relation).rd_rel).relkind as u8 != pg_sys::RELKIND_PARTITIONED_TABLE {
            pg_sys::estimate_rel_size(relation, std::ptr::null_mut(), &mut pages, &mut rows, &mut visible);
        }
        pg_sys::relation_close(relation, lock);
    }
    rows.max(0.0)
}

/// The rows of a table when they were last counted.
fn counted(table: pg_sys::Oid) -> f64 {
    const SQL: &str = "SELECT c.reltuples::pg_catalog.text FROM pg_catalog.pg_class c \
        WHERE c.oid OPERATOR(pg_catalog.=) $1 AND c.relkind OPERATOR(pg_catalog.<>) 'p'";
    scalar(SQL, &[Argument::of(table)])
        .and_then(|rows| rows.parse().ok())
        .map_or(0.0, |rows: f64| rows.max(0.0))
}
