//! The banding index's pages on PostgreSQL's buffers and generic WAL.
//!
//! Locking: a guard is a pin and a content lock on one buffer. It releases both when it is dropped, but not while an error
//! unwinds: then the transaction's abort has released the locks already, or is about to, and resource owners give back the
//! pins; a second release would trip an assertion. A buffer of a temporary index has no lock, only the pin.
//!
//! WAL: one commit is one generic record. Generic WAL zeroes what lies between `pd_lower` and `pd_upper`, so
//! `pd_lower` stands behind the bytes in use: up to [`STEP`] zeroes behind them, or every insert would log it. On an unlogged or temporary index the same calls change the
//! buffers only. Small changes write the same record more cheaply, see [`wal`].

use super::relation::IndexRelation;
use super::wal::{self, Delta};
use crate::pg::{raise, raise_internal, raise_invalid, raise_unsupported, settings, version};
use dedup_core::banding::{
    Change, Edit, Error, Pages, Result, WritePage, used_after, used_bytes, validate_edits,
};
use dedup_core::external;
use dedup_core::interrupt;
use pgrx::pg_sys;
use std::cell::Cell;
use std::ops::Deref;
use std::slice;

/// Bytes of PostgreSQL's own page header, before the body.
pub(crate) const PAGE_HEADER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp);
/// Where a page's header says how many bytes are in use.
const PD_LOWER: usize = std::mem::offset_of!(pg_sys::PageHeaderData, pd_lower);
/// What `pd_lower` is a multiple of, behind the header.
const STEP: usize = 128;
pub(crate) const PAGE: usize = pg_sys::BLCKSZ as usize;
pub(crate) const BODY: usize = PAGE - PAGE_HEADER;

// Linked without the guard that pgrx puts around every call (a sigsetjmp): they run once or twice a page
// read, and on a buffer that this module holds they cannot raise an error.
unsafe extern "C-unwind" {
    // What 19 has in its place is told another mode than that of unlocking, as here.
    #[cfg_attr(feature = "pg19", link_name = "LockBufferInternal")]
    #[cfg_attr(not(feature = "pg19"), link_name = "LockBuffer")]
    fn lock_buffer_unguarded(buffer: pg_sys::Buffer, mode: i32);
    #[link_name = "UnlockReleaseBuffer"]
    fn unlock_release_buffer_unguarded(buffer: pg_sys::Buffer);
    #[link_name = "ReleaseBuffer"]
    fn release_buffer_unguarded(buffer: pg_sys::Buffer);
}

/// After so many announced pages in a row that were in memory, none is announced until one has to be read from the disk:
/// announcing costs a tenth of reading then.
const IN_MEMORY: u32 = 8;

/// Pages that this session has read into its buffers so far.
fn read_so_far() -> i64 {
    // SAFETY: a copy of counters of this process.
    let usage = unsafe { pg_sys::pgBufferUsage };
    usage.shared_blks_read + usage.local_blks_read
}

/// Whether this transaction is serializable: asked before a call that is guarded.
fn is_serializable() -> bool {
    // SAFETY: a setting of this process.
    unsafe { pg_sys::XactIsoLevel == pg_sys::XACT_SERIALIZABLE as i32 }
}

/// An open index relation as page storage.
pub(crate) struct RelationPages {
    relation: pg_sys::Relation,
    strategy: pg_sys::BufferAccessStrategy,
    delay: bool,
    /// The snapshot of the scan, for "snapshot too old" and predicate locks; null if there is none.
    snapshot: pg_sys::Snapshot,
    /// Blocks below this one exist.
    known: Cell<u32>,
    /// Pages that are announced before they are read.
    ahead: usize,
    /// Announced pages in a row that were in memory.
    found: Cell<u32>,
}

impl RelationPages {
    /// The main fork of `index`.
    pub(crate) fn new(index: IndexRelation) -> RelationPages {
        // SAFETY: a look-up in the cache of tablespaces.
        let ahead = unsafe { pg_sys::get_tablespace_io_concurrency((*index.rd_rel).reltablespace) };
        let (relation, strategy, snapshot) = (index.as_ptr(), std::ptr::null_mut(), std::ptr::null_mut());
        let ahead = usize::try_from(ahead).unwrap_or(0);
        let (known, found) = (Cell::new(0), Cell::new(0));
        RelationPages { relation, strategy, delay: false, snapshot, known, ahead, found }
    }

    /// Makes it that of a scan, which fails with "snapshot too old" where VACUUM
    /// may have removed what the snapshot should see (up to PostgreSQL 16).
    ///
    /// # Safety
    /// The snapshot is null or lives as long as the value.
    pub(crate) unsafe fn see(&mut self, snapshot: pg_sys::Snapshot) {
        self.snapshot = snapshot;
    }

    /// The same for VACUUM: through its ring of buffers, at its pace.
    ///
    /// # Safety
    /// The strategy lives as long as the value.
    pub(crate) unsafe fn for_vacuum(
        index: IndexRelation,
        strategy: pg_sys::BufferAccessStrategy,
    ) -> RelationPages {
        // SAFETY: as in `new`.
        let ahead =
            unsafe { pg_sys::get_tablespace_maintenance_io_concurrency((*index.rd_rel).reltablespace) };
        let ahead = usize::try_from(ahead).unwrap_or(0);
        RelationPages { strategy, delay: true, ahead, ..RelationPages::new(index) }
    }

    /// Whether a block exists. A damaged pointer may lead anywhere; to
    /// `ReadBuffer` the highest block number means "add a page".
    fn exists(&self, block: u32) -> bool {
        if block >= self.known.get() {
            self.known.set(self.count());
        }
        block < self.known.get()
    }

    fn count(&self) -> u32 {
        let main = pg_sys::ForkNumber::MAIN_FORKNUM;
        // SAFETY: the relation is open (see `new`).
        unsafe { pg_sys::RelationGetNumberOfBlocksInFork(self.relation, main) }
    }

    fn read_existing(&self, block: u32) -> Result<pg_sys::Buffer> {
        if !self.exists(block) {
            let pages = self.known.get();
            let what = format!("the block lies beyond the end of the index, which has {pages} pages");
            return Err(Error::Corrupt { block, what: what.into() });
        }
        Ok(self.read_buffer(block, pg_sys::ReadBufferMode::RBM_NORMAL))
    }

    fn read_buffer(&self, block: u32, mode: pg_sys::ReadBufferMode::Type) -> pg_sys::Buffer {
        let (before, main) = (read_so_far(), pg_sys::ForkNumber::MAIN_FORKNUM);
        // SAFETY: the relation is open (see `new`).
        let buffer = unsafe { pg_sys::ReadBufferExtended(self.relation, main, block, mode, self.strategy) };
        if read_so_far() > before {
            self.found.set(0);
        }
        buffer
    }

    /// The edits as fragments, if all of them are small changes of a logged
    /// index that leave the page as full as it was or fuller.
    fn small_changes(&self, edits: &[Edit<'_, Locked>]) -> Option<Vec<(pg_sys::Buffer, *mut u8, Delta)>> {
        // SAFETY: the relation is open (see `new`).
        let logged = unsafe { wal::needs_wal(self.relation) } && !settings::generic_wal();
        let small = |edit: &Edit<'_, Locked>| match edit.change {
            Change::Patch(patches) if logged && !edit.fresh => {
                let used = used_after(edit.page, patches);
                if used < used_bytes(edit.page) {
                    return None;
                }
                let bytes = patches.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
                // SAFETY: a page has PAGE bytes; it is locked exclusively.
                let old = unsafe { slice::from_raw_parts(edit.page.page, PAGE) };
                let mut delta = Delta::with_room(patches.len() + 1, bytes + 2);
                delta.patch(old, PD_LOWER, &lower(used).to_ne_bytes());
                patches.iter().for_each(|(at, bytes)| delta.patch(old, PAGE_HEADER + at, bytes));
                Some((edit.page.buffer, edit.page.page, delta))
            }
            _ => None,
        };
        edits.iter().map(small).collect()
    }
}

/// A page that is pinned and locked, shared or exclusively.
pub(crate) struct Locked {
    buffer: pg_sys::Buffer,
    page: *mut u8,
    block: u32,
}

impl Locked {
    fn new(buffer: pg_sys::Buffer, block: u32, mode: u32) -> Locked {
        // SAFETY: the buffer was pinned just now; its page stays where it is for as long as it is pinned.
        unsafe {
            lock_buffer_unguarded(buffer, mode as i32);
            Locked { buffer, page: pg_sys::BufferGetPage(buffer).cast(), block }
        }
    }
}

impl Deref for Locked {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: a page has PAGE bytes; the lock keeps others from writing.
        unsafe { slice::from_raw_parts(self.page.add(PAGE_HEADER), BODY) }
    }
}

impl WritePage for Locked {
    fn block(&self) -> u32 {
        self.block
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // Negative: a local buffer, whose lock is none and holds off nothing.
        // SAFETY: plain reads of process-local state.
        let held = self.buffer < 0 || unsafe { pg_sys::InterruptHoldoffCount } > 0;
        if held && !std::thread::panicking() {
            // SAFETY: this guard holds the pin and the lock.
            unsafe { unlock_release_buffer_unguarded(self.buffer) }
        }
    }
}

pub(crate) struct Pin {
    buffer: pg_sys::Buffer,
    block: u32,
}

impl Drop for Pin {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // SAFETY: this guard holds the pin.
            unsafe { release_buffer_unguarded(self.buffer) }
        }
    }
}

impl Pages for RelationPages {
    type Read<'p> = Locked;
    type Write<'p> = Locked;
    type Pin<'p> = Pin;

    fn body_len(&self) -> usize {
        BODY
    }

    fn len(&self) -> Result<u32> {
        Ok(self.count())
    }

    fn read(&self, block: u32) -> Result<Locked> {
        let buffer = self.read_existing(block)?;
        let locked = Locked::new(buffer, block, pg_sys::BUFFER_LOCK_SHARE);
        // SAFETY: the relation is open and the snapshot valid (see `see`), the page locked.
        unsafe { version::test_for_old_snapshot(self.snapshot, self.relation, locked.page) };
        Ok(locked)
    }

    fn pin(&self, block: u32) -> Result<Pin> {
        let buffer = self.read_existing(block)?;
        // An insert pins its four leaves before it looks at one of them: their headers come into the processor's cache meanwhile.
        #[cfg(target_arch = "x86_64")]
        // SAFETY: the page of a pinned buffer; a prefetch changes nothing.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(pg_sys::BufferGetPage(buffer).cast());
        }
        Ok(Pin { buffer, block })
    }

    fn lock_pinned(&self, pin: Pin) -> Result<Locked> {
        // The pin is the guard's from here on.
        let (buffer, block) = (pin.buffer, pin.block);
        std::mem::forget(pin);
        Ok(Locked::new(buffer, block, pg_sys::BUFFER_LOCK_EXCLUSIVE))
    }

    fn extend(&self) -> Result<Locked> {
        // SAFETY: the relation is open (see `new`). The extension lock keeps two backends from taking the
        // same new block; the page is locked before anybody else can learn of it.
        unsafe {
            pg_sys::LockRelationForExtension(self.relation, pg_sys::ExclusiveLock as i32);
            let buffer = self.read_buffer(pg_sys::InvalidBlockNumber, pg_sys::ReadBufferMode::RBM_NORMAL);
            let block = pg_sys::BufferGetBlockNumber(buffer);
            let locked = Locked::new(buffer, block, pg_sys::BUFFER_LOCK_EXCLUSIVE);
            pg_sys::UnlockRelationForExtension(self.relation, pg_sys::ExclusiveLock as i32);
            Ok(locked)
        }
    }

    fn commit(&self, edits: &mut [Edit<'_, Locked>]) -> Result<()> {
        validate_edits(edits, BODY)?;
        if let Some(changes) = self.small_changes(edits) {
            // SAFETY: the buffers are pinned and locked exclusively by the guards, and `validate_edits` keeps the fragments within
            // them.
            unsafe { wal::commit(&changes, |number| apply(&edits[number].change, changes[number].1)) };
            return Ok(());
        }
        // SAFETY: the buffers are pinned and locked exclusively by the guards; `validate_edits` has made sure
        // that the record can hold them and that no change leaves its page, so nothing fails half way.
        unsafe {
            let record = pg_sys::GenericXLogStart(self.relation);
            for edit in edits.iter() {
                let flags = if edit.fresh { pg_sys::GENERIC_XLOG_FULL_IMAGE as i32 } else { 0 };
                let page = pg_sys::GenericXLogRegisterBuffer(record, edit.page.buffer, flags);
                if edit.fresh {
                    pg_sys::PageInit(page, PAGE, 0);
                }
                apply(&edit.change, page.cast());
            }
            pg_sys::GenericXLogFinish(record);
        }
        Ok(())
    }

    fn lock_predicate(&self, block: u32) {
        if is_serializable() && !self.snapshot.is_null() {
            // SAFETY: the relation is open and the snapshot valid (see `see`); one that is no MVCC snapshot locks nothing.
            unsafe { pg_sys::PredicateLockPage(self.relation, block, self.snapshot) }
        }
    }

    fn check_predicate(&self, block: u32) {
        if is_serializable() {
            // SAFETY: the relation is open (see `new`); the row has no place in it that others could lock.
            unsafe { pg_sys::CheckForSerializableConflictIn(self.relation, std::ptr::null_mut(), block) }
        }
    }

    fn copy_predicate(&self, from: u32, to: u32) {
        // SAFETY: the relation is open (see `new`).
        unsafe { pg_sys::PredicateLockPageSplit(self.relation, from, to) }
    }

    fn delay_point(&self) {
        if self.delay {
            version::vacuum_delay_point();
        } else {
            interrupt::check();
        }
    }

    fn prefetch(&self, block: u32) {
        if !self.exists(block) {
            return;
        }
        // SAFETY: the relation is open (see `new`).
        let told = unsafe { pg_sys::PrefetchBuffer(self.relation, pg_sys::ForkNumber::MAIN_FORKNUM, block) };
        self.found.set(if told.initiated_io { 0 } else { self.found.get().saturating_add(1) });
    }

    fn prefetch_distance(&self) -> usize {
        if self.found.get() < IN_MEMORY { self.ahead } else { 0 }
    }
}

/// Applies a change to a page; what of it lies beyond the page is left out.
///
/// # Safety
/// As [`set_used`].
unsafe fn apply(change: &Change<'_>, page: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe {
        let body = slice::from_raw_parts_mut(page.add(PAGE_HEADER), BODY);
        change.apply(body);
        set_used(page.cast(), used_bytes(body));
    }
}

/// Where `used` bytes of a body end for PostgreSQL.
fn lower(used: usize) -> u16 {
    (PAGE_HEADER + used.next_multiple_of(STEP).min(BODY)) as u16
}

/// Says in the page's header that `used` bytes of the body are in use.
///
/// # Safety
/// `page` is a whole initialised page that the caller may write.
pub(crate) unsafe fn set_used(page: pg_sys::Page, used: usize) {
    // SAFETY: the caller's promise.
    unsafe { (*page.cast::<pg_sys::PageHeaderData>()).pd_lower = lower(used) }
}

/// Reports an error of the index as PostgreSQL's.
pub(crate) fn raise_index_error(index: IndexRelation, error: Error) -> ! {
    let name = index.name();
    use pgrx::PgSqlErrorCode as Code;
    match error {
        Error::Corrupt { block, what } => raise(
            Code::ERRCODE_INDEX_CORRUPTED,
            format!("index \"{name}\" is corrupted at block {block}: {what}"),
            format!("REINDEX INDEX {name}; then look for the cause: storage, memory, or a bug in pg_dedup."),
        ),
        Error::Version { .. } | Error::Features(_) => raise_unsupported(
            format!("index \"{name}\": {error}"),
            format!("Install the version of pg_dedup that made it, or REINDEX INDEX {name}."),
        ),
        Error::Option(what) => raise_invalid(what.into_owned(), ""),
        Error::External(external::Error::OutOfMemory(error)) => crate::pg::memory::raise_out_of_memory(error),
        Error::External(external::Error::Storage(what)) => {
            raise_internal(format!("index \"{name}\": {what}"), "")
        }
    }
}
