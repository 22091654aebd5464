//! A lock on a relation that is kept from one transaction to the next, for work
//! that commits in parts. An error releases it, as it does any other lock.

use super::raise;
use pgrx::{PgSqlErrorCode, pg_sys};

/// Conflicts with writers and with itself, but not with readers.
const MODE: pg_sys::LOCKMODE = pg_sys::ShareRowExclusiveLock as pg_sys::LOCKMODE;

/// The state of the session's lock when a transaction begins.
struct Held {
    relation: pg_sys::LockRelId,
    held: bool,
    /// Another session waits for it.
    wanted: bool,
}

impl Held {
    /// The lock taken to look is released, so that a waiter can go first.
    fn of(relation: pg_sys::Oid) -> Held {
        let share = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
        // SAFETY: the relation is open while it is asked about; waiters are
        // asked for only if the lock is held.
        unsafe {
            let opened = pg_sys::try_relation_open(relation, share);
            if opened.is_null() {
                raise(PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE, "the table was dropped", "")
            }
            let held = pg_sys::CheckRelationLockedByMe(opened, MODE, false);
            let wanted = held && pg_sys::LockHasWaitersRelation(opened, MODE);
            let relation = (*opened).rd_lockInfo.lockRelId;
            pg_sys::relation_close(opened, share);
            Held { relation, held, wanted }
        }
    }
}

/// Locks a relation until [`release`], after all sessions that wait for it. Returns whether the
/// session has held the lock without a break since an earlier transaction, so that nobody else can
/// have written. To be called first in a transaction.
pub(crate) fn hold(relation: pg_sys::Oid) -> bool {
    let Held { mut relation, held, wanted } = Held::of(relation);
    // SAFETY: what is released is held.
    unsafe {
        if wanted {
            pg_sys::UnlockRelationIdForSession(&mut relation, MODE);
        }
        if wanted || !held {
            pg_sys::LockRelationIdForSession(&mut relation, MODE);
        }
    }
    held && !wanted
}

/// Releases the lock of [`hold`], if the session has it. To be called first in
/// a transaction.
pub(crate) fn release(relation: pg_sys::Oid) {
    let Held { mut relation, held, .. } = Held::of(relation);
    if held {
        // SAFETY: it is held.
        unsafe { pg_sys::UnlockRelationIdForSession(&mut relation, MODE) };
    }
}
