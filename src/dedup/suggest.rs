//! `dedup_suggest`: settings for the texts of a source; `dedup` and the first call of
//! `dedup_into` take them if they are given none.

use crate::corpus::raise_recipe;
use crate::fingerprint::simhash_of;
use crate::pg::raise;
use crate::pg::spi::for_each_of_query;
use crate::settings::memory_limit;
use crate::source::Source;
use dedup_core::dedup::{Method, Written};
use dedup_core::evaluate::{Background, ByRows, Profile, TextKind, TextSample};
use dedup_core::features::TextRecipe;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use pgrx::{JsonB, PgLogLevel};
use serde_json::{Value, json};

/// Texts that are looked at, at most.
const SAMPLE: usize = 20_000;
/// Their bytes at most, but for a single one.
const SAMPLE_BYTES: usize = 64 << 20;

/// Kinds of particulars in which duplicates may not differ.
pub(crate) const PARTICULARS: [&str; 1] = ["name"];

/// Sees all texts and keeps some of them.
pub(crate) struct Sampler(TextSample);

impl Default for Sampler {
    fn default() -> Sampler {
        let bytes = memory_limit().map_or(SAMPLE_BYTES, |limit| SAMPLE_BYTES.min(limit / 4));
        Sampler(TextSample::new(SAMPLE, bytes))
    }
}

impl Sampler {
    pub(super) fn add(&mut self, content: &str) {
        self.0.add(content);
    }

    /// Settings for the texts; `None` if there is no text.
    pub(crate) fn suggest(self) -> Option<Suggested> {
        let seen = self.0.seen();
        let sample = self.0.texts();
        let mut profile = Profile::default();
        sample.iter().for_each(|text| profile.add(text));
        // Of a table that was seen as a whole, those without a letter are not counted.
        let texts = if sample.len() as u64 == seen { profile.texts() as u64 } else { seen };
        if profile.texts() == 0 {
            return None;
        }
        let suggestion = profile.suggest(&sample, texts);
        let recipe = TextRecipe::from_json(&suggestion.recipe).unwrap_or_else(|error| raise_recipe(error));
        let prints: Vec<u64> = sample.iter().filter_map(|content| simhash_of(content, &recipe)).collect();
        let mut background = Background::measure(&prints);
        background.rows = texts;
        let calibration = background.calibrate();
        let distance = calibration.once;
        let wider = distance > calibration.verified;
        let few = if wider { "a million unrelated candidates" } else { "ten unrelated candidates per row" };
        let reason = format!(
            "{} Distance {distance} is the widest that lets in at most {few}; texts of Jaccard {} are {:.0} bits apart on \
             average. Texts that name different things are no duplicates.",
            suggestion.reason, suggestion.threshold, suggestion.expected_distance
        );
        let (n, similarity) = (suggestion.n, suggestion.threshold);
        let by_rows = background.by_rows();
        Some(Suggested {
            kind: suggestion.kind,
            weights: suggestion.recipe,
            distance,
            by_rows,
            n,
            similarity,
            reason,
        })
    }
}

/// Settings.
pub(crate) struct Suggested {
    kind: TextKind,
    pub weights: Value,
    pub distance: u32,
    /// The distance when the table has grown.
    pub by_rows: ByRows,
    pub n: u32,
    pub similarity: f64,
    pub reason: String,
}

impl Suggested {
    /// How near rows are found.
    pub(crate) fn method(&self) -> Method {
        if self.kind.compare_texts() { Method::Text } else { Method::Fingerprint }
    }

    /// As options of `dedup`.
    fn options(&self) -> Value {
        json!({
            "method": self.method().name(), "weights": self.weights, "distance": self.distance, "similarity": self.similarity, "n": self.n,
            "particulars": PARTICULARS,
        })
    }

    /// Writes them down as if they had been given.
    pub(super) fn write(&self, written: &mut Written) {
        if let Value::Object(options) = self.options() {
            options.into_iter().for_each(|(name, value)| written.add(&name, value));
        }
    }

    /// Emits a notice of what was chosen.
    pub(super) fn announce(&self, function: &str) {
        let weights = self.weights.as_object().into_iter().flatten();
        let weights: Vec<String> = weights.map(|(name, value)| format!("\"{name}\": {value}")).collect();
        let message = format!(
            "{function} chose {{\"method\": \"{}\", \"weights\": {{{}}}, \"distance\": {}, \"similarity\": {}, \"n\": {}, \"particulars\": {}}}",
            self.method().name(),
            weights.join(", "),
            self.distance,
            self.similarity,
            self.n,
            json!(PARTICULARS)
        );
        ErrorReport::new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message, "pg_dedup")
            .set_detail(self.reason.clone())
            .report(PgLogLevel::NOTICE);
    }
}

/// Looks at the texts of a query whose column `at` has them, or whose only one.
pub(crate) fn sample(query: &str) -> Sampler {
    let mut sampler = Sampler::default();
    for_each_of_query(query, |columns| {
        if columns.is_empty() {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                "the query returns no column",
                "The query returns the text, or the row's id and the text.",
            )
        }
        // The same query does for dedup: its second column is the text.
        let at = usize::from(columns.len() > 1);
        let sampler = &mut sampler;
        move |row| {
            if let Some(content) = row.written(at) {
                sampler.add(&content);
            }
        }
    });
    sampler
}

/// Recipe, distance and verification for the texts of a source.
#[pg_extern(sql = "")]
fn dedup_suggest(
    source: Option<&str>,
) -> TableIterator<
    'static,
    (
        name!(method, &'static str),
        name!(weights, JsonB),
        name!(distance, i32),
        name!(n, i32),
        name!(similarity, f64),
        name!(options, JsonB),
        name!(reason, String),
    ),
> {
    let Some(suggested) = sample(&Source::new(source).contents()).suggest() else {
        notice!("the source has no text, so there is nothing to suggest settings for");
        return TableIterator::empty();
    };
    let method =
        if suggested.kind.compare_texts() { "near_dup_text_pairs" } else { "near_dup + ngram_jaccard" };
    let options = JsonB(suggested.options());
    let Suggested { weights, distance, n, similarity, reason, .. } = suggested;
    TableIterator::once((method, JsonB(weights), distance as i32, n as i32, similarity, options, reason))
}
