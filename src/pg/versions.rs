//! Versions of rows: when one died.

use pgrx::pg_sys;

/// Whether a version that is dead to a dirty snapshot died before another snapshot was taken, or never lived, or was deleted by
/// this transaction: long values of it may be gone, but for the last of these.
///
/// # Safety
/// The tuple is a stored one; the snapshot was registered before, whatever its type says now.
pub(crate) unsafe fn died_before(tuple: pg_sys::HeapTuple, start: pg_sys::Snapshot) -> bool {
    // SAFETY: the caller's promise. A dead version whose inserter committed has a deleter, and its header changes no more.
    unsafe {
        let header = (*tuple).t_data;
        let flags = u32::from((*header).t_infomask);
        let frozen = flags & pg_sys::HEAP_XMIN_FROZEN == pg_sys::HEAP_XMIN_FROZEN;
        let inserter = (*header).t_choice.t_heap.t_xmin;
        if !frozen && !pg_sys::TransactionIdDidCommit(inserter) {
            return true;
        }
        let deleter = deleter(header);
        pg_sys::TransactionIdIsCurrentTransactionId(deleter) || !pg_sys::XidInMVCCSnapshot(deleter, start)
    }
}

/// The transaction that deleted a version, or made another one of it.
///
/// # Safety
/// The header of a stored tuple that has a deleter.
pub(crate) unsafe fn deleter(header: pg_sys::HeapTupleHeader) -> pg_sys::TransactionId {
    // SAFETY: the caller's promise.
    unsafe {
        let is_several = u32::from((*header).t_infomask) & pg_sys::HEAP_XMAX_IS_MULTI != 0;
        if is_several { pg_sys::HeapTupleGetUpdateXid(header) } else { (*header).t_choice.t_heap.t_xmax }
    }
}
