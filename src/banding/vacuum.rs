//! VACUUM, in one pass: dead entries are removed page by page and buckets counted; then hot ones are given their second level.
//!
//! Locking and WAL: one page at a time, shared, and exclusively where an entry is dead; one record a page that changes, and one
//! a page that becomes free. No cleanup lock is needed: a scan that was given a row pointer holds no pin, and its snapshot does
//! not see a row stored since in the same place (for snapshots of other kinds the scan asks for a recheck).

use super::pages::RelationPages;
use super::scope::parts;
use super::{IndexRelation, checked, open_index, pointer_of};
use crate::pg::maintenance_memory;
use dedup_core::banding::{Index, Tid};
use pgrx::{PgBox, pg_guard, pg_sys};
use std::ffi::c_void;

/// Removes the entries of rows that `callback` reports dead.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn ambulkdelete(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
    callback: pg_sys::IndexBulkDeleteCallback,
    state: *mut c_void,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: PostgreSQL gives an open index and a callback that may be called
    // with any row pointer; it may raise an error, hence the guard.
    unsafe {
        let relation = IndexRelation::new((*info).index);
        let pages = RelationPages::for_vacuum(relation, (*info).strategy);
        let index = open_index(relation, &pages);
        let stats = if stats.is_null() { new_stats() } else { stats };
        let mut pointers = Vec::new();
        let dead = |tids: &[Tid], dead: &mut Vec<bool>| {
            pointers.clear();
            pointers.extend(tids.iter().map(|tid| pointer_of(*tid)));
            let known = dead.len();
            dead.resize(known + tids.len(), false);
            let Some(callback) = callback else { return };
            let each = pointers.iter_mut().zip(dead.iter_mut().skip(known));
            // One guard for a page's rows: it costs more than a call.
            pg_sys::ffi::pg_guard_ffi_boundary(|| each.for_each(|(row, dead)| *dead = callback(row, state)));
        };
        // The list of dead rows has the rest.
        let memory = maintenance_memory() / 4;
        let done = checked(relation, index.vacuum(&pages, memory, dead));
        (*stats).num_pages = done.pages;
        (*stats).pages_newly_deleted += done.freed;
        (*stats).pages_free = done.free;
        (*stats).pages_deleted = (*stats).pages_free;
        (*stats).num_index_tuples = done.remaining as f64 / parts(relation) as f64;
        (*stats).tuples_removed += done.removed as f64 / parts(relation) as f64;
        (*stats).estimated_count = false;
        stats
    }
}

/// The last step, also when there was nothing to remove.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amvacuumcleanup(
    info: *mut pg_sys::IndexVacuumInfo,
    stats: *mut pg_sys::IndexBulkDeleteResult,
) -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: PostgreSQL gives an open index.
    unsafe {
        if (*info).analyze_only {
            return stats;
        }
        let relation = IndexRelation::new((*info).index);
        // Buckets have been counted while entries were removed. Counting them now reads the whole index: only if it has
        // grown since.
        let pages = RelationPages::for_vacuum(relation, (*info).strategy);
        if !stats.is_null() {
            return stats;
        }
        // The VACUUM before this one may have been cancelled.
        checked(relation, Index::end_walk(&pages));
        if !checked(relation, Index::has_grown(&pages)) {
            return stats;
        }
        let index = open_index(relation, &pages);
        let none = |rows: &[Tid], dead: &mut Vec<bool>| dead.resize(dead.len() + rows.len(), false);
        let done = checked(relation, index.vacuum(&pages, 0, none));
        let stats = new_stats();
        (*stats).num_pages = done.pages;
        (*stats).num_index_tuples = done.remaining as f64 / parts(relation) as f64;
        (*stats).estimated_count = false;
        stats
    }
}

fn new_stats() -> *mut pg_sys::IndexBulkDeleteResult {
    // SAFETY: all zero is a legal value; the memory is the caller's.
    unsafe { PgBox::<pg_sys::IndexBulkDeleteResult>::alloc0().into_pg() }
}
