//! What `dedup_setup` does: the settings that are wanted, and the statements that lead there.

use crate::dedup::check_kept_by;
use crate::pg::{
    Argument, exists, query_all, quote_identifier, quote_literal, raise, raise_duplicate_column, scalar,
    schema,
};
use crate::table::{
    DecisionTable, Generated, Searched, Settings, Table, Written, as_jsonb, column_kept_by, has_doubled,
    literal, refuse_option, running, search_index, table_name,
};
use dedup_core::dedup::Method;
use dedup_core::details::Statistics;
use dedup_core::evaluate::ByRows;
use pgrx::{PgRelation, PgSqlErrorCode, pg_sys};
use serde_json::{Map, Value, json};

pub(super) struct Plan<'t> {
    pub table: &'t Table,
    pub before: Option<Settings>,
    /// What is asked for, now and before.
    pub asked: Written,
    pub columns: Vec<String>,
    /// The recipes of the columns: null is running text whose recipe is to be chosen.
    pub recipes: Vec<Value>,
    pub fp: String,
    /// Method, distance, similarity, n and details.
    pub chosen: Map<String, Value>,
    pub method: Method,
    pub distances: Option<ByRows>,
    pub statistics: Option<Statistics>,
    /// How many rows it was learned from.
    pub rows: Option<u64>,
    pub empty: bool,
    /// The extension's schema, quoted.
    pub tools: String,
}

/// What is done to a table's settings, with the rights of their owner.
pub(super) struct Change {
    /// The statement, before and after the name of the table of settings; $1 is the table.
    pub verb: &'static str,
    pub how: String,
    /// A comment of SQL.
    pub says: String,
}

impl Change {
    pub fn drop(table: &Table) -> Change {
        let says = format!("-- settings of {} dropped; its column and its indexes stay", table.name);
        let how = "AS s WHERE s.tbl::pg_catalog.oid OPERATOR(pg_catalog.=) $1".to_owned();
        Change { verb: "DELETE FROM", how, says }
    }
}

impl<'t> Plan<'t> {
    /// Nothing is chosen yet.
    pub fn of(table: &'t Table, before: Option<Settings>, asked: Written, fp: String) -> Plan<'t> {
        Plan {
            table,
            before,
            asked,
            columns: Vec::new(),
            recipes: Vec::new(),
            fp,
            chosen: Map::new(),
            method: Method::default(),
            distances: None,
            statistics: None,
            rows: None,
            empty: false,
            tools: schema(),
        }
    }

    pub fn compared(&self) -> Vec<&str> {
        running(&self.columns, &self.recipes)
    }

    pub fn expression(&self, recipes: &[Value]) -> String {
        let column = |name: &String| self.table.generated_text(name);
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        match (&columns[..], recipes) {
            // All arguments, typed: a function that somebody else made with fewer or others would be taken before ours.
            ([one], [Value::Null]) => format!("{}.simhash({one}, NULL::pg_catalog.jsonb)", self.tools),
            ([one], [weight @ Value::Object(_)]) => {
                format!("{}.simhash({one}, {}::pg_catalog.jsonb)", self.tools, literal(weight))
            }
            _ => {
                let recipes = literal(&Value::Array(recipes.to_vec()));
                format!("{}.simhash(ARRAY[{}], {recipes}::pg_catalog.jsonb)", self.tools, columns.join(", "))
            }
        }
    }

    /// The statements, in their order, and what becomes of the settings; none if nothing is to be done.
    pub fn steps(&self) -> (Vec<String>, Option<Change>) {
        let Table { oid, name, .. } = self.table;
        let found =
            Generated::of(*oid, &self.fp).filter(|_| Generated::made_otherwise(*oid, &self.fp).is_none());
        let wanted = Generated { columns: self.columns.clone(), recipes: self.recipes.clone() };
        let mut statements = Vec::new();
        let fp = quote_identifier(&self.fp);
        let is_made = self.method == Method::Hash || found.as_ref() == Some(&wanted);
        if !is_made {
            // Hashes are not dedup_setup's to drop.
            let made = |before: &&Settings| before.fit && before.method != Method::Hash;
            let old = self.before.as_ref().filter(made).map(|before| before.fp.as_str());
            if old != Some(self.fp.as_str()) && self.table.has_column(&self.fp) {
                raise_duplicate_column(
                    format!("table {name} has a column \"{}\" that dedup_setup has not made", self.fp),
                    "Drop it, or give the fingerprint another column: '{\"fp\": \"…\"}'. If it has hashes of something else: \
                     '{\"fp\": \"…\", \"method\": \"hash\"}'.",
                )
            }
            let drop = old.map(|old| {
                self.check_dependents(old);
                format!("DROP COLUMN {}, ", quote_identifier(old))
            });
            statements.push(format!(
                "ALTER TABLE {name} {}ADD COLUMN {fp} bigint GENERATED ALWAYS AS ({}) STORED",
                drop.unwrap_or_default(),
                self.expression(&self.recipes)
            ));
            statements.extend(self.index(true));
            if !self.empty && self.method == Method::Fingerprint {
                statements.push(format!("ANALYZE {name} ({fp})"));
            }
        } else {
            let index = self.index(false);
            let analyze = format!("ANALYZE {name} ({fp})");
            let analyze = (self.method == Method::Hash && !index.is_empty()).then_some(analyze);
            statements.extend(index.into_iter().chain(analyze));
        }
        let decisions = self
            .asked
            .text("decisions")
            .map(|name| DecisionTable::make(name, self.table, self.asked.text("id")));
        statements.extend(decisions.into_iter().flatten());
        statements.iter_mut().for_each(|statement| statement.push(';'));
        let is_new = !is_made || !self.is_as_before();
        (statements, is_new.then(|| self.insert()))
    }

    fn is_as_before(&self) -> bool {
        let Some(before) = &self.before else { return false };
        before.fit
            && before.asked() == *self.asked.map()
            && before.is_as_named()
            && before.chosen() == self.chosen
            && before.distances == self.distances
            && before.empty == self.empty
            && before.statistics.as_deref() == self.statistics.as_ref()
            && !before.rows.zip(self.rows).is_some_and(|(then, now)| has_doubled(then, now))
    }

    fn insert(&self) -> Change {
        const VERSION: &str = "SELECT pg_catalog.max(s.version)::pg_catalog.text \
            FROM {}.dedup_settings AS s WHERE s.tbl::pg_catalog.oid OPERATOR(pg_catalog.=) $1";
        let last = scalar(&VERSION.replace("{}", &self.tools), &[Argument::of(self.table.oid)]);
        let version = last.and_then(|last| last.parse::<i64>().ok()).unwrap_or(0) + 1;
        let mut columns = vec![
            ("tbl", "$1".to_owned()),
            ("version", version.to_string()),
            ("options", literal(&self.asked.json())),
            ("columns", quote_literal(array(&self.columns))),
            ("recipes", literal(&Value::Array(self.recipes.clone()))),
            ("fp", quote_literal(&self.fp)),
            ("method", quote_literal(self.method.name())),
            ("empty", self.empty.to_string()),
        ];
        let numbers = ["distance", "similarity", "n"].into_iter();
        columns.extend(numbers.filter_map(|name| Some((name, self.chosen.get(name)?.to_string()))));
        columns.extend(self.chosen.get("details").map(|kinds| ("details", literal(kinds))));
        columns.extend(self.asked.text("id").map(|id| ("id", quote_literal(id))));
        columns.extend(self.distances.as_ref().map(|distances| ("distances", literal(&json!(distances)))));
        columns.extend(self.statistics.as_ref().map(|it| ("statistics", quote_literal(it.write()))));
        columns.extend(self.rows.map(|rows| ("rows", rows.to_string())));
        columns.extend(self.asked.get("keep").map(|keep| ("keep", literal(keep))));
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        Change {
            verb: "INSERT INTO",
            how: format!("({names}) VALUES ({values})"),
            says: format!(
                "-- settings of {}, version {version}: {}",
                self.table.name,
                as_jsonb(&Value::Object(self.chosen.clone()))
            ),
        }
    }

    /// The statement that makes the index that is searched, unless it is there; that of a column that is made `anew` is not.
    fn index(&self, anew: bool) -> Vec<String> {
        let Table { oid, name, .. } = self.table;
        match self.method {
            Method::Fingerprint | Method::Hash => {
                let fp = quote_identifier(&self.fp);
                let create = || format!("CREATE INDEX ON {name} USING banding ({fp})");
                (anew || !self.has_index()).then(create).into_iter().collect()
            }
            Method::Exact => Vec::new(),
            Method::Text | Method::Records => {
                let texts = self.compared();
                let n = self.chosen.get("n").and_then(Value::as_u64).unwrap_or_default();
                let by = Searched::of(self.statistics.as_ref(), n as usize);
                // SAFETY: the table exists; it is closed again when it is dropped.
                let relation = unsafe { PgRelation::with_lock(*oid, pg_sys::AccessShareLock as i32) };
                if search_index(&relation, &texts, &by).is_some() {
                    return Vec::new();
                }
                // Another model may see other kinds of columns.
                let other = search_index(&relation, &texts, &Searched::AnyKeys)
                    .filter(|_| self.method == Method::Records);
                let drop = other.map(|other| format!("DROP INDEX {}", table_name(other)));
                let (of, tools) = (by.call(&self.tools, self.table, &texts), &self.tools);
                // A search reads all of a list of what is pending, which records have few keys to fill.
                let options = if self.method == Method::Records { " WITH (fastupdate = off)" } else { "" };
                let create = format!("CREATE INDEX ON {name} USING gin ({of} {tools}.ngram_ops){options}");
                drop.into_iter().chain([create]).collect()
            }
        }
    }

    fn has_index(&self) -> bool {
        let sql = format!("SELECT {OWN_INDEXES} AND i.indisvalid AND i.indrelid OPERATOR(pg_catalog.=) $1");
        exists(&sql, &[Argument::of(self.table.oid), Argument::of(self.fp.as_str())])
    }

    /// Refuses to drop a column of fingerprints on which something depends that is not made anew.
    fn check_dependents(&self, column: &str) {
        let sql = format!(
            "WITH RECURSIVE tree AS (SELECT $1 AS oid UNION \
                 SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN tree ON tree.oid OPERATOR(pg_catalog.=) i.inhparent) \
             SELECT DISTINCT CASE WHEN d.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_rewrite'::pg_catalog.regclass::pg_catalog.oid \
                 THEN (SELECT pg_catalog.pg_describe_object('pg_catalog.pg_class'::pg_catalog.regclass, r.ev_class, 0) \
                     FROM pg_catalog.pg_rewrite r WHERE r.oid OPERATOR(pg_catalog.=) d.objid) \
                 ELSE pg_catalog.pg_describe_object(d.classid, d.objid, d.objsubid) END \
             FROM tree JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) tree.oid \
             JOIN pg_catalog.pg_depend d ON d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid \
                 AND d.refobjid OPERATOR(pg_catalog.=) tree.oid AND d.refobjsubid OPERATOR(pg_catalog.=) a.attnum \
             WHERE a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
               AND d.classid OPERATOR(pg_catalog.<>) 'pg_catalog.pg_attrdef'::pg_catalog.regclass::pg_catalog.oid \
               AND NOT EXISTS (SELECT {OWN_INDEXES} AND i.indexrelid OPERATOR(pg_catalog.=) d.objid) \
             ORDER BY 1"
        );
        let arguments = [Argument::of(self.table.oid), Argument::of(column)];
        let found: Vec<String> =
            query_all(&sql, &arguments, |row| row.text(0)).into_iter().flatten().collect();
        if !found.is_empty() {
            raise(
                PgSqlErrorCode::ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST,
                format!(
                    "column \"{column}\" of table {} cannot be made anew because other objects depend on it: {}",
                    self.table.name,
                    found.join(", ")
                ),
                "Drop them first and create them again after dedup_setup, or give the new fingerprint another column beside \
                 the old one: dedup_setup with '{\"drop\": true}', then with '{\"fp\": \"…\"}'.",
            )
        }
    }
}

/// Refuses ids and an order of rows that cannot be, and a table whose ids are not told.
pub(super) fn check_others(table: &Table, asked: &Written, fp: &str) {
    let id = asked.text("id");
    if id.is_none() && table.key.len() > 1 {
        table.key_column();
    }
    if let Some(name) = id {
        if name == fp {
            refuse_option("fp", format!("fp must be a column of its own: \"{fp}\" is the id"))
        }
        table.column(name).check_id()
    }
    if let Some(name) = column_kept_by(asked) {
        check_kept_by(table.column(name))
    }
}

/// Adds what was asked for before, unless a null takes it back.
pub(super) fn remember(asked: &mut Written, before: Map<String, Value>) {
    for (name, value) in before {
        if !asked.is_null(&name) {
            asked.add(&name, value);
        }
    }
}

pub(super) fn table_rows(table: &Table) -> u64 {
    let sql = format!("SELECT pg_catalog.count(*)::pg_catalog.text FROM {}", table.name);
    scalar(&sql, &[]).and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The indexes that `dedup_setup` makes of the column $2, and nobody has given options.
const OWN_INDEXES: &str = "FROM pg_catalog.pg_index i \
    JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid \
    JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam AND m.amname OPERATOR(pg_catalog.=) 'banding' \
    JOIN pg_catalog.pg_attribute o ON o.attrelid OPERATOR(pg_catalog.=) i.indrelid \
        AND o.attnum OPERATOR(pg_catalog.=) i.indkey[0] \
    WHERE i.indnatts OPERATOR(pg_catalog.=) 1 AND o.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
      AND i.indpred IS NULL AND NOT i.indisexclusion AND c.reloptions IS NULL";

/// An array of names as PostgreSQL writes it.
fn array(names: &[String]) -> String {
    let element = |name: &String| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    format!("{{{}}}", names.iter().map(element).collect::<Vec<_>>().join(","))
}
