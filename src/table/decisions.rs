//! Tables in which people decide of pairs of rows: columns `a` and `b`, the ids of two rows, and `same`.

use super::beside::{check_owner, check_plain, check_written};
use super::pairs::key;
use super::relation::{Table, table_named};
use crate::pg::{
    Argument, Values, as_role, as_text, base_type, base_type_name, equality, exists, for_each_of_query,
    hold_schemas, lock_relation, own_function, query_all, raise_mismatch, raise_no_table, raise_unsupported,
    scalar, schema, unwrap_or_raise,
};
use dedup_core::dedup::Decisions;
use pgrx::pg_sys;
use std::collections::HashMap;

pub(crate) struct DecisionTable(Table);

const COLUMNS: [&str; 3] = ["a", "b", "same"];
const HINT: &str = "dedup_setup(…, '{\"decisions\": true}') makes one.";

impl DecisionTable {
    /// The table of that name. Raises 42P01 if there is none, 42809 for another relation, behind which functions of others may
    /// be, 42703 and 42804 if it has not the columns.
    pub(crate) fn named(name: &str) -> DecisionTable {
        let Some(found) = table_named(name) else {
            raise_no_table(
                format!("there is no table of decisions {name}"),
                "dedup_setup(…, '{\"decisions\": true}') makes one; null takes the option back.",
            )
        };
        let table = Table::of(found);
        check_plain(&table, "decisions");
        let [a, b, same] = COLUMNS.map(|column| table.column(column).typoid);
        check_id(a);
        if same != pg_sys::BOOLOID || a != b {
            raise_mismatch(
                format!("columns a and b of table {} must be ids of one type, and same boolean", table.name),
                HINT,
            )
        }
        DecisionTable(table)
    }

    /// The table of that name, which the settings of a table name.
    /// Raises as [`DecisionTable::named`], 42501 if it is not of the table's owner or a superuser, 42804 if its ids are of another type.
    pub(crate) fn of_settings(name: &str, table: pg_sys::Oid) -> DecisionTable {
        let (found, table) = (DecisionTable::named(name), Table::of(table));
        found.check(&table, table.id(None));
        found
    }

    /// The same, which stays what it is to the end of the transaction, whoever waits for whom, and may be written.
    /// Raises as [`DecisionTable::of_settings`], 55000 if code of other roles would run.
    pub(crate) fn to_write(name: &str, table: pg_sys::Oid) -> Table {
        let DecisionTable(found) = DecisionTable::of_settings(name, table);
        // No trigger is made meanwhile.
        lock_relation(found.oid, pg_sys::RowExclusiveLock);
        hold_schemas(found.oid);
        check_written(&found, own_function("dedup_decide", &[]));
        found
    }

    pub(crate) fn name(&self) -> &str {
        &self.0.name
    }

    fn check(&self, table: &Table, id: &str) {
        check_owner(&self.0, table, "decisions");
        let [ids, own] = [self.0.column("a"), table.column(id)];
        if ids.base_type() != own.base_type() {
            raise_mismatch(
                format!(
                    "columns a and b of table {} are {}, the ids of {} are {}",
                    self.0.name,
                    ids.type_name(),
                    table.name,
                    own.type_name()
                ),
                "ALTER TABLE … ALTER a TYPE …, ALTER b TYPE … gives them the type of the ids.",
            )
        }
    }

    /// The statements that make it for a table; none if it is there. Raises as [`DecisionTable::named`].
    pub(crate) fn make(name: &str, of: &Table, id: Option<&str>) -> Vec<String> {
        let column = of.id(id);
        let id = of.column(column).typoid;
        check_id(id);
        let trigger = format!(
            "CREATE TRIGGER dedup_decide BEFORE INSERT OR UPDATE ON {name} FOR EACH ROW EXECUTE FUNCTION {}.dedup_decide()",
            schema()
        );
        if table_named(name).is_some() {
            let found = DecisionTable::named(name);
            found.check(of, column);
            return if found.has_trigger() { Vec::new() } else { vec![trigger] };
        }
        let id = base_type_name(id);
        vec![
            format!(
                "CREATE TABLE {name} (a {id} NOT NULL, b {id} NOT NULL, same boolean NOT NULL, \
                 decided_by pg_catalog.name NOT NULL DEFAULT current_user, \
                 decided_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), note pg_catalog.text, PRIMARY KEY (a, b))"
            ),
            format!("CREATE INDEX ON {name} (b)"),
            trigger,
        ]
    }

    fn has_trigger(&self) -> bool {
        const TRIGGER: &str = "SELECT FROM pg_catalog.pg_trigger t \
             WHERE t.tgrelid OPERATOR(pg_catalog.=) $1 AND t.tgfoid OPERATOR(pg_catalog.=) $2";
        let function = own_function("dedup_decide", &[]);
        exists(TRIGGER, &[self.0.oid, function].map(Argument::of))
    }

    pub(crate) fn all(&self) -> Decisions {
        let mut decisions = Decisions::default();
        let typoid = self.0.column("a").base_type();
        // Which of them dedup_clean and dedup_undo have written.
        let implied = self.0.find("note").map_or("false".to_owned(), |note| {
            let note = as_text("d.note", note.typoid);
            format!(
                "({note}) COLLATE pg_catalog.\"C\" OPERATOR(pg_catalog.=) ANY ('{{dedup_clean,dedup_undo}}')"
            )
        });
        let sql = format!("SELECT d.a, d.b, d.same, {implied} FROM {} AS d", self.0.name);
        for_each_of_query(&sql, &[], |_| {
            |row: &Values<'_>| {
                if let (Some(a), Some(b), Some(_)) = (key(row, 0, typoid), key(row, 1, typoid), row.get(2))
                    && a != b
                {
                    unwrap_or_raise(decisions.add([a, b], row.is(2), !row.is(3)));
                }
            }
        });
        decisions
    }

    /// A text that is another one when other things are decided; `None`: nothing is.
    pub(crate) fn digest(&self) -> Option<String> {
        let [a, b] = ["d.a", "d.b"].map(|column| as_text(column, self.0.column("a").typoid));
        let sql = format!(
            "SELECT pg_catalog.count(*)::pg_catalog.text OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) pg_catalog.sum(\
                 pg_catalog.hash_record_extended(ROW(({a}) COLLATE pg_catalog.\"C\", ({b}) COLLATE pg_catalog.\"C\", d.same), 0)\
                 ::pg_catalog.numeric)::pg_catalog.text FROM {} AS d",
            self.0.name
        );
        scalar(&sql, &[])
    }

    /// The ids of which it follows that their rows and that of `own` are the same (true) or not.
    pub(crate) fn of_row(&self, own: &str) -> HashMap<String, bool> {
        let typoid = self.0.column("a").typoid;
        let (base, equals) = (base_type_name(typoid), equality(typoid).unwrap_or_default());
        let name = &self.0.name;
        let sql = format!(
            "WITH RECURSIVE o(id, same) AS (SELECT $1::{base}, true UNION \
                 SELECT CASE WHEN d.a::{base} {equals} o.id THEN d.b::{base} ELSE d.a::{base} END, o.same AND d.same \
                 FROM o JOIN {name} AS d ON (d.a::{base} {equals} o.id OR d.b::{base} {equals} o.id) AND (o.same OR d.same)) \
             SELECT o.id, o.same FROM o"
        );
        let typoid = self.0.column("a").base_type();
        let read = |row: &Values<'_>| Some((key(row, 0, typoid)?, row.get(1)?.value() != 0));
        query_all(&sql, &[Argument::of(own)], read).into_iter().flatten().collect()
    }

    /// As [`DecisionTable::of_row`], with the rights of the table's owner: a guard sees more than who writes.
    pub(crate) fn of_row_for_all(&self, own: &str) -> HashMap<String, bool> {
        // Nothing runs but operators of the type of the ids, which was checked: it is a table, and stays one to the end of the
        // transaction.
        as_role(self.0.owner(), || self.of_row(own))
    }
}

/// Ids are compared as they are written: of types that write what is equal in one way, whatever a session sets.
fn check_id(typoid: pg_sys::Oid) {
    use pg_sys::{BPCHAROID, INT2OID, INT4OID, INT8OID, NUMERICOID, TEXTOID, UUIDOID, VARCHAROID};
    let base = base_type(typoid);
    let is_known = matches!(base, INT2OID | INT4OID | INT8OID | NUMERICOID)
        || matches!(base, UUIDOID | TEXTOID | VARCHAROID | BPCHAROID);
    // SAFETY: any oid is answered.
    if !(is_known || unsafe { pg_sys::type_is_enum(typoid) }) || equality(typoid).is_none() {
        let name = base_type_name(typoid);
        raise_unsupported(
            format!("decisions cannot be of rows whose ids are {name}"),
            "Ids are whole numbers, numeric, uuid, text or an enum.",
        )
    }
}
