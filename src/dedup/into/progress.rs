//! What a call of `dedup_into` says on its way. A call is many transactions:
//! what it has done is kept for the session between them.

use pgrx::notice;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// What a batch did.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub rows: i64,
    pub kept: i64,
    pub exact: i64,
    pub near: i64,
    pub empty: i64,
    pub merges: i64,
}

struct Run {
    every: Option<Duration>,
    started: Instant,
    said: Instant,
    done: Counts,
}

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// A call begins.
pub(super) fn start(every: f64) {
    let now = Instant::now();
    let every = (every > 0.0).then(|| Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX));
    RUN.set(Some(Run { every, started: now, said: now, done: Counts::default() }));
}

/// A batch is done, of `total` rows.
pub(super) fn batch(counts: &Counts, total: i64) {
    RUN.with_borrow_mut(|run| {
        let Some(run) = run else { return };
        let done = &mut run.done;
        done.rows += counts.rows;
        done.kept += counts.kept;
        done.exact += counts.exact;
        done.near += counts.near;
        done.empty += counts.empty;
        done.merges += counts.merges;
        if run.every.is_none_or(|every| run.said.elapsed() < every) {
            return;
        }
        run.said = Instant::now();
        let rate = run.done.rows as f64 / run.started.elapsed().as_secs_f64();
        notice!(
            "dedup_into: {} of {total} rows, {:.0} %, {rate:.0} a second, {:.0} s left",
            run.done.rows,
            100.0 * run.done.rows as f64 / total.max(1) as f64,
            (total - run.done.rows).max(0) as f64 / rate
        );
    });
}

/// The call is over; how many rows it took in.
pub(super) fn finish() -> i64 {
    let Some(run) = RUN.take() else { return 0 };
    if run.every.is_some() {
        let Counts { rows, kept, exact, near, empty, merges } = run.done;
        notice!(
            "dedup_into: {rows} new rows: {kept} kept, {exact} exact and {near} near duplicates, {empty} empty; \
             {merges} clusters merged, {:.1} s",
            run.started.elapsed().as_secs_f64()
        );
    }
    run.done.rows
}
