//! `dedup_clean`: the rows that repeat a kept one, looked at or deleted; and the
//! groups that `dedup` of a table finds.

use super::find::check_id;
use super::settings::{Settings, table_name};
use super::table::{primary_key, type_of};
use crate::pg::catalog::{base_type_name, equality, schema};
use crate::pg::spi::{Argument, execute, for_each, scalar};
use crate::pg::{Output, raise};
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
    let twice = format!(
        "SELECT 1 FROM {name} AS t GROUP BY t.{id} HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 LIMIT 1"
    );
    if !call.is_unique() && execute(&twice, &[]) > 0 {
        raise(
            PgSqlErrorCode::ERRCODE_UNIQUE_VIOLATION,
            format!("column {id} of table {name} does not identify rows: a value is there more than once"),
            "Name a column that is unique: dedup_setup(…, '{\"id\": \"…\"}').",
        )
    }
    // Operators by their schema, and of the base type: none that somebody else made, there or for a domain, may be taken.
    let caught = "d.stage OPERATOR(pg_catalog.=) ANY (ARRAY['exact', 'near']::pg_catalog.text[])";
    let sql = if dry_run {
        let shown = format!(
            "DELETE FROM {name} t USING {shown} d WHERE t.{id} = d.id AND d.stage IN ('exact', 'near');"
        );
        let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
        ErrorReport::new(code, "dry run: no row is deleted", "dedup_clean")
            .set_hint(format!("To delete them: {shown}"))
            .report(PgLogLevel::NOTICE);
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
}

/// The query for the ids of a table with settings and the groups that `dedup` puts them into;
/// `None` for another table.
pub(crate) fn groups_of(table: pg_sys::Oid) -> Option<String> {
    Settings::of(table)?;
    Some(format!("SELECT d.id, d.keeper FROM {}", Call::of(table).dedup))
}

/// A call of `dedup` of a table.
struct Call {
    table: pg_sys::Oid,
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
        let name = table_name(table);
        let id = Settings::of(table).and_then(|settings| settings.id().map(str::to_owned));
        let id = id.or_else(|| primary_key(table)).unwrap_or_else(|| {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                format!("table {name} has no primary key of one column"),
                "Name the column of the ids: dedup_setup(…, '{\"id\": \"…\"}').",
            )
        });
        let id_type = type_of(table, &id);
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
        let (returned, shown) = match unsafe { pg_sys::getBaseType(id_type) } {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => {
                ("pg_catalog.int8", format!("{tools}.dedup({source})"))
            }
            _ => (base.as_str(), format!("{tools}.dedup({source}, NULL, NULL::{base})")),
        };
        // Not dedup, of which anybody who may create functions beside it can make one that is taken instead.
        let dedup = format!(
            "{tools}._dedup({source}::pg_catalog.text) AS d(id {returned}, keeper {returned}, stage pg_catalog.text, \
             distance pg_catalog.int4, similarity pg_catalog.float8)"
        );
        Call { table, name, id, id_type, base, equals, dedup, shown }
    }

    /// Whether an index sees to it that no two rows have one id, by the equality of its column.
    fn is_unique(&self) -> bool {
        // An index of a table has no rows of the tables that inherit from it, but is there for all partitions.
        const SQL: &str = "SELECT 't'::pg_catalog.text FROM pg_catalog.pg_index i \
            JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indrelid \
            JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid \
                AND a.attnum OPERATOR(pg_catalog.=) i.indkey[0] \
            JOIN pg_catalog.pg_opclass o ON o.oid OPERATOR(pg_catalog.=) i.indclass[0] AND o.opcdefault \
            WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
              AND i.indnkeyatts OPERATOR(pg_catalog.=) 1 AND i.indcollation[0] OPERATOR(pg_catalog.=) a.attcollation \
              AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL \
              AND (c.relkind OPERATOR(pg_catalog.=) 'p' OR NOT c.relhassubclass) LIMIT 1";
        scalar(SQL, &[Argument::of(self.table), Argument::of(self.id.as_str())]).is_some()
    }
}
