//! What is not asked for is chosen by the rows of the table.

use super::options::refuse;
use super::plan::{Plan, written};
use super::settings::Settings;
use crate::corpus::{Database, raise_recipe};
use crate::dedup::{PARTICULARS, Suggested, sample};
use crate::pg::spi::{query_all, scalar};
use dedup_core::dedup::Method;
use dedup_core::evaluate::{Background, ByRows};
use dedup_core::features::TextRecipe;
use dedup_core::text::Normal;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};
use serde_json::{Map, Value, json};

/// What was chosen or asked for.
#[derive(Default)]
pub(super) struct Choice {
    /// How near rows are found.
    pub method: Method,
    /// The recipe of running text; null is the default one.
    pub recipe: Value,
    pub distance: u32,
    /// The distance by the rows of the table, if it was not asked for.
    pub distances: Option<ByRows>,
    pub similarity: f64,
    pub n: u32,
    /// Kinds of particulars that near-duplicates must have in common.
    pub particulars: Option<Value>,
    /// There was no text to choose by.
    pub empty: bool,
}

/// What suits the texts of the table; without texts the defaults of `dedup`.
struct Suggestion {
    method: Method,
    weights: Value,
    distance: u32,
    distances: Option<ByRows>,
    n: u32,
    similarity: f64,
    reason: String,
}

impl Suggestion {
    fn of(suggested: Option<Suggested>) -> Suggestion {
        let Some(suggested) = suggested else {
            let (method, reason) = (Method::Fingerprint, String::new());
            return Suggestion {
                method,
                weights: Value::Null,
                distance: 10,
                distances: None,
                n: 2,
                similarity: 0.5,
                reason,
            };
        };
        let method = suggested.method();
        let Suggested { weights, distance, by_rows, n, similarity, reason, .. } = suggested;
        Suggestion { method, weights, distance, distances: Some(by_rows), n, similarity, reason }
    }
}

/// Completes what the plan asks for by the settings `kept` and by the table's rows,
/// and says what was chosen.
pub(super) fn choose(plan: &Plan, kept: Option<&Settings>) -> Choice {
    let asked = plan.asked();
    let keeps = |key: &str| kept.filter(|_| !asked.is_again(key));
    let has_running = plan.weights().iter().any(|weight| !weight.is_number());
    let recipe = match plan.weights().iter().any(Value::is_null) {
        true => asked.recipe().or_else(|| keeps("weights").map(Settings::default_recipe)),
        false => Some(Value::Null),
    };
    let distance = asked.whole("distance", 0..=64).map(|distance| (distance, None));
    let distance = distance
        .or_else(|| keeps("distance").map(|kept| (kept.stored().distance, kept.stored().distances.clone())));
    let n = asked.whole("n", 1..=8).or_else(|| keeps("n").map(|kept| kept.n() as u32));
    let similarity = asked.similarity().or_else(|| keeps("similarity").map(Settings::similarity));
    // Whole values are equal or not.
    let similarity = similarity.or_else(|| (!has_running).then_some(0.0));
    let particulars = asked.particulars().map(|kinds| Some(kinds.clone()));
    let particulars = particulars.or_else(|| keeps("particulars").map(|kept| kept.particulars().cloned()));
    let particulars = particulars.or_else(|| (!has_running).then_some(None));
    let method = asked
        .method()
        .or_else(|| keeps("method").filter(|_| !asked.is_again("distance")).map(Settings::method));
    // Whole values are equal or not, by fingerprints too.
    let method = method.or_else(|| (!has_running).then_some(Method::Fingerprint));
    let kept_empty = kept.is_some_and(|kept| kept.stored().empty);
    let (Some(_), Some((distance, distances)), Some(n), Some(similarity)) =
        (&recipe, distance.clone(), n, similarity)
    else {
        let suggested = sample(&plan.texts()).suggest();
        let empty = suggested.is_none();
        let suggestion = Suggestion::of(suggested);
        let suggested_recipe = recipe.is_none() && plan.weights().iter().all(Value::is_null);
        let distance_is_chosen = distance.is_none();
        let mut chosen = Map::new();
        let mut choose = |key: &str, value: Value| {
            chosen.insert(key.to_owned(), value);
        };
        let recipe = recipe.unwrap_or_else(|| {
            choose("weights", suggestion.weights.clone());
            suggestion.weights
        });
        let (distance, distances) = distance.unwrap_or_else(|| {
            let (distance, distances) = match suggested_recipe || empty {
                true => (suggestion.distance, suggestion.distances),
                false => measured(plan, &recipe),
            };
            choose("distance", json!(distance));
            (distance, distances)
        });
        let n = n.unwrap_or_else(|| {
            choose("n", json!(suggestion.n));
            suggestion.n
        });
        let similarity = similarity.unwrap_or_else(|| {
            choose("similarity", json!(suggestion.similarity));
            suggestion.similarity
        });
        let method = method.unwrap_or_else(|| {
            let method = if similarity > 0.0 { suggestion.method } else { Method::Fingerprint };
            if method == Method::Text {
                choose("method", method.name().into());
            }
            method
        });
        let particulars = particulars.unwrap_or_else(|| {
            let kinds = json!(PARTICULARS);
            choose("particulars", kinds.clone());
            Some(kinds)
        });
        // The reason is that of recipe and distance together.
        let reason = if suggested_recipe && distance_is_chosen { suggestion.reason } else { String::new() };
        tell(plan, chosen, empty, reason);
        let method = by_similar_texts(method, similarity, plan, &recipe);
        return Choice { method, recipe, distance, distances, similarity, n, particulars, empty };
    };
    let (recipe, particulars) = (recipe.unwrap_or_default(), particulars.flatten());
    let method = by_similar_texts(method.unwrap_or_default(), similarity, plan, &recipe);
    Choice { method, recipe, distance, distances, similarity, n, particulars, empty: kept_empty }
}

/// Refuses to find texts that share nothing by what they share, and those that a recipe reads otherwise than they are written:
/// the index is of what is written. Where neither was asked for, fingerprints find them.
fn by_similar_texts(method: Method, similarity: f64, plan: &Plan, recipe: &Value) -> Method {
    if method != Method::Text {
        return method;
    }
    if similarity == 0.0 {
        refuse("by text similarity is above 0")
    }
    let weights = plan.weights().iter().map(|weight| if weight.is_null() { recipe } else { weight });
    if !weights.clone().any(reads_otherwise) {
        return method;
    }
    if plan.asked().method() == Some(Method::Text) {
        refuse(
            "an index of n-grams is of texts as they are written: with markup or simplify the method is fingerprint",
        )
    }
    Method::Fingerprint
}

/// Whether a recipe of running text has markup or simplifies.
fn reads_otherwise(weights: &Value) -> bool {
    let recipe = weights.as_object().map(|recipe| {
        let mut recipe = recipe.clone();
        recipe.remove("share");
        TextRecipe::resolved(&Value::Object(recipe), &Database).unwrap_or_else(|error| raise_recipe(error))
    });
    recipe.is_some_and(|recipe| recipe.normal != Normal::default())
}

fn tell(plan: &Plan, chosen: Map<String, Value>, empty: bool, reason: String) {
    let (what, detail) = match empty {
        true => (
            format!("table {} has no text to choose settings by: they are the defaults", plan.table_name()),
            "Run dedup_setup again when there are rows.".to_owned(),
        ),
        false => (format!("dedup_setup chose {}", written(&Value::Object(chosen))), reason),
    };
    let code = PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION;
    let notice = ErrorReport::new(code, what, "dedup_setup");
    let notice = match (detail.is_empty(), empty) {
        (true, _) => notice,
        (false, true) => notice.set_hint(detail),
        (false, false) => notice.set_detail(detail),
    };
    notice.report(PgLogLevel::NOTICE);
}

/// The widest distance whose candidates can all be verified by their texts, now and when the table has grown.
fn measured(plan: &Plan, recipe: &Value) -> (u32, Option<ByRows>) {
    let sql = format!("SELECT t.fp FROM ({}) AS t(fp)", plan.fingerprints(recipe));
    let prints = query_all(&sql, &[], |row| row.bigint(0).map(i64::cast_unsigned));
    let prints: Vec<u64> = prints.into_iter().flatten().collect();
    let mut background = Background::measure(&prints);
    let sql = format!("SELECT pg_catalog.count(*)::pg_catalog.text FROM {}", plan.table_name());
    background.rows = scalar(&sql, &[]).and_then(|rows| rows.parse().ok()).unwrap_or(background.rows);
    (background.calibrate().once, Some(background.by_rows()))
}
