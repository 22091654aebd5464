//! The key of a row, for messages and logs.

use crate::pg::{
    Argument, Row, ancestors, execute, has_row_security, may_read, quote_literal, quote_qualified_identifier,
    trigger::Call,
};
use pgrx::{PgRelation, pg_sys};

pub(super) struct Key {
    /// The key's columns; of a table without a primary key `ctid`, of a partition `tableoid` as well.
    columns: Vec<String>,
    values: Vec<String>,
    /// Whether the user may see them, and the distance.
    pub(super) visible: bool,
}

impl Key {
    /// The key of a row of `relation`, stored at `tid` unless it has no place yet.
    ///
    /// # Safety
    /// The relation is open; the row is one of it.
    pub(super) unsafe fn of(relation: pg_sys::Relation, row: &Row, tid: pg_sys::ItemPointerData) -> Key {
        // SAFETY: the caller's promise; the list of indexes, once read, has filled in which one is the primary key.
        unsafe {
            pg_sys::list_free(pg_sys::RelationGetIndexList(relation));
            let primary = (*relation).rd_pkindex;
            let mut columns = Vec::new();
            if primary != pg_sys::InvalidOid {
                let index = PgRelation::with_lock(primary, pg_sys::AccessShareLock as i32);
                let form = &*(*index.as_ptr()).rd_index;
                let numbers = form.indkey.values.as_slice(form.indnkeyatts as usize);
                let name = |number: &i16| row.name_of(*number as usize).unwrap_or_default();
                columns = numbers.iter().map(name).collect();
            }
            let mut values: Vec<String> =
                columns.iter().map(|column| row.text(column).unwrap_or_else(|| "null".into())).collect();
            let is_partition = (*(*relation).rd_rel).relispartition;
            if columns.is_empty() {
                if is_partition {
                    columns.push("tableoid".into());
                    values.push(PgRelation::from_pg(relation).name().to_owned());
                }
                columns.push("ctid".into());
                let block = u32::from(tid.ip_blkid.bi_hi) << 16 | u32::from(tid.ip_blkid.bi_lo);
                values.push(format!("({block},{})", tid.ip_posid));
            }
            Key { columns, values, visible: may_read_all((*relation).rd_id, is_partition) }
        }
    }

    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|it| it == column)
    }

    /// The value as it is stored elsewhere: that of the one column, or of all in parentheses.
    pub(super) fn value(&self) -> String {
        match self.values.as_slice() {
            [value] => value.clone(),
            values => format!("({})", values.join(",")),
        }
    }

    /// As PostgreSQL writes keys in messages; `None` if the user may not read the table.
    pub(super) fn shown(&self) -> Option<String> {
        self.visible.then(|| format!("({})=({})", self.columns.join(", "), self.values.join(", ")))
    }
}

/// Whether the user may read every row of the table, directly or through a table that it is a partition of.
fn may_read_all(table: pg_sys::Oid, is_partition: bool) -> bool {
    let readable = |table| may_read(table) && !has_row_security(table);
    readable(table) || is_partition && ancestors(table).into_iter().any(readable)
}

pub(super) fn key_of(call: &Call) -> Key {
    // SAFETY: the row is one of the relation.
    unsafe { Key::of(call.relation(), &call.row(), (*call.new_tuple()).t_self) }
}

/// Writes a pair into a log table: `duplicate`, `original`, `distance`, `logged_at`. A name without a schema means the schema
/// of the guarded table, whatever the search path. If a role may read the log but not the table, the row is logged as its own
/// original. The values are arguments of the statement, because errors show the text of a statement.
pub(super) fn log_pair(call: &Call, table: &str, duplicate: &Key, original: &Key, distance: u32) {
    // SAFETY: the relation is open, and not closed here.
    let own = unsafe { PgRelation::from_pg(call.relation()) };
    let (schema, name) = table.split_once('.').unwrap_or_else(|| (own.namespace(), table));
    let log = quote_qualified_identifier(schema, name);
    let named = if original.visible {
        "true".to_owned()
    } else {
        format!("NOT pg_catalog.has_any_column_privilege({}, 'SELECT')", quote_literal(&log))
    };
    execute(
        &format!(
            "INSERT INTO {log} (duplicate, original, distance, logged_at) \
             SELECT pair.duplicate, pair.original, CASE WHEN named THEN $3 ELSE 0 END, pg_catalog.clock_timestamp() \
             FROM (SELECT {named} AS named) asked, \
             LATERAL pg_catalog.jsonb_populate_record(NULL::{log}, pg_catalog.jsonb_build_object(\
             'duplicate', $1, 'original', CASE WHEN named THEN $2 ELSE $1 END)) pair"
        ),
        &[Argument::of(duplicate.value()), Argument::of(original.value()), Argument::of(distance as i32)],
    );
}
