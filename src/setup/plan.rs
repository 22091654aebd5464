//! What `dedup_setup` does: the settings that are wanted, those that are not asked for chosen by the table's rows, and the
//! statements that lead there.

use crate::banding::parts_of_column;
use crate::corpus::{Database, raise_recipe};
use crate::dedup::check_kept_by;
use crate::pg::{
    Argument, exists, notice, query_all, quote_identifier, quote_literal, raise, raise_mismatch, scalar,
    schema,
};
use crate::table::{
    DETAILS, DecisionTable, Generated, ID, KEEP, Options, SAMPLE, Searched, Settings, Table, Written,
    announce, announce_implied, as_jsonb, choose_columns, distance_of_hashes, has_doubled, hash_column,
    joined, learn_records, listed, literal, name_beside, refuse_option, running, sample, search_index,
    statistics, table_name,
};
use dedup_core::dedup::{Method, SETUP};
use dedup_core::details::Statistics;
use dedup_core::evaluate::{Background, ByRows};
use dedup_core::features::{RowRecipe, TextRecipe};
use dedup_core::fingerprint::{Prints, parts_of_written};
use dedup_core::records::MOST_COLUMNS;
use dedup_core::text::Normal;
use pgrx::{PgRelation, PgSqlErrorCode, pg_sys};
use serde_json::{Map, Value, json};

pub(super) struct Plan<'t> {
    table: &'t Table,
    before: Option<Settings>,
    /// What is asked for, now and before.
    asked: Written,
    columns: Vec<String>,
    /// The recipes of the columns: null is running text whose recipe is to be chosen.
    recipes: Vec<Value>,
    fp: String,
    /// Method, distance, similarity, n and details.
    chosen: Map<String, Value>,
    method: Method,
    distances: Option<ByRows>,
    statistics: Option<Statistics>,
    /// How many rows it was learned from.
    rows: Option<u64>,
    empty: bool,
    /// The extension's schema, quoted.
    tools: String,
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

const DEFAULT_FP: &str = "fp";
/// Bytes of the longest name that PostgreSQL keeps whole.
const LONGEST_NAME: usize = pg_sys::NAMEDATALEN as usize - 1;

impl<'t> Plan<'t> {
    /// Adds what is asked for now to what was asked for before: a null takes something back.
    pub fn make(table: &'t Table, mut asked: Written) -> Plan<'t> {
        let before = Settings::found(table.oid);
        if let Some(before) = &before {
            let kept = [("id", ID), ("keep", KEEP)];
            let kept = kept.into_iter().filter(|(key, _)| !asked.has(key) && !asked.is_null(key));
            kept.for_each(|(_, place)| before.check_name(place, true));
        }
        if let Some(decisions) = asked.take("decisions") {
            asked.add("decisions", name_beside(table, decisions.as_str(), "decisions").into());
        }
        let by_hash = asked.is_by(Method::Hash)
            || match &before {
                Some(before) => before.method == Method::Hash && !asked.is_null("fp"),
                None => hash_column(table, &asked).is_some(),
            };
        if by_hash {
            return Plan::of_hashes(table, before, asked);
        }
        if before.is_none() {
            choose_columns(SETUP.name, table, &mut asked);
        }
        let known = before.as_ref().map(Settings::asked).unwrap_or_default();
        let is_new = |key: &str| asked.get(key).is_some_and(|value| known.get(key) != Some(value));
        let anew = is_new("columns") || is_new("recipe") || before.as_ref().is_some_and(|before| !before.fit);
        for (name, value) in known {
            if !asked.is_null(&name) {
                asked.add(&name, value);
            }
        }
        let mut named: Vec<(String, Value)> = match (asked.get("columns"), &before) {
            (Some(Value::Object(recipe)), _) => recipe.clone().into_iter().collect(),
            (Some(_), _) => asked.names("columns").into_iter().map(|name| (name, Value::Null)).collect(),
            (None, Some(before)) if !anew => {
                before.columns.iter().map(|name| (name.clone(), Value::Null)).collect()
            }
            _ => vec![(table.text_column(None).to_owned(), Value::Null)],
        };
        // What cannot be followed is an error before anything is done.
        Options::of(&asked);
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
        let recipe = Value::Object(named.iter().cloned().collect());
        RowRecipe::resolved(&recipe, &Database).unwrap_or_else(|error| raise_recipe(error));
        let (columns, recipes): (Vec<_>, Vec<_>) = named.into_iter().unzip();
        let kept = before.as_ref().filter(|_| !asked.is_null("fp")).map(|before| before.fp.as_str());
        let fp = asked.text("fp").or(kept).unwrap_or(DEFAULT_FP).to_owned();
        if columns.contains(&fp) {
            refuse_option("fp", format!("fp must be a column of its own: \"{fp}\" is compared"))
        }
        check_others(table, &asked, &fp);
        if fp.len() > LONGEST_NAME {
            refuse_option("fp", format!("fp must be a name of at most {LONGEST_NAME} bytes"))
        }
        let mut plan = Plan { columns, recipes, ..Plan::of(table, before, asked, fp) };
        plan.choose(anew);
        plan
    }

    /// As [`Plan::make`], of a column of hashes, of which nothing else is compared.
    fn of_hashes(table: &'t Table, before: Option<Settings>, mut asked: Written) -> Plan<'t> {
        let mut known = before.as_ref().map(Settings::asked).unwrap_or_default();
        if asked.has("fp") || asked.has("columns") {
            ["fp", "columns"].iter().for_each(|name| _ = known.remove(*name));
        }
        for (name, value) in known {
            if !asked.is_null(&name) {
                asked.add(&name, value);
            }
        }
        let before = before.filter(|before| before.method == Method::Hash);
        if asked.has("method") && !asked.is_by(Method::Hash) {
            let name = quote_literal(&table.name);
            refuse_option(
                "method",
                format!(
                    "method must be \"hash\" for hashes; dedup_setup({name}, '{{\"drop\": true}}') takes these settings away"
                ),
            )
        }
        let named = asked.names("columns");
        let is_weighed = asked.get("columns").is_some_and(Value::is_object);
        let fp = asked.text("fp");
        if is_weighed || named.len() > 1 || fp.zip(named.first()).is_some_and(|(fp, named)| fp != named) {
            refuse_option("columns", "method \"hash\" compares one column, which fp names")
        }
        let fp = fp.map(str::to_owned).or_else(|| named.first().cloned());
        let Some(fp) = fp.or_else(|| before.as_ref().map(|it| it.fp.clone())) else {
            refuse_option("fp", "method \"hash\" requires fp: the column of the hashes")
        };
        let fp_column = table.column(&fp);
        let is_hash = matches!(fp_column.base_type(), pg_sys::INT8OID | pg_sys::BITOID);
        // SAFETY: the table is there and has the column.
        let parts = unsafe {
            let name = std::ffi::CString::new(&*fp).unwrap_or_default();
            parts_of_column(table.oid, pg_sys::get_attnum(table.oid, name.as_ptr()))
        };
        let Some(parts) = parts.filter(|_| is_hash) else {
            raise_mismatch(
                format!(
                    "column \"{fp}\" of table {} is {}, no column of hashes",
                    table.name,
                    fp_column.type_name()
                ),
                "Hashes are bigint or bit(64), bit(128) or bit(256): ALTER TABLE … ALTER COLUMN … TYPE bit(64) USING ('x' || …)::bit(64).",
            )
        };
        let mut options = asked.clone();
        options.take("fp");
        options.add("method", Method::Hash.name().into());
        options.add("columns", fp.as_str().into());
        Options::of(&options);
        check_others(table, &asked, &fp);
        if asked.get("keep").and_then(|keep| keep.get("column")?.as_str()) == Some(&*fp) {
            refuse_option("keep", "keep must be by another column than the hashes")
        }
        let bits = 64 * parts as u32;
        if asked.whole("distance").is_some_and(|distance| distance > bits) {
            refuse_option("distance", format!("distance must be at most {bits}, the bits of the hashes"))
        }
        let kept = before.as_ref().filter(|before| {
            !before.empty && before.fp == fp && !asked.is_null("distance") && before.distance() <= bits
        });
        let distance = asked.whole("distance").or(kept.map(|before| before.distance()));
        let (mut plan, count) = (Plan::of(table, before, asked, fp), table_rows(table));
        (plan.method, plan.columns, plan.recipes) = (Method::Hash, vec![plan.fp.clone()], vec![json!(1)]);
        plan.empty = distance.is_none() && count < 2;
        let distance = distance.unwrap_or_else(|| plan.distance_of_hashes(parts, count));
        let chosen = json!({"method": Method::Hash.name(), "distance": distance});
        plan.chosen = chosen.as_object().cloned().unwrap_or_default();
        plan
    }

    fn distance_of_hashes(&self, parts: usize, count: u64) -> u32 {
        let fp = quote_identifier(&self.fp);
        let sql = format!(
            "SELECT t.{fp}::pg_catalog.text FROM {} AS t WHERE t.{fp} IS NOT NULL LIMIT {SAMPLE}",
            self.table.name
        );
        let hashes = query_all(&sql, &[], |row| row.text(0).and_then(|hash| parts_of_written(&hash)));
        let words: Vec<u64> = hashes.into_iter().flatten().flatten().collect();
        distance_of_hashes(SETUP.name, Prints::of_parts(&words, parts), count)
    }

    /// Nothing is chosen yet.
    fn of(table: &'t Table, before: Option<Settings>, asked: Written, fp: String) -> Plan<'t> {
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

    /// Completes what is asked for by the settings that there are, unless all is made anew, and by the table's rows, and says
    /// what was chosen.
    fn choose(&mut self, anew: bool) {
        let (asked, kept) = (&self.asked, self.before.as_ref().filter(|before| !anew && !before.empty));
        let mut options = asked.clone();
        // It is to be made.
        options.take("fp");
        let was_of_records = kept.is_some_and(|kept| kept.method == Method::Records);
        let goes_on = !asked.has("method") && !asked.is_null("method") && !asked.excludes(Method::Records);
        let by_records = asked.by_records() || was_of_records && goes_on;
        let kept = kept.filter(|_| was_of_records == by_records);
        let mut known = kept.map(Settings::chosen).unwrap_or_default();
        if let Some(kept) = kept.filter(|_| !by_records) {
            let recipe = kept.default_recipe();
            known.insert("recipe".into(), if recipe.is_null() { json!({}) } else { recipe });
        }
        known.retain(|name, _| !asked.is_null(name) && (name != "method" || !asked.is_null("distance")));
        if !by_records && self.recipes.iter().all(Value::is_number) {
            // Whole values are equal or not.
            let whole = [
                ("similarity", json!(0)),
                ("details", json!([])),
                ("method", Method::Fingerprint.name().into()),
            ];
            whole.into_iter().for_each(|(name, value)| _ = known.entry(name).or_insert(value));
        }
        if !by_records && !self.recipes.iter().any(Value::is_null) {
            known.insert("recipe".into(), json!({}));
        }
        let distances = kept.filter(|_| !asked.has("distance") && known.contains_key("distance"));
        let mut distances = distances.and_then(|kept| kept.distances.clone());
        options.over(&known);
        // Which details count does not depend on the texts.
        let mut all_but_details = options.clone();
        all_but_details.add("details", json!([]));
        let needs = all_but_details.lets_texts_choose();
        let suggested = if needs { sample(&self.texts()).suggest(None, None) } else { None };
        let empty = if needs { suggested.is_none() } else { kept.is_some_and(|kept| kept.empty) };
        if let Some(mut it) = suggested {
            let recipe = options.get("recipe").unwrap_or(&it.recipe);
            if self.reads_otherwise(recipe) {
                it.method = Method::Fingerprint;
            }
            if !options.has("distance") {
                if options.has("recipe") || !self.recipes.iter().all(Value::is_null) {
                    (it.distance, it.by_rows) = self.measured(recipe);
                    it.reason.clear();
                }
                distances = Some(it.by_rows.clone());
            }
            it.complete(&mut options, SETUP.name);
        } else if needs {
            let name = &self.table.name;
            notice(
                format!("table {name} has no text to choose settings by: they are the defaults"),
                "",
                "Run dedup_setup again when there are rows.",
            );
        } else if !options.by_records() && !options.has("details") {
            let chosen = Map::from_iter([("details".to_owned(), json!(DETAILS))]);
            announce(SETUP.name, &chosen, "");
        }
        if !options.by_records() {
            options.add("details", json!(DETAILS));
        }
        announce_implied(SETUP.name, options.implied);
        let recipe = options.get("recipe").filter(|recipe| **recipe != json!({}) || asked.has("recipe"));
        let recipe = recipe.cloned().unwrap_or_default();
        if options.text("method") == Some("text") && self.reads_otherwise(&recipe) {
            if asked.has("method") {
                // The index is of what is written.
                refuse_option(
                    "method",
                    "method \"text\" requires a recipe without markup and simplify, and no whole values beside texts",
                )
            }
            options.take("method");
            options.add("method", Method::Fingerprint.name().into());
        }
        let read = Options::of(&options);
        let chosen = json!({
            "method": read.method.name(), "distance": read.distance, "similarity": read.alike.similarity, "n": read.alike.n,
            "details": options.get("details"),
        });
        self.chosen = chosen.as_object().cloned().unwrap_or_default();
        if read.method == Method::Records {
            self.chosen.retain(|name, _| ["method", "similarity"].contains(&name.as_str()));
        }
        (self.method, self.distances, self.empty) = (read.method, distances, empty);
        self.recipes = self.recipes_with(&recipe);
        self.statistics = if self.method == Method::Records {
            let (count, weighed) = (self.columns.len(), self.recipes.iter().any(|recipe| !recipe.is_null()));
            if !(2..=MOST_COLUMNS).contains(&count) || weighed {
                refuse_option(
                    "columns",
                    format!("by records 2 to {MOST_COLUMNS} columns are compared, named in an array"),
                )
            }
            let (model, rows) = learn_records(&self.records());
            self.empty = rows == 0;
            if self.empty {
                notice(
                    format!(
                        "table {} has no rows to learn from: no two will be of one thing",
                        self.table.name
                    ),
                    "",
                    "Run dedup_setup again when there are rows.",
                );
            }
            Some(Statistics::of_records(model))
        } else {
            read.alike.asks_statistics().then(|| {
                let mut statistics = statistics(&self.texts(), read.alike.normal, read.alike.n);
                let counts = read.alike.details.is_some_and(|kinds| kinds.slots);
                if read.slots.as_ref().is_some_and(|slots| !slots.is_empty()) && !counts {
                    notice(
                        "slots count for nothing without \"slot\" among the details",
                        "",
                        "{\"details\": [\"name\", \"slot\"]} has both.",
                    )
                }
                for name in read.name_slots(&mut statistics) {
                    notice(
                        format!("no template of table {} has the slot \"{name}\"", self.table.name),
                        "",
                        "A slot is named by the words right before ___, right behind it, or both.",
                    )
                }
                statistics
            })
        };
        self.rows = self.statistics.as_ref().map(|_| table_rows(self.table));
    }

    /// The recipes of the columns, `recipe` for running text that has none of its own.
    fn recipes_with(&self, recipe: &Value) -> Vec<Value> {
        self.recipes.iter().map(|weight| if weight.is_null() { recipe } else { weight }.clone()).collect()
    }

    /// Whether more counts than the texts as they are written: beside them whole values, or the recipe of one, this one where it
    /// has none of its own, has markup or simplifies.
    fn reads_otherwise(&self, recipe: &Value) -> bool {
        let whole = self.recipes.iter().filter(|recipe| recipe.is_number()).count();
        let has_both = (1..self.recipes.len()).contains(&whole);
        has_both
            || self.recipes_with(recipe).iter().filter_map(Value::as_object).any(|recipe| {
                let mut recipe = recipe.clone();
                recipe.remove("share");
                let recipe = TextRecipe::resolved(&Value::Object(recipe), &Database);
                recipe.unwrap_or_else(|error| raise_recipe(error)).normal != Normal::default()
            })
    }

    /// The widest distance whose candidates can all be verified by their texts, now and when the table has grown: by the
    /// fingerprints of the table's first rows, running text by `recipe`.
    fn measured(&self, recipe: &Value) -> (u32, ByRows) {
        let name = &self.table.name;
        let sql = format!(
            "SELECT t.fp FROM (SELECT {} FROM {name} LIMIT {SAMPLE}) AS t(fp)",
            self.expression(&self.recipes_with(recipe))
        );
        let prints = query_all(&sql, &[], |row| row.bigint(0).map(i64::cast_unsigned));
        let prints: Vec<u64> = prints.into_iter().flatten().collect();
        let mut background = Background::measure(&prints[..]);
        background.rows = table_rows(self.table);
        (background.calibrate().once, background.by_rows())
    }

    /// A query for what is compared of each row.
    fn texts(&self) -> String {
        format!("SELECT {} FROM {} AS t", joined(&self.compared()), self.table.name)
    }

    /// A query for the columns of each record.
    fn records(&self) -> String {
        let columns: Vec<String> =
            self.compared().iter().map(|name| format!("t.{}", quote_identifier(*name))).collect();
        format!("SELECT {} FROM {} AS t", columns.join(", "), self.table.name)
    }

    fn compared(&self) -> Vec<&str> {
        running(&self.columns, &self.recipes)
    }

    fn expression(&self, recipes: &[Value]) -> String {
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
                raise(
                    PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN,
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

    /// The statement that makes the index that is searched, unless it is there; that of a column that is made `anew` is
    /// not.
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
                let model = self.statistics.as_ref().and_then(|it| it.records.as_ref());
                let by = match model {
                    Some(model) => Searched::Keys(model.keys().letters()),
                    None => {
                        let n = self.chosen.get("n").and_then(Value::as_u64);
                        Searched::Grams(n.unwrap_or_default() as usize)
                    }
                };
                // SAFETY: the table exists; it is closed again when it is dropped.
                let relation = unsafe { PgRelation::with_lock(*oid, pg_sys::AccessShareLock as i32) };
                if search_index(&relation, &texts, &by).is_some() {
                    return Vec::new();
                }
                // Another model may see other kinds of columns.
                let other = search_index(&relation, &texts, &Searched::AnyKeys).filter(|_| model.is_some());
                let drop = other.map(|other| format!("DROP INDEX {}", table_name(other)));
                let texts: Vec<String> = texts.iter().map(|text| self.table.generated_text(text)).collect();
                let (of, tools) = (by.call(&self.tools, &listed(&texts)), &self.tools);
                let create = format!("CREATE INDEX ON {name} USING gin ({of} {tools}.ngram_ops)");
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
fn check_others(table: &Table, asked: &Written, fp: &str) {
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
    let kept_by = asked.get("keep").and_then(|keep| keep.get("column")?.as_str());
    if let Some(name) = kept_by {
        check_kept_by(table.column(name))
    }
}

/// How many rows a table has.
fn table_rows(table: &Table) -> u64 {
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
