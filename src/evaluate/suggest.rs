//! `dedup_suggest`: recipe, radius and verification for the texts of a query.

use super::refuse_columns;
use crate::corpus::raise_recipe;
use crate::fingerprint::simhash_of;
use crate::pg::spi::for_each_of_query;
use dedup_core::evaluate::{Background, Profile};
use dedup_core::features::TextRecipe;
use dedup_core::memory::{OrRaise, Room};
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::json;

/// Texts that `dedup_suggest` fingerprints.
const SAMPLE: usize = 20_000;
/// Bytes of these texts, after which no more are taken.
const SAMPLE_BYTES: usize = 64 << 20;

/// Recipe, radius and verification for the texts of a query.
#[pg_extern(sql = "")]
fn dedup_suggest(
    query: &str,
) -> TableIterator<
    'static,
    (
        name!(method, &'static str),
        name!(weights, JsonB),
        name!(distance, i32),
        name!(n, i32),
        name!(threshold, f64),
        name!(options, JsonB),
        name!(reason, String),
    ),
> {
    let mut profile = Profile::default();
    let mut sample: Vec<String> = Vec::new();
    let mut bytes = 0;
    for_each_of_query(query, |columns| {
        if columns.is_empty() {
            refuse_columns(
                "the query returns no column".to_owned(),
                "The query returns the text, or the row's id and the text.",
            )
        }
        // As for `dedup`, the second column of two is the text.
        let at = usize::from(columns.len() > 1);
        let (profile, sample) = (&mut profile, &mut sample);
        move |row| {
            let Some(content) = row.written(at) else { return };
            profile.add(&content);
            if sample.len() < SAMPLE && bytes < SAMPLE_BYTES {
                bytes += content.len();
                sample.room(1).or_raise();
                sample.push(content);
            }
        }
    });
    if profile.texts() == 0 {
        notice!("the query returns no text, so there is nothing to suggest settings for");
        return TableIterator::empty();
    }
    let suggestion = profile.suggest(&sample, profile.texts() as u64);
    let recipe = TextRecipe::from_json(&suggestion.recipe).unwrap_or_else(|error| raise_recipe(error));
    let prints: Vec<u64> = sample.iter().filter_map(|content| simhash_of(content, &recipe)).collect();
    let mut background = Background::measure(&prints);
    background.rows = profile.texts() as u64;
    let distance = background.calibrate().verified;
    let method =
        if suggestion.kind.compare_texts() { "near_dup_text_pairs" } else { "near_dup + ngram_jaccard" };
    let options = json!({
        "weights": suggestion.recipe,
        "distance": distance,
        "similarity": suggestion.threshold,
        "n": suggestion.n,
    });
    let reason = format!(
        "{} Radius {distance} is the widest that lets in at most ten unrelated candidates a row; texts of \
         Jaccard {} are {:.0} bits apart on average.",
        suggestion.reason, suggestion.threshold, suggestion.expected_distance
    );
    let (n, threshold) = (suggestion.n as i32, suggestion.threshold);
    TableIterator::once((
        method,
        JsonB(suggestion.recipe),
        distance as i32,
        n,
        threshold,
        JsonB(options),
        reason,
    ))
}
