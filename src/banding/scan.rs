//! Scans: plain, ordered and bitmap.
//!
//! Locking and WAL: pages are locked only inside a batch, one at a time and shared; between two calls nothing is locked or
//! pinned. That is safe with any snapshot: an MVCC snapshot does not see a row that has been stored in the place of a removed
//! one, and for other snapshots (exclusion constraints) `xs_recheck` makes the executor check the row again. A few of the rows
//! that turned out to be dead are kept in mind; at the end the entries of some are removed as an insert adds them: one record a
//! row. Who searches does not wait for more; inserts and VACUUM remove the rest.

use super::ball::Ball;
use super::bits::{BitBall, parts_of};
use super::dead::LinePointers;
use super::pages::RelationPages;
use super::scope::{combine, hash_of_key, parts_needed, scope_columns, type_of};
use super::whole::Wholes;
use super::{DISTANCE, EQUAL, IndexRelation, WITHIN, checked, open_index, pointer_of};
use crate::pg::{raise_unsupported, version, whole};
use dedup_core::banding::{
    Hit, Index, MAX_DISTANCE, NearestScan, PartsNearest, PartsScan, RangeScan, Result, scope_of_part,
};
use dedup_core::interrupt;
use dedup_core::random::SplitMix64;
use pgrx::{FromDatum, PgMemoryContexts, pg_guard, pg_sys};

/// Rows fetched first; later batches are larger.
const FIRST_BATCH: usize = 64;
const LARGEST_BATCH: usize = 4096;

/// Dead rows whose entries a scan removes, at most.
const MOST_BURIED: usize = 4;
/// Dead rows that it looks at for that, drawn from all that it met: of the first ones, PostgreSQL may never prune the pages,
/// for there is room on them, or the rows are those of an aborted insert.
const MOST_KILLED: usize = 16;

/// The state of a scan. It owns only memory and lives in a memory context of its own: deleted when the scan
/// ends, or with its parent if the query fails. (An exclusion constraint begins a scan for each row of a bulk
/// insert in a context that lasts as long as the statement.)
struct Scan {
    context: pg_sys::MemoryContext,
    /// The index's pages, and which of them are worth announcing: also from one outer row of a join to the next.
    pages: RelationPages,
    search: Search,
    /// What they are ordered by the distance from.
    query: Vec<u64>,
    /// What orders the rows that are equally far from the query: the distances from these. (The executor
    /// could, but its queue of rows stops comparing at the first NULL.)
    then_by: Vec<Vec<u64>>,
    /// The parts of a fingerprint; if there are several, an entry has one of them.
    parts: usize,
    /// Conditions that every row must meet; the search itself ensures the first one, of several parts the executor all.
    conditions: Vec<Within>,
    /// No row farther than this from the query can meet the conditions.
    farthest: u32,
    hits: Vec<Hit>,
    /// Whether rows may be given that do not meet the conditions: the index knows a scope's hash, of a ball its center, of
    /// several parts each alone.
    lossy: bool,
    /// Rows behind those: some that are as far as the last may be missing.
    incomplete: Vec<Hit>,
    next: usize,
    batch: usize,
    more: bool,
    /// The rows without a fingerprint, which come last, if they are wanted.
    nulls: Option<RangeScan>,
    /// The scope of the rows found last, if it is one.
    scope: Option<u32>,
    /// Some rows that nobody sees any more, each with its scope.
    killed: Vec<(u32, Hit)>,
    /// How many there were, and what draws from them.
    dead: usize,
    random: SplitMix64,
}

struct Within {
    center: Vec<u64>,
    radius: u32,
}

fn hamming(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

enum Search {
    /// Not begun, or a condition is NULL: no row.
    Nothing,
    Range(RangeScan),
    Nearest(Box<NearestScan>),
    Parts(Box<PartsScan>),
    PartsNearest(Box<PartsNearest>),
    Nulls(RangeScan),
}

impl Scan {
    /// Keeps in mind a dead row in place of another: each that was met with the same chance.
    fn kill(&mut self, scope: u32, hit: Hit) {
        self.dead += 1;
        if self.killed.len() < MOST_KILLED {
            self.killed.push((scope, hit));
        } else if let Some(place) = self.killed.get_mut(self.random.below(self.dead)) {
            *place = (scope, hit);
        }
    }

    /// Fetches the next rows; false if there are none.
    ///
    /// # Safety
    /// It is the state of `scan`, a plain one if it orders.
    unsafe fn fetch(&mut self, scan: pg_sys::IndexScanDesc) -> Result<bool> {
        while self.next >= self.hits.len() {
            if !self.more {
                let Some(nulls) = self.nulls.take() else { return Ok(false) };
                self.search = Search::Nulls(nulls);
                self.more = true;
            }
            self.hits.clear();
            std::mem::swap(&mut self.hits, &mut self.incomplete);
            let (held, pages) = (self.hits.len(), &self.pages);
            self.next = 0;
            self.more = match &mut self.search {
                Search::Nothing => false,
                Search::Range(range) => range.next_batch(pages, self.batch, &mut self.hits)?,
                Search::Nearest(nearest) => nearest.next_batch(pages, self.batch, &mut self.hits)?,
                Search::Parts(range) => {
                    let more = range.next_batch(pages, self.batch, &mut self.hits)?;
                    self.scope = range.scope_found();
                    more
                }
                Search::PartsNearest(nearest) => {
                    // SAFETY: the caller's promise.
                    let mut wholes = unsafe { Wholes::of(scan) };
                    let (batch, mut hits, query) = (self.batch, std::mem::take(&mut self.hits), &self.query);
                    let mut dead = Vec::new();
                    let more = nearest.next_batch(pages, batch, &mut hits, &mut |hit, scope| {
                        let (whole, is_dead) = wholes.get(hit.tid);
                        dead.extend(scope.filter(|_| is_dead).map(|scope| (scope, *hit)));
                        Some(hamming(&whole?, query))
                    })?;
                    self.hits = hits;
                    dead.into_iter().for_each(|(scope, hit)| self.kill(scope, hit));
                    more
                }
                Search::Nulls(nulls) => {
                    let more = nulls.next_batch(pages, self.batch, &mut self.hits)?;
                    // Behind all rows that have a fingerprint.
                    self.hits[held..].iter_mut().for_each(|row| row.distance = u32::MAX);
                    more
                }
            };
            self.batch = (self.batch * 4).min(LARGEST_BATCH);
            if self.hits.last().is_some_and(|last| last.distance > self.farthest) {
                self.more = false;
            }
            let conditions = &self.conditions;
            if !conditions.is_empty() && self.parts == 1 {
                let mut new = self.hits.split_off(held);
                new.retain(|hit| {
                    conditions.iter().all(|ball| hamming(&[hit.fingerprint], &ball.center) <= ball.radius)
                });
                self.hits.append(&mut new);
            }
            if !self.then_by.is_empty() && !matches!(self.search, Search::Nulls(_)) {
                // SAFETY: the caller's promise.
                unsafe { self.sort(scan) }
            }
        }
        Ok(true)
    }

    /// Puts rows that are equally far from the query in order, and holds back the last such rows if there may be more of them.
    ///
    /// # Safety
    /// As [`fetch`](Self::fetch).
    unsafe fn sort(&mut self, scan: pg_sys::IndexScanDesc) {
        if self.more {
            let last = self.hits.last().map_or(0, |hit| hit.distance);
            let complete = self.hits.partition_point(|hit| hit.distance < last);
            self.incomplete = self.hits.split_off(complete);
        }
        // SAFETY: the caller's promise.
        let mut wholes = (self.parts > 1).then(|| unsafe { Wholes::of(scan) });
        let then_by = &self.then_by;
        self.hits.sort_by_cached_key(|hit| {
            let whole = match &mut wholes {
                Some(wholes) => wholes.get(hit.tid).0.unwrap_or_default(),
                None => vec![hit.fingerprint],
            };
            (hit.distance, then_by.iter().map(|query| hamming(&whole, query)).collect::<Vec<_>>())
        });
    }
}

#[pg_guard]
pub(super) unsafe extern "C-unwind" fn ambeginscan(
    index: pg_sys::Relation,
    keys: i32,
    order_bys: i32,
) -> pg_sys::IndexScanDesc {
    // SAFETY: PostgreSQL gives an open index; the state lives in a child of the context that the descriptor lives in.
    unsafe {
        let scan = pg_sys::RelationGetIndexScan(index, keys, order_bys);
        let index = IndexRelation::new(index);
        let context = pg_sys::AllocSetContextCreateInternal(
            pg_sys::CurrentMemoryContext,
            c"banding scan".as_ptr(),
            pg_sys::ALLOCSET_SMALL_MINSIZE as usize,
            pg_sys::ALLOCSET_SMALL_INITSIZE as usize,
            pg_sys::ALLOCSET_SMALL_MAXSIZE as usize,
        );
        let state = Scan {
            context,
            pages: RelationPages::new(index),
            search: Search::Nothing,
            then_by: Vec::new(),
            query: Vec::new(),
            parts: parts_needed(index),
            conditions: Vec::new(),
            farthest: u32::MAX,
            hits: Vec::new(),
            lossy: scope_columns(index) > 0 || type_of(index) != pg_sys::INT8OID,
            incomplete: Vec::new(),
            next: 0,
            batch: FIRST_BATCH,
            more: false,
            nulls: None,
            scope: None,
            killed: Vec::new(),
            dead: 0,
            // Another one for each statement.
            random: SplitMix64::new(pg_sys::GetCurrentStatementStartTimestamp() as u64),
        };
        (*scan).opaque = PgMemoryContexts::For(context).leak_and_drop_on_delete(state).cast();
        scan
    }
}

/// Sets the conditions: once, or for each outer row of a join.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amrescan(
    scan: pg_sys::IndexScanDesc,
    keys: pg_sys::ScanKey,
    key_count: i32,
    order_bys: pg_sys::ScanKey,
    order_by_count: i32,
) {
    // SAFETY: PostgreSQL gives as many keys as it says, of the strategies of
    // this access method's operator classes, or null for "as before".
    unsafe {
        if !keys.is_null() && (*scan).numberOfKeys > 0 {
            std::ptr::copy(keys, (*scan).keyData, key_count.max(0) as usize);
        }
        if !order_bys.is_null() && (*scan).numberOfOrderBys > 0 {
            std::ptr::copy(order_bys, (*scan).orderByData, order_by_count.max(0) as usize);
        }
        let state = &mut *(*scan).opaque.cast::<Scan>();
        state.hits.clear();
        state.incomplete.clear();
        state.conditions.clear();
        state.next = 0;
        state.batch = FIRST_BATCH;
        state.more = true;
        state.farthest = u32::MAX;
        state.nulls = None;
        state.search = Search::Nothing;
        // NULL meets `IS NULL` and no other condition.
        let (mut present, mut absent) = (false, false);
        let relation = IndexRelation::new((*scan).indexRelation);
        let (columns, of, parts) = (scope_columns(relation), type_of(relation), state.parts);
        // Hashes of the values that the columns of the scope must have; `Some(None)` is NULL's.
        let mut scope: Vec<Option<Option<u64>>> = vec![None; columns];
        for at in 0..(*scan).numberOfKeys as usize {
            let key = &*(*scan).keyData.add(at);
            let asks = |flag: u32| key.sk_flags & flag as i32 != 0;
            if let Some(column) = scope.get_mut(key.sk_attno as usize - 1) {
                match key.sk_strategy {
                    _ if asks(pg_sys::SK_SEARCHNULL) => *column = Some(None),
                    _ if asks(pg_sys::SK_SEARCHNOTNULL) => {}
                    _ if asks(pg_sys::SK_ISNULL) => return,
                    EQUAL => *column = Some(Some(hash_of_key(relation, key))),
                    // The executor checks every row.
                    _ => {}
                }
                continue;
            }
            absent |= asks(pg_sys::SK_SEARCHNULL);
            present |= !asks(pg_sys::SK_SEARCHNULL);
            if asks(pg_sys::SK_SEARCHNULL) || asks(pg_sys::SK_SEARCHNOTNULL) {
                continue;
            }
            match condition(key, of, parts) {
                Some(ball) => state.conditions.push(ball),
                None => return,
            }
        }
        if present && absent {
            return;
        }
        state.pages.see((*scan).xs_snapshot);
        let index = open_index(relation, &state.pages);
        // Unless all of its columns are given, all scopes are read.
        let known = (columns > 0).then(|| scope.into_iter().collect::<Option<Vec<_>>>()).flatten();
        let scope = known.map(|hashes| combine(hashes.into_iter()));
        let scope = if columns == 0 { Some(0) } else { scope };
        state.scope = scope.filter(|_| parts == 1);
        // A distance from NULL is NULL for every row, and orders nothing.
        let orders = (0..(*scan).numberOfOrderBys as usize).map(|at| &*(*scan).orderByData.add(at));
        let known = orders.filter(|key| key.sk_flags & pg_sys::SK_ISNULL as i32 == 0).inspect(|key| {
            if key.sk_attno as usize <= columns {
                raise_unsupported("a banding index does not order by distance of its scope", "")
            }
        });
        let mut queries = known.map(|key| match of {
            pg_sys::BITOID => parts_of(key.sk_argument, Some(parts)),
            _ => vec![key.sk_argument.value() as u64],
        });
        let query = queries.next();
        state.then_by.clear();
        state.then_by.extend(queries.filter(|other| Some(other) != query.as_ref()));
        let of_nulls = scope.map(|scope| scope_of_part(scope, 0, parts));
        state.nulls = (!present).then(|| RangeScan::nulls(&index, of_nulls));
        if !absent {
            state.search =
                search(&index, scope, query.as_deref(), parts, &mut state.conditions, &mut state.farthest);
        }
        state.query = query.unwrap_or_default();
        version::count_index_scan(scan);
    }
}

/// Chooses how to search: by distance from `query` if there is an order, else around the narrowest condition.
fn search(
    index: &Index,
    scope: Option<u32>,
    query: Option<&[u64]>,
    parts: usize,
    conditions: &mut Vec<Within>,
    farthest: &mut u32,
) -> Search {
    // SAFETY: a plain read of settings.
    let memory = unsafe { pg_sys::get_hash_memory_limit() };
    if let Some(query) = query {
        // By the triangle inequality.
        *farthest = conditions
            .iter()
            .map(|ball| hamming(query, &ball.center) + ball.radius)
            .min()
            .unwrap_or(u32::MAX);
        conditions.retain(|ball| ball.center != query || ball.radius > *farthest);
        return match query {
            [query] => {
                let bounded = (*farthest).min(MAX_DISTANCE);
                Search::Nearest(Box::new(NearestScan::new(index, *query, bounded).in_scope(scope)))
            }
            _ => Search::PartsNearest(Box::new(PartsNearest::new(index, scope, query, *farthest, memory))),
        };
    }
    let narrowest = (0..conditions.len()).min_by_key(|&at| conditions[at].radius);
    let ball = narrowest.map(|narrowest| conditions.swap_remove(narrowest));
    let ball = ball.unwrap_or_else(|| Within { center: vec![0; parts], radius: MAX_DISTANCE * parts as u32 });
    match ball.center[..] {
        [center] => Search::Range(RangeScan::new(index, center, ball.radius).in_scope(scope)),
        _ => Search::Parts(Box::new(PartsScan::new(index, scope, &ball.center, ball.radius, memory))),
    }
}

/// The condition of a scan key of an index of this type; `None` if no fingerprint can meet it.
///
/// # Safety
/// The key's argument has the type of its strategy's right operand.
unsafe fn condition(key: &pg_sys::ScanKeyData, of: pg_sys::Oid, parts: usize) -> Option<Within> {
    if key.sk_flags & pg_sys::SK_ISNULL as i32 != 0 {
        return None;
    }
    match (of, key.sk_strategy) {
        // SAFETY: the right operand is a ball of bits.
        (pg_sys::BITOID, WITHIN) => unsafe {
            let (center, radius) = BitBall::for_index(key.sk_argument, parts)?;
            Some(Within { center, radius })
        },
        (pg_sys::INT8OID, EQUAL) => {
            Some(Within { center: vec![whole(key.sk_argument, key.sk_subtype) as u64], radius: 0 })
        }
        (pg_sys::INT8OID, strategy) if strategy != WITHIN => {
            debug_assert!(strategy != DISTANCE, "an ordering operator is no condition");
            None
        }
        // SAFETY: the right operand is a hamming_ball, passed by reference. A ball =~ another if each has the other's center.
        _ => unsafe {
            let ball = Ball::from_datum(key.sk_argument, false)?;
            Some(Within { center: vec![ball.center], radius: ball.reach()? })
        },
    }
}

#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amgettuple(
    scan: pg_sys::IndexScanDesc,
    _direction: pg_sys::ScanDirection::Type,
) -> bool {
    // SAFETY: the scan was begun and rescanned by the functions above, and its index is open.
    unsafe {
        let state = &mut *(*scan).opaque.cast::<Scan>();
        (*scan).xs_recheck = state.lossy || !is_mvcc((*scan).xs_snapshot);
        (*scan).xs_recheckorderby = false;
        if (*scan).kill_prior_tuple
            && let Some(hit) = state.next.checked_sub(1).and_then(|prior| state.hits.get(prior)).copied()
            && hit.distance <= MAX_DISTANCE
            && let Some(scope) = state.scope
        {
            state.kill(scope, hit);
        }
        if state.next >= state.hits.len()
            && !checked(IndexRelation::new((*scan).indexRelation), state.fetch(scan))
        {
            return false;
        }
        (*scan).xs_heaptid = pointer_of(state.hits[state.next].tid);
        state.next += 1;
        true
    }
}

/// Adds all rows to a bitmap; says how many.
#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amgetbitmap(
    scan: pg_sys::IndexScanDesc,
    bitmap: *mut pg_sys::TIDBitmap,
) -> i64 {
    // SAFETY: as in `amgettuple`.
    unsafe {
        let state = &mut *(*scan).opaque.cast::<Scan>();
        let relation = IndexRelation::new((*scan).indexRelation);
        let mut pointers = Vec::new();
        let mut rows = 0;
        state.batch = LARGEST_BATCH;
        while checked(relation, state.fetch(scan)) {
            pointers.clear();
            pointers.extend(state.hits[state.next..].iter().map(|hit| pointer_of(hit.tid)));
            pg_sys::tbm_add_tuples(bitmap, pointers.as_mut_ptr(), pointers.len() as i32, state.lossy);
            rows += pointers.len() as i64;
            state.next = state.hits.len();
            interrupt::check();
        }
        rows
    }
}

#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amendscan(scan: pg_sys::IndexScanDesc) {
    // SAFETY: the state is still there, and goes with its memory context.
    unsafe {
        bury(scan);
        let context = (*(*scan).opaque.cast::<Scan>()).context;
        (*scan).opaque = std::ptr::null_mut();
        pg_sys::MemoryContextDelete(context);
    }
}

/// Removes the entries of a few rows that nobody sees any more, of which that is sure.
///
/// # Safety
/// The scan has been begun and not ended.
unsafe fn bury(scan: pg_sys::IndexScanDesc) {
    // SAFETY: the caller's promise; the table is open as long as the scan.
    unsafe {
        let state = &mut *(*scan).opaque.cast::<Scan>();
        if state.killed.is_empty() {
            return;
        }
        let killed = std::mem::take(&mut state.killed);
        let Some(mut dead) = LinePointers::of((*scan).heapRelation) else { return };
        let relation = IndexRelation::new((*scan).indexRelation);
        let pages = RelationPages::new(relation);
        let index = open_index(relation, &pages);
        let removed = killed.into_iter().filter(|(scope, hit)| {
            checked(relation, index.remove(&pages, *scope, hit.fingerprint, hit.tid, &mut dead))
        });
        let _buried = removed.take(MOST_BURIED).count();
    }
}

/// `IsMVCCSnapshot`, which is a macro.
///
/// # Safety
/// The snapshot is null or valid.
unsafe fn is_mvcc(snapshot: pg_sys::Snapshot) -> bool {
    use pg_sys::SnapshotType::{SNAPSHOT_HISTORIC_MVCC, SNAPSHOT_MVCC};
    // SAFETY: the caller's promise.
    unsafe {
        snapshot.as_ref().is_some_and(|s| matches!(s.snapshot_type, SNAPSHOT_MVCC | SNAPSHOT_HISTORIC_MVCC))
    }
}
