//! `dedup_into`: what `dedup` finds, kept in a table. A call finds what has changed at the source since the last one and
//! writes what that changes, in the caller's transaction. All that it reads is as of one moment.

mod changes;
mod few;
mod follow;
mod job;
mod table;
mod whole;
mod write;

use crate::pg::{
    Argument, Json, Progress, execute, is_read_committed, notice, raise_unsupported, scalar,
    with_latest_snapshot, with_settings,
};
use changes::Changes;
use job::{Given, Job};
use pgrx::prelude::*;
use table::Table;
use write::Outcome;

/// Changed groups that are named.
const NAMED: usize = 20;

#[pg_extern(sql = "")]
fn dedup_into(result: Option<&str>, source: Option<&str>, options: Option<Json>) {
    let given = Given::read(result, source, options);
    if !is_read_committed() {
        raise_unsupported(
            "dedup_into needs the transaction isolation level READ COMMITTED",
            "It must see what others committed before it had the result for itself: \
             SET default_transaction_isolation = 'read committed'.",
        )
    }
    let table = Table::called(given.result);
    let path = current_path();
    // Plans are expected to cost so much that compiling them would take longer than running them.
    with_settings(&[("jit", "off"), ("search_path", &path)], || call(&given, &table, &path));
}

fn call(given: &Given<'_>, table: &Table, path: &str) {
    let progress = Progress::new("dedup_into");
    let is_there = table.is_there();
    if is_there {
        execute(&table.lock(), &[]);
    }
    let (mut job, saved) = with_latest_snapshot(|| {
        let saved = is_there.then(|| table.saved());
        (Job::of(given, table, saved.as_ref(), path), saved)
    });
    match &saved {
        None => job.make(),
        Some(saved) if !job.is_begun => job.adopt(saved),
        Some(_) => {}
    }
    let marked = saved.as_ref().and_then(|saved| saved.follow.as_deref());
    let follows = given.follow.unwrap_or(marked.is_some());
    if follows && with_latest_snapshot(|| follow::mark(&job)).is_none() {
        follow::begin(&job);
    } else if !follows && marked.is_some() {
        follow::end(&job);
    }
    let rows = saved.as_ref().map_or(0, |saved| saved.rows);
    let decided = saved.as_ref().is_some_and(|saved| saved.decisions != job.decisions);
    // What the settings of the table have learned since stands for all rows.
    let learned = job.resettled || job.told.is_some() && job.told != job.statistics;
    let (groups, mark, todo) = with_latest_snapshot(|| {
        let mark = follow::mark(&job).filter(|_| follows);
        let todo = (mark.is_some() && mark.as_deref() == marked).then(|| follow::todo(&job));
        let changes = job.is_begun.then(|| Changes::of(&job, rows, todo.as_ref()));
        let groups = match &changes {
            _ if decided || learned => whole::form(&mut job, &progress),
            Some(changes) if changes.are_none() => None,
            Some(changes) => few::step(&job, changes, &progress).or_else(|| whole::form(&mut job, &progress)),
            None => whole::form(&mut job, &progress),
        };
        (groups, mark, todo)
    });
    if let Some(groups) = groups {
        if learned || groups.counts_otherwise {
            tell_changed(&job, &groups, learned);
        }
        write::write(&job, groups, &progress);
    }
    if let Some(todo) = todo {
        todo.done(&job);
    }
    let sql =
        format!("UPDATE {} AS s SET follow = $1 WHERE s.follow IS NOT NULL OR $1 IS NOT NULL", table.state);
    execute(&sql, &[Argument::of(mark)]);
}

/// Says which groups a new version of the settings changes.
fn tell_changed(job: &Job<'_>, groups: &Outcome, learned: bool) {
    let changed: Vec<String> = groups.changed.iter().map(ToString::to_string).collect();
    let (table, count) = (&job.table.bare, changed.len());
    if count == 0 {
        return;
    }
    let why = match learned {
        true => "the settings of the source have changed",
        false => "most rows of the source are not what they were",
    };
    let more = if count > NAMED { format!(" and {} more", count - NAMED) } else { String::new() };
    notice(
        format!("{why}: {count} groups of table \"{table}\" are others now"),
        format!("Their names: {}{more}.", changed[..count.min(NAMED)].join(", ")),
        "",
    );
}

/// The search path of the session, with temporary tables last: one created later must not hide a table that the source reads.
fn current_path() -> String {
    let path = scalar("SELECT pg_catalog.current_setting('search_path')", &[]).unwrap_or_default();
    match path.as_str() {
        "" => "pg_temp".to_owned(),
        path if path.contains("pg_temp") => path.to_owned(),
        path => format!("{path}, pg_temp"),
    }
}
