//! `dedup_clean_batches`: as `dedup_clean`, in transactions of their own, some groups at a time.

use super::clean::{Removed, arrays, check, goes, locked, remove, undo};
use super::{archive::Call, fill};
use crate::pg::{
    Argument, Json, as_text, commas, for_each, notice, quote_identifier, raise, raise_state, required,
    with_settings,
};
use crate::table::{DecisionTable, Settings, Table, Written, read_options};
use dedup_core::dedup::BATCHES;
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn dedup_clean_batches(tbl: Option<pg_sys::Oid>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let written = read_options(BATCHES, options);
    check(&written);
    let table = required(tbl, "the table", "Name a table: 'ticket'.");
    // SAFETY: the call is running; its context is what its tag says.
    let may_commit = unsafe {
        let context = (*fcinfo).context;
        !context.is_null()
            && (*context).type_ == pg_sys::NodeTag::T_CallContext
            && !(*context.cast::<pg_sys::CallContext>()).atomic
    };
    if !may_commit {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_TRANSACTION_TERMINATION,
            "dedup_clean_batches cannot run inside a transaction block",
            "It commits each batch. In a transaction dedup_clean removes all rows at once.",
        )
    }
    // SAFETY: connect and finish in their order; after an error the end of the transaction tidies up. What is kept between two
    // transactions is in the memory of this connection.
    unsafe {
        pg_sys::SPI_connect_ext(pg_sys::SPI_OPT_NONATOMIC as i32);
        batches(table, &written);
        pg_sys::SPI_finish();
    }
}

/// Plans of arrays are expected to cost so much that compiling them would take longer than running them.
fn quickly<R>(work: impl FnOnce() -> R) -> R {
    with_settings(&[("jit", "off")], work)
}

/// Ends a transaction and begins the next one.
fn commit() {
    // SAFETY: connected so that it may, and nothing of the transaction is in use any more.
    unsafe { pg_sys::SPI_commit() }
}

/// What was found: arrays of what `dedup` says of rows that go, and of what they were judged by; for each the number of its
/// group, which are in order; the name of the table and the version of its settings.
struct Found {
    gone: Vec<Argument>,
    groups: Vec<i64>,
    known_as: KnownAs,
}

type KnownAs = (String, Option<i32>);

/// Once found, rows are removed batch by batch if they and those that they repeat are still what they were.
fn batches(table: pg_sys::Oid, written: &Written) {
    let Some(Found { gone, groups, known_as }) = quickly(|| found(table, written)) else {
        return notice("no row repeats another: none is removed", "", "");
    };
    commit();
    let batch = written.whole("batch").unwrap_or(10_000) as usize;
    let (all, mut begin, mut run, mut rows, mut said) = (groups.len(), 0, None, 0, String::new());
    while begin < all {
        let mut end = all.min(begin + batch);
        while end < all && groups[end] == groups[end - 1] {
            end += 1;
        }
        if let Some(removed) = quickly(|| one(table, written, &gone, (begin, end, run, &known_as))) {
            (run, rows) = (removed.run.or(run), rows + removed.rows);
            said = run.map_or(said, |run| undo(&Table::of(table), written, &removed.archive, run));
        }
        commit();
        begin = end;
        let run = run.map_or(String::new(), |run| format!("run {run}: "));
        let hint = if end < all { "" } else { &*said };
        notice(format!("{run}{rows} of {all} rows are removed, {end} looked at"), "", hint);
    }
    let stay = all as i64 - rows;
    if stay > 0 {
        notice(
            format!(
                "{stay} rows stay: they, or what they repeat, have changed meanwhile, or a trigger keeps them"
            ),
            "",
            "CALL it again.",
        );
    }
}

/// Removes what of a batch is still what it was, under the locks of `dedup_clean`.
fn one(
    table: pg_sys::Oid,
    written: &Written,
    gone: &[Argument],
    (begin, end, run, as_before): (usize, usize, Option<i64>, &KnownAs),
) -> Option<Removed> {
    let table = Table::of(table);
    let pointing = locked(&table);
    if known_as(&table) != *as_before {
        raise_state(
            format!("the name or the settings of {} have changed since its rows were found", table.name),
            "CALL it again: what is removed stays so.",
        )
    }
    let call = Call::of(&table);
    let fill = fill::read(written, &table);
    let decisions = decisions(&table);
    let gone = arrays(&still(&call, &decisions, (begin, end)), gone)?;
    Some(remove(&call, &gone, written, (&pointing, &fill), run, |_| ()))
}

fn known_as(table: &Table) -> KnownAs {
    (table.name.clone(), Settings::of(table.oid).map(|it| it.version))
}

fn decisions(table: &Table) -> Option<DecisionTable> {
    let settings = Settings::of(table.oid)?;
    Some(DecisionTable::of_settings(settings.decisions()?, table.oid))
}

/// What goes, as of one moment, group by group.
fn found(table: pg_sys::Oid, written: &Written) -> Option<Found> {
    let table = Table::of(table);
    fill::read(written, &table);
    let (call, decisions) = (Call::of(&table), decisions(&table));
    let sql = format!(
        "WITH m AS MATERIALIZED ({}), f AS (SELECT d.id, d.keeper, d.stage, d.distance, d.similarity, pg_catalog.row_number() OVER () AS n \
             FROM {} WHERE {}), \
         g AS (SELECT f.*, {} AS mark, pg_catalog.min(f.n) OVER (PARTITION BY f.keeper) AS g FROM f {}) \
         SELECT {}, pg_catalog.array_agg(g.mark ORDER BY g.g, g.n), pg_catalog.array_agg(g.g ORDER BY g.g, g.n) FROM g",
        marks(&call, &decisions),
        call.dedup,
        goes(written),
        MARK,
        marked(&call, "f"),
        listed("g", "g.g, g.n")
    );
    let mut found = None;
    for_each(&sql, &[], |row| {
        let gone = (0..6).map(|at| row.array(at)).collect::<Option<Vec<_>>>();
        found = gone.map(|gone| Found { gone, groups: row.bigints(6), known_as: known_as(&table) });
    });
    found
}

/// The rows of a batch in whose groups nothing has changed.
fn still(call: &Call, decisions: &Option<DecisionTable>, (begin, end): (usize, usize)) -> String {
    let part = |at: usize| format!("pg_catalog.unnest((${at})[{}:{end}])", begin + 1);
    let parts = commas((1..=6).map(part));
    format!(
        "WITH d AS MATERIALIZED (SELECT * FROM ROWS FROM ({parts}) WITH ORDINALITY AS d(id, keeper, stage, distance, similarity, mark, n)), \
         m AS NOT MATERIALIZED ({}), now AS (SELECT d.n, {MARK} AS mark FROM d {}), \
         s AS (SELECT d.*, pg_catalog.bool_and((now.mark OPERATOR(pg_catalog.=) d.mark) IS TRUE) OVER (PARTITION BY d.keeper) AS same \
             FROM d LEFT JOIN now ON now.n OPERATOR(pg_catalog.=) d.n) \
         SELECT {} FROM s WHERE s.same",
        marks(call, decisions),
        marked(call, "d"),
        listed("s", "s.n")
    )
}

/// Arrays of what `dedup` says.
fn listed(of: &str, order: &str) -> String {
    let one = |name: &&str| format!("pg_catalog.array_agg({of}.{name} ORDER BY {order})");
    commas(["id", "keeper", "stage", "distance", "similarity"].iter().map(one))
}

/// What a row and the kept one were judged by.
const MARK: &str = "pg_catalog.sha256(pg_catalog.convert_to(pg_catalog.concat(r.what, k.what), 'UTF8'))";

/// Joins what both were judged by to rows of `dedup`.
fn marked(call: &Call, to: &str) -> String {
    let equals = &call.equals;
    format!("JOIN m AS r ON r.id {equals} {to}.id JOIN m AS k ON k.id {equals} {to}.keeper")
}

/// What the rows of a table are judged by: their columns, and what people have decided of them.
fn marks(call: &Call, decisions: &Option<DecisionTable>) -> String {
    let Call { table, id, base, equals, .. } = call;
    let columns = fill::judged(table);
    let text = |name: &String| as_text(&format!("t.{}", quote_identifier(name)), table.column(name).typoid);
    let texts = commas(columns.iter().map(text));
    let typoid = table.column(table.id(None)).typoid;
    let (decided, join) = decisions.as_ref().map_or((String::new(), String::new()), |decisions| {
        let side = |one: &str, other: &str| {
            let other = as_text(&format!("x.{other}"), typoid);
            format!("SELECT x.{one}::{base} AS id, {other} AS other, x.same FROM {} AS x", decisions.name())
        };
        let join = format!(
            " LEFT JOIN (SELECT e.id, pg_catalog.jsonb_agg(pg_catalog.jsonb_build_array(e.other, e.same) ORDER BY e.other) AS pairs \
                 FROM ({} UNION ALL {}) AS e GROUP BY e.id) AS p ON p.id {equals} t.{id}::{base}",
            side("a", "b"),
            side("b", "a")
        );
        (", p.pairs".to_owned(), join)
    });
    format!(
        "SELECT t.{id}::{base} AS id, pg_catalog.jsonb_build_array({texts}{decided})::pg_catalog.text AS what FROM {} AS t{join}",
        table.name
    )
}
