//! Publishes rows that are about to be stored and not in the index yet, where others would find them.
//!
//! Publishing, and reading what others have published, happen under a short exclusive lock of the table: of two rows near
//! each other, the one published later finds the earlier one, and never each the other.
//!
//! A lock tag has no room for a transaction, a fingerprint and the whole identity of a table; with a part of it, writers of
//! one table could be made to wait by writers of another. So a second lock of the same transaction says for which table it
//! publishes.
//!
//! Who finds others' rows waits until those transactions have ended before it searches, and says so while it waits: its
//! publication is *waiting*. One of those others, A, that publishes a further row need not wait for it, and must not, or each
//! would wait for the other. Let B be the waiting transaction. It has not searched for its row yet, nor stored it; there is an
//! edge from B to A, so B waits for the end of A before it does either, and then finds the row that A is about to store.
//! Should B's wait be cut short, its statement fails, and the row of that publication is never stored. A waiting publication
//! and the edge are seen at one moment, and B makes both before it releases the table's lock. A row of B's that is not waiting
//! may have been searched for, and be about to be stored (its other triggers may insert the waiting one): for that, A waits.
//! So a publication that could be taken for such a row's, having its tag, is not called waiting. B waiting for A through
//! others only is not enough: their wait could be cut short, and they go on.

use super::lock_table::{
    EDGE, EXCLUSIVE, Held, PUBLICATION, PUBLISHES, PUBLISHING, SHARE, database, for_transaction, held,
    is_alone, lock, tag, unlock,
};
use super::secret::Key;
use super::wait::Waits;
use pgrx::pg_sys;
use std::cell::RefCell;

/// Publications of a transaction per column: the latest row is the one that is not in the index yet; more can be under way if
/// triggers insert into the same table.
const MAX_PUBLICATIONS: usize = 4;

struct Published {
    transaction: pg_sys::TransactionId,
    table: pg_sys::Oid,
    kind: u16,
    hidden: u64,
}

thread_local!(static PUBLISHED: RefCell<Vec<Published>> = const { RefCell::new(Vec::new()) });

/// The kind of the publications for a column: a hash (FNV) of its name, because partitions may number it differently. A
/// collision of two columns of a table costs only an unnecessary wait.
fn publication_for(column: &str) -> u16 {
    let mixed = column.bytes().fold(0xCBF2_9CE4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
    });
    PUBLICATION | (mixed >> 49) as u16
}

/// The mode in which a publication is held as well while it is waiting.
const WAITING: i32 = pg_sys::AccessShareLock as i32;

/// Publishes that a row with this fingerprint is about to be stored in `table`, and waits for the transactions that have
/// published one within `distance` of it; false if one of those waits for this transaction.
pub(super) fn publish(table: pg_sys::Oid, column: &str, fingerprint: u64, distance: u32) -> bool {
    // SAFETY: inside a transaction that is about to write.
    let transaction = unsafe { pg_sys::GetTopTransactionId() };
    let kind = publication_for(column);
    let hidden = Key::of(table, transaction).hide(fingerprint);
    let publication = |hidden: u64| tag(transaction.into(), (hidden >> 32) as u32, hidden as u32, kind);
    let mine = publication(hidden);
    let publishing = tag(0, database(), u32::from(table), PUBLISHING);
    let publishes = tag(0, database(), u32::from(table), PUBLISHES);
    PUBLISHED.with_borrow_mut(|published| published.retain(|it| it.transaction == transaction));
    let has = |wanted: &dyn Fn(&Published) -> bool| PUBLISHED.with_borrow(|all| all.iter().any(wanted));
    if !has(&|it| it.table == table) {
        for_transaction(|| lock(&publishes, SHARE));
    }
    let is_first = !has(&|it| it.kind == kind && it.hidden == hidden);
    lock(&publishing, EXCLUSIVE);
    for_transaction(|| lock(&mine, EXCLUSIVE));
    // Most of the time nobody else publishes for the table, which saves reading the lock table.
    let near = if is_alone(&publishes) { Vec::new() } else { published_near(&mine, &publishes, distance) };
    let is_waiting = is_first && !near.is_empty();
    if is_waiting {
        lock(&mine, WAITING);
    }
    let waits = Waits::announce(near);
    unlock(&publishing, EXCLUSIVE);
    PUBLISHED.with_borrow_mut(|published| {
        published.push(Published { transaction, table, kind, hidden });
        let mut same = (0..published.len())
            .rev()
            .filter(|&at| published[at].table == table && published[at].kind == kind);
        if let Some(oldest) = same.nth(MAX_PUBLICATIONS) {
            for_transaction(|| unlock(&publication(published.remove(oldest).hidden), EXCLUSIVE));
        }
    });
    let ended = waits.is_some_and(Waits::wait);
    if is_waiting {
        unlock(&mine, WAITING);
    }
    ended
}

/// The transactions that have published a fingerprint within `distance` of `mine` for its table, unless they wait for this
/// one before they search for it.
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
    let is_edge_to_me =
        |tag: &pg_sys::LOCKTAG| tag.locktag_field4 == EDGE && tag.locktag_field2 == mine.locktag_field1;
    let locks = held(|tag| is_near(tag) || publishes_for_table(tag) || is_edge_to_me(tag));
    let any = |by: &Held, wanted: &dyn Fn(&pg_sys::LOCKTAG) -> bool| {
        locks.iter().any(|it| it.by == by.by && wanted(&it.tag))
    };
    let publications = locks.iter().filter(|it| is_near(&it.tag) && any(it, &publishes_for_table));
    publications
        .filter(|it| !(it.modes & 1 << WAITING != 0 && any(it, &is_edge_to_me)))
        .map(|it| pg_sys::TransactionId::from(it.tag.locktag_field1))
        .collect()
}
