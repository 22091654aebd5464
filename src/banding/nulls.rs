//! The rows whose fingerprint is NULL. The index has no entries for them, but a scan without a
//! condition must return them: last, and read from the table. A query with a LIMIT rarely gets that
//! far.

use super::heap::{Rows, info_of};
use super::pointer_of;
use dedup_core::interrupt;
use pgrx::{PgList, pg_sys};

/// Blocks of the table read first; each further read takes four times as many, because a query with
/// a LIMIT may want only a few.
const FIRST_BLOCKS: u32 = 32;
const MOST_BLOCKS: u32 = 2048;
/// Row pointers kept for a rescan; beyond that the table is read again.
const MAX_KEPT: usize = 1 << 16;

/// The rows without a fingerprint, in the order of the table.
#[derive(Default)]
pub(super) struct NullRows {
    /// Found so far, or since the list was last emptied.
    found: Vec<pg_sys::ItemPointerData>,
    given: usize,
    dropped: bool,
    /// The next block of the table.
    block: u32,
    /// Where the table ended when its reading began: no row behind that is
    /// visible to the snapshot.
    end: Option<u32>,
    blocks: u32,
}

impl NullRows {
    /// Starts over. Under the same snapshot the rows found so far stay valid.
    pub(super) fn rewind(&mut self) {
        self.given = 0;
        if self.dropped {
            *self = NullRows::default();
        }
    }

    /// The next row.
    ///
    /// # Safety
    /// The scan is of a banding index, not for a bitmap, and always the same.
    pub(super) unsafe fn next(&mut self, scan: pg_sys::IndexScanDesc) -> Option<pg_sys::ItemPointerData> {
        loop {
            if let Some(row) = self.found.get(self.given) {
                self.given += 1;
                return Some(*row);
            }
            // SAFETY: the caller's promise.
            unsafe {
                let (table, index) = ((*scan).heapRelation, (*scan).indexRelation);
                let end = *self.end.get_or_insert_with(|| match may_be_null(table, index) {
                    true => pg_sys::RelationGetNumberOfBlocksInFork(table, pg_sys::ForkNumber::MAIN_FORKNUM),
                    false => 0,
                });
                if self.block >= end {
                    return None;
                }
                if self.found.len() > MAX_KEPT {
                    self.found.clear();
                    self.given = 0;
                    self.dropped = true;
                }
                self.blocks = (self.blocks * 4).clamp(FIRST_BLOCKS, MOST_BLOCKS);
                // Other table access methods have no blocks.
                let heap = (*table).rd_tableam == pg_sys::GetHeapamTableAmRoutine();
                let blocks = if heap { self.blocks.min(end - self.block) } else { end };
                let found = &mut self.found;
                read(table, index, (*scan).xs_snapshot, heap.then_some((self.block, blocks)), |row| {
                    found.push(row)
                });
                self.block += blocks;
            }
            interrupt::check();
        }
    }
}

/// Finds the rows without a fingerprint that the snapshot sees in a range of
/// blocks, given by the first and their number. As an index build does, it
/// finds the root of a HOT chain, which is what an index refers to.
///
/// # Safety
/// Table and index are open; only a heap has blocks.
unsafe fn read(
    table: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    blocks: Option<(u32, u32)>,
    mut take: impl FnMut(pg_sys::ItemPointerData),
) {
    // SAFETY: the caller's promise; the build's reading ends the scan.
    unsafe {
        in_own_memory(|| {
            let scan = pg_sys::table_beginscan_strat(table, snapshot, 0, std::ptr::null_mut(), true, false);
            if let Some((first, number)) = blocks {
                pg_sys::heap_setscanlimits(scan, first, number);
            }
            let rows = Rows { heap: table, index, info: info_of(index), scan };
            rows.each(|fingerprint, tid| {
                if fingerprint.is_none() {
                    take(pointer_of(tid));
                }
            });
        })
    }
}

/// Whether a row of the table may have no fingerprint.
///
/// # Safety
/// Table and index are open.
pub(super) unsafe fn may_be_null(table: pg_sys::Relation, index: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise; the index has one column, whose expression
    // is the only one if it is no column of the table. Within the index, the
    // table is relation 1.
    unsafe {
        in_own_memory(|| {
            let info = &*info_of(index);
            let column = info.ii_IndexAttrNumbers[0];
            if column > 0 && is_not_null(table, column) {
                return false;
            }
            if info.ii_Predicate.is_null() {
                return true;
            }
            let fingerprint = if column > 0 {
                pg_sys::makeVar(1, column, pg_sys::INT8OID, -1, pg_sys::InvalidOid, 0).cast()
            } else {
                PgList::<pg_sys::Expr>::from_pg(info.ii_Expressions)
                    .get_ptr(0)
                    .unwrap_or(std::ptr::null_mut())
            };
            let mut test = pgrx::PgBox::<pg_sys::NullTest>::alloc_node(pg_sys::NodeTag::T_NullTest);
            test.arg = fingerprint;
            test.nulltesttype = pg_sys::NullTestType::IS_NOT_NULL;
            test.argisrow = false;
            test.location = -1;
            let mut wanted = PgList::<pg_sys::NullTest>::new();
            wanted.push(test.into_pg());
            !pg_sys::predicate_implied_by(wanted.into_pg(), info.ii_Predicate, false)
        })
    }
}

/// Whether a column has been proved to hold no NULL.
///
/// # Safety
/// The table is open and has the column.
unsafe fn is_not_null(table: pg_sys::Relation, column: i16) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        let columns = &*(*table).rd_att;
        let (at, number) = (column as usize - 1, columns.natts as usize);
        #[cfg(not(feature = "pg18"))]
        return columns.attrs.as_slice(number)[at].attnotnull;
        // A constraint may not have been validated.
        #[cfg(feature = "pg18")]
        return columns.compact_attrs.as_slice(number)[at].attnullability as u8 == pg_sys::ATTNULLABLE_VALID;
    }
}

/// Runs `work`, and frees what PostgreSQL allocates meanwhile.
///
/// # Safety
/// `work` gives nothing away that lives in PostgreSQL's memory.
unsafe fn in_own_memory<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the context goes with its parent if an error is raised.
    unsafe {
        let context = pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"banding rows without fingerprint".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        );
        let caller = pg_sys::MemoryContextSwitchTo(context);
        let result = work();
        pg_sys::MemoryContextSwitchTo(caller);
        pg_sys::MemoryContextDelete(context);
        result
    }
}
