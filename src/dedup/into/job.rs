//! What a call of `dedup_into` is to do.

use super::super::options::Options;
use super::super::shape::Shape;
use super::table::Table;
use crate::pg::Record;
use crate::pg::statement::{Argument, array_type, describe, equality};
use crate::pg::{raise, read, text};
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};

/// Rows taken in by one transaction, unless an option says otherwise.
const BATCH: u64 = 50_000;

pub(super) struct Job {
    pub options: Options,
    /// The query, to be put between parentheses.
    pub query: String,
    pub table: Table,
    /// The first column of the query, quoted.
    pub id: String,
    /// The second one, quoted.
    pub content: String,
    /// The type of arrays of ids.
    pub ids_type: pg_sys::Oid,
    /// How ids are compared: an operator with its schema.
    pub equals: String,
    batch: u64,
    /// A condition on the rows of the query that are looked at.
    only: Option<String>,
}

/// The options that decide the result, with what they are if they are not
/// given. They are kept with the result; the others may change from call to call.
fn decisive() -> Map<String, Value> {
    let defaults = json!({"exact": "text", "distance": 10, "similarity": 0.5, "n": 2, "particulars": null, "weights": null, "fp": null,
        "group": "components", "keep": "first"});
    defaults.as_object().cloned().unwrap_or_default()
}

const HINT: &str = "Options are those of dedup (exact, distance, similarity, n, particulars, weights, fp, group, keep, progress), \
                    batch (1 to 1000000 rows a transaction), and where (a condition on the query's columns that \
                    the rows to take in fulfil).";

fn refuse(what: impl std::fmt::Display) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        format!("invalid options of dedup_into: {what}"),
        HINT,
    )
}

impl Job {
    /// Reads the arguments, and makes the tables if there are none.
    pub(super) fn start(result: Option<&str>, query: Option<&str>, options: Option<JsonB>) -> Job {
        let (Some(result), Some(query)) = (result, query) else {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "the name of the result and the query must not be null",
                "CALL dedup_into('petition_groups', 'SELECT id, body FROM petition');",
            )
        };
        let written = match options.map_or_else(|| Value::Object(Map::new()), |options| options.0) {
            Value::Object(written) => written,
            _ => refuse("not an object"),
        };
        let mut kept = decisive();
        let mut mine = Map::new();
        for (key, value) in written {
            match key.as_str() {
                "batch" | "where" | "progress" => {
                    mine.insert(key, value);
                }
                _ if kept.contains_key(&key) => {
                    kept.insert(key, value);
                }
                _ => refuse(format!("unknown option \"{key}\"")),
            }
        }
        let mut all = kept.clone();
        all.extend(mine.remove_entry("progress"));
        let options = Options::read(Some(Value::Object(all)));
        let batch = match mine.get("batch").map(Value::as_u64) {
            None => BATCH,
            Some(Some(batch @ 1..=1_000_000)) => batch,
            Some(_) => refuse("batch is not a number from 1 to 1000000"),
        };
        let only = match mine.remove("where") {
            None | Some(Value::Null) => None,
            Some(Value::String(condition)) => Some(condition),
            Some(_) => refuse("where is not a string"),
        };
        let query = query.trim().trim_end_matches(';').to_owned();
        let columns = describe(&format!("SELECT * FROM ({query}\n) AS q"));
        Shape::of(&columns, &options);
        let (id, content) = (quoted(&columns[0].name), quoted(&columns[1].name));
        for column in &columns[..2] {
            if columns.iter().filter(|other| other.name == column.name).count() > 1 {
                raise(
                    PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN,
                    format!("the query returns more than one column \"{}\"", column.name),
                    "The id and the content are read by name: give them names of their own.",
                )
            }
        }
        let typoid = columns[0].typoid;
        let (Some(equals), Some(ids_type)) = (equality(typoid).and_then(operator), array_type(typoid)) else {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!("column \"{}\" of type {} cannot be a key", columns[0].name, columns[0].type_name()),
                "Cast it to bigint, text, uuid or another type whose values can be compared.",
            )
        };
        let table = Table::find_or_make(result, &columns[0], &query, Value::Object(kept));
        Job { options, query, table, id, content, ids_type, equals, batch, only }
    }

    /// The query that lists the new rows in order, a batch a row.
    pub(super) fn listing(&self) -> String {
        let Job { query, id, equals, batch, .. } = self;
        let only = self.only.as_ref().map_or(String::new(), |only| format!("WHERE ({only}\n)"));
        format!(
            "SELECT pg_catalog.array_agg(b.id ORDER BY b.n) AS ids, pg_catalog.max(b.total) AS total, \
                    pg_catalog.max(b.without_id) AS without_id \
             FROM (SELECT l.id, l.n, pg_catalog.count(*) OVER () AS total, \
                     pg_catalog.count(*) FILTER (WHERE l.id IS NULL) OVER () AS without_id, \
                     (pg_catalog.row_number() OVER (ORDER BY l.n) OPERATOR(pg_catalog.-) 1) \
                         OPERATOR(pg_catalog./) {batch} AS batch \
                   FROM (SELECT q.{id} AS id, pg_catalog.row_number() OVER () AS n FROM ({query}\n) AS q {only}) AS l \
                   WHERE NOT EXISTS (SELECT FROM {} AS t WHERE t.id {equals} l.id)) AS b \
             GROUP BY b.batch ORDER BY b.batch",
            self.table.name
        )
    }

    /// The ids of a batch out of a row of the listing.
    pub(super) fn ids(&self, todo: &Record) -> Option<Argument> {
        if todo.row().bigint("without_id")? > 0 {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "the query returned a row without an id",
                "Leave such rows out: WHERE id IS NOT NULL.",
            )
        }
        todo.row().array("ids", self.ids_type)
    }
}

fn operator(oid: pg_sys::Oid) -> Option<String> {
    const SQL: &str = "SELECT pg_catalog.format('OPERATOR(%I.%s)', n.nspname, o.oprname) FROM pg_catalog.pg_operator o \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) o.oprnamespace \
         WHERE o.oid OPERATOR(pg_catalog.=) $1::pg_catalog.oid";
    read(SQL, &[&oid.to_u32().to_string()]).into_iter().flatten().flatten().next().map(text)
}

/// A name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
