//! What is not asked for is chosen by the rows of the table.

use super::plan::Plan;
use crate::corpus::{Database, raise_recipe};
use crate::pg::spi::{query_all, scalar};
use crate::table::{DETAILS, SETUP, Settings, Written, announce, announce_implied, refuse_option, sample};
use dedup_core::dedup::Method;
use dedup_core::evaluate::{Background, ByRows};
use dedup_core::features::TextRecipe;
use dedup_core::text::Normal;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};
use serde_json::{Map, Value, json};

/// What was chosen or asked for.
pub(super) struct Choice {
    /// All options.
    pub options: Written,
    /// The recipe of running text; null is the default one.
    pub recipe: Value,
    /// The distance by the rows of the table, if it was not asked for.
    pub distances: Option<ByRows>,
    /// There was no text to choose by.
    pub empty: bool,
}

/// Completes what the plan asks for by the settings `kept` and by the table's rows, and says what was chosen.
pub(super) fn choose(plan: &Plan, asked: &Written, kept: Option<&Settings>) -> Choice {
    let mut options = asked.clone();
    // It is to be made.
    options.take("fp");
    let mut known = kept.map(Settings::chosen).unwrap_or_default();
    if let Some(kept) = kept {
        let recipe = kept.default_recipe();
        known.insert("recipe".into(), if recipe.is_null() { json!({}) } else { recipe });
    }
    known.retain(|name, _| !asked.is_null(name) && (name != "method" || !asked.is_null("distance")));
    if !plan.recipes.iter().any(|weight| !weight.is_number()) {
        // Whole values are equal or not.
        let whole = json!({"similarity": 0, "details": [], "method": Method::Fingerprint.name()});
        let whole = whole.as_object().cloned().unwrap_or_default();
        whole.into_iter().for_each(|(name, value)| _ = known.entry(name).or_insert(value));
    }
    if !plan.recipes.iter().any(Value::is_null) {
        known.insert("recipe".into(), json!({}));
    }
    let distances = kept.filter(|_| !asked.has("distance") && known.contains_key("distance"));
    let mut distances = distances.and_then(|kept| kept.distances.clone());
    options.over(&known);
    // Which details count does not depend on the texts.
    let mut all_but_details = options.clone();
    all_but_details.add("details", json!([]));
    let needs = all_but_details.asks_texts();
    let suggested = if needs { sample(&plan.texts(), None).0.suggest(None, None) } else { None };
    let empty = if needs { suggested.is_none() } else { kept.is_some_and(|kept| kept.empty) };
    if let Some(mut it) = suggested {
        let recipe = options.get("recipe").unwrap_or(&it.recipe);
        if plan.reads_otherwise(recipe) {
            it.method = Method::Fingerprint;
        }
        if !options.has("distance") {
            if options.has("recipe") || !plan.recipes.iter().all(Value::is_null) {
                (it.distance, it.by_rows) = measured(plan, recipe);
                it.reason.clear();
            }
            distances = Some(it.by_rows.clone());
        }
        it.complete(&mut options, SETUP.name);
    } else if empty && needs {
        let what =
            format!("table {} has no text to choose settings by: they are the defaults", plan.table.name);
        let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
        let notice = ErrorReport::new(code, what, "dedup_setup");
        notice.set_hint("Run dedup_setup again when there are rows.").report(PgLogLevel::NOTICE);
    } else if !options.has("details") {
        let chosen = Map::from_iter([("details".to_owned(), json!(DETAILS))]);
        announce(SETUP.name, &chosen, "");
    }
    options.add("details", json!(DETAILS));
    announce_implied(SETUP.name, options.implied());
    let recipe = options.get("recipe").filter(|recipe| **recipe != json!({}) || asked.has("recipe"));
    let recipe = recipe.cloned().unwrap_or_default();
    if options.text("method") == Some("text") && plan.reads_otherwise(&recipe) {
        if asked.has("method") {
            // The index is of what is written.
            refuse_option("method", "method \"text\" requires a recipe without markup and simplify")
        }
        options.take("method");
        options.add("method", Method::Fingerprint.name().into());
    }
    Choice { options, recipe, distances, empty }
}

impl Plan<'_> {
    /// Whether the recipe of some running text, this one where it has none of its own, has markup or simplifies.
    fn reads_otherwise(&self, recipe: &Value) -> bool {
        let recipes = self.recipes.iter().map(|weight| if weight.is_null() { recipe } else { weight });
        recipes.filter_map(Value::as_object).any(|recipe| {
            let mut recipe = recipe.clone();
            recipe.remove("share");
            let recipe = TextRecipe::resolved(&Value::Object(recipe), &Database);
            recipe.unwrap_or_else(|error| raise_recipe(error)).normal != Normal::default()
        })
    }
}

/// The widest distance whose candidates can all be verified by their texts, now and when the table has grown.
fn measured(plan: &Plan, recipe: &Value) -> (u32, ByRows) {
    let sql = format!("SELECT t.fp FROM ({}) AS t(fp)", plan.fingerprints(recipe));
    let prints = query_all(&sql, &[], |row| row.bigint(0).map(i64::cast_unsigned));
    let prints: Vec<u64> = prints.into_iter().flatten().collect();
    let mut background = Background::measure(&prints);
    let sql = format!("SELECT pg_catalog.count(*)::pg_catalog.text FROM {}", plan.table.name);
    background.rows = scalar(&sql, &[]).and_then(|rows| rows.parse().ok()).unwrap_or(background.rows);
    (background.calibrate().once, background.by_rows())
}
