//! The search for rows near a new one; it also sees rows that are not committed yet.
//!
//! As PostgreSQL does for an exclusion constraint (`check_exclusion_or_unique_constraint`), the search looks at rows of
//! transactions in progress too; where the result depends on such a transaction, it waits for it and searches again. Unlike an
//! exclusion constraint the guard does not check a row again when an update leaves its fingerprint as it was. Such an update
//! can store the new version where the scan has already been, and commit before the scan comes to the old one. The scan
//! therefore looks at every version, dead ones included, and takes for a neighbour also a version that has died since a
//! snapshot taken before the scan.
//!
//! Why that leaves no gap. Let r be the new row, stored (`reject`, `log`) or published (`skip`, `flag`, see `publish`), and s a
//! row that some transaction B brought near r, together with the later versions that updates with an unchanged fingerprint made
//! of it, wherever they put them: in the same page, elsewhere in the table, in another partition.
//!
//! * If no version of s was in the index when the scan for r took its snapshot, B stores s later than r was stored or
//!   published, and B's own guard, which looks after that, finds r. (B published before r was and has not stored yet: then r's
//!   guard has waited for B to end before the snapshot, or B waits for this transaction to end and looks after that.)
//! * Otherwise consider the latest version that was in the index at that time, of those whose transactions have not failed. The
//!   scan comes to it. If it is alive, it is found. If its inserter or deleter is in progress, the scan waits and starts again.
//!   If it is dead, a transaction C has deleted it. C had not ended when the snapshot was taken, or C's new version would have
//!   been in the index by then and be a later one. So C is in progress according to the snapshot, and the dead version counts
//!   as found: it was there at some moment of the search. Only if C had inserted the version itself was it never visible to
//!   others: then the search starts again.
//!
//! The dead version has not been vacuumed away, for the registered snapshot holds back the horizon. Nothing here depends on the
//! isolation level: the snapshot is the latest one even where the transaction's own is older, and it is only asked which
//! transactions were in progress. No row is read under it, so SERIALIZABLE takes no predicate locks for the search.
//!
//! Nothing is rejected without a reason either: a row is found only if it was stored at some moment between the start and the
//! end of the search, as if the search had been made at that moment.

use super::key::Key;
use super::options::Options;
use super::print::Print;
use super::scope::Scope;
use super::texts::TextSearch;
use super::wait;
use crate::banding::{DISTANCE, IndexRelation, WITHIN, is_banding_relation, scope_columns, type_of};
use crate::pg::{
    Row, deleter, died_before, inheritors, quote_identifier, raise_state, raise_unsupported, string,
    trigger::Call, version,
};
use dedup_core::dedup::nearness;
use dedup_core::interrupt;
use pgrx::{PgList, PgRelation, PgTupleDesc, pg_sys};

pub(super) struct Search<'a> {
    pub(super) call: &'a Call,
    pub(super) options: &'a Options,
    pub(super) fingerprint: Print,
    /// Only rows of this scope are near.
    pub(super) scope: &'a Scope,
    /// Rows with such texts are near, and not those within the distance.
    pub(super) texts: Option<&'a TextSearch>,
    /// The similarity of a near row's text, if it meets a further condition.
    pub(super) verify: &'a dyn Fn(&Row) -> Option<f64>,
}

/// An earlier row near the new one.
pub(super) struct Conflict {
    pub(super) key: Key,
    pub(super) distance: u32,
    /// Whether its transaction is in progress and waits for this one.
    pub(super) undecided: bool,
    /// The smaller, the nearer.
    rank: u32,
    table: pg_sys::Oid,
    tid: pg_sys::ItemPointerData,
    /// The transaction in progress that decides whether the row exists, and its speculative token.
    decided_by: Option<(pg_sys::TransactionId, u32)>,
}

/// The nearer of two rows, the first one of those that are as near.
fn nearer(best: Option<Conflict>, found: Option<Conflict>) -> Option<Conflict> {
    [best, found].into_iter().flatten().min_by_key(|conflict| conflict.rank)
}

/// Raises 0A000 if the table is a foreign one: what another server holds, and what its sessions are about to store, cannot be
/// searched under the guard's promise.
pub(super) fn refuse_foreign(call: &Call, table: pg_sys::Oid) {
    // SAFETY: a look-up in the system catalogs; the name of a table that is there is not null.
    let name = unsafe {
        if pg_sys::get_rel_relkind(table) as u8 != pg_sys::RELKIND_FOREIGN_TABLE {
            return;
        }
        string(pg_sys::get_rel_name(table))
    };
    raise_unsupported(
        format!("trigger \"{}\" cannot guard foreign table \"{name}\"", call.trigger_name()),
        "Create the trigger on the other server's table, and here on the tables that are stored here.",
    )
}

impl Search<'_> {
    /// Finds an earlier row near the new one. Waits for transactions in progress that decide about one, unless they wait for
    /// this one.
    pub(super) fn find(&self) -> Option<Conflict> {
        loop {
            let mut found = self.scan()?;
            let Some((transaction, speculative)) = found.decided_by else { return Some(found) };
            interrupt::check();
            // SAFETY: the transaction was seen in progress; the table is locked since the scan, and open while its row is
            // waited for.
            unsafe {
                if speculative != 0 {
                    pg_sys::SpeculativeInsertionWait(transaction, speculative);
                    continue;
                }
                let relation = pg_sys::table_open(found.table, pg_sys::NoLock as i32);
                found.undecided = !wait::wait_for(transaction, relation, &mut found.tid);
                pg_sys::table_close(relation, pg_sys::NoLock as i32);
                if found.undecided {
                    return Some(found);
                }
            }
        }
    }

    /// One search through all the tables.
    fn scan(&self) -> Option<Conflict> {
        // SAFETY: the tables are opened and closed here; rows belong to them.
        unsafe {
            let start = pg_sys::RegisterSnapshot(pg_sys::GetLatestSnapshot());
            let mut best = None;
            for table in self.tables() {
                let relation = pg_sys::table_open(table, pg_sys::AccessShareLock as i32);
                let found = self.first(relation, self.index_of(relation), start);
                pg_sys::table_close(relation, pg_sys::NoLock as i32);
                best = nearer(best, found);
                if best.is_some() && !self.options.wants_nearest() {
                    break;
                }
            }
            pg_sys::UnregisterSnapshot(start);
            best
        }
    }

    /// The tables to search: that of the row first, then the others of the table that the trigger is of.
    fn tables(&self) -> Vec<pg_sys::Oid> {
        let (own, whole) = (self.call.table(), self.call.table_of_trigger());
        let stored = |table: &pg_sys::Oid| {
            refuse_foreign(self.call, *table);
            // SAFETY: any oid is answered.
            *table != own && unsafe { pg_sys::get_rel_relkind(*table) } as u8 == pg_sys::RELKIND_RELATION
        };
        let mut tables = vec![own];
        if whole != own {
            tables.extend(inheritors(whole, pg_sys::AccessShareLock).into_iter().filter(stored));
        }
        tables
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
            let number = columns.iter().position(|it| !it.attisdropped && it.name() == self.options.column);
            let usable = |oid: pg_sys::Oid| {
                let opened = PgRelation::with_lock(oid, pg_sys::AccessShareLock as i32);
                let index = IndexRelation::new(opened.as_ptr());
                let (form, last) = (&*index.rd_index, scope_columns(index));
                let usable = is_banding_relation(index)
                    && type_of(index) == self.fingerprint.of
                    && form.indisvalid
                    && form.indisready
                    && number
                        .is_some_and(|at| form.indkey.values.as_slice(last + 1)[last] as usize == at + 1)
                    && (last == 0 || self.scope.keys(index, &columns).is_some())
                    && pg_sys::RelationGetIndexPredicate(opened.as_ptr()).is_null();
                usable.then_some((last, oid))
            };
            // Rather one of the scope than one of all rows.
            let found = match self.texts {
                Some(texts) => texts.index_of(relation),
                None => indexes.iter_oid().filter_map(usable).max_by_key(|it| it.0).map(|it| it.1),
            };
            if found.is_none() && !self.options.without_index {
                let relation = PgRelation::from_pg(relation);
                let name = relation.name();
                let (on, how) = match self.texts {
                    Some(texts) => {
                        let columns = texts.columns.join(", ");
                        (format!("{} of {columns}", texts.what()), "dedup_setup makes it.".to_owned())
                    }
                    None => {
                        let columns = self.scope.columns().chain([self.options.column.as_str()]);
                        let columns = columns.map(quote_identifier).collect::<Vec<_>>().join(", ");
                        let create =
                            format!("CREATE INDEX ON {} USING banding ({columns})", quote_identifier(name));
                        (
                            format!("column \"{}\"", self.options.column),
                            create + "; a partial index does not serve.",
                        )
                    }
                };
                let trigger = self.call.trigger_name();
                raise_state(
                    format!("trigger \"{trigger}\" needs an index on {on} of table \"{name}\""),
                    format!("{how} With 'index=none' the guard reads the whole table for every row."),
                )
            }
            found
        }
    }

    /// The first row that is near, in the order of the scan.
    ///
    /// # Safety
    /// The relation is open, the index one of it, the snapshot registered.
    unsafe fn first(
        &self,
        relation: pg_sys::Relation,
        index: Option<pg_sys::Oid>,
        start: pg_sys::Snapshot,
    ) -> Option<Conflict> {
        // SAFETY: the caller's promise; what is begun here is ended here.
        unsafe {
            let every_version = &raw mut pg_sys::SnapshotAnyData;
            let columns = PgTupleDesc::from_pg_copy((*relation).rd_att);
            let slot = pg_sys::table_slot_create(relation, std::ptr::null_mut());
            let forward = pg_sys::ScanDirection::ForwardScanDirection;
            let mut best = None;
            // An index of fingerprints returns the nearest row first.
            let first_is_best = !self.options.wants_nearest() || index.is_some() && self.texts.is_none();
            let mut goes_on = || {
                let found = self.candidate(relation, &columns, slot, start);
                best = nearer(best.take(), found);
                best.is_none() || !first_is_best
            };
            match (index, self.texts) {
                (Some(index), Some(texts)) => texts.for_each_version(relation, index, slot, goes_on),
                (Some(index), None) => {
                    let opened = PgRelation::with_lock(index, pg_sys::AccessShareLock as i32);
                    let index = IndexRelation::new(opened.as_ptr());
                    let orders = i32::from(self.options.wants_nearest());
                    let last = scope_columns(index);
                    let keys = (last > 0).then(|| self.scope.keys(index, &columns)).flatten();
                    let (mut keys, column) = (keys.unwrap_or_default(), last as i16 + 1);
                    keys.push(pg_sys::ScanKeyData {
                        sk_attno: column,
                        sk_strategy: WITHIN,
                        sk_argument: self.fingerprint.ball(self.options.distance),
                        ..Default::default()
                    });
                    let mut order = pg_sys::ScanKeyData {
                        sk_flags: pg_sys::SK_ORDER_BY as i32,
                        sk_attno: column,
                        sk_strategy: DISTANCE,
                        sk_argument: self.fingerprint.value,
                        ..Default::default()
                    };
                    // It tells what may be read of a version that has died.
                    let snapshot_type = pg_sys::SnapshotType::SNAPSHOT_ANY;
                    let mut every_version = pg_sys::SnapshotData { snapshot_type, ..*start };
                    let every_version = &raw mut every_version;
                    let (index, count) = (opened.as_ptr(), keys.len() as i32);
                    let scan = version::index_beginscan(relation, index, every_version, count, orders);
                    pg_sys::index_rescan(scan, keys.as_mut_ptr(), count, &mut order, orders);
                    while pg_sys::index_getnext_slot(scan, forward, slot) && goes_on() {}
                    pg_sys::index_endscan(scan);
                }
                (None, _) => {
                    let scan = version::since_19!(table_beginscan(relation, every_version, 0, std::ptr::null_mut()); 0);
                    while pg_sys::table_scan_getnextslot(scan, forward, slot) && goes_on() {
                        interrupt::check();
                    }
                    pg_sys::table_endscan(scan);
                }
            }
            pg_sys::ExecDropSingleTupleTableSlot(slot);
            best
        }
    }

    /// The row in the slot, if it is near the new one, earlier, and was there during the search.
    ///
    /// # Safety
    /// The slot holds a version of a row of the relation; `start` is the snapshot of this search.
    unsafe fn candidate(
        &self,
        relation: pg_sys::Relation,
        columns: &PgTupleDesc,
        slot: *mut pg_sys::TupleTableSlot,
        start: pg_sys::Snapshot,
    ) -> Option<Conflict> {
        // SAFETY: the caller's promise; the tuple belongs to the slot.
        unsafe {
            let (tid, mut owned) = ((*slot).tts_tid, false);
            let tuple = pg_sys::ExecFetchSlotHeapTuple(slot, false, &mut owned);
            let row = Row::new(tuple, columns);
            let distance =
                || row.value(&self.options.column).map(|it| Print::of(it).distance(&self.fingerprint));
            let is_near =
                |it: Option<u32>| self.texts.is_some() || it.is_some_and(|it| it <= self.options.distance);
            // What is read of the version itself is looked at first.
            if self.fingerprint.of == pg_sys::INT8OID && !is_near(distance()) {
                return None;
            }
            let mut dirty = pg_sys::SnapshotData {
                snapshot_type: pg_sys::SnapshotType::SNAPSHOT_DIRTY,
                ..Default::default()
            };
            let alive = pg_sys::table_tuple_satisfies_snapshot(relation, slot, &mut dirty);
            let in_progress = |xid: pg_sys::TransactionId| xid != pg_sys::InvalidTransactionId;
            let decided_by = match (alive, in_progress(dirty.xmin), in_progress(dirty.xmax)) {
                (false, ..) => match death(tuple, start) {
                    Death::Before => return None,
                    Death::Since => None,
                    // It has ended, so the search starts again at once.
                    Death::Unseen(transaction) => Some((transaction, 0)),
                },
                (true, true, _) => Some((dirty.xmin, dirty.speculativeToken)),
                (true, false, true) => Some((dirty.xmax, 0)),
                (true, false, false) => None,
            };
            // Long values of a version that died before may be gone.
            if self.is_self_or_later(relation, tuple, tid) || !self.scope.holds(&row) {
                return None;
            }
            let distance = distance();
            if !is_near(distance) {
                return None;
            }
            let distance = distance.unwrap_or(64);
            let similarity = (self.verify)(&row)?;
            let rank = if self.texts.is_some() { nearness(similarity) } else { distance };
            let (key, table) = (Key::of(relation, &row, tid), (*relation).rd_id);
            Some(Conflict { key, distance, undecided: false, rank, table, tid, decided_by })
        }
    }

    /// Whether a row is the new one itself, the one it replaces, or one that this transaction has inserted after it: then that
    /// one's trigger finds this one, and each pair is found once. A version that an update has made counts as earlier: if the
    /// update left its fingerprint as it was, its trigger does not look.
    ///
    /// # Safety
    /// The tuple is one of the relation, at `tid`.
    unsafe fn is_self_or_later(
        &self,
        relation: pg_sys::Relation,
        tuple: pg_sys::HeapTuple,
        tid: pg_sys::ItemPointerData,
    ) -> bool {
        // SAFETY: the caller's promise; the command of a row is asked only of rows of this transaction.
        unsafe {
            let place = |table: pg_sys::Relation, tid: pg_sys::ItemPointerData| {
                ((*table).rd_id.to_u32(), tid.ip_blkid.bi_hi, tid.ip_blkid.bi_lo, tid.ip_posid)
            };
            let (found, own) =
                (place(relation, tid), |it: pg_sys::HeapTuple| place(self.call.relation(), (*it).t_self));
            if self.call.is_before {
                return self.call.old_tuple().is_some_and(|old| own(old) == found);
            }
            let (new, header) = (self.call.new_tuple(), (*tuple).t_data);
            let inserted = (*header).t_choice.t_heap.t_xmin;
            let updated = u32::from((*header).t_infomask) & pg_sys::HEAP_UPDATED != 0;
            let is_later = || {
                let command = |tuple: pg_sys::HeapTuple| pg_sys::HeapTupleHeaderGetCmin((*tuple).t_data);
                (command(tuple), found) > (command(new), own(new))
            };
            own(new) == found
                || !updated && pg_sys::TransactionIdIsCurrentTransactionId(inserted) && is_later()
        }
    }

    /// Whether the new row still exists when a deferred trigger runs.
    pub(super) fn is_still_there(&self) -> bool {
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

/// When a dead version died.
enum Death {
    /// Before the search began, or it never lived, or this transaction has deleted it.
    Before,
    /// Since the search began; others could see it until then.
    Since,
    /// Since the search began, deleted by the transaction that had inserted it: nobody else has ever seen it.
    Unseen(pg_sys::TransactionId),
}

/// When a version died that is dead to a dirty snapshot.
///
/// # Safety
/// The tuple is a stored one; `start` was registered before the search.
unsafe fn death(tuple: pg_sys::HeapTuple, start: pg_sys::Snapshot) -> Death {
    // SAFETY: the caller's promise. Subtransactions are looked up only where the snapshot keeps them.
    unsafe {
        if died_before(tuple, start) {
            return Death::Before;
        }
        let header = (*tuple).t_data;
        let flags = u32::from((*header).t_infomask);
        let frozen = flags & pg_sys::HEAP_XMIN_FROZEN == pg_sys::HEAP_XMIN_FROZEN;
        let (inserter, deleter) = ((*header).t_choice.t_heap.t_xmin, deleter(header));
        let had_ended = frozen || pg_sys::TransactionIdPrecedes(inserter, (*start).xmin);
        let transaction = pg_sys::SubTransGetTopmostTransaction(deleter);
        if !had_ended && pg_sys::SubTransGetTopmostTransaction(inserter) == transaction {
            return Death::Unseen(transaction);
        }
        Death::Since
    }
}
