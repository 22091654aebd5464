//! What kept rows take from those that go, by column; and what they were before, when those come back.

use super::archive::{
    Archive, Call, FILLED, GONE, KEEPER, check_assigned, is_own, listed, listed_columns, removed,
};
use super::references::{EXACT, image, references, sets};
use crate::pg::{
    Argument, Values, as_text, base_type, base_type_name, check_type, commas, execute, for_each, notice,
    query_all, query_catalogue, quote_identifier, quote_literal, raise_generated, raise_mismatch,
    raise_state, type_cache, user, with_settings,
};
use crate::table::{Settings, Table, Written, refuse_option};
use pgrx::pg_sys;

/// A column, and which value of a group it gets.
pub(super) struct Fill {
    name: String,
    typoid: pg_sys::Oid,
    /// As SQL writes it, a string.
    how: String,
    /// The clause for the collation of its values, if they have one.
    collate: String,
    /// Whether `''` is nothing.
    is_text: bool,
}

/// What each column is filled with. Raises 42703 for no column, 428C9 for one that cannot be written, 42804 for one of a type
/// that has no such value, 22023 for what decides what a row repeats.
pub(super) fn read(written: &Written, table: &Table) -> Vec<Fill> {
    let Some(columns) = written.get("fill").and_then(|it| it.as_object()) else { return Vec::new() };
    if written.get("archive") == Some(&false.into()) {
        refuse_option("fill", "fill cannot be without an archive: it could not be taken back")
    }
    let (compared, pointing) = (compared(table), references(table));
    let one = |(name, how): (&String, &serde_json::Value)| {
        let (column, how) = (table.column(name), how.as_str().unwrap_or_default().to_owned());
        let what = |what: &str| format!("column \"{name}\" of table {} {what}", table.name);
        let (is_always, collate) = written_as(table, name);
        if column.is_generated || is_always {
            raise_generated(
                what("is generated"),
                "PostgreSQL alone writes it: fill the columns that it is made of.",
            )
        }
        if name == table.id(None) || compared.contains(name) {
            refuse_option("fill", what("decides what a row is or repeats, and cannot be filled"))
        }
        if pointing.iter().any(|it| it.is_self && it.own().contains(&&*quote_identifier(name))) {
            refuse_option(
                "fill",
                what("points at rows of the table itself, which \"references\" points at the kept rows"),
            )
        }
        if sets(&pointing, &[&quote_identifier(name)], 8) {
            refuse_option(
                "fill",
                what(
                    "is what foreign keys point at that would set something to NULL or a default, which would not come back",
                ),
            )
        }
        check_type(column.typoid, Some(user()));
        let base = column.base_type();
        // SAFETY: any oid is answered. int2vector has elements, and is no array of them.
        let element = unsafe {
            let element = pg_sys::get_element_type(base);
            if pg_sys::get_array_type(element) == base { element } else { pg_sys::InvalidOid }
        };
        let ordered = match &*how {
            "first" => None,
            "union" if element == pg_sys::InvalidOid => raise_mismatch(
                format!("{}, not an array", what(&format!("is {}", column.type_name()))),
                "\"union\" is of arrays; \"first\", \"max\" and \"min\" of all that have an order.",
            ),
            "union" => Some(element),
            _ => Some(base),
        };
        let has_order = |it| type_cache(it, pg_sys::TYPECACHE_LT_OPR).lt_opr != pg_sys::InvalidOid;
        if ordered.is_some_and(|it| !has_order(it)) {
            raise_mismatch(
                format!("{}, whose values have no order", what(&format!("is {}", column.type_name()))),
                "\"max\", \"min\" and \"union\" are by the default order of the type; \"first\" needs none.",
            )
        }
        Fill { name: name.clone(), typoid: column.typoid, how, collate, is_text: column.is_any_text() }
    };
    columns.iter().map(one).collect()
}

/// The columns that are compared.
pub(super) fn judged(table: &Table) -> Vec<String> {
    match Settings::of(table.oid) {
        Some(settings) => [&settings.columns[..], std::slice::from_ref(&settings.fp)].concat(),
        None => table.texts(Some(table.id(None)), &[]).into_iter().map(str::to_owned).collect(),
    }
}

/// The columns that are compared, and those that these are generated from.
fn compared(table: &Table) -> Vec<String> {
    const FROM: &str = "SELECT s.attname::pg_catalog.text FROM pg_catalog.pg_attrdef f \
         JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) f.adrelid AND a.attnum OPERATOR(pg_catalog.=) f.adnum \
         JOIN pg_catalog.pg_depend d ON d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid \
             AND d.refobjid OPERATOR(pg_catalog.=) f.adrelid \
             AND (d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_attrdef'::pg_catalog.regclass::pg_catalog.oid AND d.objid OPERATOR(pg_catalog.=) f.oid \
               OR d.classid OPERATOR(pg_catalog.=) d.refclassid AND d.objid OPERATOR(pg_catalog.=) f.adrelid AND d.objsubid OPERATOR(pg_catalog.=) f.adnum) \
         JOIN pg_catalog.pg_attribute s ON s.attrelid OPERATOR(pg_catalog.=) f.adrelid AND s.attnum OPERATOR(pg_catalog.=) d.refobjsubid \
         WHERE f.adrelid OPERATOR(pg_catalog.=) $1 AND a.attgenerated OPERATOR(pg_catalog.<>) '' \
           AND a.attname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ($2)";
    let mut columns = judged(table);
    let arguments = [Argument::of(table.oid), Argument::of(columns.clone())];
    columns.extend(query_catalogue(FROM, &arguments, |row| row.text(0)).into_iter().flatten());
    columns
}

/// Whether only PostgreSQL writes a column, and the clause for its collation.
fn written_as(table: &Table, name: &str) -> (bool, String) {
    const SQL: &str = "SELECT a.attidentity OPERATOR(pg_catalog.=) 'a', \
             (SELECT pg_catalog.format(' COLLATE %I.%I', n.nspname, c.collname) FROM pg_catalog.pg_collation c \
              JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.collnamespace \
              WHERE c.oid OPERATOR(pg_catalog.=) a.attcollation) \
         FROM pg_catalog.pg_attribute a \
         WHERE a.attrelid OPERATOR(pg_catalog.=) $1 AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name";
    let read = |row: &Values<'_>| (row.is(0), row.text(1).unwrap_or_default());
    query_catalogue(SQL, &[Argument::of(table.oid), Argument::of(name)], read).pop().unwrap_or_default()
}

/// The order in which rows of a group are kept, of `a`, which has their columns, and `d`, which has their place.
fn order(table: &Table) -> String {
    let settings = Settings::of(table.oid);
    let keep = settings.as_ref().and_then(|it| it.asked().remove("keep"));
    match (keep.as_ref().and_then(|it| it.as_str()), keep.as_ref().and_then(|it| it.get("column"))) {
        (Some("last"), _) => "d.n DESC".to_owned(),
        (Some("longest"), _) => {
            let text =
                |name: &&str| as_text(&format!("a.{}", quote_identifier(*name)), table.column(name).typoid);
            let texts = settings.iter().flat_map(|it| it.texts().iter().map(text).collect::<Vec<_>>());
            format!("pg_catalog.octet_length(pg_catalog.concat_ws(E'\\n', {})) DESC, d.n", commas(texts))
        }
        (_, Some(column)) => {
            let descending = keep.as_ref().and_then(|it| it.get("order")).is_some_and(|it| it == "desc");
            let way = if descending { "DESC" } else { "ASC" };
            format!("a.{} {way} NULLS LAST, d.n", quote_identifier(column.as_str().unwrap_or_default()))
        }
        _ => "d.n".to_owned(),
    }
}

/// What kept rows get, as `n`: their key, their values, of those that would change. The rows that go are read from `gone`, a
/// table that has them, and a condition on `a`.
fn values(fill: &[Fill], call: &Call, (gone, which): (&str, &str)) -> String {
    let Call { table, id, base, equals, .. } = call;
    let of = |alias: &str, place: &str| {
        let value = |(at, it): (usize, &Fill)| {
            format!(
                ", {alias}.{}::{}{} AS v{at}",
                quote_identifier(&it.name),
                base_type_name(it.typoid),
                it.collate
            )
        };
        format!("{place}{}", fill.iter().enumerate().map(value).collect::<String>())
    };
    let chosen = |(at, it): (usize, &Fill)| {
        let v = format!("u.v{at}");
        let is_there = format!("pg_catalog.num_nulls({v}) OPERATOR(pg_catalog.=) 0");
        let best = |which: String, order: &str| {
            format!(
                "SELECT DISTINCT ON (u.keeper) u.keeper, {v} AS v FROM u WHERE {which} ORDER BY u.keeper, {order}u.place"
            )
        };
        let sql = match &*it.how {
            "max" => best(is_there, &format!("{v} DESC, ")),
            "min" => best(is_there, &format!("{v}, ")),
            "union" => format!(
                "SELECT e.keeper, pg_catalog.array_agg(e.e ORDER BY e.place, e.at) AS v FROM (\
                     SELECT DISTINCT ON (u.keeper, x.e) u.keeper, x.e, u.place, x.at FROM u \
                     CROSS JOIN LATERAL pg_catalog.unnest({v}) WITH ORDINALITY AS x(e, at) \
                     ORDER BY u.keeper, x.e, u.place, x.at) AS e GROUP BY e.keeper"
            ),
            _ if it.is_text => {
                let text = as_text(&v, it.typoid);
                best(format!("pg_catalog.octet_length({text}) OPERATOR(pg_catalog.>) 0"), "")
            }
            _ => best(is_there, ""),
        };
        format!(" LEFT JOIN ({sql}) AS x{at} ON x{at}.keeper {equals} k.keeper")
    };
    let row = |value: &dyn Fn(usize) -> String| {
        format!("ROW({})::pg_catalog.record", commas((0..fill.len()).map(value)))
    };
    let new = |at: usize| {
        format!(
            "CASE WHEN pg_catalog.num_nulls(x{at}.keeper) OPERATOR(pg_catalog.=) 0 THEN x{at}.v ELSE k.v{at} END"
        )
    };
    format!(
        "k AS MATERIALIZED (SELECT {} FROM {} AS t WHERE t.{id}::{base} {equals} ANY (SELECT d.keeper FROM {GONE})), \
         u AS MATERIALIZED (SELECT * FROM k UNION ALL SELECT {} FROM {gone} AS a JOIN {GONE} ON a.{id}::{base} {equals} d.id WHERE {which}), \
         n AS MATERIALIZED (SELECT k.keeper{} FROM k{} WHERE {} OPERATOR(pg_catalog.*<>) {})",
        of("t", &format!("t.{id}::{base} AS keeper, 0::pg_catalog.int8 AS place")),
        table.name,
        of(
            "a",
            &format!(
                "d.keeper::{base} AS keeper, pg_catalog.row_number() OVER (ORDER BY {}) AS place",
                order(table)
            )
        ),
        (0..fill.len()).map(|at| format!(", {} AS v{at}", new(at))).collect::<String>(),
        fill.iter().enumerate().map(chosen).collect::<String>(),
        row(&new),
        row(&|at| format!("k.v{at}")),
    )
}

/// How many kept rows would take something.
pub(super) fn count(fill: &[Fill], call: &Call, gone: &[Argument]) -> i64 {
    let sql =
        format!("WITH {} SELECT pg_catalog.count(*) FROM n", values(fill, call, (&call.table.name, "true")));
    let mut rows = 0;
    for_each(&sql, gone, |row| rows = row.bigint(0).unwrap_or(0));
    rows
}

/// Fills kept rows from those of a run, which are in the archive, and writes there what they were. Returns how many.
/// Raises 55000 if one is not written.
pub(super) fn fill(fill: &[Fill], call: &Call, archive: &Archive, run: i64, gone: &[Argument]) -> i64 {
    let (Call { table, id, base, equals, .. }, name) = (call, &archive.table.name);
    let of = &table.name;
    let [columns, before] = ["", "t."].map(|of| listed_columns(table, of));
    let set = |(at, it): (usize, &Fill)| format!("{} = n.v{at}", quote_identifier(&it.name));
    // A trigger has the last word on what a row gets. What it was is what the statement began with.
    let sql = format!(
        "WITH {}, done AS (UPDATE {of} AS t SET {} FROM n WHERE t.{id}::{base} {equals} n.keeper \
             RETURNING t.{id}::{base} AS keeper), \
         was AS (INSERT INTO {name} ({columns}, dedup_run, {KEEPER}, dedup_stage, dedup_by, dedup_at, dedup_table) \
             SELECT {before}, {run}, t.{id}::{base}, '{FILLED}', current_user, pg_catalog.now(), {} FROM {of} AS t \
             JOIN done AS d ON t.{id}::{base} {equals} d.keeper RETURNING 1) \
         SELECT (SELECT pg_catalog.count(*) FROM n), (SELECT pg_catalog.count(*) FROM was)",
        values(fill, call, (name, &removed("a", run))),
        commas(fill.iter().enumerate().map(set)),
        quote_literal(of)
    );
    let mut rows = [0; 2];
    for_each(&sql, gone, |row| rows = [0, 1].map(|at| row.bigint(at).unwrap_or(0)));
    if rows[0] != rows[1] {
        raise_state(
            format!("{} kept rows of {} are not filled", (rows[0] - rows[1]).abs(), table.name),
            "A trigger or row-level security keeps them as they are, or two rows have one id.",
        )
    }
    let got = format!(
        "UPDATE {name} AS a SET dedup_children = {} FROM {of} AS t WHERE a.dedup_run OPERATOR(pg_catalog.=) {run} \
           AND a.dedup_stage OPERATOR(pg_catalog.=) '{FILLED}' AND a.dedup_children IS NULL AND a.{id}::{base} {equals} ANY ($1::{base}[]) \
           AND t.{id}::{base} {equals} a.{id}::{base}",
        image("t", fill.iter().map(|it| (&*it.name, it.typoid)))
    );
    alike(|| execute(&got, &gone[1..2]));
    rows[0]
}

/// Does `work`, in which values become texts, which are alike in all sessions: no trigger of a user must see these settings.
fn alike<R>(work: impl FnOnce() -> R) -> R {
    with_settings(&[&EXACT[..], &[("TimeZone", "UTC"), ("bytea_output", "hex")]].concat(), work)
}

/// Gives kept rows back what they were, of those `which` (a condition on `a`) that no row of the run is missing of. What was
/// changed since stays. Raises 55000 if one is not written.
pub(super) fn back(call: &Call, archive: &Archive, which: &str) {
    let (Call { table, id, base, equals, .. }, name) = (call, &archive.table.name);
    let of = &table.name;
    let keys = format!(
        "SELECT DISTINCT o.key FROM {name} AS a CROSS JOIN LATERAL pg_catalog.jsonb_object_keys(a.dedup_children) AS o(key) \
         WHERE {which} ORDER BY 1"
    );
    let keys: Vec<String> = query_all(&keys, &[], |row| row.text(0)).into_iter().flatten().collect();
    if keys.is_empty() {
        return;
    }
    // Nobody changes them meanwhile.
    let lock = format!(
        "SELECT FROM {of} AS t WHERE t.{id}::{base} {equals} ANY (SELECT a.{id}::{base} FROM {name} AS a WHERE {which}) FOR UPDATE"
    );
    for_each(&lock, &[], |_| ());
    let tell = |what: String| {
        let stays = format!("What they were stays in {name}, where the stage is undone.");
        notice(format!("kept rows of {of} {what}"), "", stays)
    };
    let known = |table: &Table, key: &String| {
        table.find(key).filter(|it| !it.is_generated && !is_own(key)).map(|it| it.typoid)
    };
    let (mut same, mut set, mut types) = (Vec::new(), Vec::new(), Vec::new());
    for key in &keys {
        let both = known(table, key).zip(known(&archive.table, key));
        let is_there = both.filter(|(now, then)| base_type(*now) == base_type(*then));
        let as_it_was = is_there.map_or("false".to_owned(), |(now, then)| {
            let column = quote_identifier(key);
            check_type(now, Some(user()));
            check_assigned([then, now], &column, &table.name);
            set.push(format!("{column} = a.{column}"));
            types.push((&**key, [now, then]));
            format!("a.dedup_children OPERATOR(pg_catalog.@>) {}", image("t", [(&**key, now)].into_iter()))
        });
        let changed = format!(
            "SELECT a.{id} FROM {name} AS a WHERE {which} \
               AND NOT EXISTS (SELECT FROM {of} AS t WHERE t.{id}::{base} {equals} a.{id}::{base} AND {as_it_was}) ORDER BY 1"
        );
        if let Some(changed) = alike(|| listed(&changed)) {
            tell(format!("stay as they are, for \"{key}\" was changed since: {changed}"));
        }
        same.push(as_it_was);
    }
    let is_it = format!("t.{id}::{base} {equals} a.{id}::{base}");
    let leave = |but: &str| {
        let rows = format!("{which} AND NOT EXISTS (SELECT FROM {of} AS t WHERE {is_it} AND {but})");
        alike(|| {
            let left = listed(&format!("SELECT a.{id} FROM {name} AS a WHERE {rows} ORDER BY 1"));
            (left, execute(&format!("UPDATE {name} AS a SET dedup_stage = 'undone' WHERE {rows}"), &[]))
        })
    };
    leave(&same.join(" AND "));
    let is_none = set.is_empty();
    let update = format!("UPDATE {of} AS t SET {} FROM {name} AS a WHERE {which} AND {is_it}", commas(set));
    let done = if is_none { 0 } else { execute(&update, &[]) };
    let told_of = |alias: &str, at: usize| image(alias, types.iter().map(|(key, types)| (*key, types[at])));
    let (altered, left) = leave(&format!("{} OPERATOR(pg_catalog.=) {}", told_of("t", 0), told_of("a", 1)));
    if execute(&format!("DELETE FROM {name} AS a WHERE {which}"), &[]) + left != done {
        raise_state(
            format!("kept rows of {of} are not given back what they were"),
            "A trigger or row-level security keeps them as they are.",
        )
    }
    if let Some(altered) = altered {
        tell(format!("are not what they were, for triggers have changed them: {altered}"));
    }
}
