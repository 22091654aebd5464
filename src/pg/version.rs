//! What differs between PostgreSQL 15 and 19, under one name each.

use pgrx::pg_sys;
use std::ffi::{CStr, c_int};

/// A call with the arguments that 19 has added at the end of it.
#[cfg(feature = "pg19")]
macro_rules! since_19 {
    ($function:ident($($argument:expr),*); $($added:expr),*) => { pgrx::pg_sys::$function($($argument),*, $($added),*) };
}
#[cfg(not(feature = "pg19"))]
macro_rules! since_19 {
    ($function:ident($($argument:expr),*); $($added:expr),*) => { pgrx::pg_sys::$function($($argument),*) };
}
pub(crate) use since_19;

/// One option of an index, at `offset` of what they are parsed into. 18 alone could also say whether it was given.
pub(crate) const fn reloption(name: &'static CStr, opttype: u32, offset: usize) -> pg_sys::relopt_parse_elt {
    pg_sys::relopt_parse_elt {
        optname: name.as_ptr(),
        opttype,
        offset: offset as c_int,
        #[cfg(feature = "pg18")]
        isset_offset: 0,
    }
}

/// Says that an access method builds on workers, which PostgreSQL wants to know since 17.
pub(crate) const fn can_build_on_workers(_routine: &mut pg_sys::IndexAmRoutine) {
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    {
        _routine.amcanbuildparallel = true;
    }
}

/// How many workers PostgreSQL grants to the build of an index. Before 17 it asks itself for B-trees only.
///
/// # Safety
/// Called within the build, with its arguments.
pub(crate) unsafe fn build_workers(
    _heap: pg_sys::Relation,
    _index: pg_sys::Relation,
    _info: *const pg_sys::IndexInfo,
) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return pg_sys::plan_create_index_workers((*_heap).rd_id, (*_index).rd_id);
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        (*_info).ii_ParallelWorkers
    }
}

/// Makes a path of infinite cost the planner's last choice. 18 compares how much of it is disabled first.
pub(crate) fn disable(_path: &mut pg_sys::Path) {
    #[cfg(any(feature = "pg18", feature = "pg19"))]
    {
        _path.disabled_nodes = 2;
    }
}

/// How many elements the planner expects an array to have. 17 looks into its statistics.
///
/// # Safety
/// An expression of the query that `root` plans.
pub(crate) unsafe fn array_length(_root: *mut pg_sys::PlannerInfo, array: *mut pg_sys::Node) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        return f64::from(pg_sys::estimate_array_length(array));
        #[cfg(not(any(feature = "pg15", feature = "pg16")))]
        pg_sys::estimate_array_length(_root, array)
    }
}

/// `index_beginscan`.
///
/// # Safety
/// The relations are open, the snapshot outlives the scan.
pub(crate) unsafe fn index_beginscan(
    relation: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    keys: i32,
    orders: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        return pg_sys::index_beginscan(relation, index, snapshot, keys, orders);
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        since_19!(index_beginscan(relation, index, snapshot, std::ptr::null_mut(), keys, orders); 0)
    }
}

/// `index_beginscan_bitmap`.
///
/// # Safety
/// The index is open, the snapshot outlives the scan.
pub(crate) unsafe fn index_beginscan_bitmap(
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    keys: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        return pg_sys::index_beginscan_bitmap(index, snapshot, keys);
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        pg_sys::index_beginscan_bitmap(index, snapshot, std::ptr::null_mut(), keys)
    }
}

/// `heap_page_prune_opt`, which marks nothing as visible to all.
///
/// # Safety
/// The buffer is a pinned one of the table, not locked.
pub(crate) unsafe fn heap_page_prune_opt(table: pg_sys::Relation, buffer: pg_sys::Buffer) {
    // SAFETY: the caller's promise; a page of the visibility map that was pinned is released.
    unsafe {
        #[cfg(not(feature = "pg19"))]
        pg_sys::heap_page_prune_opt(table, buffer);
        #[cfg(feature = "pg19")]
        {
            let mut map = pg_sys::InvalidBuffer as pg_sys::Buffer;
            pg_sys::heap_page_prune_opt(table, buffer, &mut map, false);
            if map != pg_sys::InvalidBuffer as pg_sys::Buffer {
                pg_sys::ReleaseBuffer(map);
            }
        }
    }
}

/// Calls `each` with every page of a bitmap and the places there, until it returns false; `None`: all places. The bitmap
/// is freed.
///
/// # Safety
/// The bitmap is one that was created and filled.
pub(crate) unsafe fn for_each_page(
    bitmap: *mut pg_sys::TIDBitmap,
    mut each: impl FnMut(pg_sys::BlockNumber, Option<&[pg_sys::OffsetNumber]>) -> bool,
) {
    // SAFETY: the caller's promise; a page has so many places as it says.
    unsafe {
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        {
            let pages = pg_sys::tbm_begin_iterate(bitmap);
            while let Some(page) = pg_sys::tbm_iterate(pages).as_ref() {
                let places = usize::try_from(page.ntuples).ok().map(|places| page.offsets.as_slice(places));
                if !each(page.blockno, places) {
                    break;
                }
            }
            pg_sys::tbm_end_iterate(pages);
        }
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        {
            let pages = pg_sys::tbm_begin_private_iterate(bitmap);
            let mut page = pg_sys::TBMIterateResult::default();
            let mut places = [0; PLACES];
            while pg_sys::tbm_private_iterate(pages, &mut page) {
                let exact = (!page.lossy).then(|| {
                    pg_sys::tbm_extract_page_tuple(&mut page, places.as_mut_ptr(), PLACES as u32) as usize
                });
                if !each(page.blockno, exact.map(|exact| &places[..exact])) {
                    break;
                }
            }
            pg_sys::tbm_end_private_iterate(pages);
        }
        pg_sys::tbm_free(bitmap);
    }
}

/// No page of a table has more rows: a line pointer and the smallest header take 28 bytes.
pub(crate) const PLACES: usize = pg_sys::BLCKSZ as usize / 28;

/// Counts a scan in `pg_stat_user_indexes` and, since 18, in EXPLAIN.
///
/// # Safety
/// The scan's index is open.
pub(crate) unsafe fn count_index_scan(scan: pg_sys::IndexScanDesc) {
    // SAFETY: the caller's promise; the entry is null when nothing is counted.
    unsafe {
        let relation = (*scan).indexRelation;
        if (*relation).pgstat_info.is_null() && (*relation).pgstat_enabled {
            pg_sys::pgstat_assoc_relation(relation);
        }
        if let Some(counts) = (*relation).pgstat_info.as_mut() {
            #[cfg(feature = "pg15")]
            {
                counts.t_counts.t_numscans += 1;
            }
            #[cfg(not(feature = "pg15"))]
            {
                counts.counts.numscans += 1;
            }
        }
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        if let Some(instrument) = (*scan).instrument.as_mut() {
            instrument.nsearches += 1;
        }
    }
}

/// `TestForOldSnapshot`, which is inline in PostgreSQL: fails with "snapshot too old" where VACUUM may have removed what
/// the snapshot should see. 17 removed `old_snapshot_threshold`.
///
/// # Safety
/// The snapshot is null or valid, the relation open, the page pinned and locked.
pub(crate) unsafe fn test_for_old_snapshot(
    _snapshot: pg_sys::Snapshot,
    _relation: pg_sys::Relation,
    _page: *mut u8,
) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: the caller's promise.
    unsafe {
        let Some(taken) = _snapshot.as_ref().filter(|_| pg_sys::old_snapshot_threshold >= 0) else { return };
        let lsn = (*_page.cast::<pg_sys::PageHeaderData>()).pd_lsn;
        let changed = u64::from(lsn.xlogid) << 32 | u64::from(lsn.xrecoff);
        if taken.snapshot_type == pg_sys::SnapshotType::SNAPSHOT_MVCC && taken.lsn != 0 && changed > taken.lsn
        {
            pg_sys::TestForOldSnapshot_impl(_snapshot, _relation);
        }
    }
}

/// Whether the relation's file was made by the transaction that looks, or by a part of it.
pub(crate) fn has_new_file(relation: &pg_sys::RelationData) -> bool {
    /// `InvalidSubTransactionId`, which is a macro.
    const NONE: pg_sys::SubTransactionId = 0;
    #[cfg(feature = "pg15")]
    let rewritten = relation.rd_firstRelfilenodeSubid;
    #[cfg(not(feature = "pg15"))]
    let rewritten = relation.rd_firstRelfilelocatorSubid;
    relation.rd_createSubid != NONE || rewritten != NONE
}

/// VACUUM's rest between two pages. No lock may be held.
pub(crate) fn vacuum_delay_point() {
    // SAFETY: it may be called at any time.
    unsafe {
        #[cfg(not(any(feature = "pg18", feature = "pg19")))]
        pg_sys::vacuum_delay_point();
        #[cfg(any(feature = "pg18", feature = "pg19"))]
        pg_sys::vacuum_delay_point(false);
    }
}

/// Whether the role owns the relation, or is a superuser.
pub(crate) fn owns_relation(relation: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    // SAFETY: a look-up in the catalogue.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::pg_class_ownercheck(relation, role);
        #[cfg(not(feature = "pg15"))]
        pg_sys::object_ownercheck(pg_sys::RelationRelationId, relation, role)
    }
}

/// Whether the role may call the function; `InvalidOid`, the number of no role, asks for PUBLIC.
pub(crate) fn may_execute(function: pg_sys::Oid, role: pg_sys::Oid) -> bool {
    let right = pg_sys::ACL_EXECUTE as pg_sys::AclMode;
    // SAFETY: a look-up in the catalogue.
    unsafe {
        #[cfg(feature = "pg15")]
        let answer = pg_sys::pg_proc_aclcheck(function, role, right);
        #[cfg(not(feature = "pg15"))]
        let answer = pg_sys::object_aclcheck(pg_sys::ProcedureRelationId, function, role, right);
        answer == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// Takes out of the search path every schema where the caller could create a function. 17 has a function for it.
///
/// # Safety
/// Inside a level of settings that is about to end.
pub(crate) unsafe fn restrict_search_path() {
    // SAFETY: the caller's promise; the value is a legal one.
    unsafe {
        #[cfg(any(feature = "pg17", feature = "pg18", feature = "pg19"))]
        pg_sys::RestrictSearchPath();
        #[cfg(not(any(feature = "pg17", feature = "pg18", feature = "pg19")))]
        set_to_end_of_level(c"search_path", c"pg_catalog, pg_temp");
    }
}

/// Gives a setting another value, until the level of settings ends.
///
/// # Safety
/// Inside such a level; the value is a legal one.
pub(crate) unsafe fn set_to_end_of_level(name: &CStr, value: &CStr) {
    let (context, source) = (pg_sys::GucContext::PGC_USERSET, pg_sys::GucSource::PGC_S_SESSION);
    let action = pg_sys::GucAction::GUC_ACTION_SAVE;
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::set_config_option(name.as_ptr(), value.as_ptr(), context, source, action, true, 0, false);
    }
}

/// The identity of the transaction, also a prepared one, that holds a lock.
pub(crate) fn lock_holder(lock: &pg_sys::LockInstanceData) -> (i32, u32) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    return (lock.backend, lock.lxid);
    #[cfg(not(any(feature = "pg15", feature = "pg16")))]
    (lock.vxid.procNumber, lock.vxid.localTransactionId)
}

/// Writes bytes at a position of a file; returns how many, or a negative number.
///
/// # Safety
/// The file is open.
pub(crate) unsafe fn write_file(file: pg_sys::File, bytes: &[u8], at: u64) -> isize {
    let wait = pg_sys::WaitEventIO::WAIT_EVENT_BUFFILE_WRITE;
    // SAFETY: the caller's promise; the bytes are only read, and are no more than 1 GiB.
    unsafe {
        #[cfg(feature = "pg15")]
        let (start, length) = (bytes.as_ptr().cast_mut().cast(), bytes.len() as c_int);
        #[cfg(not(feature = "pg15"))]
        let (start, length) = (bytes.as_ptr().cast(), bytes.len());
        pg_sys::FileWrite(file, start, length, at as pg_sys::off_t, wait) as isize
    }
}

/// Reads bytes at a position of a file; returns how many, 0 at its end, or a negative number.
///
/// # Safety
/// The file is open.
pub(crate) unsafe fn read_file(file: pg_sys::File, into: &mut [u8], at: u64) -> isize {
    let wait = pg_sys::WaitEventIO::WAIT_EVENT_BUFFILE_READ;
    // SAFETY: the caller's promise; there is room for as many bytes, no more than 1 GiB.
    unsafe {
        #[cfg(feature = "pg15")]
        let length = into.len() as c_int;
        #[cfg(not(feature = "pg15"))]
        let length = into.len();
        pg_sys::FileRead(file, into.as_mut_ptr().cast(), length, at as pg_sys::off_t, wait) as isize
    }
}
