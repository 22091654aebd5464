//! `dedup_clean`: the rows that repeat a kept one, looked at or deleted; and the
//! groups that `dedup` of a table finds.

use super::find::check_id;
use crate::pg::catalog::{base_type_name, equality, schema};
use crate::pg::spi::{execute, for_each};
use crate::pg::{Output, raise};
use crate::table::{Settings, Table};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::spi::{quote_identifier, quote_literal};

/// Lists the rows that `dedup` of the table finds to be copies or near-duplicates of a
/// kept row, and deletes them unless it is a dry run.
#[pg_extern(sql = "")]
fn dedup_clean(tbl: Option<pg_sys::Oid>, dry_run: Option<bool>, fcinfo: pg_sys::FunctionCallInfo) {
    let call = Call::of(super::needed(tbl));
    let mut output = Output::begin(fcinfo);
    check_id(&call.name, &call.id, call.id_type, output.type_of(0), "dedup_clean(tbl, dry_run");
    let Call { name, id, base, equals, dedup, shown, .. } = &call;
    let id = quote_identifier(id);
    let dry_run = dry_run.unwrap_or(true);
    if !dry_run {
        // A row that is changed while the DELETE waits for it may no longer repeat anything.
        execute(&format!("LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE"), &[]);
    }
    // Operators by their schema, and of the base type: none that somebody else made, there or for a domain, may be taken.
    let caught = "d.stage OPERATOR(pg_catalog.=) ANY (ARRAY['exact', 'near']::pg_catalog.text[])";
    let mut hint = None;
    let sql = if dry_run {
        hint = Some(format!("To delete them: {shown}"));
        format!("SELECT d.* FROM {dedup} WHERE {caught}")
    } else {
        format!(
            "DELETE FROM {name} AS t USING {dedup} WHERE t.{id}::{base} {equals} d.id AND {caught} RETURNING d.*"
        )
    };
    for_each(&sql, &[], |row| {
        // SAFETY: the columns are those of dedup, which are declared so here.
        unsafe { output.pass([0, 1, 2, 3, 4].map(|at| row.get(at))) }
    });
    if let Some(hint) = hint {
        let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
        ErrorReport::new(code, "dry run: no row is deleted", "dedup_clean")
            .set_hint(hint)
            .report(PgLogLevel::NOTICE);
    }
}

/// The query for the ids of a table with settings and the groups that `dedup` puts them into;
/// `None` for another table.
pub(crate) fn groups_of(table: pg_sys::Oid) -> Option<String> {
    Settings::of(table)?;
    Some(format!("SELECT d.id, d.keeper FROM {}", Call::of(table).dedup))
}

/// A call of `dedup` of a table.
struct Call {
    /// The table, quoted.
    name: String,
    /// The column of the ids.
    id: String,
    id_type: pg_sys::Oid,
    /// That type or the one that its domain is over, as SQL writes it.
    base: String,
    /// The operator by which values of the base type are equal.
    equals: String,
    /// The call with its alias `d`, as SQL.
    dedup: String,
    /// The call as a user writes it.
    shown: String,
}

impl Call {
    /// # Errors
    /// Raises 42P16 if the table has no ids, 42804 if they cannot be compared.
    fn of(table: pg_sys::Oid) -> Call {
        let table = Table::of(table);
        let id = table.id(None).to_owned();
        let (id_type, name) = (table.column(&id).typoid, table.name);
        let Some(equals) = equality(id_type) else {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!("values of column \"{id}\" of table {name} cannot be compared"),
                "An id is of a type that has an equality, such as bigint, uuid or text.",
            )
        };
        let (tools, source) = (schema(), quote_literal(&name));
        // A NULL of a domain would run the domain's checks, which somebody else may have written.
        let base = base_type_name(id_type);
        // SAFETY: any oid is answered.
        let (returned, typed) = match unsafe { pg_sys::getBaseType(id_type) } {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => ("pg_catalog.int8", String::new()),
            _ => (base.as_str(), format!(", id_type => NULL::{base}")),
        };
        let shown = format!("SELECT * FROM {tools}.dedup_clean({source}, dry_run => false{typed});");
        // Not dedup, of which anybody who may create functions beside it can make one that is taken instead.
        let dedup = format!(
            "{tools}._dedup({source}::pg_catalog.text) AS d(id {returned}, keeper {returned}, stage pg_catalog.text, \
             distance pg_catalog.int4, similarity pg_catalog.float8)"
        );
        Call { name, id, id_type, base, equals, dedup, shown }
    }
}
