//! Notices of `dedup_into`. A call is many transactions, so its counts are kept in the session
//! between them.

use super::table::Table;
use crate::pg::spi::{Argument, for_each};
use crate::settings::progress_interval;
use pgrx::notice;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The counts of a batch.
pub(super) struct BatchCounts {
    /// How many rows had arrived before.
    pub base: i64,
    pub rows: i64,
    pub merges: i64,
}

/// A batch: its counts and its time.
struct Step {
    counts: BatchCounts,
    seconds: f64,
}

struct Run {
    every: Option<Duration>,
    started: Instant,
    said: Instant,
    /// When the last batch ended.
    ended: Instant,
    batches: Vec<Step>,
    /// How many rows the call has.
    total: i64,
}

thread_local! {
    static RUN: RefCell<Option<Run>> = const { RefCell::new(None) };
}

/// Begins a call.
pub(super) fn start() {
    let now = Instant::now();
    RUN.set(Some(Run {
        every: progress_interval(),
        started: now,
        said: now,
        ended: now,
        batches: Vec::new(),
        total: 0,
    }));
}

/// Ends a batch; the call has `total` rows.
pub(super) fn batch(counts: BatchCounts, total: i64) {
    RUN.with_borrow_mut(|run| {
        let Some(run) = run else { return };
        run.total = total;
        run.batches.push(Step { counts, seconds: run.ended.elapsed().as_secs_f64() });
        run.ended = Instant::now();
        if run.every.is_none_or(|every| run.said.elapsed() < every) {
            return;
        }
        run.said = Instant::now();
        let rows_done = run.rows();
        let rate = rows_done as f64 / run.started.elapsed().as_secs_f64();
        notice!(
            "dedup_into: {rows_done} of {total} rows, {:.0} %, {rate:.0} a second, {:.0} s left",
            100.0 * rows_done as f64 / total.max(1) as f64,
            run.seconds_left((total - rows_done).max(0) as f64)
        );
    });
}

/// Ends the call, and returns how many rows it took in, and whether these are all that it listed.
pub(super) fn finish(table: &Table) -> (i64, bool) {
    let Some(run) = RUN.take() else { return (0, false) };
    let rows = run.rows();
    if run.every.is_some_and(|every| run.started.elapsed() >= every) {
        let [kept, exact, near, empty] = run.stages(table);
        let merges: i64 = run.batches.iter().map(|batch| batch.counts.merges).sum();
        notice!(
            "dedup_into: {rows} new rows: {kept} kept, {exact} exact and {near} near duplicates, {empty} empty; \
             {merges} clusters merged, {:.1} s",
            run.started.elapsed().as_secs_f64()
        );
    }
    (rows, rows == run.total)
}

impl Run {
    fn rows(&self) -> i64 {
        self.batches.iter().map(|batch| batch.counts.rows).sum()
    }

    /// Estimated seconds for so many rows. The time per row grows with the size of the result; it
    /// is extrapolated from the first and the last batch.
    fn seconds_left(&self, rows: f64) -> f64 {
        let of_row = |step: &Step| step.seconds / (step.counts.rows.max(1) as f64);
        let [Some(first), Some(last)] = [self.batches.first(), self.batches.last()] else { return 0.0 };
        let apart = (last.counts.base - first.counts.base) as f64;
        let growth = if apart > 0.0 { (of_row(last) - of_row(first)).max(0.0) / apart } else { 0.0 };
        rows * (of_row(last) + growth * (rows + last.counts.rows as f64) / 2.0)
    }

    /// How many of the rows that were taken in are now kept, exact or near
    /// duplicates, or empty: a later one may have taken the place of one that was kept.
    fn stages(&self, table: &Table) -> [i64; 4] {
        let sql = format!(
            "SELECT pg_catalog.count(*) FILTER (WHERE t.stage OPERATOR(pg_catalog.=) 'kept'), \
                    pg_catalog.count(*) FILTER (WHERE t.stage OPERATOR(pg_catalog.=) 'exact'), \
                    pg_catalog.count(*) FILTER (WHERE t.stage OPERATOR(pg_catalog.=) 'near'), \
                    pg_catalog.count(*) FILTER (WHERE t.stage OPERATOR(pg_catalog.=) 'empty') \
             FROM unnest($1, $2) AS b(base, last) JOIN {} AS t \
                 ON t.arrival OPERATOR(pg_catalog.>) b.base AND t.arrival OPERATOR(pg_catalog.<=) b.last",
            table.name
        );
        // Adjacent batches are one range.
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for Step { counts: BatchCounts { base, rows, .. }, .. } in &self.batches {
            match ranges.last_mut() {
                Some((_, last)) if last == base => *last += rows,
                _ => ranges.push((*base, base + rows)),
            }
        }
        let (bases, lasts): (Vec<i64>, Vec<i64>) = ranges.into_iter().unzip();
        let mut counts = [0; 4];
        for_each(&sql, &[Argument::of(bases), Argument::of(lasts)], |row| {
            counts = std::array::from_fn(|column| row.bigint(column).unwrap_or(0));
        });
        counts
    }
}
