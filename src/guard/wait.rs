//! Waiting for other transactions without deadlocks.
//!
//! Two guards that wait for each other's transactions would be a deadlock: PostgreSQL finds it after `deadlock_timeout` and
//! fails one of them with an error that names no row. So before it waits, a guard takes a lock that stands for the edge from
//! its transaction to the target. Edges are added by one guard at a time, and only if they close no cycle; a guard that would
//! close one does not wait but reports the conflict at once.

use super::lock_table::{ADDING_EDGE, EDGE, EXCLUSIVE, database, held, lock, tag, unlock};
use pgrx::pg_sys;

/// Edges of a transaction at a time: the lock table has room for some dozens of locks of each.
const MOST_EDGES: usize = 16;

fn own() -> pg_sys::TransactionId {
    // SAFETY: inside a transaction that is about to write, or has written.
    unsafe { pg_sys::GetTopTransactionId() }
}

fn edge_to(target: pg_sys::TransactionId) -> pg_sys::LOCKTAG {
    tag(u32::from(own()), u32::from(target), 0, EDGE)
}

/// Whether one of the transactions waits for `to`, directly or through others.
fn waits_for(from: &[pg_sys::TransactionId], to: pg_sys::TransactionId) -> bool {
    let edges = held(|tag| tag.locktag_field4 == EDGE);
    let mut reached: Vec<u32> = from.iter().map(|it| u32::from(*it)).collect();
    let mut at = 0;
    while let Some(&from) = reached.get(at) {
        for edge in edges.iter().filter(|edge| edge.tag.locktag_field1 == from) {
            if !reached.contains(&edge.tag.locktag_field2) {
                reached.push(edge.tag.locktag_field2);
            }
        }
        at += 1;
    }
    reached.contains(&u32::from(to))
}

/// Adds edges from this transaction to others; none, and returns false, if one of those waits for this transaction.
fn add_edges(targets: &[pg_sys::TransactionId]) -> bool {
    if targets.is_empty() {
        return true;
    }
    let adding = tag(0, database(), 0, ADDING_EDGE);
    lock(&adding, EXCLUSIVE);
    let closes_no_cycle = !waits_for(targets, own());
    if closes_no_cycle {
        targets.iter().for_each(|target| lock(&edge_to(*target), EXCLUSIVE));
    }
    unlock(&adding, EXCLUSIVE);
    closes_no_cycle
}

/// Waits until the transaction that decides about a row has ended; false, at once, if it waits for this one.
///
/// # Safety
/// `transaction` has been seen in progress by this one; `relation` and `tid` are those of the row.
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
        let target = pg_sys::SubTransGetTopmostTransaction(transaction);
        if !add_edges(&[target]) {
            return false;
        }
        let purpose = pg_sys::XLTW_Oper::XLTW_RecheckExclusionConstr;
        pg_sys::XactLockTableWait(transaction, relation, tid, purpose);
        unlock(&edge_to(target), EXCLUSIVE);
        true
    }
}

/// Transactions that are all going to be waited for. There are edges to the first of them.
pub(super) struct Waits(Vec<pg_sys::TransactionId>);

impl Waits {
    /// Adds the edges; `None` if one of those transactions waits for this one. None of them is a subtransaction.
    pub(super) fn announce(mut targets: Vec<pg_sys::TransactionId>) -> Option<Waits> {
        // The oldest ones come to their end first, most of the time.
        targets.sort_unstable_by_key(|it| u32::from(*it).wrapping_sub(own().into()).cast_signed());
        targets.dedup();
        add_edges(&targets[..targets.len().min(MOST_EDGES)]).then_some(Waits(targets))
    }

    /// Waits until they have ended; false if one waits for this one.
    pub(super) fn wait(self) -> bool {
        self.0.iter().enumerate().all(|(at, target)| {
            // SAFETY: it has been seen in progress; no row is waited for.
            unsafe {
                let none = pg_sys::XLTW_Oper::XLTW_None;
                pg_sys::XactLockTableWait(*target, std::ptr::null_mut(), std::ptr::null_mut(), none);
            }
            unlock(&edge_to(*target), EXCLUSIVE);
            self.0.get(at + MOST_EDGES).is_none_or(|next| add_edges(&[*next]))
        })
    }
}
