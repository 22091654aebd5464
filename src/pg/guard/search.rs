//! The search for rows near a new one, that sees what is not yet committed.
//!
//! The same as PostgreSQL does for an exclusion constraint
//! (`check_exclusion_or_unique_constraint`): an index scan under a dirty
//! snapshot, which shows rows of transactions in progress and says whose they
//! are; where the answer hangs on such a transaction, wait for it and search
//! again.

use super::super::record::Row;
use super::super::{ball::Ball, raise};
use super::call::{Call, Event};
use super::key::Key;
use super::wait;
use crate::banding::{DISTANCE, WITHIN, is_banding_relation};
use dedup_core::signature::hamming;
use pgrx::datum::IntoDatum;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::{PgList, PgSqlErrorCode, PgTupleDesc, pg_sys};

/// What is searched for.
pub(crate) struct Search<'a> {
    /// The call that asks.
    pub(crate) call: &'a Call,
    /// The column of the fingerprint.
    pub(crate) column: &'a str,
    /// The fingerprint of the new row.
    pub(crate) fingerprint: u64,
    /// Rows within this distance are near.
    pub(crate) distance: u32,
    /// Whether the nearest row is wanted, or any.
    pub(crate) nearest: bool,
    /// Whether to read whole tables that have no usable index.
    pub(crate) without_index: bool,
    /// What a row that is near must fulfil besides.
    pub(crate) verify: &'a dyn Fn(&Row) -> bool,
}

/// A row near the new one.
pub(crate) struct Near {
    /// Its key.
    pub(crate) key: Key,
    /// Its distance.
    pub(crate) distance: u32,
    /// Whether its transaction is in progress and waits for this one.
    pub(crate) undecided: bool,
}

/// A row found, and the transaction that decides about it if one does.
struct Candidate {
    near: Near,
    tid: pg_sys::ItemPointerData,
    decided_by: Option<(pg_sys::TransactionId, u32)>,
}

unsafe extern "C-unwind" {
    fn find_all_inheritors(
        parent: pg_sys::Oid,
        mode: pg_sys::LOCKMODE,
        parents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
    fn get_partition_ancestors(relation: pg_sys::Oid) -> *mut pg_sys::List;
}

impl Search<'_> {
    /// Finds an earlier row near the new one. Waits for transactions in
    /// progress that decide about one, unless they wait for this one.
    pub(crate) fn find(&self) -> Option<Near> {
        // SAFETY: the tables are opened and closed here; rows belong to them.
        unsafe {
            let mut best: Option<Near> = None;
            for table in self.tables() {
                let relation = pg_sys::table_open(table, pg_sys::AccessShareLock as i32);
                let found = self.find_in(relation);
                pg_sys::table_close(relation, pg_sys::NoLock as i32);
                if let Some(found) = found
                    && best.as_ref().is_none_or(|best| found.distance < best.distance)
                {
                    best = Some(found);
                }
                if best.is_some() && !self.nearest {
                    break;
                }
            }
            best
        }
    }

    /// The table whose rows must not be near each other: that of the row or,
    /// for a trigger of a partitioned table, the topmost one.
    pub(crate) fn whole_table(&self) -> pg_sys::Oid {
        // SAFETY: the relation is open.
        unsafe {
            let own = (*self.call.relation()).rd_id;
            if !self.call.is_of_partitions() {
                return own;
            }
            let ancestors =
                PgList::<pg_sys::Oid>::from_pg(pg_guard_ffi_boundary(|| get_partition_ancestors(own)));
            ancestors.iter_oid().last().unwrap_or(own)
        }
    }

    /// The tables to search: that of the row first.
    ///
    /// # Safety
    /// Inside a transaction.
    unsafe fn tables(&self) -> Vec<pg_sys::Oid> {
        // SAFETY: the lists are of Oids.
        unsafe {
            let (own, whole) = ((*self.call.relation()).rd_id, self.whole_table());
            let mut tables = vec![own];
            if whole != own {
                let mode = pg_sys::AccessShareLock as i32;
                let all = pg_guard_ffi_boundary(|| find_all_inheritors(whole, mode, std::ptr::null_mut()));
                let stored = |table: &pg_sys::Oid| {
                    *table != own && pg_sys::get_rel_relkind(*table) as u8 == pg_sys::RELKIND_RELATION
                };
                tables.extend(PgList::<pg_sys::Oid>::from_pg(all).iter_oid().filter(stored));
            }
            tables
        }
    }

    /// # Safety
    /// The relation is open.
    unsafe fn find_in(&self, relation: pg_sys::Relation) -> Option<Near> {
        // SAFETY: the caller's promise.
        unsafe {
            let index = self.index_of(relation);
            loop {
                let mut candidate = self.first(relation, index)?;
                let Some((transaction, speculative)) = candidate.decided_by else {
                    return Some(candidate.near);
                };
                pgrx::check_for_interrupts!();
                if speculative != 0 {
                    pg_sys::SpeculativeInsertionWait(transaction, speculative);
                } else if !wait::wait_for(transaction, relation, &mut candidate.tid) {
                    candidate.near.undecided = true;
                    return Some(candidate.near);
                }
            }
        }
    }

    /// The index to use, if there is one.
    ///
    /// # Safety
    /// The relation is open.
    unsafe fn index_of(&self, relation: pg_sys::Relation) -> Option<pg_sys::Oid> {
        // SAFETY: the caller's promise; indexes are opened and closed here.
        unsafe {
            let indexes = PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation));
            let columns = PgTupleDesc::from_pg_copy((*relation).rd_att);
            let number = columns.iter().position(|it| !it.attisdropped && it.name() == self.column);
            let usable = |oid: &pg_sys::Oid| {
                let index = pg_sys::index_open(*oid, pg_sys::AccessShareLock as i32);
                let form = &*(*index).rd_index;
                let usable = is_banding_relation(index)
                    && form.indisvalid
                    && form.indisready
                    && number.is_some_and(|at| form.indkey.values.as_slice(1)[0] as usize == at + 1)
                    && pg_sys::RelationGetIndexPredicate(index).is_null();
                pg_sys::index_close(index, pg_sys::AccessShareLock as i32);
                usable
            };
            let found = indexes.iter_oid().find(usable);
            if found.is_none() && !self.without_index {
                let name = pgrx::PgRelation::from_pg(relation).name().to_owned();
                let quoted = pgrx::spi::quote_identifier(name.as_str());
                raise(
                    PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                    format!(
                        "trigger \"{}\" needs an index on column \"{}\" of table \"{name}\"",
                        self.call.trigger_name(),
                        self.column
                    ),
                    format!(
                        "CREATE INDEX ON {quoted} USING banding ({}); a partial index does not serve. With \
                         'index=none' the guard reads the whole table for every row.",
                        pgrx::spi::quote_identifier(self.column)
                    ),
                )
            }
            found
        }
    }

    /// The first row that is near, in the order of the scan.
    ///
    /// # Safety
    /// The relation is open, the index one of it.
    unsafe fn first(&self, relation: pg_sys::Relation, index: Option<pg_sys::Oid>) -> Option<Candidate> {
        // SAFETY: the caller's promise; what is begun here is ended here.
        unsafe {
            let mut dirty = pg_sys::SnapshotData {
                snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
                ..Default::default()
            };
            let columns = PgTupleDesc::from_pg_copy((*relation).rd_att);
            let slot = pg_sys::table_slot_create(relation, std::ptr::null_mut());
            let mut best: Option<Candidate> = None;
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            match index {
                Some(index) => {
                    let index = pg_sys::index_open(index, pg_sys::AccessShareLock as i32);
                    let orders = i32::from(self.nearest);
                    let scan = begin_scan(relation, index, &mut dirty, orders);
                    let ball = Ball::new(self.fingerprint, self.distance as i32).into_datum();
                    let mut within = pg_sys::ScanKeyData {
                        sk_attno: 1,
                        sk_strategy: WITHIN,
                        sk_argument: ball.unwrap_or(pg_sys::Datum::from(0usize)),
                        ..Default::default()
                    };
                    let mut order = pg_sys::ScanKeyData {
                        sk_flags: pg_sys::SK_ORDER_BY as i32,
                        sk_attno: 1,
                        sk_strategy: DISTANCE,
                        sk_argument: pg_sys::Datum::from(self.fingerprint as i64),
                        ..Default::default()
                    };
                    pg_sys::index_rescan(scan, &mut within, 1, &mut order, orders);
                    while best.is_none() && pg_sys::index_getnext_slot(scan, forward, slot) {
                        best = self.candidate(relation, &columns, slot, &dirty);
                    }
                    pg_sys::index_endscan(scan);
                    pg_sys::index_close(index, pg_sys::AccessShareLock as i32);
                }
                None => {
                    let scan = pg_sys::table_beginscan(relation, &mut dirty, 0, std::ptr::null_mut());
                    while pg_sys::table_scan_getnextslot(scan, forward, slot) {
                        pgrx::check_for_interrupts!();
                        let Some(found) = self.candidate(relation, &columns, slot, &dirty) else { continue };
                        if best.as_ref().is_none_or(|best| found.near.distance < best.near.distance) {
                            best = Some(found);
                        }
                        if !self.nearest {
                            break;
                        }
                    }
                    pg_sys::table_endscan(scan);
                }
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            best
        }
    }

    /// The row in the slot, if it is near the new one and earlier.
    ///
    /// # Safety
    /// The slot holds a row of the relation, found under the snapshot.
    unsafe fn candidate(
        &self,
        relation: pg_sys::Relation,
        columns: &PgTupleDesc,
        slot: *mut pg_sys::TupleTableSlot,
        dirty: &pg_sys::SnapshotData,
    ) -> Option<Candidate> {
        // SAFETY: the caller's promise; the tuple belongs to the slot.
        unsafe {
            let (tid, mut owned) = ((*slot).tts_tid, false);
            let tuple = pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut owned);
            let row = Row::new(tuple, columns);
            let fingerprint = row.bigint(self.column)? as u64;
            let distance = hamming(fingerprint, self.fingerprint);
            if distance > self.distance || self.is_self_or_later(relation, tuple, tid) || !(self.verify)(&row)
            {
                return None;
            }
            let in_progress = |xid: pg_sys::TransactionId| xid != pg_sys::InvalidTransactionId;
            let decided_by = match (in_progress(dirty.xmin), in_progress(dirty.xmax)) {
                (true, _) => Some((dirty.xmin, dirty.speculativeToken)),
                (false, true) => Some((dirty.xmax, 0)),
                (false, false) => None,
            };
            let key = Key::of(relation, &row, tid);
            Some(Candidate { near: Near { key, distance, undecided: false }, tid, decided_by })
        }
    }

    /// Whether a row is the new one itself, the one it replaces, or one that
    /// this transaction has stored after it: then that one's trigger finds
    /// this one, and each pair is found once.
    ///
    /// # Safety
    /// The tuple is one of the relation, at `tid`.
    unsafe fn is_self_or_later(
        &self,
        relation: pg_sys::Relation,
        tuple: pg_sys::HeapTuple,
        tid: pg_sys::ItemPointerData,
    ) -> bool {
        // SAFETY: the caller's promise; the command of a row is asked only of
        // rows of this transaction.
        unsafe {
            let (other, own) = ((*relation).rd_id, (*self.call.relation()).rd_id);
            let place =
                |tid: &pg_sys::ItemPointerData| (tid.ip_blkid.bi_hi, tid.ip_blkid.bi_lo, tid.ip_posid);
            match self.call.event {
                Event::BeforeInsert => false,
                Event::BeforeUpdate => {
                    let old = self.call.old_tuple();
                    other == own && old.is_some_and(|old| place(&(*old).t_self) == place(&tid))
                }
                Event::AfterInsert | Event::AfterUpdate => {
                    let new = self.call.new_tuple();
                    if other == own && place(&(*new).t_self) == place(&tid) {
                        return true;
                    }
                    let inserted = (*(*tuple).t_data).t_choice.t_heap.t_xmin;
                    if !pg_sys::TransactionIdIsCurrentTransactionId(inserted) {
                        return false;
                    }
                    let order =
                        |tuple: pg_sys::HeapTuple, table: pg_sys::Oid, tid: &pg_sys::ItemPointerData| {
                            (pg_sys::HeapTupleHeaderGetCmin((*tuple).t_data), u32::from(table), place(tid))
                        };
                    order(tuple, other, &tid) > order(new, own, &(*new).t_self)
                }
            }
        }
    }

    /// Whether the new row, already stored, is still there when a deferred
    /// trigger asks.
    pub(crate) fn is_still_there(&self) -> bool {
        // SAFETY: the tuple is a stored one of the relation.
        unsafe {
            let relation = self.call.relation();
            let slot = pg_sys::table_slot_create(relation, std::ptr::null_mut());
            let mut tid = (*self.call.new_tuple()).t_self;
            let now = &raw mut pg_sys::SnapshotSelfData;
            let there = pg_sys::table_tuple_fetch_row_version(relation, &mut tid, now, slot);
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            there
        }
    }
}

/// Waits for a transaction that is about to store a row near the new one;
/// says whether it has ended, or else waits for this one.
pub(crate) fn wait_for_publisher(transaction: pg_sys::TransactionId) -> bool {
    // SAFETY: no row is waited for.
    unsafe { wait::wait_for(transaction, std::ptr::null_mut(), std::ptr::null_mut()) }
}

/// `index_beginscan`, which wants one argument more in PostgreSQL 18.
///
/// # Safety
/// The relations are open, the snapshot outlives the scan.
unsafe fn begin_scan(
    relation: pg_sys::Relation,
    index: pg_sys::Relation,
    snapshot: pg_sys::Snapshot,
    orders: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        {
            pg_sys::index_beginscan(relation, index, snapshot, 1, orders)
        }
        #[cfg(feature = "pg18")]
        {
            pg_sys::index_beginscan(relation, index, snapshot, std::ptr::null_mut(), 1, orders)
        }
    }
}
