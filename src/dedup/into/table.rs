//! The result and the two tables beside it: they belong to whoever calls, and
//! are ordinary tables to everybody and to pg_dump.

use super::job::quoted;
use crate::pg::rows::Column;
use crate::pg::statement::{Argument, execute, object_name};
use crate::pg::{raise, read, schema, text};
use pgrx::prelude::*;
use serde_json::Value;

pub(super) struct Table {
    /// The result, with its schema, quoted; and the tables beside it.
    pub name: String,
    pub merges: String,
    pub state: String,
    /// The extension's schema, quoted.
    pub tools: String,
    bare: String,
}

/// The columns of the result, as `create` makes them.
const COLUMNS: &str = "id cluster keeper stage distance similarity arrival same_as rank fp hash";
const STATE: &str = "result query options arrivals";

impl Table {
    /// Finds the result of this query and these options, or makes an empty one.
    pub(super) fn find_or_make(result: &str, id: &Column, query: &str, options: Value) -> Table {
        let table = Table::called(result);
        let options = options.to_string();
        match table.relation(&table.name) {
            Some(found) => table.check(&found, id, query, &options),
            None => table.make(id, query, &options),
        }
        table
    }

    fn called(result: &str) -> Table {
        const PARTS: &str = "SELECT p FROM pg_catalog.unnest(pg_catalog.parse_ident($1)) WITH ORDINALITY AS u(p, n) \
                             ORDER BY n";
        let mut parts: Vec<String> =
            read(PARTS, &[result]).into_iter().flatten().flatten().map(text).collect();
        let bare = parts.pop().unwrap_or_default();
        if bare.len() > 63 || parts.len() > 1 {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_NAME,
                format!("invalid name of a table: \"{result}\""),
                "Give a name of at most 63 bytes, with or without a schema.",
            )
        }
        let schema_of = |sql: &str, arguments: &[&str]| {
            read(sql, arguments).into_iter().flatten().flatten().next().map(text)
        };
        let found = parts.pop().or_else(|| {
            const WHERE: &str =
                "SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n \
                 ON n.oid OPERATOR(pg_catalog.=) c.relnamespace \
                 WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid";
            schema_of(WHERE, &[&quoted(&bare)])
                .or_else(|| schema_of("SELECT pg_catalog.current_schema()::pg_catalog.text", &[]))
        });
        let Some(found) = found else {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_SCHEMA_NAME,
                format!("no schema has been selected to create \"{bare}\" in"),
                "Give the name with a schema.",
            )
        };
        let named = |name: &str| format!("{}.{}", quoted(&found), quoted(name));
        Table {
            name: named(&bare),
            merges: named(&object_name(&bare, "merges")),
            state: named(&object_name(&bare, "state")),
            tools: schema(),
            bare,
        }
    }

    /// What the catalogue says of a relation: its kind, whether the caller owns
    /// it, the type of its id, its columns.
    fn relation(&self, name: &str) -> Option<[Option<String>; 4]> {
        const SQL: &str = "SELECT c.relkind::pg_catalog.text, pg_catalog.pg_has_role(c.relowner, 'USAGE')::pg_catalog.text, \
                 pg_catalog.max(CASE a.attname WHEN 'id' THEN pg_catalog.format_type(a.atttypid, NULL) END), \
                 pg_catalog.string_agg(a.attname::pg_catalog.text, ' ' ORDER BY a.attnum) \
             FROM pg_catalog.pg_class c LEFT JOIN pg_catalog.pg_attribute a \
                 ON a.attrelid OPERATOR(pg_catalog.=) c.oid AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped \
             WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid \
             GROUP BY c.oid, c.relkind, c.relowner";
        let row = read(SQL, &[name]).pop()?;
        let mut cells = row.into_iter().map(|cell| cell.map(text));
        Some(std::array::from_fn(|_| cells.next().flatten()))
    }

    fn check(&self, found: &[Option<String>; 4], id: &Column, query: &str, options: &str) {
        let [kind, own, id_type, columns] = found.each_ref().map(Option::as_deref);
        let begins_with = |columns: Option<&str>, wanted: &str| {
            columns.is_some_and(|columns| columns == wanted || columns.starts_with(&format!("{wanted} ")))
        };
        let state = self.relation(&self.state);
        let state_columns = state.as_ref().and_then(|state| state[3].as_deref());
        if kind != Some("r") || !begins_with(columns, COLUMNS) || !begins_with(state_columns, STATE) {
            self.refuse_foreign()
        }
        if own != Some("true") || state.as_ref().and_then(|state| state[1].as_deref()) != Some("true") {
            raise(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("must be owner of table {}", self.bare),
                "A result is kept up to date by its owner.",
            )
        }
        let kept = format!(
            "SELECT s.query, s.options::pg_catalog.text, \
                    (s.options OPERATOR(pg_catalog.=) $2::pg_catalog.jsonb)::pg_catalog.text \
             FROM {} AS s WHERE s.result::pg_catalog.oid OPERATOR(pg_catalog.=) $1::pg_catalog.regclass::pg_catalog.oid",
            self.state
        );
        let Some(row) = read(&kept, &[&self.name, options]).pop() else { self.refuse_foreign() };
        let mut cells = row.into_iter().map(|cell| cell.map(text).unwrap_or_default());
        let (kept_query, kept_options) = (cells.next().unwrap_or_default(), cells.next().unwrap_or_default());
        const REBUILD: &str =
            "For another result give another name, or drop this one with its tables _merges and _state.";
        let id_type_now = id.type_name();
        if kept_query != query {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("table \"{}\" is the result of another query: {kept_query}", self.bare),
                format!(
                    "Call dedup_into with that query; option where limits the rows that it looks at. {REBUILD}"
                ),
            )
        }
        if cells.next().as_deref() != Some("true") {
            raise(
                PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("table \"{}\" is the result of other options: {kept_options}", self.bare),
                format!("Call dedup_into with those; batch, where and progress may change. {REBUILD}"),
            )
        }
        if id_type != Some(id_type_now.as_str()) {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!(
                    "the ids of table \"{}\" are {}, those of the query {id_type_now}",
                    self.bare,
                    id_type.unwrap_or_default()
                ),
                REBUILD,
            )
        }
    }

    fn refuse_foreign(&self) -> ! {
        raise(
            PgSqlErrorCode::ERRCODE_DUPLICATE_TABLE,
            format!("relation \"{}\" already exists and is not a result of dedup_into", self.bare),
            "Give the result another name. A result consists of three tables: itself, _merges and _state.",
        )
    }

    fn make(&self, id: &Column, query: &str, options: &str) {
        for beside in [&self.merges, &self.state] {
            if self.relation(beside).is_some() {
                raise(
                    PgSqlErrorCode::ERRCODE_DUPLICATE_TABLE,
                    format!("relation {beside} already exists, and the result {} does not", self.name),
                    "If it is left of an earlier result, drop it; else give the result another name.",
                )
            }
        }
        let Table { name, merges, state, .. } = self;
        let id = id.type_name();
        for sql in [
            format!(
                "CREATE TABLE {name} (id {id} PRIMARY KEY, cluster pg_catalog.int8 NOT NULL, keeper {id} NOT NULL, \
                 stage pg_catalog.text NOT NULL, distance pg_catalog.int4, similarity pg_catalog.float8, \
                 arrival pg_catalog.int8 NOT NULL UNIQUE, same_as pg_catalog.int8, \
                 rank pg_catalog.int8 NOT NULL, fp pg_catalog.int8, hash pg_catalog.uuid)"
            ),
            format!("CREATE INDEX ON {name} (cluster)"),
            format!("CREATE INDEX ON {name} (hash) WHERE same_as IS NULL"),
            format!(
                "CREATE TABLE {merges} (merge pg_catalog.int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, \
                 merged_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now(), kept pg_catalog.int8 NOT NULL, \
                 absorbed pg_catalog.int8 NOT NULL, a {id} NOT NULL, b {id} NOT NULL, \
                 distance pg_catalog.int4 NOT NULL, similarity pg_catalog.float8)"
            ),
            format!(
                "CREATE TABLE {state} (result pg_catalog.regclass PRIMARY KEY, query pg_catalog.text NOT NULL, \
                 options pg_catalog.jsonb NOT NULL, arrivals pg_catalog.int8 NOT NULL)"
            ),
            format!("COMMENT ON TABLE {name} IS 'result of dedup_into: clusters of near-duplicate rows'"),
            format!(
                "COMMENT ON TABLE {merges} IS 'merges of the clusters of a result of dedup_into, in their order'"
            ),
            format!("COMMENT ON TABLE {state} IS 'query and options of a result of dedup_into'"),
        ] {
            execute(&sql, &[]);
        }
        let first =
            format!("INSERT INTO {state} VALUES ($1::pg_catalog.regclass, $2, $3::pg_catalog.jsonb, 0)");
        execute(&first, &[Argument::of(name.as_str()), Argument::of(query), Argument::of(options)]);
    }

    /// Lets readers in and everybody else wait.
    pub(super) fn lock(&self) -> String {
        format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", self.name)
    }

    /// How many rows have ever arrived: the number of the last one.
    pub(super) fn arrivals(&self) -> i64 {
        let sql = format!("SELECT s.arrivals::pg_catalog.text FROM {} AS s", self.state);
        let row = read(&sql, &[]).into_iter().flatten().flatten().next().map(text);
        row.and_then(|number| number.parse().ok()).unwrap_or_else(|| self.refuse_foreign())
    }

    /// Whether there is an index to search fingerprints with.
    pub(super) fn has_search_index(&self) -> bool {
        const SQL: &str = "SELECT 'yes'::pg_catalog.text FROM pg_catalog.pg_index i \
             JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid \
             JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam \
             WHERE i.indrelid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid \
               AND i.indisvalid AND m.amname OPERATOR(pg_catalog.=) 'banding'";
        !read(SQL, &[&self.name]).is_empty()
    }

    /// Made when a first load is over: it is faster to build than to fill.
    pub(super) fn make_search_index(&self) {
        if !self.has_search_index() {
            execute(&format!("CREATE INDEX ON {} USING banding (fp) WHERE same_as IS NULL", self.name), &[]);
        }
    }
}
