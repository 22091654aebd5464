//! Tables that stand beside another one and are written and obeyed for it: whose they are, and what must not be behind them.

use super::relation::{Table, table_name};
use crate::pg::catalog::{FOREIGN, object_name};
use crate::pg::spi::{Argument, query_all, query_catalogue, scalar};
use crate::pg::{Values, raise};
use pgrx::spi::quote_qualified_identifier;
use pgrx::{PgSqlErrorCode, pg_sys};

/// Refuses what is not a table all of whose rows are seen or none.
///
/// # Errors
/// Raises 42809.
pub(crate) fn check_plain(table: &Table, what: &str) {
    if !table.is_plain() {
        raise(
            PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
            format!("{what} {} is not a plain table", table.name),
            "It has no partitions and no row-level security: whoever uses it must see all of it.",
        )
    }
}

/// Refuses a table that is neither of the other one's owner nor of a superuser.
///
/// # Errors
/// Raises 42501.
pub(crate) fn check_owner(table: &Table, of: &Table, what: &str) {
    // SAFETY: any oid is answered.
    if table.owner() != of.owner() && !unsafe { pg_sys::superuser_arg(table.owner()) } {
        raise(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!(
                "{what} {} belongs neither to the owner of table {} nor to a superuser",
                table.name, of.name
            ),
            "What somebody else writes must not delete rows or bring some: ALTER TABLE … OWNER TO, or name another table.",
        )
    }
}

/// Refuses a table that the caller must not write, for code of other roles would run.
///
/// # Errors
/// Raises 55000.
pub(crate) fn check_written(table: &Table) {
    let sql =
        format!("SELECT {} FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) $1", hindrance());
    let found = query_catalogue(&sql, &[Argument::of(table.oid)], |row| row.text(0));
    if let Some(hindrance) = found.into_iter().flatten().next() {
        raise(
            PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
            format!("table {} has {hindrance}", table.name),
            "Take that away, or name another table.",
        )
    }
}

/// What a table must not have that is written for a caller. An expression of SQL on `c`, a row of `pg_class`; NULL: nothing.
pub(crate) fn hindrance() -> String {
    format!(
        "CASE WHEN EXISTS (SELECT FROM pg_catalog.pg_rewrite r WHERE r.ev_class OPERATOR(pg_catalog.=) c.oid) \
                 THEN 'rules' \
             WHEN EXISTS (SELECT FROM pg_catalog.pg_inherits i \
                     WHERE c.oid OPERATOR(pg_catalog.=) ANY (ARRAY[i.inhparent, i.inhrelid])) THEN 'inheritance' \
             WHEN EXISTS (SELECT FROM pg_catalog.pg_attribute a \
                     JOIN pg_catalog.pg_type d ON d.oid OPERATOR(pg_catalog.=) a.atttypid \
                     WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 \
                       AND d.typtype OPERATOR(pg_catalog.=) 'd') THEN 'a column of a domain' \
             WHEN c.relrowsecurity AND c.relforcerowsecurity THEN 'row-level security that binds its owner' \
             WHEN EXISTS (SELECT FROM pg_catalog.pg_trigger t \
                     JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) t.tgfoid \
                     JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) p.proowner \
                     WHERE t.tgrelid OPERATOR(pg_catalog.=) c.oid AND NOT t.tgisinternal \
                       AND {FOREIGN}) THEN 'a trigger of another role' \
             WHEN EXISTS (SELECT FROM (\
                     SELECT 'pg_catalog.pg_constraint'::pg_catalog.regclass::pg_catalog.oid AS class, k.oid AS object \
                       FROM pg_catalog.pg_constraint k WHERE k.conrelid OPERATOR(pg_catalog.=) c.oid \
                     UNION ALL SELECT 'pg_catalog.pg_attrdef'::pg_catalog.regclass::pg_catalog.oid, f.oid \
                       FROM pg_catalog.pg_attrdef f WHERE f.adrelid OPERATOR(pg_catalog.=) c.oid \
                     UNION ALL SELECT c.tableoid, i.indexrelid \
                       FROM pg_catalog.pg_index i WHERE i.indrelid OPERATOR(pg_catalog.=) c.oid \
                     UNION ALL SELECT c.tableoid, c.oid) e \
                     JOIN pg_catalog.pg_depend d ON d.classid OPERATOR(pg_catalog.=) e.class \
                       AND d.objid OPERATOR(pg_catalog.=) e.object \
                     JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) d.refobjid \
                       AND p.tableoid OPERATOR(pg_catalog.=) d.refclassid \
                     JOIN pg_catalog.pg_roles o ON o.oid OPERATOR(pg_catalog.=) p.proowner \
                     WHERE {FOREIGN}) \
                 THEN 'an expression with a function of another role' END"
    )
}

/// The whole name of a table beside another: `given`, or that of its own. What is not there is beside it, if no schema is named.
pub(crate) fn name_beside(table: &Table, given: Option<&str>, label: &str) -> String {
    const NAME: &str = "SELECT n.nspname::pg_catalog.text, c.relname::pg_catalog.text FROM pg_catalog.pg_class c \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace WHERE c.oid OPERATOR(pg_catalog.=) $1";
    const PARTS: &str =
        "SELECT p FROM pg_catalog.unnest(pg_catalog.parse_ident($1)) WITH ORDINALITY AS u(p, n) ORDER BY n";
    if let Some(there) = given.and_then(table_named) {
        return table_name(there);
    }
    let read = |row: &Values<'_>| (row.text(0).unwrap_or_default(), row.text(1).unwrap_or_default());
    let (schema, own) = query_all(NAME, &[Argument::of(table.oid)], read).pop().unwrap_or_default();
    let Some(given) = given else {
        return quote_qualified_identifier(schema, object_name(&own, label));
    };
    let parts = query_all(PARTS, &[Argument::of(given)], |row| row.text(0).unwrap_or_default());
    match &parts[..] {
        [name] => quote_qualified_identifier(&schema, name),
        _ => given.to_owned(),
    }
}

/// The number of the relation of a name.
pub(crate) fn table_named(name: &str) -> Option<pg_sys::Oid> {
    let oid = "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid::pg_catalog.text";
    scalar(oid, &[Argument::of(name)])?.parse().ok().map(pg_sys::Oid::from_u32)
}
