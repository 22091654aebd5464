//! What is not asked for is chosen by the rows of the table.

use super::options::refuse;
use super::plan::{Plan, written};
use super::settings::Settings;
use crate::dedup::PARTICULARS;
use crate::pg::catalog::schema;
use crate::pg::spi::{Argument, query_all, scalar};
use dedup_core::dedup::Method;
use dedup_core::evaluate::Background;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// What was chosen or asked for.
#[derive(Default)]
pub(super) struct Choice {
    /// How near rows are found.
    pub method: Method,
    /// The recipe of running text; null is the default one.
    pub recipe: Value,
    pub distance: u32,
    pub similarity: f64,
    pub n: u32,
    /// Kinds of particulars that near-duplicates must have in common.
    pub particulars: Option<Value>,
    /// There was no text to choose by.
    pub empty: bool,
}

/// As `dedup_suggest` returns it.
#[derive(Deserialize)]
struct Suggestion {
    weights: Value,
    distance: u32,
    n: u32,
    similarity: f64,
    options: Value,
    reason: String,
}

/// What is taken for an empty table: the defaults of `dedup`.
fn defaults() -> Suggestion {
    let options = json!({"particulars": PARTICULARS});
    Suggestion { weights: Value::Null, distance: 10, n: 2, similarity: 0.5, options, reason: String::new() }
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
    let distance = asked.whole("distance", 0..=64).or_else(|| keeps("distance").map(Settings::distance));
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
    let (Some(_), Some(distance), Some(n), Some(similarity)) = (&recipe, distance, n, similarity) else {
        let suggestion = suggest(plan);
        let empty = suggestion.is_none();
        let suggestion = suggestion.unwrap_or_else(defaults);
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
        let distance = distance.unwrap_or_else(|| {
            let distance =
                if suggested_recipe || empty { suggestion.distance } else { measured(plan, &recipe) };
            choose("distance", json!(distance));
            distance
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
            let by_text = suggestion.options.get("method").is_some_and(|it| it == Method::Text.name());
            let method = if by_text && similarity > 0.0 { Method::Text } else { Method::Fingerprint };
            if method == Method::Text {
                choose("method", method.name().into());
            }
            method
        });
        let particulars = particulars.unwrap_or_else(|| {
            let kinds = suggestion.options.get("particulars").cloned();
            kinds.inspect(|kinds| choose("particulars", kinds.clone()))
        });
        // The reason is that of recipe and distance together.
        let reason = if suggested_recipe && distance_is_chosen { suggestion.reason } else { String::new() };
        tell(plan, chosen, empty, reason);
        let method = by_similar_texts(method, similarity);
        return Choice { method, recipe, distance, similarity, n, particulars, empty };
    };
    let (recipe, particulars) = (recipe.unwrap_or_default(), particulars.flatten());
    let method = by_similar_texts(method.unwrap_or_default(), similarity);
    Choice { method, recipe, distance, similarity, n, particulars, empty: kept_empty }
}

/// Refuses to find texts that share nothing by what they share.
fn by_similar_texts(method: Method, similarity: f64) -> Method {
    if method == Method::Text && similarity == 0.0 {
        refuse("by text similarity is above 0")
    }
    method
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

/// The suggestion for the texts of the table, if there is one.
fn suggest(plan: &Plan) -> Option<Suggestion> {
    let texts = plan.texts();
    let any = format!(
        "SELECT 't'::pg_catalog.text FROM ({texts}) AS t(content) WHERE t.content IS NOT NULL LIMIT 1"
    );
    scalar(&any, &[])?;
    let sql =
        format!("SELECT pg_catalog.to_json(s)::pg_catalog.text FROM {}.dedup_suggest($1) AS s", schema());
    scalar(&sql, &[Argument::of(texts)]).and_then(|suggestion| serde_json::from_str(&suggestion).ok())
}

/// The widest distance whose candidates can all be verified by their texts.
fn measured(plan: &Plan, recipe: &Value) -> u32 {
    let sql = format!("SELECT t.fp FROM ({}) AS t(fp)", plan.fingerprints(recipe));
    let prints = query_all(&sql, &[], |row| row.bigint(0).map(i64::cast_unsigned));
    let prints: Vec<u64> = prints.into_iter().flatten().collect();
    let mut background = Background::measure(&prints);
    let sql = format!("SELECT pg_catalog.count(*)::pg_catalog.text FROM {}", plan.table_name());
    background.rows = scalar(&sql, &[]).and_then(|rows| rows.parse().ok()).unwrap_or(background.rows);
    background.calibrate().once
}
