//! A record of small changes, written as generic WAL writes one.
//!
//! `GenericXLogFinish` copies each page and finds out what changed by comparing it with the copy, byte by byte: 23.5 µs of
//! the processor for an insert among a million rows, 14 as here. A caller that knows its changes can write the record directly.
//! Its form is that of `generic_xlog.c`, the same in all versions: for each page a run of fragments (offset, length, bytes);
//! replay writes them and zeroes what lies between `pd_lower` and `pd_upper`. The TAP test `050_wal_record` compares the two (`pg_dedup.generic_wal`).

use crate::pg::version;
use pgrx::pg_sys;
use std::ffi::c_char;

// Linked without the guard that pgrx puts around every call (a sigsetjmp): in
// a critical section an error ends the server's work, and never comes back.
unsafe extern "C-unwind" {
    fn MarkBufferDirty(buffer: pg_sys::Buffer);
    fn XLogBeginInsert();
    fn XLogRegisterBuffer(block_id: u8, buffer: pg_sys::Buffer, flags: u8);
    fn XLogRegisterBufData(block_id: u8, data: *const u8, length: u32);
    fn XLogInsert(manager: pg_sys::RmgrId, info: u8) -> pg_sys::XLogRecPtr;
}

/// Bytes of a fragment before its data.
const FRAGMENT: usize = 4;

#[derive(Default)]
pub(super) struct Delta(Vec<u8>);

impl Delta {
    pub(super) fn with_room(fragments: usize, bytes: usize) -> Delta {
        Delta(Vec::with_capacity(fragments * FRAGMENT + bytes))
    }

    /// Writes these bytes at this offset of `page`, from the first to the last that it has not yet. The caller ensures that
    /// they fit.
    pub(super) fn patch(&mut self, page: &[u8], offset: usize, bytes: &[u8]) {
        let mut other = bytes.iter().zip(&page[offset..]).map(|(new, old)| new != old);
        let Some(first) = other.position(|it| it) else { return };
        let end = other.rposition(|it| it).map_or(first, |last| first + 1 + last) + 1;
        self.0.extend_from_slice(&((offset + first) as u16).to_ne_bytes());
        self.0.extend_from_slice(&((end - first) as u16).to_ne_bytes());
        self.0.extend_from_slice(&bytes[first..end]);
    }
}

/// `RelationNeedsWAL`, which is a macro.
///
/// # Safety
/// The relation is open.
pub(crate) unsafe fn needs_wal(relation: pg_sys::Relation) -> bool {
    // SAFETY: the relation is open.
    unsafe {
        let permanent = (*(*relation).rd_rel).relpersistence == pg_sys::RELPERSISTENCE_PERMANENT as c_char;
        permanent
            && (pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_REPLICA as i32
                || !version::has_new_file(&*relation))
    }
}

/// Changes up to four pages, each by `apply`, and logs it as one record.
///
/// # Safety
/// The buffers are pinned, locked exclusively and of a relation that [needs it](needs_wal); `apply` does to a page, by its
/// number, what replay makes of the fragments, and cannot fail; behind `pd_lower` the page is zero afterwards.
pub(super) unsafe fn commit(changes: &[(pg_sys::Buffer, *mut u8, Delta)], apply: impl Fn(usize)) {
    // SAFETY: the caller's promise, and the order that access/transam/README
    // asks for: in a critical section change, mark dirty, log, set the LSN.
    unsafe {
        pg_sys::CritSectionCount += 1;
        XLogBeginInsert();
        for (number, (buffer, _, delta)) in changes.iter().enumerate() {
            apply(number);
            MarkBufferDirty(*buffer);
            XLogRegisterBuffer(number as u8, *buffer, pg_sys::REGBUF_STANDARD as u8);
            XLogRegisterBufData(number as u8, delta.0.as_ptr(), delta.0.len() as u32);
        }
        let lsn = XLogInsert(pg_sys::RmgrIds::RM_GENERIC_ID as pg_sys::RmgrId, 0);
        for (_, page, _) in changes {
            let header = page.cast::<pg_sys::PageHeaderData>();
            // The high half first, as on every version's pages.
            (&raw mut (*header).pd_lsn).cast::<[u32; 2]>().write([(lsn >> 32) as u32, lsn as u32]);
        }
        pg_sys::CritSectionCount -= 1;
    }
}
