//! Publishes rows that are about to be stored and not in the index yet, where others would find
//! them.
//!
//! Publishing, and reading what others have published, happen under a short exclusive lock of the
//! table: of two rows near each other, the one published later finds the earlier one, and never
//! each the other.
//!
//! A lock tag has no room for a transaction, a fingerprint and the whole
//! identity of a table; with a part of it, writers of one table could be made
//! to wait by writers of another. So a second lock of the same transaction says
//! for which table it publishes.

use super::lock_table::{
    PUBLICATION, PUBLISHES, PUBLISHING, database, for_transaction, held, is_alone, lock, tag, unlock,
};
use super::secret::Key;
use pgrx::pg_sys;
use std::cell::RefCell;

/// Publications kept per column: the latest row is the one that is not in the
/// index yet; more can be under way if triggers insert into the same table.
pub(super) const MAX_PUBLICATIONS: usize = 4;

/// A publication of this transaction.
struct Published {
    transaction: pg_sys::TransactionId,
    table: pg_sys::Oid,
    kind: u16,
    tag: pg_sys::LOCKTAG,
}

thread_local!(static PUBLISHED: RefCell<Vec<Published>> = const { RefCell::new(Vec::new()) });

/// The kind of the publications for a column: a hash of its name, because partitions may number it
/// differently. A collision of two columns of a table costs only an unnecessary wait.
fn publication_for(column: &str) -> u16 {
    let mixed = column.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    PUBLICATION | (mixed >> 49) as u16
}

/// Publishes that a row with this fingerprint is about to be stored in `table`. Returns the
/// transactions that have published one within `distance` of it.
pub(super) fn publish(
    table: pg_sys::Oid,
    column: &str,
    fingerprint: u64,
    distance: u32,
) -> Vec<pg_sys::TransactionId> {
    // SAFETY: inside a transaction that is about to write.
    let transaction = unsafe { pg_sys::GetTopTransactionId() };
    let kind = publication_for(column);
    let hidden = Key::of(table, transaction).hide(fingerprint);
    let mine = tag(u32::from(transaction), (hidden >> 32) as u32, hidden as u32, kind);
    let publishing = tag(0, database(), u32::from(table), PUBLISHING);
    let publishes = tag(0, database(), u32::from(table), PUBLISHES);
    let is_first = PUBLISHED.with_borrow(|published| {
        !published.iter().any(|it| it.transaction == transaction && it.table == table)
    });
    if is_first {
        let mode = pg_sys::ShareLock as i32;
        // SAFETY: inside a transaction.
        for_transaction(|| unsafe {
            pg_sys::LockAcquire(&publishes, mode, false, false);
        });
    }
    lock(&publishing);
    for_transaction(|| lock(&mine));
    // Most of the time nobody else publishes for the table, which saves reading the
    // lock table.
    let near = if is_alone(&publishes) { Vec::new() } else { published_near(&mine, &publishes, distance) };
    unlock(&publishing);
    PUBLISHED.with_borrow_mut(|published| {
        published.retain(|other| other.transaction == transaction);
        published.push(Published { transaction, table, kind, tag: mine });
        let same = |other: &Published| other.table == table && other.kind == kind;
        if published.iter().filter(|other| same(other)).count() > MAX_PUBLICATIONS
            && let Some(oldest) = published.iter().position(same)
        {
            for_transaction(|| unlock(&published.remove(oldest).tag));
        }
    });
    near
}

/// The transactions that have published a fingerprint within `distance` of
/// `mine` for its table.
fn published_near(
    mine: &pg_sys::LOCKTAG,
    publishes: &pg_sys::LOCKTAG,
    distance: u32,
) -> Vec<pg_sys::TransactionId> {
    let fingerprint =
        |tag: &pg_sys::LOCKTAG| u64::from(tag.locktag_field2) << 32 | u64::from(tag.locktag_field3);
    let is_near = |tag: &pg_sys::LOCKTAG| {
        tag.locktag_field4 == mine.locktag_field4
            && tag.locktag_field1 != mine.locktag_field1
            && dedup_core::fingerprint::hamming(fingerprint(tag), fingerprint(mine)) <= distance
    };
    let publishes_for_table = |tag: &pg_sys::LOCKTAG| {
        tag.locktag_field4 == PUBLISHES
            && (tag.locktag_field2, tag.locktag_field3)
                == (publishes.locktag_field2, publishes.locktag_field3)
    };
    let locks = held(|tag| is_near(tag) || publishes_for_table(tag));
    let publications = locks.iter().filter(|(tag, _)| is_near(tag));
    publications
        .filter(|(_, by)| locks.iter().any(|(tag, other)| other == by && publishes_for_table(tag)))
        .map(|(tag, _)| pg_sys::TransactionId::from(tag.locktag_field1))
        .collect()
}
