//! Building an index: the heap is read once (`build_workers`), the rows are sorted four times, the pages are written in order.
//!
//! Locking: nobody else uses the file yet; pages are locked only because the buffer manager
//! requires it. WAL: none while building; the finished file is logged once, whole. The init fork of
//! an unlogged index is logged too, because recovery after a crash needs it.

use super::heap::Rows;
use super::options::options_of;
use super::pages::{BODY, PAGE, PAGE_HEADER, set_used};
use super::scope::{check_columns, is_scoped, parts};
use super::wal::needs_wal;
use super::{IndexRelation, build_workers, checked, forget_index};
use crate::pg::{QueryHost, building_threads, maintenance_memory, raise_internal};
use dedup_core::banding::{Builder, Built, Index, PageSink, Position, Result, Row, Unscoped, used_bytes};
use pgrx::{PgBox, pg_guard, pg_sys};
use std::ffi::{CStr, c_char};

/// Phases as `pg_stat_progress_create_index` names them; 1 is PostgreSQL's.
const PHASE_SCANNING: i64 = 2;
const PHASE_WRITING: i64 = 3;
const PHASE_LOGGING: i64 = 4;

#[pg_guard]
pub(super) unsafe extern "C-unwind" fn ambuildphasename(phase: i64) -> *mut c_char {
    const NAMES: [&CStr; 4] =
        [c"initializing", c"scanning table", c"sorting and writing blocks", c"writing WAL"];
    let name = usize::try_from(phase - 1).ok().and_then(|at| NAMES.get(at));
    name.map_or(std::ptr::null_mut(), |name| name.as_ptr().cast_mut())
}

fn progress(parameter: u32, value: i64) {
    // SAFETY: writes this backend's own status entry.
    unsafe { pg_sys::pgstat_progress_update_param(parameter as i32, value) }
}

#[pg_guard]
pub(super) unsafe extern "C-unwind" fn ambuild(
    heap: pg_sys::Relation,
    index: pg_sys::Relation,
    info: *mut pg_sys::IndexInfo,
) -> *mut pg_sys::IndexBuildResult {
    // SAFETY: PostgreSQL gives an open heap and an open, empty index; the scan
    // of the heap may raise an error, hence the guard around it.
    unsafe {
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        let index = IndexRelation::new(index);
        if pg_sys::RelationGetNumberOfBlocksInFork(index.as_ptr(), main) != 0 {
            raise_internal(format!("index \"{}\" already contains data", index.name()), "")
        }
        forget_index(index);
        check_columns(index);
        let rows = Rows { heap, index, info };
        let (heap_rows, built) = match is_scoped(index) {
            false => build::<Unscoped>(&rows),
            true => build::<Position>(&rows),
        };

        if needs_wal(index.as_ptr()) {
            progress(pg_sys::PROGRESS_CREATEIDX_SUBPHASE, PHASE_LOGGING);
            let pages = pg_sys::RelationGetNumberOfBlocksInFork(index.as_ptr(), main);
            pg_sys::log_newpage_range(index.as_ptr(), main, 0, pages, true);
        }
        let mut result = PgBox::<pg_sys::IndexBuildResult>::alloc0();
        result.heap_tuples = heap_rows;
        result.index_tuples = (built.rows / parts(index) as u64 + built.nulls) as f64;
        result.into_pg()
    }
}

/// Reads the rows and writes the index; returns the number of rows read, too.
///
/// # Safety
/// As [`build_workers::each`]; the index is empty.
unsafe fn build<R: Row>(rows: &Rows) -> (f64, Built) {
    // SAFETY: the caller's promise.
    unsafe {
        let index = rows.index;
        let mut host = QueryHost::quiet();
        let builder = Builder::<_, R>::new(options_of(index), BODY, maintenance_memory(), &mut host);
        let mut builder = checked(index, builder).on_threads(building_threads());
        progress(pg_sys::PROGRESS_CREATEIDX_SUBPHASE, PHASE_SCANNING);
        let heap_rows = build_workers::each(rows, |scope, fingerprint, tid| {
            checked(index, builder.add(scope, fingerprint, tid));
        });
        progress(pg_sys::PROGRESS_CREATEIDX_SUBPHASE, PHASE_WRITING);
        (heap_rows, checked(index, builder.finish(&mut FileSink { relation: index.as_ptr(), pages: 0 })))
    }
}

/// The main fork of an index that is being built: it is open, was empty, and is nobody else's.
struct FileSink {
    relation: pg_sys::Relation,
    pages: u32,
}

impl PageSink for FileSink {
    fn write(&mut self, block: u32, body: &[u8]) -> Result<()> {
        // SAFETY: nobody else uses the file.
        unsafe {
            let buffer = loop {
                if self.pages > block {
                    break pg_sys::ReadBuffer(self.relation, block);
                }
                // Block 0 comes last, but a file grows from its start.
                let buffer = pg_sys::ReadBuffer(self.relation, pg_sys::InvalidBlockNumber);
                self.pages += 1;
                if self.pages > block {
                    break buffer;
                }
                pg_sys::ReleaseBuffer(buffer);
            };
            fill(buffer, body);
            pg_sys::ReleaseBuffer(buffer);
        }
        Ok(())
    }

    fn progress(&mut self, done: u64, total: u64) {
        progress(pg_sys::PROGRESS_CREATEIDX_TUPLES_TOTAL, total as i64);
        progress(pg_sys::PROGRESS_CREATEIDX_TUPLES_DONE, done as i64);
    }
}

/// Writes a whole page into a pinned buffer.
///
/// # Safety
/// The buffer is pinned and its page is nobody else's.
unsafe fn fill(buffer: pg_sys::Buffer, body: &[u8]) {
    // SAFETY: the caller's promise; at most the BODY bytes behind the page's header are copied.
    unsafe {
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_EXCLUSIVE as _);
        let page = pg_sys::BufferGetPage(buffer);
        pg_sys::PageInit(page, PAGE, 0);
        let length = body.len().min(BODY);
        std::ptr::copy_nonoverlapping(body.as_ptr(), page.cast::<u8>().add(PAGE_HEADER), length);
        set_used(page, used_bytes(body));
        pg_sys::MarkBufferDirty(buffer);
        pg_sys::LockBuffer(buffer, pg_sys::BUFFER_LOCK_UNLOCK as _);
    }
}

/// Writes the init fork of an unlogged index: an empty one.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn ambuildempty(index: pg_sys::Relation) {
    // SAFETY: PostgreSQL gives an open index whose init fork is empty; full
    // images in generic records make it survive the crash that it is for.
    unsafe {
        let index = IndexRelation::new(index);
        check_columns(index);
        let init = pg_sys::ForkNumber::INIT_FORKNUM;
        let mut images = checked(index, Index::empty_images(options_of(index), is_scoped(index), BODY));
        for image in &mut images {
            image.resize(BODY, 0);
            let (new, mode) = (pg_sys::InvalidBlockNumber, pg_sys::ReadBufferMode::RBM_NORMAL);
            let buffer = pg_sys::ReadBufferExtended(index.as_ptr(), init, new, mode, std::ptr::null_mut());
            fill(buffer, image);
            pg_sys::ReleaseBuffer(buffer);
        }
        pg_sys::log_newpage_range(index.as_ptr(), init, 0, images.len() as u32, true);
    }
}
