//! The arguments of `dedup_into`.

use super::super::options::{Options, whole};
use super::super::shape::Shape;
use super::table::{State, Table};
use crate::pg::catalog::{array_type, equality, quoted};
use crate::pg::spi::{Argument, check_query, describe, execute, refuse_row_without_id, scalar};
use crate::pg::{Record, raise};
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};

/// Rows per transaction, unless option `batch` says otherwise.
const BATCH: u64 = 50_000;

pub(super) struct Job {
    pub options: Options,
    /// The query, to be put between parentheses.
    pub query: String,
    pub table: Table,
    /// The search path of the query.
    pub path: String,
    /// The first column of the query, quoted.
    pub id: String,
    /// The second one, quoted.
    pub content: String,
    /// The type of arrays of ids.
    pub ids_type: pg_sys::Oid,
    /// The equality operator of ids, with its schema.
    pub equals: String,
    /// The type of the result's ids, as SQL names it.
    id_type: String,
    /// Whether the result exists.
    found: bool,
    /// The options that determine the result, as JSON.
    decisive: String,
    batch: u64,
    /// Option `where`: a condition on the rows to take in.
    only: Option<String>,
}

/// The options that determine the result, with their defaults. They are stored with the result; the
/// others may change from call to call.
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
    /// Reads the arguments, and sets the search path of the result for the rest of
    /// the transaction.
    pub(super) fn read(result: Option<&str>, query: Option<&str>, options: Option<JsonB>) -> Job {
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
        let batch = match mine.get("batch").map(whole) {
            None => BATCH,
            Some(Some(batch @ 1..=1_000_000)) => batch,
            Some(_) => refuse("batch is not a whole number from 1 to 1000000"),
        };
        let only = match mine.remove("where") {
            None | Some(Value::Null) => None,
            Some(Value::String(condition)) => Some(condition),
            Some(_) => refuse("where is not a string"),
        };
        let query = query.trim().trim_end_matches(';').to_owned();
        let table = Table::called(result);
        let found = table.exists();
        let path = found.then(|| table.path()).flatten().unwrap_or_else(current_path);
        const SET: &str = "SELECT pg_catalog.set_config('search_path', $1, true)";
        execute(SET, &[Argument::of(path.as_str())]);
        check_query(&query);
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
        let scalar = columns[0].is_scalar();
        let ids_type = array_type(typoid).filter(|_| scalar);
        let (Some(equals), Some(ids_type)) = (equality(typoid).and_then(operator), ids_type) else {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!("column \"{}\" of type {} cannot be a key", columns[0].name, columns[0].type_name()),
                "Cast it to bigint, text, uuid or another type whose values can be compared.",
            )
        };
        let id_type = columns[0].type_name();
        let decisive = Value::Object(kept).to_string();
        Job {
            options,
            query,
            table,
            path,
            id,
            content,
            ids_type,
            equals,
            id_type,
            found,
            decisive,
            batch,
            only,
        }
    }

    /// Creates the tables if they do not exist.
    pub(super) fn make(&self) {
        if !self.found {
            self.table.make(&self.id_type, &self.state());
        }
    }

    /// Checks that the result is of this query and these options.
    pub(super) fn check(&self) {
        self.table.check(&self.id_type, &self.state());
    }

    /// As [`Job::check`], but a result without rows takes on this query and these options.
    pub(super) fn begin(&self) {
        if !self.table.adopt(&self.id_type, &self.state()) {
            self.check();
        }
    }

    fn state(&self) -> State<'_> {
        State { query: &self.query, options: &self.decisive, path: &self.path }
    }

    /// The query that lists the new rows in order, one batch per row.
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

    /// The ids of a batch, from a row of the listing.
    pub(super) fn ids(&self, todo: &Record) -> Option<Argument> {
        if todo.row().bigint("without_id")? > 0 {
            refuse_row_without_id()
        }
        todo.row().array("ids", self.ids_type)
    }
}

/// The search path of the session, with temporary tables last: one created later must not hide a
/// table that the query reads.
fn current_path() -> String {
    const SQL: &str = "SELECT pg_catalog.current_setting('search_path')";
    let path = scalar(SQL, &[]).unwrap_or_default();
    match path.as_str() {
        "" => "pg_temp".to_owned(),
        path if path.contains("pg_temp") => path.to_owned(),
        path => format!("{path}, pg_temp"),
    }
}

fn operator(oid: pg_sys::Oid) -> Option<String> {
    const SQL: &str = "SELECT pg_catalog.format('OPERATOR(%I.%s)', n.nspname, o.oprname) FROM pg_catalog.pg_operator o \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) o.oprnamespace \
         WHERE o.oid OPERATOR(pg_catalog.=) $1";
    scalar(SQL, &[Argument::of(oid)])
}
