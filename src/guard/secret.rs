//! Hides what a guard publishes: the lock table is shown to every role of every database.
//!
//! Each table has a key, made of its oid, that of its database and the database's secret: one that was made of a template has
//! the secret and tables of the template. What still shows is how far fingerprints of one table are from each other: those who
//! search need it.

use super::lock_table::{SHARE, database, for_transaction};
use crate::pg::{own_table, raise_state, schema};
use pgrx::fcinfo::direct_function_call;
use pgrx::htup::heap_getattr_raw;
use pgrx::{FromDatum, IntoDatum, pg_sys};
use std::cell::RefCell;
use std::collections::HashMap;
use std::num::NonZeroUsize;

/// Where each bit of a fingerprint comes from, and which bits are flipped then.
#[derive(Clone, Copy)]
pub(super) struct Key {
    order: [u8; 64],
    mask: u64,
}

/// The key of a table, the secret that it was made of, and the latest transaction that asked for it.
type Known = (pg_sys::TransactionId, Vec<u8>, Key);

thread_local!(static KNOWN: RefCell<HashMap<pg_sys::Oid, Known>> = RefCell::default());

impl Key {
    /// The key of a table, the same for all transactions that have asked for it and are not over: the table of the secret
    /// stays locked, so that none can be put in its place.
    pub(super) fn of(table: pg_sys::Oid, transaction: pg_sys::TransactionId) -> Key {
        let known = KNOWN.with_borrow(|known| known.get(&table).cloned());
        if let Some((_, _, key)) = known.as_ref().filter(|it| it.0 == transaction) {
            return *key;
        }
        let secret = secret();
        let key = known.filter(|it| it.1 == secret).map_or_else(|| Key::new(table, &secret), |it| it.2);
        KNOWN.with_borrow_mut(|known| known.insert(table, (transaction, secret, key)));
        key
    }

    fn new(table: pg_sys::Oid, secret: &[u8]) -> Key {
        let [database, table] = [database(), table.into()].map(u32::to_be_bytes);
        let digest = |part: u8| {
            let hashed = [secret, &database, &table, &[part]].concat();
            // SAFETY: PostgreSQL's function of one bytea, which is not NULL.
            unsafe { direct_function_call::<Vec<u8>>(pg_sys::sha256_bytea, &[hashed.into_datum()]) }
                .unwrap_or_default()
        };
        let mut order = std::array::from_fn(|bit| bit as u8);
        order.sort_by_cached_key(|&bit| digest(bit));
        let mask = digest(64).first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        Key { order, mask }
    }

    /// Hides a fingerprint. Distances stay what they are.
    pub(super) fn hide(&self, fingerprint: u64) -> u64 {
        let moved = self.order.iter().fold(0, |moved, &bit| moved << 1 | fingerprint >> bit & 1);
        moved ^ self.mask
    }
}

fn secret() -> Vec<u8> {
    // SAFETY: the table is locked, opened and closed in this order; the value is copied while the scan has its row.
    let secret = own_table("_dedup_secret").and_then(|oid| unsafe {
        // Two writers with two secrets would not know of each other: who changes it waits.
        for_transaction(|| pg_sys::LockRelationOid(oid, SHARE));
        let relation = pg_sys::table_open(oid, pg_sys::NoLock as i32);
        let (no_index, latest) = (pg_sys::InvalidOid, std::ptr::null_mut());
        // As the catalogue is read, for no role may SELECT it.
        let scan = pg_sys::systable_beginscan(relation, no_index, false, latest, 0, std::ptr::null_mut());
        let row = pg_sys::systable_getnext(scan);
        let value = |row| heap_getattr_raw(row, NonZeroUsize::MIN, (*relation).rd_att);
        let secret = (!row.is_null()).then(|| Vec::from_datum(value(row)?, false)).flatten();
        pg_sys::systable_endscan(scan);
        pg_sys::table_close(relation, pg_sys::NoLock as i32);
        secret
    });
    secret.unwrap_or_else(|| {
        raise_state(
            "the secret that hides published fingerprints is gone",
            format!("A superuser makes a new one: REFRESH MATERIALIZED VIEW {}._dedup_secret;", schema()),
        )
    })
}
