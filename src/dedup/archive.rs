//! A call of `dedup` of a table, as the functions that remove its rows and put them back write it, and the archive of the rows
//! that `dedup_clean` removed, as they were.

use crate::pg::{
    Argument, Column, base_type, base_type_name, check_type, commas, equality, execute, exists, for_each,
    hold_schemas, inheritors, is_built_in, lock_relation, quote_identifier, quote_literal, raise_denied,
    raise_duplicate_column, raise_duplicate_table, raise_mismatch, raise_no_column, raise_state,
    raise_unsupported, schema, user,
};
use crate::table::{
    Table, Written, as_jsonb, check_owner, check_plain, check_written, name_beside, table_name, table_named,
};
use pgrx::pg_sys;

pub(super) struct Call<'t> {
    pub(super) table: &'t Table,
    pub(super) id: String,
    /// Its type, or the one that its domain is over.
    pub(super) base: String,
    /// The operator by which values of the base type are equal.
    pub(super) equals: String,
    /// The call, with the alias `d`.
    pub(super) dedup: String,
    /// The type of the ids, as calls name it; empty for numbers.
    id_type: String,
}

impl Call<'_> {
    /// Raises 42P16 if the table has no ids, 42804 if they cannot be compared.
    pub(super) fn of(table: &Table) -> Call<'_> {
        let (name, id) = (&table.name, table.id(None));
        let id_type = table.column(id).typoid;
        let Some(equals) = equality(id_type) else {
            raise_mismatch(
                format!("values of column \"{id}\" of table {name} cannot be compared"),
                "An id is of a type that has an equality, such as bigint, uuid or text.",
            )
        };
        let (tools, source) = (schema(), quote_literal(name));
        // A NULL of a domain would run the domain's checks, which somebody else may have written.
        let base = base_type_name(id_type);
        let (returned, id_type) = match base_type(id_type) {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => (pg_sys::INT8OID, String::new()),
            other => (other, format!(", id_type => NULL::{base}")),
        };
        // Not dedup, of which anybody who may create functions beside it can make one that is taken instead.
        let dedup = format!(
            "{tools}._dedup({source}::pg_catalog.text) AS d(id {0}, keeper {0}, stage pg_catalog.text, \
             distance pg_catalog.int4, similarity pg_catalog.float8)",
            base_type_name(returned)
        );
        Call { table, id: quote_identifier(id), base, equals, dedup, id_type }
    }

    /// The call of `dedup_clean` that deletes what these options name, as a user writes it.
    pub(super) fn shown(&self, written: &Written) -> String {
        let (tools, source, id_type) = (schema(), quote_literal(&self.table.name), &self.id_type);
        let options = match written.map() {
            map if !map.is_empty() => format!(", options => {}", quote_literal(as_jsonb(&written.json()))),
            _ if id_type.is_empty() => String::new(),
            _ => ", options => NULL".to_owned(),
        };
        format!("SELECT * FROM {tools}.dedup_clean({source}, dry_run => false{options}{id_type});")
    }
}

/// A table of these columns, and those of the rows.
pub(super) struct Archive {
    pub table: Table,
}

/// The columns of its own, the number of the run first; behind them comes the kept row's id, [`KEEPER`].
const COLUMNS: [(&str, pg_sys::Oid); 7] = [
    ("dedup_run", pg_sys::INT8OID),
    ("dedup_stage", pg_sys::TEXTOID),
    ("dedup_similarity", pg_sys::FLOAT8OID),
    ("dedup_by", pg_sys::NAMEOID),
    ("dedup_at", pg_sys::TIMESTAMPTZOID),
    ("dedup_children", pg_sys::JSONBOID),
    ("dedup_table", pg_sys::TEXTOID),
];
pub(super) const KEEPER: &str = "dedup_keeper";

const ANOTHER: &str =
    "options => '{\"archive\": \"…\"}' names another one, with false rows are deleted for good.";

pub(super) fn is_own(name: &str) -> bool {
    name == KEEPER || COLUMNS.iter().any(|(own, _)| name == *own)
}

impl Archive {
    /// The archive of that name, if it is there and can be trusted. Raises 42809, 42501, 55000 for a table that must not be
    /// written, 42P07 for one that is no archive, 42804 for one of other ids.
    pub fn found(of: &Table, name: &str) -> Option<Archive> {
        const MAY: &str = "SELECT WHERE pg_catalog.has_table_privilege($1, 'DELETE')";
        let there = table_named(name)?;
        // Who may not write it must not make others wait for it.
        if !exists(MAY, &[Argument::of(there)]) {
            raise_denied(
                format!("permission denied for table {}", table_name(there)),
                "Who cleans needs SELECT, INSERT, UPDATE and DELETE on the archive.",
            )
        }
        // Nobody makes a trigger meanwhile.
        lock_relation(there, pg_sys::ShareRowExclusiveLock);
        let table = Table::of(there);
        check_plain(&table, "archive");
        if table.owner() != user() {
            check_owner(&table, of, "archive");
        }
        check_written(&table, pg_sys::InvalidOid);
        let has = |(name, typoid): &(&str, _)| table.find(name).is_some_and(|it| it.typoid == *typoid);
        if !COLUMNS.iter().all(has) || !table.has_column(KEEPER) {
            raise_duplicate_table(
                format!("table {} is there, and no archive that dedup_clean has made", table.name),
                ANOTHER,
            )
        }
        let id = of.column(of.id(None));
        let Some(kept) = table.find(&id.name) else {
            let column = quote_identifier(&id.name);
            raise_no_column(
                format!("archive {} has no column {column} for the ids of {}", table.name, of.name),
                format!("If that was renamed: ALTER TABLE {} RENAME … TO {column};", table.name),
            )
        };
        if [table.column(KEEPER), kept].iter().any(|it| it.base_type() != id.base_type()) {
            let (column, base) = (quote_identifier(&id.name), base_type_name(id.typoid));
            raise_mismatch(
                format!("the ids in archive {} are not {base} as those of {}", table.name, of.name),
                format!(
                    "If it is of that table: ALTER TABLE {} ALTER {column} TYPE {base}, ALTER {KEEPER} TYPE {base};",
                    table.name
                ),
            )
        }
        hold_schemas(table.oid);
        Some(Archive { table })
    }

    /// The archive of that name, which is made if it is not there, with all columns of the table. Raises as [`Archive::found`],
    /// 42701 for a table that has columns of an archive, 0A000 for types of other roles, 42501 for a caller who cannot make it.
    pub fn open(of: &Table, given: Option<&str>) -> Archive {
        if let Some(column) = of.columns.iter().find(|column| is_own(&column.name)) {
            raise_duplicate_column(
                format!(
                    "column \"{}\" of table {} is called as one of its archive would be",
                    column.name, of.name
                ),
                "Rename it, or delete rows for good: options => '{\"archive\": false}'.",
            )
        }
        if !of.is_partitioned() && inheritors(of.oid, pg_sys::AccessShareLock).len() > 1 {
            raise_unsupported(
                format!("tables inherit from {}: the archive would not have their columns", of.name),
                "Delete rows for good: options => '{\"archive\": false}'.",
            )
        }
        let name = name_beside(of, given, "archive");
        let define = |name: &str, typoid| {
            // What its caller cannot put back is not taken: that runs the checks of domains.
            check_type(typoid, Some(user()));
            format!("{} {}", quote_identifier(name), base_type_name(typoid))
        };
        let Some(archive) = Archive::found(of, &name) else {
            const MAY: &str =
                "SELECT WHERE pg_catalog.has_schema_privilege((pg_catalog.parse_ident($1))[1], 'CREATE')";
            if !exists(MAY, &[Argument::of(name.as_str())]) {
                raise_denied(
                    format!("the archive {name} is not there, and you may not create it"),
                    format!("Who may create tables in its schema makes it by a call of their own. {ANOTHER}"),
                )
            }
            let own = COLUMNS.iter().map(|(name, typoid)| define(name, *typoid));
            let keeper = [define(KEEPER, of.column(of.id(None)).typoid)];
            let columns = of.columns.iter().map(|column| define(&column.name, column.typoid));
            let mut columns: Vec<String> = columns.chain(own).chain(keeper).collect();
            columns[of.columns.len()] += " GENERATED BY DEFAULT AS IDENTITY";
            execute(&format!("CREATE TABLE {name} ({})", commas(columns)), &[]);
            execute(&format!("CREATE INDEX ON {name} (dedup_run)"), &[]);
            return Archive::open(of, Some(&name));
        };
        let mut missing = Vec::new();
        for column in &of.columns {
            let defined = define(&column.name, column.typoid);
            match archive.table.find(&column.name) {
                None => missing.push(format!("ADD COLUMN {defined}")),
                Some(kept) if kept.base_type() == column.base_type() => {}
                Some(kept) => raise_mismatch(
                    format!(
                        "column \"{}\" is {}, in archive {name} {}",
                        column.name,
                        column.type_name(),
                        kept.type_name()
                    ),
                    format!(
                        "ALTER TABLE {name} ALTER {} TYPE {}; or name another archive.",
                        quote_identifier(&column.name),
                        base_type_name(column.typoid)
                    ),
                ),
            }
        }
        if missing.is_empty() {
            return archive;
        }
        execute(&format!("ALTER TABLE {name} {}", commas(missing)), &[]);
        Archive::open(of, Some(&name))
    }

    /// Copies rows of the table to it that are about to go. Returns the number of the run, if that is not known.
    pub fn take(&self, call: &Call, gone: &[Argument], run: Option<i64>) -> i64 {
        let (Call { table, id, base, equals, .. }, archive) = (call, &self.table.name);
        let of = &table.name;
        // A copy of an archive may have no sequence, or one that begins anew.
        let next = format!(
            "SELECT GREATEST(pg_catalog.nextval(pg_catalog.pg_get_serial_sequence($1, 'dedup_run')::pg_catalog.regclass), \
                 (SELECT pg_catalog.max(a.dedup_run) FROM {archive} AS a) OPERATOR(pg_catalog.+) 1, 1)"
        );
        let drawn = || {
            let mut run = 0;
            for_each(&next, &[Argument::of(archive.as_str())], |row| run = row.bigint(0).unwrap_or(0));
            run
        };
        let run = run.unwrap_or_else(drawn);
        let [columns, values] = ["", "t."].map(|of| listed_columns(table, of));
        let sql = format!(
            "INSERT INTO {archive} ({columns}, dedup_run, {KEEPER}, dedup_stage, dedup_similarity, dedup_by, dedup_at, dedup_table) \
             SELECT {values}, {run}, d.keeper::{base}, d.stage, d.similarity, current_user, pg_catalog.now(), {} FROM {of} AS t \
             JOIN {GONE} ON t.{id}::{base} {equals} d.id ORDER BY d.n",
            quote_literal(of)
        );
        execute(&sql, gone);
        run
    }

    /// Takes out of it what of these rows did not go, for a trigger kept it.
    /// Raises 55000 for a row whose references point at the kept one by now.
    pub fn leave(&self, call: &Call, run: i64, gone: Argument) {
        let Call { table: Table { name: of, .. }, id, base, equals, .. } = call;
        let sql = format!(
            "DELETE FROM {} AS a USING {of} AS t WHERE {} AND a.{id}::{base} {equals} ANY ($1::{base}[]) \
               AND t.{id}::{base} {equals} a.{id}::{base} RETURNING a.{id}, a.dedup_children",
            self.table.name,
            removed("a", run)
        );
        for_each(&sql, &[gone], |row| {
            if row.get(1).is_some() {
                raise_state(
                    format!("row {} of {of} is kept by a trigger", row.written(0).unwrap_or_default()),
                    "What pointed at it would point at another row: change that trigger, or point the rows yourself.",
                )
            }
        });
    }
}

/// The columns of a table, of what SQL calls so (or nothing).
pub(super) fn listed_columns(table: &Table, of: &str) -> String {
    commas(table.columns.iter().map(|it| format!("{of}{}", quote_identifier(&it.name))))
}

/// The stage of what a kept row was before it was filled.
pub(super) const FILLED: &str = "filled";

/// A condition: that a row of the archive, which SQL calls so, is one that a run has removed.
pub(super) fn removed(alias: &str, run: i64) -> String {
    format!(
        "{alias}.dedup_run OPERATOR(pg_catalog.=) {run} AND {alias}.dedup_stage OPERATOR(pg_catalog.<>) '{FILLED}'"
    )
}

/// A condition: that a row of the archive, which SQL calls so, is of this table. Another one may have the same archive; what
/// this one was called before is nothing now.
pub(super) fn is_of(call: &Call, alias: &str) -> String {
    format!(
        "({alias}.dedup_table OPERATOR(pg_catalog.=) {} OR pg_catalog.to_regclass({alias}.dedup_table) IS NULL)",
        quote_literal(&call.table.name)
    )
}

/// If kept rows have gone since: a query for the rows of the archive that are chosen (a condition on `a`) as `row`, and for `id`
/// and `keeper`: first its own, then, as long as the kept row is gone and in the archive as well, those of that one.
pub(super) fn chains(call: &Call, archive: &Archive, chosen: &str) -> Option<String> {
    let (Call { table: Table { name: of, .. }, id, base, equals, .. }, name) = (call, &archive.table.name);
    let gone =
        |keeper: &str| format!("({keeper} {equals} ANY (SELECT t.{id}::{base} FROM {of} AS t)) IS NOT TRUE");
    let any = format!("SELECT FROM {name} AS a WHERE {chosen} AND {}", gone(&format!("a.{KEEPER}::{base}")));
    exists(&any, &[]).then(|| {
        format!(
            "WITH RECURSIVE k(row, id, keeper) AS (SELECT a.{id}::{base}, a.{id}::{base}, a.{KEEPER}::{base} FROM {name} AS a WHERE {chosen} \
                 UNION SELECT k.row, b.{id}::{base}, b.{KEEPER}::{base} FROM k JOIN {name} AS b ON b.{id}::{base} {equals} k.keeper \
                     WHERE b.dedup_stage OPERATOR(pg_catalog.<>) ALL ('{{undone,{FILLED}}}') AND {} AND {}) \
             SELECT k.row, k.id, k.keeper FROM k",
            is_of(call, "b"),
            gone("k.keeper")
        )
    })
}

/// The rows that go, as a call has them in its arguments.
pub(super) const GONE: &str = "ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4), \
     pg_catalog.unnest($5)) WITH ORDINALITY AS d(id, keeper, stage, distance, similarity, n)";

/// Some of the values that a query gives, as they are written; `None`: it gives none.
pub(super) fn listed(sql: &str) -> Option<String> {
    const MOST: usize = 20;
    let (mut found, mut count) = (Vec::new(), 0);
    for_each(sql, &[], |row| {
        count += 1;
        if count <= MOST {
            found.push(row.written(0).unwrap_or_else(|| "NULL".to_owned()));
        }
    });
    let more = if count > MOST { format!(" and {} more", count - MOST) } else { String::new() };
    (count > 0).then(|| found.join(", ") + &more)
}

/// Sees to it that no cast of another role makes values of one type values of the other. Raises 0A000.
pub(super) fn check_assigned(types: [pg_sys::Oid; 2], column: &str, table: &str) {
    let [from, to] = types.map(base_type);
    if from != to && !(is_built_in(from) && is_built_in(to)) {
        let [from, to] = types.map(|typoid| Column::new("", typoid, pg_sys::InvalidOid).type_name());
        raise_unsupported(
            format!("column {column} of {table} is {to}, and not {from} as what it is given"),
            "A cast that somebody made is not run. Give both one type.",
        )
    }
}
