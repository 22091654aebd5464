//! `dedup_into`: the pipeline of `dedup` into a table, batch by batch, and later calls that take in
//! new rows. The procedure, which locks and commits, is in `sql/dedup.sql`; each function here is
//! the work of one transaction, so an interrupted call leaves whole batches.

mod batch;
mod groups;
mod job;
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
use job::Job;
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
    let job = Job::read(result, source, options, (false, false));
    let fresh = job.make();
    TableIterator::once((job.table.name, fresh))
}

/// Checks that the result is of this source and these options; a result without rows takes them on, and all rows at once
/// unless they are wanted in batches. Returns the search path of the source and the query that lists new rows by batches.
#[pg_extern(sql = "")]
fn _dedup_into_start(
    result: Option<&str>,
    source: Option<&str>,
    options: Option<Json>,
) -> TableIterator<'static, (name!(path, String), name!(listing, String))> {
    let mut job = Job::read(result, source, options, (false, true));
    job.begin();
    // Before new rows are listed: what it takes out is to be taken in again.
    rewrite::repair(&job);
    progress::start();
    let listing = if job.loads() {
        let counts = load::load(&job);
        let rows = counts.rows;
        progress::batch(counts, rows);
        job.nothing()
    } else {
        job.listing()
    };
    TableIterator::once((job.path, listing))
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
fn _dedup_into_finish(result: Option<&str>, source: Option<&str>, options: Option<Json>) -> Option<String> {
    let job = locked(result, source, options);
    job.table.make_search_index();
    let taken = progress::finish(&job);
    // After a tenth of the rows were added, the statistics of the planner are out of date.
    (taken * 10 > job.table.arrivals()).then(|| format!("ANALYZE {}", job.table.name))
}

fn locked(result: Option<&str>, source: Option<&str>, options: Option<Json>) -> Job {
    check_isolation();
    // The procedure holds the lock already; a direct call of one of these functions must not run
    // beside it.
    let job = Job::read(result, source, options, (true, true));
    job.check();
    job
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
