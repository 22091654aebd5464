//! What earlier calls have listed of the source, so that a call need not list it again.
//!
//! If the source is all rows of one table, a call that has taken in whatever it listed keeps a place of the write-ahead
//! log with the result: every row on a page whose last change ends before it was listed. The next call reads the other
//! pages alone. The place is where the log ended before the call began, if all transactions that had begun by then had
//! ended when it looked. For whoever wrote a row on such a page was one of those, so that it was seen if it was committed,
//! and will never be if not. While older ones still run the place is kept until a later call finds that they have ended.
//!
//! Nothing is kept where a row may come to be seen, or its id become another, without a change of its page: row-level
//! security, partitions, conditions, columns that are computed. A lock of the table from the look at it to the end of the
//! listing keeps all that as it is. Where others have changed the result, or rows were listed and not taken in, all is
//! listed again.

use super::job::Job;
use super::table::Table;
use crate::pg::marked::{Heap, end_of_log, next_transaction, oldest_running};
use crate::pg::scan::Scan;
use crate::pg::spi::{Argument, execute, for_each};
use dedup_core::dedup::{Listed, Point};
use pgrx::pg_sys;
use std::cell::{Cell, RefCell};
use std::fmt::Write;

/// Places of rows that are read one by one; for more the whole table is.
const MOST: usize = 1 << 17;
/// The share of a table that these may be, in pages.
const SHARE: u32 = 4;

fn now() -> Point {
    // In this order: what was written before the end of the log, a transaction of a lower number wrote.
    let log = end_of_log();
    Point { log, next: next_transaction() }
}

thread_local! {
    /// When this call began, before it has written anything.
    static BEGAN: Cell<Option<Point>> = const { Cell::new(None) };
    /// What this call has noted, to be kept when it ends.
    static NOTED: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Begins a call, in a transaction that has not written.
pub(super) fn begin() {
    BEGAN.set(Some(now()));
    NOTED.set(None);
}

/// The table that the source is, if that can be kept of it.
struct Source<'j> {
    scan: &'j Scan,
    heap: Heap,
    /// What tells whether a place of the log means the same. The result is part of it: one that was restored from a dump
    /// may have been made in another course of the same cluster, by a primary whose standby was promoted.
    place: String,
}

impl<'j> Source<'j> {
    fn of(job: &'j Job) -> Option<Source<'j>> {
        let scan = job.scan.as_ref()?;
        let heap = Heap::open(scan.table).filter(Heap::is_all_of_table)?;
        // To put rows in the order of the query they are looked up by their ids.
        if scan.is_ordered && !scan.has_index() {
            return None;
        }
        let [result, table] = [job.table.oid(), scan.table].map(pg_sys::Oid::to_u32);
        let place = format!("{}/{table}/{}/{result}", heap.place(), scan.column);
        Some(Source { scan, heap, place })
    }
}

/// What is to be kept once all rows are loaded that this statement sees.
pub(super) fn after_load(job: &Job) -> Option<String> {
    let source = Source::of(job)?;
    Some(Listed::after(None, BEGAN.get()?, oldest_running()).write(&source.place))
}

/// Keeps it.
pub(super) fn keep_of_load(table: &Table, listed: Option<String>) {
    execute(&format!("UPDATE {} SET listed = $1", table.state), &[Argument::of(listed)]);
}

/// The query that lists the new rows, and whether it must be read in this transaction.
pub(super) fn listing(job: &Job) -> (String, bool) {
    let (Some(source), Some(began)) = (Source::of(job), BEGAN.get()) else { return (job.listing(), false) };
    let kept = kept(&job.table);
    let before = kept.as_deref().and_then(|kept| Listed::read(kept, &source.place));
    let since = before.map(|kept| kept.log).filter(|&log| log > 0);
    let changed = since.and_then(|log| source.heap.changed_since(log, MOST));
    let changed = changed.filter(|changed| is_few(changed, source.heap.blocks()));
    if changed.as_ref().is_some_and(Vec::is_empty) {
        return (job.nothing(), true);
    }
    note(&job.table, &Listed::after(before, began, oldest_running()).write(&source.place));
    let listing = changed.map_or_else(|| job.listing(), |changed| of_places(job, source.scan, &changed));
    (listing, true)
}

fn is_few(changed: &[(u32, u16)], blocks: u32) -> bool {
    let pages = changed.chunk_by(|a, b| a.0 == b.0).count();
    pages as u64 * u64::from(SHARE) <= u64::from(blocks).max(64)
}

/// The query that lists the new rows among those at some places.
fn of_places(job: &Job, scan: &Scan, places: &[(u32, u16)]) -> String {
    let Job { table, query, id, base, equals, .. } = job;
    let mut list = String::with_capacity(places.len() * 12);
    for (page, row) in places {
        // Writing to a string cannot fail.
        let _ = write!(list, "{}\"({page},{row})\"", if list.is_empty() { "" } else { "," });
    }
    let (source, column) = scan.names();
    let same = format!("FROM {} AS t WHERE t.id::{base} {equals} r.id", table.name);
    // They are few: each is looked up. NOT EXISTS may be planned as a join that reads the whole result, but reads it once.
    let is_new = match job.finds {
        true => format!("(SELECT true {same} LIMIT 1) IS NULL"),
        false => format!("NOT EXISTS (SELECT {same})"),
    };
    let new = format!(
        "_dedup_new AS MATERIALIZED (SELECT r.id, pg_catalog.row_number() OVER (ORDER BY r.place) AS n \
             FROM (SELECT t.{column}::{base} AS id, t.ctid AS place FROM {source} AS t \
                   WHERE t.ctid OPERATOR(pg_catalog.=) ANY ('{{{list}}}'::pg_catalog.tid[])) AS r \
             WHERE {is_new})"
    );
    if !scan.is_ordered {
        return job.batches(&new, "_dedup_new");
    }
    // In the order of the query, which is asked for these rows; those without an id are an error.
    let ordered = format!(
        "{new}, _dedup_ordered AS MATERIALIZED ( \
             SELECT q.{id}::{base} AS id, pg_catalog.row_number() OVER () AS n FROM ({query}\n) AS q \
              WHERE q.{id}::{base} {equals} ANY (ARRAY(SELECT r.id FROM _dedup_new AS r)) \
             UNION ALL SELECT r.id, r.n FROM _dedup_new AS r WHERE r.id IS NULL)"
    );
    job.batches(&ordered, "_dedup_ordered")
}

/// What is kept with the result now: this statement may have put it right before.
fn kept(table: &Table) -> Option<String> {
    let mut kept = None;
    for_each(&format!("SELECT s.listed FROM {} AS s", table.state), &[], |row| kept = row.text(0));
    kept
}

/// Notes what is to be kept when the call ends, in a form that is of no use before.
fn note(table: &Table, kept: &str) {
    let noted = format!("{}/{} {kept}", std::process::id(), end_of_log());
    execute(&format!("UPDATE {} SET listed = $1", table.state), &[Argument::of(noted.as_str())]);
    NOTED.set(Some(noted));
}

/// Ends a call that has taken in whatever it listed: keeps what it noted, unless something came between.
pub(super) fn keep(table: &Table) {
    if let Some(noted) = NOTED.take()
        && let Some((_, kept)) = noted.split_once(' ')
    {
        let sql = format!("UPDATE {} SET listed = $2 WHERE listed OPERATOR(pg_catalog.=) $1", table.state);
        execute(&sql, &[noted.as_str(), kept].map(Argument::of));
    }
}
