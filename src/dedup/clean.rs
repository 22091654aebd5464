//! `dedup_clean`: the rows that repeat a kept one, looked at or deleted; and the groups that `dedup` of a table finds.

use super::archive::{Archive, Call, GONE};
use super::fill::{self, Fill};
use super::references::{Reference, references, refuse, repoint, tell};
use crate::pg::{
    Argument, Json, Output, Values, execute, for_each, hold_schemas, notice, quote_literal,
    raise_cardinality, required, schema,
};
use crate::table::{Settings, Table, Written, read_options, refuse_option};
use dedup_core::dedup::CLEAN;
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn dedup_clean(
    tbl: Option<pg_sys::Oid>,
    dry_run: Option<bool>,
    options: Option<Json>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let written = read_options(CLEAN, options);
    let table = Table::of(required(tbl, "the table", "Name a table: 'ticket'."));
    let call = Call::of(&table);
    let mut output = Output::begin(fcinfo);
    table.ids(output.type_of(0), "dedup_clean(tbl, dry_run, options");
    check(&written);
    let repoint = written.text("references") == Some("repoint");
    let fill = fill::read(&written, &table);
    let dry_run = dry_run.unwrap_or(true);
    let pointing = if dry_run { references(&table) } else { locked(&table) };
    // Operators by their schema, and of the base type: none that somebody else made, there or for a domain, may be taken.
    let gone = format!(
        "SELECT pg_catalog.array_agg(d.id), pg_catalog.array_agg(d.keeper), pg_catalog.array_agg(d.stage), \
             pg_catalog.array_agg(d.distance), pg_catalog.array_agg(d.similarity) FROM {} WHERE {}",
        call.dedup,
        goes(&written)
    );
    let found = arrays(&gone, &[]);
    if !dry_run {
        let Some(gone) = &found else { return };
        let removed = remove(&call, gone, &written, (&pointing, &fill), None, |row| pass(&mut output, row));
        if let Some(run) = removed.run.filter(|_| removed.rows > 0) {
            let Removed { rows, filled, archive, .. } = &removed;
            let and = if *filled > 0 { format!(", and what {filled} kept rows were") } else { String::new() };
            let hint = undo(&table, &written, archive, run);
            notice(format!("run {run}: {rows} rows are in {archive}{and}"), "", hint);
        }
        return;
    }
    if let Some(gone) = &found {
        tell(&pointing, &call, gone[0], repoint);
        let sql = format!("SELECT d.id, d.keeper, d.stage, d.distance, d.similarity FROM {GONE}");
        for_each(&sql, gone, |row| pass(&mut output, row));
    }
    let filled =
        found.as_ref().filter(|_| !fill.is_empty()).map_or(0, |gone| fill::count(&fill, &call, gone));
    let takes = if filled > 0 { format!("; {filled} kept rows would be filled") } else { String::new() };
    notice(
        format!("dry run: no row is deleted{takes}"),
        "",
        format!("To delete them: {}", call.shown(&written)),
    );
}

fn pass(output: &mut Output, row: &Values<'_>) {
    // SAFETY: the columns are those of dedup, which are declared so here.
    unsafe { output.pass([0, 1, 2, 3, 4].map(|at| row.get(at))) }
}

pub(super) fn check(written: &Written) {
    if written.text("references") == Some("repoint") && written.get("archive") == Some(&false.into()) {
        refuse_option(
            "references",
            "references cannot be \"repoint\" without an archive: it could not be taken back",
        )
    }
}

/// Locks a table whose rows are about to go. Returns what points at it.
pub(super) fn locked(table: &Table) -> Vec<Reference> {
    hold_schemas(table.oid);
    let mut pointing = references(table);
    // A row that is changed while the DELETE waits for it may no longer repeat anything, and one that comes to point at it
    // meanwhile would be deleted with it.
    let mut lock = || {
        let mode = if pointing.is_empty() { "SHARE ROW EXCLUSIVE" } else { "EXCLUSIVE" };
        execute(&format!("LOCK TABLE {} IN {mode} MODE", table.name), &[]);
        pointing = references(table);
        !pointing.is_empty() && mode != "EXCLUSIVE"
    };
    if lock() {
        lock();
    }
    pointing
}

/// A condition on `d`, what `dedup` finds: that a row goes.
pub(super) fn goes(written: &Written) -> String {
    let decided = if written.truth("decided") { ", 'decided'" } else { "" };
    format!("d.stage OPERATOR(pg_catalog.=) ANY (ARRAY['exact', 'near'{decided}]::pg_catalog.text[])")
}

/// The arrays of what `dedup` finds, in the one row of a query; none if one is NULL.
pub(super) fn arrays(sql: &str, arguments: &[Argument]) -> Option<Vec<Argument>> {
    let mut found = None;
    for_each(sql, arguments, |row| found = (0..5).map(|at| row.array(at)).collect::<Option<Vec<_>>>());
    found
}

/// The call that takes a run back.
pub(super) fn undo(table: &Table, written: &Written, archive: &str, run: i64) -> String {
    let named = written.text("archive").map(|_| format!(", archive => {}", quote_literal(archive)));
    let table = quote_literal(&table.name);
    format!("To put them back: SELECT {}.dedup_undo({table}, {run}{});", schema(), named.unwrap_or_default())
}

pub(super) struct Removed {
    /// Its number, if the rows are in an archive.
    pub run: Option<i64>,
    pub archive: String,
    pub rows: i64,
    /// Kept rows that were filled.
    pub filled: i64,
}

/// Moves rows to the archive, in a run that may have begun, or deletes them.
pub(super) fn remove(
    call: &Call,
    gone: &[Argument],
    written: &Written,
    (pointing, fill): (&[Reference], &[Fill]),
    run: Option<i64>,
    mut each: impl FnMut(&Values<'_>),
) -> Removed {
    let Call { table, id, base, equals, .. } = call;
    let of = &table.name;
    let archive = (written.get("archive") != Some(&false.into()))
        .then(|| Archive::open(table, written.text("archive")))
        .map(|archive| (archive.take(call, gone, run), archive));
    let repoints = written.text("references") == Some("repoint");
    if let Some((run, archive)) = archive.as_ref().filter(|_| repoints) {
        repoint(pointing, call, archive, *run);
    }
    refuse(pointing, call, gone[0], repoints);
    // What was decided of a row that goes holds for the one that is kept for it.
    let decisions = Settings::of(table.oid).and_then(|it| it.decisions_to_write());
    let kept = decisions.as_ref().map_or(String::new(), |Table { name: decisions, .. }| {
        format!(
            ", kept AS (INSERT INTO {decisions} (a, b, same, note) \
                 SELECT g.id::{base}, g.keeper::{base}, true, 'dedup_clean' FROM gone AS g \
                 WHERE EXISTS (SELECT FROM {decisions} AS x \
                     WHERE x.a::{base} {equals} g.id::{base} OR x.b::{base} {equals} g.id::{base}) ON CONFLICT DO NOTHING)"
        )
    });
    let sql = format!(
        "WITH gone AS (DELETE FROM {of} AS t USING {GONE} WHERE t.{id}::{base} {equals} d.id RETURNING d.*){kept} \
         SELECT g.id, g.keeper, g.stage, g.distance, g.similarity, g.n FROM gone AS g ORDER BY g.n"
    );
    let (mut rows, mut last) = (0, None);
    for_each(&sql, gone, |row| {
        // Some types, such as citext, write ids unlike that are equal.
        if row.bigint(5) == last {
            raise_cardinality(
                format!("two rows of {of} have the id {}", row.written(0).unwrap_or_default()),
                "dedup_setup(…, '{\"id\": \"…\"}') names a column that tells rows apart.",
            )
        }
        last = row.bigint(5);
        rows += 1;
        each(row);
    });
    let Some((run, archive)) = archive else {
        return Removed { run: None, archive: String::new(), rows, filled: 0 };
    };
    archive.leave(call, run, gone[0]);
    let filled = if fill.is_empty() { 0 } else { fill::fill(fill, call, &archive, run, gone) };
    Removed { run: Some(run), archive: archive.table.name.clone(), rows, filled }
}

/// The query for the ids of a table with settings and the groups that `dedup` puts them into; `None` for another table.
pub(crate) fn groups_of(table: pg_sys::Oid) -> Option<String> {
    Settings::of(table)?;
    Some(format!("SELECT d.id, d.keeper FROM {}", Call::of(&Table::of(table)).dedup))
}
