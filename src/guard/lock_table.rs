//! The locks by which guards of different transactions know of each other. They are in PostgreSQL's lock table under tags
//! that nothing else uses (type `userlock`), so they end with the transaction in any case, survive PREPARE TRANSACTION, and
//! are visible in `pg_locks`. A tag has three numbers and a kind.

use crate::pg::version;
use pgrx::pg_sys;

/// (waiter, target, 0): one transaction waits for another.
pub(super) const EDGE: u16 = 1;
/// (0, database, 0): held for a moment to add an edge.
pub(super) const ADDING_EDGE: u16 = 2;
/// (0, database, table): held for a moment to publish.
pub(super) const PUBLISHING: u16 = 3;
/// (0, database, table): held in share mode by all transactions that have published a row of the table.
pub(super) const PUBLISHES: u16 = 4;
/// (transaction, halves of a [hidden](super::secret) fingerprint): a row is about to be stored. The other bits of the kind
/// identify the column. Held in share mode too until the search for that row begins.
pub(super) const PUBLICATION: u16 = 0x8000;

pub(super) fn tag(first: u32, second: u32, third: u32, kind: u16) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        locktag_field1: first,
        locktag_field2: second,
        locktag_field3: third,
        locktag_field4: kind,
        locktag_type: pg_sys::LockTagType::LOCKTAG_USERLOCK as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

pub(super) fn database() -> u32 {
    // SAFETY: a plain read of a variable that is set when the backend starts.
    u32::from(unsafe { pg_sys::MyDatabaseId })
}

/// The modes in which locks are taken.
pub(super) const EXCLUSIVE: i32 = pg_sys::ExclusiveLock as i32;
pub(super) const SHARE: i32 = pg_sys::ShareLock as i32;

/// Takes a lock. It belongs to the running (sub)transaction, whose rollback releases it.
pub(super) fn lock(tag: &pg_sys::LOCKTAG, mode: i32) {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::LockAcquire(tag, mode, false, false) };
}

pub(super) fn unlock(tag: &pg_sys::LOCKTAG, mode: i32) {
    // SAFETY: as in `lock`.
    unsafe { pg_sys::LockRelease(tag, mode, false) };
}

/// Takes or releases locks that belong to the whole transaction.
pub(super) fn for_transaction(work: impl FnOnce()) {
    // SAFETY: inside a transaction; the owner is put back, by the rollback if there is an error.
    unsafe {
        let owner = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::TopTransactionResourceOwner;
        work();
        pg_sys::CurrentResourceOwner = owner;
    }
}

pub(super) struct Held {
    pub(super) tag: pg_sys::LOCKTAG,
    /// The identity of the transaction, also a prepared one, in the lock table.
    pub(super) by: (i32, u32),
    /// A bit for each mode.
    pub(super) modes: i32,
}

/// The locks of guards, of any transaction, whose tags `wanted` accepts: all as they are at one moment.
pub(super) fn held(wanted: impl Fn(&pg_sys::LOCKTAG) -> bool) -> Vec<Held> {
    // SAFETY: the function gives an array of as many locks as it says.
    unsafe {
        let data = pg_sys::GetLockStatusData();
        let locks = std::slice::from_raw_parts((*data).locks, (*data).nelements as usize);
        let is_ours = |tag: &pg_sys::LOCKTAG| tag.locktag_type == pg_sys::LockTagType::LOCKTAG_USERLOCK as u8;
        let found = locks
            .iter()
            .filter(|lock| lock.holdMask != 0 && is_ours(&lock.locktag) && wanted(&lock.locktag))
            .map(|lock| Held { tag: lock.locktag, by: version::lock_holder(lock), modes: lock.holdMask })
            .collect();
        pg_sys::pfree((*data).locks.cast());
        pg_sys::pfree(data.cast());
        found
    }
}

/// Whether no other transaction holds the lock in any mode.
pub(super) fn is_alone(tag: &pg_sys::LOCKTAG) -> bool {
    let mut others = 0;
    // SAFETY: the function counts what it gives; it gives memory of its own.
    unsafe {
        let found = pg_sys::GetLockConflicts(tag, pg_sys::ExclusiveLock as i32, &mut others);
        pg_sys::pfree(found.cast());
    }
    others == 0
}
