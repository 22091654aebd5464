//! A call of `dedup` of a table, as the functions that remove its rows and put them back write it.

use crate::pg::{
    base_type, base_type_name, equality, quote_identifier, quote_literal, raise_mismatch, schema,
};
use crate::table::Table;
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
    /// The call of `dedup_clean` that deletes, as a user writes it.
    pub(super) shown: String,
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
        let (returned, typed) = match base_type(id_type) {
            pg_sys::INT2OID | pg_sys::INT4OID | pg_sys::INT8OID => (pg_sys::INT8OID, String::new()),
            other => (other, format!(", options => NULL, id_type => NULL::{base}")),
        };
        let shown = format!("SELECT * FROM {tools}.dedup_clean({source}, dry_run => false{typed});");
        // Not dedup, of which anybody who may create functions beside it can make one that is taken instead.
        let dedup = format!(
            "{tools}._dedup({source}::pg_catalog.text) AS d(id {0}, keeper {0}, stage pg_catalog.text, \
             distance pg_catalog.int4, similarity pg_catalog.float8)",
            base_type_name(returned)
        );
        Call { table, id: quote_identifier(id), base, equals, dedup, shown }
    }
}
