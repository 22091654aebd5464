//! `dedup_undo`: rows that `dedup_clean` has moved to the archive come back.

use super::archive::{Archive, Call, FILLED, KEEPER, chains, check_assigned, is_of, is_own, listed};
use super::fill;
use super::references::{back, references};
use crate::pg::{
    Argument, as_exact_text, as_text, base_type, base_type_name, check_type, commas, execute, hold_schemas,
    inheritors, notice, query_catalogue, quote_identifier, quote_literal, raise_invalid, raise_no_table,
    raise_with_detail, required, scalar, user,
};
use crate::table::{Settings, Table, name_beside, putting_back};
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn dedup_undo(
    tbl: Option<pg_sys::Oid>,
    run: Option<i64>,
    ids: Option<Vec<Option<String>>>,
    archive: Option<&str>,
) -> i64 {
    let table = Table::of(required(tbl, "the table", "Name a table: 'ticket'."));
    let run = required(run, "the run", "dedup_clean told its number; the archive has it in dedup_run.");
    let call = Call::of(&table);
    let Call { id, base, equals, .. } = &call;
    // Values of it are made of texts.
    check_type(table.column(table.id(None)).typoid, Some(user()));
    hold_schemas(table.oid);
    execute(&format!("LOCK TABLE {} IN ROW EXCLUSIVE MODE", table.name), &[]);
    let name = name_beside(&table, archive, "archive");
    let Some(archive) = Archive::found(&table, &name) else {
        raise_no_table(
            format!("there is no archive {name}"),
            "archive => '…' names the one that dedup_clean was given.",
        )
    };
    let (name, of) = (&archive.table.name, &table.name);
    let of_run = format!("a.dedup_run OPERATOR(pg_catalog.=) {run} AND {}", is_of(&call, "a"));
    let mut chosen =
        format!("{of_run} AND a.dedup_stage OPERATOR(pg_catalog.<>) ALL ('{{undone,{FILLED}}}')");
    let removed = chosen.clone();
    if let Some(ids) = ids {
        let list =
            scalar("SELECT $1::pg_catalog.text", &[Argument::of(ids)]).map(quote_literal).unwrap_or_default();
        let list = format!("{list}::{base}[]");
        let unknown = format!(
            "SELECT u.id FROM pg_catalog.unnest({list}) AS u(id) \
             WHERE NOT EXISTS (SELECT FROM {name} AS a WHERE {chosen} AND a.{id}::{base} {equals} u.id)"
        );
        if let Some(unknown) = listed(&unknown) {
            raise_invalid(
                format!("run {run} has no such rows in {name}: {unknown}"),
                "They are back, or were never removed by it.",
            )
        }
        chosen += &format!(" AND a.{id}::{base} {equals} ANY ({list})");
    }
    if listed(&format!("SELECT a.{id} FROM {name} AS a WHERE {chosen} LIMIT 1")).is_none() {
        raise_invalid(
            format!("run {run} has no rows of {of} in {name}"),
            format!(
                "SELECT dedup_table, dedup_run, dedup_at, count(*) FROM {name} GROUP BY 1, 2, 3; has all that can be put back."
            ),
        )
    }
    keep_apart(&call, &archive, &chosen);
    // A kept row is what it was once all come back that it has taken something from. What is asked as true or not is hashed.
    let keepers = |which: &str| format!("SELECT a.{KEEPER}::{base} FROM {name} AS a WHERE {which}");
    let filled = format!(
        "{of_run} AND a.dedup_stage OPERATOR(pg_catalog.=) '{FILLED}' AND (a.{id}::{base} {equals} ANY ({})) IS TRUE \
         AND (a.{id}::{base} {equals} ANY ({})) IS NOT TRUE",
        keepers(&chosen),
        keepers(&format!("{removed} AND ({chosen}) IS NOT TRUE"))
    );
    fill::back(&call, &archive, &filled);
    let (rows, altered, children) = putting_back(table.oid, || {
        let (rows, altered) = put_back(&call, &archive, &chosen);
        (rows, altered, back(&references(&table), &call, &archive, &chosen))
    });
    let mut stays = children + &altered;
    for column in archive.table.columns.iter().filter(|it| !is_own(&it.name)) {
        let has = format!("a.{} IS NOT NULL", quote_identifier(&column.name));
        if table.find(&column.name).is_none()
            && listed(&format!("SELECT a.{id} FROM {name} AS a WHERE {chosen} AND {has} LIMIT 1")).is_some()
        {
            let column = &column.name;
            let what = format!("{of} has no column \"{column}\" any more: its values stay in {name}");
            notice(what, "", "Their rows have the stage undone there.");
            stays += &format!(" OR {has}");
        }
    }
    execute(&format!("UPDATE {name} AS a SET dedup_stage = 'undone' WHERE {chosen} AND ({stays})"), &[]);
    execute(&format!("DELETE FROM {name} AS a WHERE {chosen}"), &[]);
    rows
}

/// Writes that the rows that come back are not the same as those that were kept for them, in the place of what `dedup_clean`
/// wrote. Raises 23514 if people have decided otherwise.
fn keep_apart(call: &Call, archive: &Archive, chosen: &str) {
    let (Call { id, base, equals, .. }, name) = (call, &archive.table.name);
    let pair = |a: &str, b: &str| {
        format!("x.{a}::{base} {equals} a.{id}::{base} AND x.{b}::{base} {equals} a.{KEEPER}::{base}")
    };
    let pair = format!("(({}) OR ({}))", pair("a", "b"), pair("b", "a"));
    let Some(table) = Settings::of(call.table.oid).and_then(|it| it.decisions_to_write()) else {
        return notice(
            "what comes back may be removed by the next dedup_clean, for no decision keeps it apart from the kept rows",
            "",
            format!(
                "dedup_setup({}, '{{\"decisions\": true}}') makes a table of decisions: INSERT the pairs with same = false.",
                quote_literal(&call.table.name)
            ),
        );
    };
    let (decisions, note) = (&table.name, as_text("x.note", table.column("note").typoid));
    let typoid = call.table.column(call.table.id(None)).typoid;
    let own = format!(
        "DELETE FROM {decisions} AS x USING {name} AS a \
         WHERE {chosen} AND x.same AND ({note}) OPERATOR(pg_catalog.=) 'dedup_clean' AND {pair}"
    );
    execute(&own, &[]);
    let against = format!(
        "SELECT pg_catalog.concat({}, ' same ', {}) FROM {name} AS a JOIN {decisions} AS x ON {pair} WHERE {chosen} AND x.same ORDER BY a.{id}",
        as_text(&format!("a.{id}"), typoid),
        as_text(&format!("a.{KEEPER}"), typoid)
    );
    let refuse = || {
        if let Some(same) = listed(&against) {
            raise_with_detail(
                PgSqlErrorCode::ERRCODE_CHECK_VIOLATION,
                "that rows which come back are not the same as the kept ones contradicts other decisions",
                format!("{same}."),
                "Change or delete these first, or have others come back: ids => …",
            )
        }
    };
    refuse();
    // What holds for a kept row that has gone since holds for the one that is kept for it, as dedup_clean writes it.
    let kept = chains(call, archive, chosen).unwrap_or_else(|| {
        format!("SELECT a.{id}::{base} AS row, a.{id}::{base} AS id, a.{KEEPER}::{base} AS keeper FROM {name} AS a WHERE {chosen}")
    });
    // The row and those that were removed for it stay apart from all of these, when they come back as well.
    let apart = format!(
        "WITH RECURSIVE k AS ({kept}), d(id, row) AS (SELECT a.{id}::{base}, a.{id}::{base} FROM {name} AS a WHERE {chosen} \
             UNION SELECT b.{id}::{base}, d.row FROM d JOIN {name} AS b ON b.{KEEPER}::{base} {equals} d.id \
                 WHERE b.dedup_stage OPERATOR(pg_catalog.<>) ALL ('{{undone,{FILLED}}}') AND {of_table}) \
         INSERT INTO {decisions} (a, b, same, note) \
         SELECT k.id, k.keeper, NOT o.own, CASE WHEN o.own THEN 'dedup_undo' ELSE 'dedup_clean' END \
         FROM k CROSS JOIN LATERAL (SELECT k.id {equals} k.row AS own) AS o \
         UNION ALL SELECT d.id, k.keeper, false, 'dedup_undo' FROM d JOIN k ON k.row {equals} d.row \
         WHERE (d.id {equals} k.keeper) IS NOT TRUE ON CONFLICT DO NOTHING",
        of_table = is_of(call, "b")
    );
    execute(&apart, &[]);
    // What somebody was deciding meanwhile is there now.
    refuse();
}

/// Inserts the rows. Returns how many, and what is to be said of those on `a` that triggers have changed meanwhile.
/// Raises 23505 for rows that are not inserted.
fn put_back(call: &Call, archive: &Archive, chosen: &str) -> (i64, String) {
    let (Call { table, id, base, equals, .. }, name) = (call, &archive.table.name);
    let of = &table.name;
    let (mut columns, mut compared) = (Vec::new(), Vec::new());
    for column in &table.columns {
        let Some(kept) = archive.table.find(&column.name) else { continue };
        check_type(column.typoid, Some(user()));
        let name = quote_identifier(&column.name);
        check_assigned([kept.typoid, column.typoid], &name, &table.name);
        // SAFETY: both are types. There may be no way back, as from money to a number.
        let is_castable = unsafe {
            pg_sys::can_coerce_type(
                1,
                &base_type(column.typoid),
                &base_type(kept.typoid),
                pg_sys::CoercionContext::COERCION_EXPLICIT,
            )
        };
        let of = [("t", column.typoid), ("a", kept.typoid)];
        compared.push(of.map(|(alias, typoid)| match (format!("{alias}.{name}"), is_castable) {
            (value, true) => format!("{value}::{}", base_type_name(kept.typoid)),
            (value, false) => as_exact_text(&value, typoid),
        }));
        if !column.is_generated {
            columns.push(name);
        }
    }
    const DEFERRABLE: &str = "SELECT FROM pg_catalog.pg_index i \
         WHERE i.indrelid OPERATOR(pg_catalog.=) ANY ($1) AND NOT i.indimmediate LIMIT 1";
    let tree = inheritors(table.oid, pg_sys::AccessShareLock);
    let is_deferrable = !query_catalogue(DEFERRABLE, &[Argument::of(tree)], |_| ()).is_empty();
    // Nothing half done, and all of them named. PostgreSQL has no such clause for a deferrable key, and names the first.
    let conflict = if is_deferrable { "" } else { "ON CONFLICT DO NOTHING" };
    // By ANY what came back is hashed, however few rows PostgreSQL expects of an archive that was written just now.
    let sql = format!(
        "WITH back AS (INSERT INTO {of} AS t ({}) OVERRIDING SYSTEM VALUE SELECT {} FROM {name} AS a WHERE {chosen} \
             {conflict} RETURNING t.{id}) \
         SELECT a.{id} FROM {name} AS a WHERE {chosen} \
           AND (a.{id}::{base} {equals} ANY (SELECT b.{id}::{base} FROM back AS b)) IS NOT TRUE",
        columns.join(", "),
        commas(columns.iter().map(|it| format!("a.{it}")))
    );
    if let Some(missing) = listed(&sql) {
        raise_with_detail(
            PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION,
            format!("rows cannot be put back into {of}"),
            format!("A unique key has their values in another row, or a trigger keeps them out: {missing}."),
            format!(
                "Change what is in the way, or leave them: SELECT dedup_undo({}, …, ids => …);",
                quote_literal(of)
            ),
        )
    }
    let count = |which: &str| {
        listed(&format!("SELECT pg_catalog.count(*) FROM {name} AS a WHERE {which}"))
            .and_then(|count| count.parse().ok())
            .unwrap_or(0)
    };
    // Of the same bytes, whether their types have an equality or not, and of the type that they had.
    let row = |side: usize| {
        format!("ROW({})::pg_catalog.record", commas(compared.iter().map(|it| it[side].as_str())))
    };
    let altered = format!(
        "NOT EXISTS (SELECT FROM {of} AS t WHERE t.{id}::{base} {equals} a.{id}::{base} AND {} OPERATOR(pg_catalog.*=) {})",
        row(0),
        row(1)
    );
    let rows = count(&format!("{chosen} AND {altered}"));
    if rows > 0 {
        notice(
            format!("{rows} rows of {of} are not what they were: triggers or other types have changed them"),
            "",
            format!("What they were stays in {name}, where the stage is undone."),
        );
    }
    (count(chosen), if rows > 0 { format!(" OR {altered}") } else { String::new() })
}
