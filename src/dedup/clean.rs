//! `dedup_clean`: the rows that repeat a kept one, looked at or deleted; and the
//! groups that `dedup` of a table finds.

use crate::pg::catalog::{base_type_name, equality, hold_schemas, schema};
use crate::pg::spi::{execute, for_each};
use crate::pg::{Json, Output, notice, raise, required};
use crate::table::{Settings, Table, read_options};
use dedup_core::dedup::CLEAN;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};

/// Lists the rows that `dedup` of the table finds to be copies or near-duplicates of a
/// kept row, and deletes them unless it is a dry run.
#[pg_extern(sql = "")]
fn dedup_clean(
    tbl: Option<pg_sys::Oid>,
    dry_run: Option<bool>,
    options: Option<Json>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let written = read_options(CLEAN, options);
    let table = Table::of(required(tbl, "the table", "Name a table: 'ticket'."));
    let Call { id, base, equals, dedup, shown } = Call::of(&table);
    let mut output = Output::begin(fcinfo);
    table.ids(output.type_of(0), "dedup_clean(tbl, dry_run, options");
    let name = &table.name;
    let dry_run = dry_run.unwrap_or(true);
    if !dry_run {
        hold_schemas(table.oid);
        // A row that is changed while the DELETE waits for it may no longer repeat anything.
        execute(&format!("LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE"), &[]);
    }
    // Operators by their schema, and of the base type: none that somebody else made, there or for a domain, may be taken.
    let decided = if written.truth("decided") { ", 'decided'" } else { "" };
    let caught =
        format!("d.stage OPERATOR(pg_catalog.=) ANY (ARRAY['exact', 'near'{decided}]::pg_catalog.text[])");
    let sql = match dry_run {
        true => format!("SELECT d.* FROM {dedup} WHERE {caught}"),
        false => {
            let delete = format!(
                "DELETE FROM {name} AS t USING {dedup} WHERE t.{id}::{base} {equals} d.id AND {caught} RETURNING d.*"
            );
            // What was decided of a row that goes holds for the one that is kept for it.
            match Settings::of(table.oid).as_ref().and_then(|it| it.decisions()) {
                None => delete,
                Some(decisions) => format!(
                    "WITH gone AS ({delete}), kept AS (INSERT INTO {decisions} (a, b, same, note) \
                         SELECT g.id::{base}, g.keeper::{base}, true, 'dedup_clean' FROM gone AS g \
                         WHERE EXISTS (SELECT FROM {decisions} AS x \
                             WHERE x.a::{base} {equals} g.id::{base} OR x.b::{base} {equals} g.id::{base}) ON CONFLICT DO NOTHING) \
                     SELECT g.* FROM gone AS g"
                ),
            }
        }
    };
    for_each(&sql, &[], |row| {
        // SAFETY: the columns are those of dedup, which are declared so here.
        unsafe { output.pass([0, 1, 2, 3, 4].map(|at| row.get(at))) }
    });
    if dry_run {
        notice("dry run: no row is deleted", "", format!("To delete them: {shown}"));
    }
}

/// The query for the ids of a table with settings and the groups that `dedup` puts them into;
/// `None` for another table.
pub(crate) fn groups_of(table: pg_sys::Oid) -> Option<String> {
    Settings::of(table)?;
    Some(format!("SELECT d.id, d.keeper FROM {}", Call::of(&Table::of(table)).dedup))
}

/// A call of `dedup` of a table, in words of SQL.
struct Call {
    /// The column of the ids.
    id: String,
    /// Its type, or the one that its domain is over.
    base: String,
    /// The operator by which values of the base type are equal.
    equals: String,
    /// The call, with the alias `d`.
    dedup: String,
    /// The call of `dedup_clean` that deletes, as a user writes it.
    shown: String,
}

impl Call {
    /// # Errors
    /// Raises 42P16 if the table has no ids, 42804 if they cannot be compared.
    fn of(table: &Table) -> Call {
        let (name, id) = (&table.name, table.id(None));
        let id_type = table.column(id).typoid;
        let Some(equals) = equality(id_type) else {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!("values of column \"{id}\" of table {name} cannot be compared"),
                "An id is of a type that has an equality, such as bigint, uuid or text.",
            )
        };
        let (tools, source) = (schema(), quote_literal(name));
        // A NULL of a domain would run the domain's checks, which somebody else may have written.
        let base = base_type_name(id_type);
        // SAFETY: any oid is answered.
        let (returned, typed) = match unsafe { pg_sys::getBaseType(id_type) } {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => ("pg_catalog.int8", String::new()),
            _ => (base.as_str(), format!(", options => NULL, id_type => NULL::{base}")),
        };
        let shown = format!("SELECT * FROM {tools}.dedup_clean({source}, dry_run => false{typed});");
        // Not dedup, of which anybody who may create functions beside it can make one that is taken instead.
        let dedup = format!(
            "{tools}._dedup({source}::pg_catalog.text) AS d(id {returned}, keeper {returned}, stage pg_catalog.text, \
             distance pg_catalog.int4, similarity pg_catalog.float8)"
        );
        Call { id: quote_identifier(id), base, equals, dedup, shown }
    }
}
