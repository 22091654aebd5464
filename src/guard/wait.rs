//! Waiting for other transactions without deadlocks.
//!
//! Two guards that wait for each other's transactions would be a deadlock: PostgreSQL finds it
//! after `deadlock_timeout` and fails one of them with an error that names no row. So the guards
//! keep a wait graph. Before it waits, a guard takes a lock that stands for the edge from its
//! transaction to the target. Edges are added one at a time, and only if they close no cycle; a
//! guard that would close one does not wait but reports the conflict at once. Guards therefore
//! never deadlock with each other.

use super::lock_table::{ADDING_EDGE, EDGE, database, held, lock, tag, unlock};
use pgrx::pg_sys;

/// Whether `from` waits for `to`, directly or through others.
fn waits_for(from: pg_sys::TransactionId, to: pg_sys::TransactionId) -> bool {
    let edges = held(|tag| tag.locktag_field4 == EDGE);
    let mut reached = vec![u32::from(from)];
    let mut at = 0;
    while at < reached.len() {
        let from = reached[at];
        for (edge, _) in edges.iter().filter(|(edge, _)| edge.locktag_field1 == from) {
            if edge.locktag_field2 == u32::from(to) {
                return true;
            }
            if !reached.contains(&edge.locktag_field2) {
                reached.push(edge.locktag_field2);
            }
        }
        at += 1;
    }
    false
}

/// Waits until `transaction` has ended and returns true; or returns false at once if it waits for
/// this transaction.
///
/// # Safety
/// `transaction` has been seen in progress by this one; `relation` and `tid`
/// are null or those of the row waited for.
pub(super) unsafe fn wait_for(
    transaction: pg_sys::TransactionId,
    relation: pg_sys::Relation,
    tid: pg_sys::ItemPointer,
) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if !pg_sys::TransactionIdIsInProgress(transaction) {
            return true;
        }
        let (me, target) =
            (pg_sys::GetTopTransactionId(), pg_sys::SubTransGetTopmostTransaction(transaction));
        let (adding, edge) =
            (tag(0, database(), 0, ADDING_EDGE), tag(u32::from(me), u32::from(target), 0, EDGE));
        lock(&adding);
        if waits_for(target, me) {
            unlock(&adding);
            return false;
        }
        lock(&edge);
        unlock(&adding);
        let purpose = match tid.is_null() {
            true => pg_sys::XLTW_Oper::XLTW_None,
            false => pg_sys::XLTW_Oper::XLTW_RecheckExclusionConstr,
        };
        pg_sys::XactLockTableWait(transaction, relation, tid, purpose);
        unlock(&edge);
        true
    }
}
