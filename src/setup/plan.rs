//! What `dedup_setup` does: the settings that are wanted, and the statements
//! that lead there.

use super::Change;
use super::choose::{Choice, choose};
use super::options::{Asked, refuse};
use crate::corpus::{Database, raise_recipe};
use crate::pg::catalog::schema;
use crate::pg::raise;
use crate::pg::spi::{Argument, query_all, scalar};
use crate::table::{Generated, Settings, Table, joined, ngram_index};
use dedup_core::dedup::Method;
use dedup_core::features::{RowRecipe, TextRecipe};
use pgrx::spi::{quote_identifier, quote_literal};
use pgrx::{PgRelation, PgSqlErrorCode, pg_sys};
use serde_json::{Value, json};

/// The settings that a table is to have.
pub(super) struct Plan<'t> {
    table: &'t Table,
    before: Option<Settings>,
    asked: Asked,
    columns: Vec<String>,
    weights: Vec<Value>,
    fp: String,
    pub choice: Choice,
    /// The extension's schema, quoted.
    tools: String,
}

const DEFAULT_FP: &str = "fp";

impl<'t> Plan<'t> {
    pub fn make(table: &'t Table, options: Option<Value>) -> Plan<'t> {
        let before = Settings::found(table.oid);
        let asked = Asked::read(options, before.as_ref());
        let mut named = asked.columns().unwrap_or_else(|| match &before {
            Some(before) if !asked.anew => {
                before.columns.iter().map(|name| (name.clone(), Value::Null)).collect()
            }
            _ => vec![(table.text_column(None).to_owned(), Value::Null)],
        });
        // In the order of the table, which outlives a dump and new names.
        for (name, _) in &named {
            table.generated_text(name);
        }
        // Values that are equal or not count alone too.
        let mut running =
            named.iter().filter(|(_, weight)| !weight.is_number()).map(|(name, _)| table.column(name));
        if running.clone().all(|column| column.is_digits())
            && let Some(column) = running.next()
        {
            column.check_no_digits()
        }
        named.sort_by_key(|(name, _)| table.columns.iter().position(|column| column.name == *name));
        // What cannot be followed is an error before anything is done.
        let weights = Value::Object(named.iter().cloned().collect());
        RowRecipe::resolved(&weights, &Database).unwrap_or_else(|error| raise_recipe(error));
        if let Some(recipe) = asked.recipe() {
            TextRecipe::resolved(&recipe, &Database).unwrap_or_else(|error| raise_recipe(error));
        }
        if named.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            refuse("columns names a column twice")
        }
        let (columns, weights): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        let kept = before.as_ref().filter(|_| !asked.is_again("fp")).map(Settings::fp);
        let fp = asked.name("fp").or(kept).unwrap_or(DEFAULT_FP).to_owned();
        if asked.name("id").is_none() && table.key.len() > 1 {
            table.key_column();
        }
        if columns.contains(&fp) {
            refuse(format!("\"{fp}\" is to hold the fingerprint and cannot count for it"))
        }
        if asked.name("id") == Some(&*fp) {
            refuse(format!("\"{fp}\" is to hold the fingerprint and cannot be the id"))
        }
        for name in
            asked.name("id").into_iter().chain(asked.keep().and_then(|keep| keep.get("column")?.as_str()))
        {
            table.column(name);
        }
        asked.particulars();
        let mut plan =
            Plan { table, before, asked, columns, weights, fp, choice: Choice::default(), tools: schema() };
        let keeps = plan.before.as_ref().filter(|before| !plan.asked.anew && !before.stored().empty);
        plan.choice = choose(&plan, keeps);
        let recipe = &plan.choice.recipe;
        for weight in plan.weights.iter_mut().filter(|weight| weight.is_null()) {
            weight.clone_from(recipe);
        }
        plan
    }

    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// The weights of the columns: null is running text whose recipe is to be
    /// chosen.
    pub fn weights(&self) -> &[Value] {
        &self.weights
    }

    /// The name of the table.
    pub fn table_name(&self) -> &str {
        &self.table.name
    }

    /// A query for what is compared of each row.
    pub fn texts(&self) -> String {
        format!("SELECT {} FROM {} AS t", joined(&self.compared()), self.table.name)
    }

    /// The columns that are compared: those of running text, else all.
    fn compared(&self) -> Vec<&str> {
        let running = |weight: &Value| !weight.is_number();
        let all = !self.weights.iter().any(running);
        let columns = self.columns.iter().zip(&self.weights).filter(|(_, weight)| all || running(weight));
        columns.map(|(name, _)| name.as_str()).collect()
    }

    /// A query for fingerprints of the table's first rows, running text by `recipe`.
    pub fn fingerprints(&self, recipe: &Value) -> String {
        let weights: Vec<_> = self
            .weights
            .iter()
            .map(|weight| if weight.is_null() { recipe } else { weight }.clone())
            .collect();
        format!("SELECT {} FROM {} LIMIT 20000", self.expression(&weights), self.table.name)
    }

    /// The fingerprint of a row.
    fn expression(&self, weights: &[Value]) -> String {
        let column = |name: &String| self.table.generated_text(name);
        let columns: Vec<String> = self.columns.iter().map(column).collect();
        match (&columns[..], weights) {
            // All arguments, typed: a function that somebody else made with fewer or others would be taken before ours.
            ([one], [Value::Null]) => format!("{}.simhash({one}, NULL::pg_catalog.jsonb)", self.tools),
            ([one], [weight @ Value::Object(_)]) => {
                format!("{}.simhash({one}, {}::pg_catalog.jsonb)", self.tools, literal(weight))
            }
            _ => {
                let weights = literal(&Value::Array(weights.to_vec()));
                format!("{}.simhash(ARRAY[{}], {weights}::pg_catalog.jsonb)", self.tools, columns.join(", "))
            }
        }
    }

    /// The statements, in their order, and what becomes of the settings; none if nothing is to be done.
    pub fn steps(&self) -> (Vec<String>, Option<Change>) {
        let Table { oid, name, .. } = self.table;
        let found =
            Generated::of(*oid, &self.fp).filter(|_| Generated::made_otherwise(*oid, &self.fp).is_none());
        let wanted = Generated { columns: self.columns.clone(), weights: self.weights.clone() };
        let mut statements = Vec::new();
        let fp = quote_identifier(&self.fp);
        if found.as_ref() != Some(&wanted) {
            let old = self.before.as_ref().filter(|before| before.fit).map(Settings::fp);
            if old != Some(self.fp.as_str()) && self.table.has_column(&self.fp) {
                raise(
                    PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN,
                    format!("table {name} has a column \"{}\" that dedup_setup has not made", self.fp),
                    "Drop it, or give the fingerprint another column: '{\"fp\": \"…\"}'.",
                )
            }
            let drop = old.map(|old| {
                self.check_dependents(old);
                format!("DROP COLUMN {}, ", quote_identifier(old))
            });
            statements.push(format!(
                "ALTER TABLE {name} {}ADD COLUMN {fp} bigint GENERATED ALWAYS AS ({}) STORED",
                drop.unwrap_or_default(),
                self.expression(&self.weights)
            ));
            statements.extend(self.index(true));
            if !self.choice.empty && self.choice.method == Method::Fingerprint {
                statements.push(format!("ANALYZE {name} ({fp})"));
            }
        } else {
            statements.extend(self.index(false));
        }
        statements.iter_mut().for_each(|statement| statement.push(';'));
        let is_new = found.as_ref() != Some(&wanted) || !self.is_as_before();
        (statements, is_new.then(|| self.insert()))
    }

    /// Whether the settings are those that the table has.
    fn is_as_before(&self) -> bool {
        let Some(before) = &self.before else { return false };
        let stored = before.stored();
        before.asked() == self.asked.options
            && before.is_as_named()
            && stored.method == self.choice.method
            && stored.distance == self.choice.distance
            && stored.distances == self.choice.distances
            && stored.similarity == self.choice.similarity
            && stored.n == self.choice.n
            && before.particulars() == self.choice.particulars.as_ref()
            && stored.empty == self.choice.empty
    }

    fn insert(&self) -> Change {
        const VERSION: &str = "SELECT pg_catalog.max(s.version)::pg_catalog.text \
            FROM {}.dedup_settings AS s WHERE s.tbl::pg_catalog.oid OPERATOR(pg_catalog.=) $1";
        let last = scalar(&VERSION.replace("{}", &self.tools), &[Argument::of(self.table.oid)]);
        let last: i32 = last.and_then(|last| last.parse().ok()).unwrap_or(0);
        let Some(version) = last.checked_add(1) else {
            raise(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                format!(
                    "version {last} of the settings of table {} is the last one possible",
                    self.table.name
                ),
                "It was not made by dedup_setup, whose option {\"drop\": true} takes the settings away.",
            )
        };
        let choice = &self.choice;
        let mut columns = vec![
            ("tbl", "$1".to_owned()),
            ("version", version.to_string()),
            ("options", literal(&Value::Object(self.asked.options.clone()))),
            ("columns", quote_literal(array(&self.columns))),
            ("weights", literal(&Value::Array(self.weights.clone()))),
            ("fp", quote_literal(&self.fp)),
            ("method", quote_literal(choice.method.name())),
            ("distance", choice.distance.to_string()),
            ("similarity", choice.similarity.to_string()),
            ("n", choice.n.to_string()),
            ("empty", choice.empty.to_string()),
        ];
        if let Some(id) = self.asked.name("id") {
            columns.push(("id", quote_literal(id)));
        }
        let distances = choice.distances.as_ref().map(|distances| literal(&json!(distances)));
        columns.extend(distances.map(|distances| ("distances", distances)));
        columns.extend(choice.particulars.as_ref().map(|kinds| ("particulars", literal(kinds))));
        columns.extend(self.asked.keep().map(|keep| ("keep", literal(keep))));
        let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
        let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        let mut chosen = json!({"method": choice.method.name(), "distance": choice.distance, "similarity": choice.similarity, "n": choice.n});
        if let Some(kinds) = &choice.particulars {
            chosen["particulars"] = kinds.clone();
        }
        Change {
            verb: "INSERT INTO",
            how: format!("({names}) VALUES ({values})"),
            says: format!("-- settings of {}, version {version}: {}", self.table.name, written(&chosen)),
        }
    }

    /// The statement that makes the index that is searched, unless it is there; that of a column that is made `anew` is
    /// not.
    fn index(&self, anew: bool) -> Option<String> {
        let Table { oid, name, .. } = self.table;
        match self.choice.method {
            Method::Fingerprint => {
                let fp = quote_identifier(&self.fp);
                (anew || !self.has_index()).then(|| format!("CREATE INDEX ON {name} USING banding ({fp})"))
            }
            Method::Text | Method::Records => {
                let (texts, n) = (self.compared(), self.choice.n);
                // SAFETY: the table exists; it is closed again when it is dropped.
                let relation = unsafe { PgRelation::with_lock(*oid, pg_sys::AccessShareLock as i32) };
                if ngram_index(&relation, &texts, n as usize).is_some() {
                    return None;
                }
                let texts: Vec<String> = texts.iter().map(|text| self.table.generated_text(text)).collect();
                let of =
                    if let [one] = &texts[..] { one.clone() } else { format!("ARRAY[{}]", texts.join(", ")) };
                let tools = &self.tools;
                Some(format!(
                    "CREATE INDEX ON {name} USING gin ({tools}.ngrams({of}, {n}) {tools}.ngram_ops)"
                ))
            }
        }
    }

    /// Whether an index searches the fingerprint.
    fn has_index(&self) -> bool {
        let sql = format!(
            "SELECT i.indexrelid::pg_catalog.text {OWN_INDEXES} AND i.indisvalid AND i.indrelid OPERATOR(pg_catalog.=) $1"
        );
        scalar(&sql, &[Argument::of(self.table.oid), Argument::of(self.fp.as_str())]).is_some()
    }

    /// Refuses to drop a column of fingerprints on which something depends that is
    /// not made anew.
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

/// The indexes that `dedup_setup` makes of the column $2, and nobody has given options.
const OWN_INDEXES: &str = "FROM pg_catalog.pg_index i \
    JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid \
    JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam AND m.amname OPERATOR(pg_catalog.=) 'banding' \
    JOIN pg_catalog.pg_attribute o ON o.attrelid OPERATOR(pg_catalog.=) i.indrelid \
        AND o.attnum OPERATOR(pg_catalog.=) i.indkey[0] \
    WHERE i.indnatts OPERATOR(pg_catalog.=) 1 AND o.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
      AND i.indpred IS NULL AND NOT i.indisexclusion AND c.reloptions IS NULL";

/// JSON as PostgreSQL writes it, as a literal of SQL.
pub(super) fn literal(json: &Value) -> String {
    quote_literal(written(json))
}

/// JSON as PostgreSQL writes it: a blank after colons and commas.
pub(super) fn written(json: &Value) -> String {
    match json {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(written).collect::<Vec<_>>().join(", "))
        }
        Value::Object(values) => {
            let pair = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), written(value))
            };
            format!("{{{}}}", values.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}

/// An array of names as PostgreSQL writes it.
fn array(names: &[String]) -> String {
    let element = |name: &String| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    format!("{{{}}}", names.iter().map(element).collect::<Vec<_>>().join(","))
}
