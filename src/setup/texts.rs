//! The plan of texts and records: what is not asked for is chosen by the table's rows.

use super::plan::{Plan, check_others, remember, table_rows};
use crate::corpus::{Database, raise_recipe};
use crate::pg::{notice, query_all, quote_identifier};
use crate::table::{
    DETAILS, Options, SAMPLE, Settings, Table, Written, announce, announce_implied, choose_columns,
    chosen_by, joined, learn_records, refuse_option, sample, statistics,
};
use dedup_core::dedup::{Method, SETUP};
use dedup_core::details::Statistics;
use dedup_core::evaluate::{Background, ByRows};
use dedup_core::features::{RowRecipe, TextRecipe};
use dedup_core::records::{MOST_COLUMNS, Model};
use dedup_core::text::Normal;
use pgrx::pg_sys;
use serde_json::{Map, Value, json};
use std::sync::Arc;

const DEFAULT_FP: &str = "fp";
/// Bytes of the longest name that PostgreSQL keeps whole.
const LONGEST_NAME: usize = pg_sys::NAMEDATALEN as usize - 1;

impl<'t> Plan<'t> {
    /// The plan of columns that are compared, and a fingerprint that is made of them; records by what `answers` changed of a model.
    pub fn of_texts(
        table: &'t Table,
        before: Option<Settings>,
        mut asked: Written,
        answers: Option<Arc<Model>>,
    ) -> Plan<'t> {
        if before.is_none() {
            choose_columns(SETUP.name, table, &mut asked);
        }
        let known = before.as_ref().map(Settings::asked).unwrap_or_default();
        let is_new = |key: &str| asked.get(key).is_some_and(|value| known.get(key) != Some(value));
        let anew = is_new("columns") || is_new("recipe") || before.as_ref().is_some_and(|before| !before.fit);
        remember(&mut asked, known);
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
        plan.choose(anew, answers);
        plan
    }

    /// Completes what is asked for by the settings that there are, unless all is made anew, and by the table's rows, and says
    /// what was chosen.
    fn choose(&mut self, anew: bool, answers: Option<Arc<Model>>) {
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
        let suggested = if needs { sample(&self.texts()).suggest(Some(&options), None) } else { None };
        let empty = if needs { suggested.is_none() } else { kept.is_some_and(|kept| kept.empty) };
        if let Some(mut it) = suggested {
            let recipe = options.get("recipe").unwrap_or(&it.recipe);
            if self.reads_otherwise(recipe) {
                it.method = Method::Fingerprint;
            }
            if !options.has("distance") {
                if !self.recipes.iter().all(Value::is_null) {
                    (it.distance, it.by_rows) = self.measured(recipe);
                }
                if options.has("recipe") || !self.recipes.iter().all(Value::is_null) {
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
        let (distance, similarity, n) = (read.distance, read.alike.similarity, read.alike.n);
        let others = json!({"distance": distance, "similarity": similarity, "n": n, "details": options.get("details")});
        self.chosen = chosen_by(read.method, others);
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
            let (model, rows) = self.learned(answers, kept.is_some());
            self.rows = rows;
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
        if self.rows.is_none() {
            self.rows = self.statistics.as_ref().map(|_| table_rows(self.table));
        }
    }

    /// The model of records: the one that fits the answers, or one that is learned now and keeps what they changed if the
    /// settings go on. How many rows it was learned from, if not from all that there are.
    fn learned(&mut self, fitted: Option<Arc<Model>>, goes_on: bool) -> (Arc<Model>, Option<u64>) {
        let before = self.before.as_ref().filter(|before| !before.empty);
        let rows_before = before.and_then(|before| before.rows);
        if let Some(fitted) = fitted {
            return (fitted, rows_before);
        }
        let name = &self.table.name;
        let (mut model, rows) = learn_records(&self.records());
        if let Some(before) = before.and_then(Settings::records).filter(|_| !self.asked.is_null("similarity"))
        {
            if goes_on && rows == 0 {
                // They may be on their way.
                return (Arc::clone(before), rows_before);
            }
            let is_kept = if goes_on { Arc::make_mut(&mut model).adopt(before) } else { !before.is_fitted() };
            if !is_kept {
                notice(
                    format!(
                        "answers have changed the weights of table {name}, which has other columns now: they are as learned"
                    ),
                    "",
                    "'{\"refit\": true}' fits them again.",
                )
            }
        }
        self.empty = rows == 0;
        if self.empty {
            notice(
                format!("table {name} has no rows to learn from: no two will be of one thing"),
                "",
                "Run dedup_setup again when there are rows.",
            );
        }
        (model, None)
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
}
