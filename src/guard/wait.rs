//! Waiting for other transactions without ever closing a circle, and telling
//! others of a row that is about to be stored.
//!
//! Both live in PostgreSQL's lock table, under lock tags that nothing else
//! uses (type `userlock`), so they end with the transaction whatever happens
//! to it, survive PREPARE TRANSACTION, and are seen in `pg_locks`:
//!
//! * an *edge* (waiter, target) says that one transaction waits for another. An
//!   edge is added under a short exclusive lock and only if it closes no
//!   circle; who would close one is told so and decides at once. Guards
//!   therefore never deadlock with each other.
//! * a *publication* (transaction, fingerprint, column) says that a row is about
//!   to be stored. Which table it is for is said by a second lock of the same
//!   transaction, that of all who publish for the table: a lock tag has no room
//!   for a transaction, a fingerprint and the whole identity of a table, and
//!   with a part of it, writers of one table could be made to wait by writers
//!   of another. Publishing and reading what others have published happen
//!   under a short exclusive lock of the table: of two rows that are near each
//!   other the later one always learns of the earlier one, never both of each
//!   other.
//!
//! A transaction has at most [`KEPT`] publications per fingerprint column of a
//! table, one lock that says that it publishes for the table, and one edge.

use pgrx::pg_sys;
use std::cell::RefCell;

/// Publications kept per column: the latest row is the one that is not in the
/// index yet; more can be under way if triggers insert into the same table.
const KEPT: usize = 4;

const EDGE: u16 = 1;
const WAITING: u16 = 2;
const PUBLISHING: u16 = 3;
const PRESENT: u16 = 4;
/// Tags of publications carry the column in the other bits.
const PUBLICATION: u16 = 0x8000;

/// A publication of this transaction.
struct Published {
    transaction: pg_sys::TransactionId,
    table: pg_sys::Oid,
    kind: u16,
    tag: pg_sys::LOCKTAG,
}

thread_local!(static PUBLISHED: RefCell<Vec<Published>> = const { RefCell::new(Vec::new()) });

fn tag(first: u32, second: u32, third: u32, kind: u16) -> pg_sys::LOCKTAG {
    pg_sys::LOCKTAG {
        locktag_field1: first,
        locktag_field2: second,
        locktag_field3: third,
        locktag_field4: kind,
        locktag_type: pg_sys::LockTagType::LOCKTAG_USERLOCK as u8,
        locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
    }
}

fn database() -> u32 {
    // SAFETY: a plain read of a variable that is set when the backend starts.
    u32::from(unsafe { pg_sys::MyDatabaseId })
}

/// The kind of the publications for a column, by its name, for the partitions of
/// a table may number it differently. Two columns of one table that share a
/// kind cost each other a needless wait, no more.
fn publication_for(column: &str) -> u16 {
    let mixed = column.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    PUBLICATION | (mixed >> 49) as u16
}

/// Takes a lock for a moment. It belongs to whatever is running: if that fails
/// before the lock is given back, the rollback to a savepoint releases it.
fn lock(tag: &pg_sys::LOCKTAG) {
    // SAFETY: inside a transaction.
    unsafe { pg_sys::LockAcquire(tag, pg_sys::ExclusiveLock as i32, false, false) };
}

/// Gives back a lock that [`lock`] took.
fn unlock(tag: &pg_sys::LOCKTAG) {
    // SAFETY: as in `lock`.
    unsafe { pg_sys::LockRelease(tag, pg_sys::ExclusiveLock as i32, false) };
}

/// Takes or gives back locks on behalf of the whole transaction, for those that
/// a later statement gives back, or nobody.
fn for_transaction(work: impl FnOnce()) {
    // SAFETY: inside a transaction; the owner is put back, by the rollback if
    // there is an error.
    unsafe {
        let owner = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = pg_sys::TopTransactionResourceOwner;
        work();
        pg_sys::CurrentResourceOwner = owner;
    }
}

/// A transaction as the lock table names it, prepared ones too: the same for all
/// its locks.
type Holder = (i32, u32);

fn holder(lock: &pg_sys::LockInstanceData) -> Holder {
    #[cfg(any(feature = "pg14", feature = "pg15", feature = "pg16"))]
    {
        (lock.backend, lock.lxid)
    }
    #[cfg(not(any(feature = "pg14", feature = "pg15", feature = "pg16")))]
    {
        (lock.vxid.procNumber, lock.vxid.localTransactionId)
    }
}

/// The locks of this module that any transaction holds, of those whose tags
/// `wanted` takes.
fn held(wanted: impl Fn(&pg_sys::LOCKTAG) -> bool) -> Vec<(pg_sys::LOCKTAG, Holder)> {
    // SAFETY: the function gives an array of as many locks as it says.
    unsafe {
        let data = pg_sys::GetLockStatusData();
        let locks = std::slice::from_raw_parts((*data).locks, (*data).nelements as usize);
        let ours = locks.iter().filter(|lock| {
            lock.holdMask != 0 && lock.locktag.locktag_type == pg_sys::LockTagType::LOCKTAG_USERLOCK as u8
        });
        let found =
            ours.filter(|lock| wanted(&lock.locktag)).map(|lock| (lock.locktag, holder(lock))).collect();
        pg_sys::pfree((*data).locks.cast());
        pg_sys::pfree(data.cast());
        found
    }
}

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

/// Waits until `transaction` has ended, and says so; or says that it waits for
/// this one.
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
        let (waiting, edge) =
            (tag(0, database(), 0, WAITING), tag(u32::from(me), u32::from(target), 0, EDGE));
        lock(&waiting);
        if waits_for(target, me) {
            unlock(&waiting);
            return false;
        }
        lock(&edge);
        unlock(&waiting);
        let purpose = match tid.is_null() {
            true => pg_sys::XLTW_Oper::XLTW_None,
            false => pg_sys::XLTW_Oper::XLTW_RecheckExclusionConstr,
        };
        pg_sys::XactLockTableWait(transaction, relation, tid, purpose);
        unlock(&edge);
        true
    }
}

/// Whether no other transaction holds the lock in any mode.
fn is_alone(tag: &pg_sys::LOCKTAG) -> bool {
    let mut others = 0;
    // SAFETY: the function counts what it gives; it gives memory of its own.
    unsafe {
        let found = pg_sys::GetLockConflicts(tag, pg_sys::ExclusiveLock as i32, &mut others);
        pg_sys::pfree(found.cast());
    }
    others == 0
}

/// Tells others that a row of `fingerprint` is about to be stored in `table`,
/// and gives the transactions that are about to store one within `distance` of
/// it, or may just have done so.
pub(super) fn publish(
    table: pg_sys::Oid,
    column: &str,
    fingerprint: u64,
    distance: u32,
) -> Vec<pg_sys::TransactionId> {
    // SAFETY: inside a transaction that is about to write.
    let transaction = unsafe { pg_sys::GetTopTransactionId() };
    let kind = publication_for(column);
    let mine = tag(u32::from(transaction), (fingerprint >> 32) as u32, fingerprint as u32, kind);
    let publishing = tag(0, database(), u32::from(table), PUBLISHING);
    let present = tag(0, database(), u32::from(table), PRESENT);
    let is_first = PUBLISHED.with_borrow(|published| {
        !published.iter().any(|it| it.transaction == transaction && it.table == table)
    });
    if is_first {
        let mode = pg_sys::ShareLock as i32;
        // SAFETY: inside a transaction.
        for_transaction(|| unsafe {
            pg_sys::LockAcquire(&present, mode, false, false);
        });
    }
    lock(&publishing);
    for_transaction(|| lock(&mine));
    // Who is not present has published nothing; most of the time that saves
    // reading the lock table.
    let near = if is_alone(&present) { Vec::new() } else { near(&mine, &present, distance) };
    unlock(&publishing);
    PUBLISHED.with_borrow_mut(|published| {
        published.retain(|other| other.transaction == transaction);
        published.push(Published { transaction, table, kind, tag: mine });
        let same = |other: &Published| other.table == table && other.kind == kind;
        if published.iter().filter(|other| same(other)).count() > KEPT
            && let Some(oldest) = published.iter().position(same)
        {
            for_transaction(|| unlock(&published.remove(oldest).tag));
        }
    });
    near
}

/// The transactions that have published a fingerprint within `distance` of
/// `mine` and are present in its table.
fn near(mine: &pg_sys::LOCKTAG, present: &pg_sys::LOCKTAG, distance: u32) -> Vec<pg_sys::TransactionId> {
    let fingerprint =
        |tag: &pg_sys::LOCKTAG| u64::from(tag.locktag_field2) << 32 | u64::from(tag.locktag_field3);
    let is_near = |tag: &pg_sys::LOCKTAG| {
        tag.locktag_field4 == mine.locktag_field4
            && tag.locktag_field1 != mine.locktag_field1
            && dedup_core::signature::hamming(fingerprint(tag), fingerprint(mine)) <= distance
    };
    let is_present = |tag: &pg_sys::LOCKTAG| {
        tag.locktag_field4 == PRESENT
            && (tag.locktag_field2, tag.locktag_field3) == (present.locktag_field2, present.locktag_field3)
    };
    let locks = held(|tag| is_near(tag) || is_present(tag));
    let publications = locks.iter().filter(|(tag, _)| is_near(tag));
    publications
        .filter(|(_, by)| locks.iter().any(|(tag, other)| other == by && is_present(tag)))
        .map(|(tag, _)| pg_sys::TransactionId::from(tag.locktag_field1))
        .collect()
}
