//! What is not asked for is chosen by the rows of the table.

use super::options::refuse;
use super::plan::{Plan, written};
use crate::corpus::{Database, raise_recipe};
use crate::pg::spi::{query_all, scalar};
use crate::table::{PARTICULARS, Settings, Suggested, announce_implied, sample};
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
    let kept_method = keeps("method").filter(|_| !asked.is_again("distance")).map(Settings::method);
    let by_distance = asked.implies_fingerprint();
    let method = asked.method().or_else(|| by_distance.then_some(Method::Fingerprint)).or(kept_method);
    // Whole values are equal or not, by fingerprints too.
    let method = method.or_else(|| (!has_running).then_some(Method::Fingerprint));
    let needs =
        recipe.is_none() || distance.is_none() || n.is_none() || similarity.is_none() || method.is_none();
    let suggested = needs.then(|| sample(&plan.texts(), None).0.suggest(None, None)).flatten();
    let empty = if needs { suggested.is_none() } else { kept.is_some_and(|kept| kept.stored().empty) };
    let by_texts = suggested.as_ref().map(Suggested::method).or(kept_method) == Some(Method::Text);
    announce_implied("dedup_setup", Some("distance").filter(|_| by_texts && by_distance));
    let mut chosen = Map::new();
    let suggested_recipe = recipe.is_none() && plan.weights().iter().all(Value::is_null);
    // The reason is that of recipe and distance together.
    let reason = match &suggested {
        Some(suggested) if suggested_recipe && distance.is_none() => suggested.reason.as_str(),
        _ => "",
    };
    let recipe = recipe.unwrap_or_else(|| {
        let weights = suggested.as_ref().map_or(Value::Null, |it| it.weights.clone());
        chosen.insert("weights".into(), weights.clone());
        weights
    });
    let (distance, distances) = distance.unwrap_or_else(|| {
        let (distance, distances) = match &suggested {
            Some(it) if suggested_recipe => (it.distance, Some(it.by_rows.clone())),
            None => (10, None),
            Some(_) => measured(plan, &recipe),
        };
        chosen.insert("distance".into(), json!(distance));
        (distance, distances)
    });
    let mut whole = |key: &str, given: Option<u32>, suggested: Option<u32>, default| {
        given.unwrap_or_else(|| {
            let n = suggested.unwrap_or(default);
            chosen.insert(key.into(), json!(n));
            n
        })
    };
    let n = whole("n", n, suggested.as_ref().map(|it| it.n), 2);
    let similarity = similarity.unwrap_or_else(|| {
        let similarity = suggested.as_ref().map_or(0.5, |it| it.similarity);
        chosen.insert("similarity".into(), json!(similarity));
        similarity
    });
    let method = method.unwrap_or_else(|| {
        let method =
            suggested.as_ref().filter(|_| similarity > 0.0).map(Suggested::method).unwrap_or_default();
        if method == Method::Text {
            chosen.insert("method".into(), method.name().into());
        }
        method
    });
    let particulars = particulars.unwrap_or_else(|| {
        let kinds = json!(PARTICULARS);
        chosen.insert("particulars".into(), kinds.clone());
        Some(kinds)
    });
    if needs || !chosen.is_empty() {
        tell(plan, chosen, empty, reason);
    }
    let method = by_similar_texts(method, similarity, plan, &recipe);
    Choice { method, recipe, distance, distances, similarity, n, particulars, empty }
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

fn tell(plan: &Plan, chosen: Map<String, Value>, empty: bool, reason: &str) {
    let (what, detail) = match empty {
        true => (
            format!("table {} has no text to choose settings by: they are the defaults", plan.table_name()),
            "Run dedup_setup again when there are rows.".to_owned(),
        ),
        false => (format!("dedup_setup chose {}", written(&Value::Object(chosen))), reason.to_owned()),
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
