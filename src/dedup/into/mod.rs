//! `dedup_into`: the pipeline of `dedup` into a table, batch by batch, and later calls that take in
//! new rows. The procedure, which locks and commits, is in `sql/dedup.sql`; each function here is
//! the work of one transaction, so an interrupted call leaves whole batches.

mod batch;
mod groups;
mod job;
mod listed;
mod load;
mod progress;
mod regroup;
mod rewrite;
mod stars;
mod stored;
mod table;
mod write;

use crate::pg::catalog::{in_transaction_block, is_read_committed};
use crate::pg::hold::{hold, release};
use crate::pg::progress::Progress;
use crate::pg::spi::{Argument, execute};
use crate::pg::{Json, Record, raise};
use crate::settings::progress_interval;
use groups::group;
use job::{Given, Job, Step};
use pgrx::prelude::*;
use progress::BatchCounts;
use stored::StoredRows;
use table::Table;
use write::write;

/// Refuses to start where nothing can be committed.
#[pg_extern(sql = "")]
fn _dedup_into_check() {
    if in_transaction_block() {
        raise(
            PgSqlErrorCode::ERRCODE_ACTIVE_SQL_TRANSACTION,
            "dedup_into cannot run inside a transaction block",
            "It commits batch by batch: CALL it on its own, outside of BEGIN and of functions. A driver that opens \
             a transaction by itself must be set to autocommit.",
        )
    }
    check_isolation();
}

/// Creates the tables of the result if they do not exist. Returns the name of the result with its
/// schema, and whether they did not exist.
#[pg_extern(sql = "")]
fn _dedup_into_make(
    result: Option<&str>,
    source: Option<&str>,
    options: Option<Json>,
) -> TableIterator<'static, (name!(name, String), name!(fresh, bool))> {
    listed::begin();
    let given = Given::read(result, source, options);
    let table = Table::called(given.result);
    if table.is_there() {
        // It is looked at when it is locked.
        return TableIterator::once((table.name, false));
    }
    let job = Job::of(given, table, Step::Make);
    let fresh = job.make();
    TableIterator::once((job.table.name, fresh))
}

/// Checks that the result is of this source and these options; a result without rows takes them on, and all rows at once
/// unless they are wanted in batches. Returns the search path of the source, the query that lists new rows by batches, and
/// whether that is to be read in this transaction, under its locks.
#[pg_extern(sql = "")]
fn _dedup_into_start(
    result: Option<&str>,
    source: Option<&str>,
    options: Option<Json>,
) -> TableIterator<'static, (name!(path, String), name!(listing, String), name!(at_once, bool))> {
    let mut job = read(result, source, options, Step::Start);
    job.begin();
    // Before new rows are listed: what it takes out is to be taken in again.
    rewrite::repair(&job);
    progress::start();
    let (listing, at_once) = if job.loads() {
        let counts = load::load(&job);
        let rows = counts.rows;
        progress::batch(counts, rows);
        (job.nothing(), true)
    } else {
        listed::listing(&job)
    };
    TableIterator::once((job.path, listing, at_once))
}

/// Locks the result beyond the end of the transaction, after all sessions that wait for it. Returns
/// whether it was locked without a break since an earlier transaction of the session; if not,
/// others may have written.
#[pg_extern(sql = "")]
fn _dedup_into_lock(result: &str) -> bool {
    let table = Table::of_caller(result);
    let relation = table.oid();
    let undisturbed = hold(relation);
    execute(&table.lock(), &[]);
    if table.oid() != relation {
        table.refuse_foreign()
    }
    undisturbed
}

/// Releases the lock.
#[pg_extern(sql = "")]
fn _dedup_into_unlock(result: &str) {
    release(Table::called(result).oid());
}

/// Repairs the result after rows were removed: classes of equal rows without their first, clusters
/// without their kept row or what connected them.
#[pg_extern(sql = "")]
fn _dedup_into_repair(result: Option<&str>, source: Option<&str>, options: Option<Json>) {
    let job = locked(result, source, options);
    rewrite::repair(&job);
}

/// Takes in one batch: `todo` has the array `ids`, and the counts `total` and `without_id` of the
/// whole listing. Returns how many rows are new.
#[pg_extern(sql = "")]
fn _dedup_into_take(
    result: Option<&str>,
    source: Option<&str>,
    options: Option<Json>,
    todo: Option<Record>,
) -> i64 {
    let job = locked(result, source, options);
    let Some((ids, total)) = todo.and_then(|todo| Some((job.ids(&todo)?, todo.row().bigint("total")?)))
    else {
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "todo is not a row of the listing", "")
    };
    let counts = take(&job, ids);
    let rows = counts.rows;
    progress::batch(counts, total);
    rows
}

/// Takes in the rows of these ids that are not in the result yet.
fn take(job: &Job, ids: Argument) -> BatchCounts {
    let progress = Progress::new("dedup_into", progress_interval());
    let mut stored = StoredRows::new(job);
    let mut batch = batch::read(job, ids, &mut stored, &progress);
    if batch.rows.is_empty() {
        return BatchCounts { base: batch.base, rows: 0, merges: 0 };
    }
    batch::find_equal(job, &mut batch, &mut stored, &progress);
    let (mut clusters, mut known) = group(job, &batch, &mut stored, &progress);
    write(job, ids, &batch, &mut stored, (&mut clusters, &mut known), &progress)
}

/// Creates the index that small batches search, emits the summary, and returns the statement to run
/// next, if any.
#[pg_extern(sql = "")]
fn _dedup_into_finish(result: &str) -> Option<String> {
    check_isolation();
    let table = Table::of_caller(result);
    let arrivals = table.kept(true).arrivals;
    table.make_search_index();
    let (taken, complete) = progress::finish(&table);
    if complete {
        listed::keep(&table);
    }
    // After a tenth of the rows were added, the statistics of the planner are out of date.
    (taken * 10 > arrivals).then(|| format!("ANALYZE {}", table.name))
}

fn locked(result: Option<&str>, source: Option<&str>, options: Option<Json>) -> Job {
    check_isolation();
    // The procedure holds the lock already; a direct call of one of these functions must not run
    // beside it.
    let job = read(result, source, options, Step::Batch);
    job.check();
    job
}

fn read(result: Option<&str>, source: Option<&str>, options: Option<Json>, step: Step) -> Job {
    let given = Given::read(result, source, options);
    let table = Table::called(given.result);
    Job::of(given, table, step)
}

fn check_isolation() {
    if !is_read_committed() {
        raise(
            PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
            "dedup_into needs the transaction isolation level READ COMMITTED",
            "Each batch must see what others committed before it: SET default_transaction_isolation = 'read committed'.",
        )
    }
}
