//! `simhash_explain`: why two fingerprints differ, feature by feature and
//! column by column.

use crate::fingerprint::{bag_of_row, bag_of_text};
use crate::pg::{RecipeArg, Record};
use dedup_core::evaluate::{Explained, Explanation, explain};
use dedup_core::features::{RowRecipe, TextRecipe};
use pgrx::prelude::*;
use std::collections::BTreeMap;

/// Rows of `simhash_explain`. (The signatures spell it out: pgrx does not see
/// through a name.)
type FeatureRows = TableIterator<'static, (Option<String>, String, &'static str, f64, f64, f64)>;

/// Features of two texts, those that did most first.
#[pg_extern(sql = "")]
#[allow(clippy::type_complexity, reason = "the shape of a table")]
fn simhash_explain_text(
    a: Option<&str>,
    b: Option<&str>,
    weights: Option<RecipeArg<TextRecipe>>,
) -> TableIterator<
    'static,
    (
        name!(column, Option<String>),
        name!(feature, String),
        name!(found_in, &'static str),
        name!(weight_a, f64),
        name!(weight_b, f64),
        name!(bits, f64),
    ),
> {
    let (Some(a), Some(b)) = (a, b) else { return TableIterator::empty() };
    feature_rows(of_texts(a, b, weights), false)
}

/// Features of two rows.
#[pg_extern(sql = "")]
#[allow(clippy::type_complexity, reason = "the shape of a table")]
fn simhash_explain_record(
    a: Record,
    b: Record,
    weights: RecipeArg<RowRecipe>,
) -> TableIterator<
    'static,
    (
        name!(column, Option<String>),
        name!(feature, String),
        name!(found_in, &'static str),
        name!(weight_a, f64),
        name!(weight_b, f64),
        name!(bits, f64),
    ),
> {
    feature_rows(of_rows(&a, &b, &weights.0), true)
}

/// The comparison of two texts in one row.
#[pg_extern(sql = "")]
#[allow(clippy::type_complexity, reason = "the shape of a table")]
fn simhash_explain_summary_text(
    a: Option<&str>,
    b: Option<&str>,
    weights: Option<RecipeArg<TextRecipe>>,
) -> TableIterator<
    'static,
    (
        name!(column, Option<String>),
        name!(shared, i64),
        name!(only_a, i64),
        name!(only_b, i64),
        name!(jaccard, f64),
        name!(bits, f64),
        name!(distance, Option<i32>),
    ),
> {
    let (Some(a), Some(b)) = (a, b) else { return TableIterator::empty() };
    let explanation = of_texts(a, b, weights);
    let total = summary(None, &explanation.features, explanation.distance);
    TableIterator::once(total)
}

/// The comparison of two rows: a line for each column, and one for all.
#[pg_extern(sql = "")]
#[allow(clippy::type_complexity, reason = "the shape of a table")]
fn simhash_explain_summary_record(
    a: Record,
    b: Record,
    weights: RecipeArg<RowRecipe>,
) -> TableIterator<
    'static,
    (
        name!(column, Option<String>),
        name!(shared, i64),
        name!(only_a, i64),
        name!(only_b, i64),
        name!(jaccard, f64),
        name!(bits, f64),
        name!(distance, Option<i32>),
    ),
> {
    let explanation = of_rows(&a, &b, &weights.0);
    let mut columns: BTreeMap<String, Vec<Explained>> = BTreeMap::new();
    for feature in &explanation.features {
        let (column, _) = split(&feature.feature);
        columns.entry(column.to_owned()).or_default().push(feature.clone());
    }
    let mut rows: Vec<_> =
        columns.into_iter().map(|(column, features)| summary(Some(column), &features, None)).collect();
    rows.sort_by(|x, y| y.5.total_cmp(&x.5));
    rows.push(summary(None, &explanation.features, explanation.distance));
    TableIterator::new(rows)
}

fn of_texts(a: &str, b: &str, weights: Option<RecipeArg<TextRecipe>>) -> Explanation {
    let recipe = weights.map(|weights| weights.0).unwrap_or_default();
    explain(&bag_of_text(a, &recipe), &bag_of_text(b, &recipe))
}

fn of_rows(a: &Record, b: &Record, recipe: &RowRecipe) -> Explanation {
    explain(&bag_of_row(&a.row(), recipe), &bag_of_row(&b.row(), recipe))
}

/// The column and the token of a feature of a row.
fn split(feature: &str) -> (&str, &str) {
    feature.split_once('=').unwrap_or(("", feature))
}

fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn feature_rows(explanation: Explanation, of_row: bool) -> FeatureRows {
    TableIterator::new(explanation.features.into_iter().map(move |feature| {
        let found_in = match (feature.weight_a > 0.0, feature.weight_b > 0.0) {
            (true, true) => "both",
            (true, false) => "a",
            _ => "b",
        };
        let (column, token) = split(&feature.feature);
        let (column, token) =
            if of_row { (Some(column.to_owned()), token) } else { (None, &*feature.feature) };
        let (a, b, bits) = (rounded(feature.weight_a), rounded(feature.weight_b), rounded(feature.bits));
        (column, token.to_owned(), found_in, a, b, bits)
    }))
}

type Summary = (Option<String>, i64, i64, i64, f64, f64, Option<i32>);

fn summary(column: Option<String>, features: &[Explained], distance: Option<u32>) -> Summary {
    let count =
        |of: &dyn Fn(&Explained) -> bool| features.iter().filter(|feature| of(feature)).count() as i64;
    let shared = count(&|f| f.weight_a > 0.0 && f.weight_b > 0.0);
    let (only_a, only_b) = (count(&|f| f.weight_b == 0.0), count(&|f| f.weight_a == 0.0));
    let smaller: f64 = features.iter().map(|f| f.weight_a.min(f.weight_b)).sum();
    let larger: f64 = features.iter().map(|f| f.weight_a.max(f.weight_b)).sum();
    let jaccard = if larger > 0.0 { smaller / larger } else { 0.0 };
    let bits = features.iter().map(|f| f.bits).sum();
    (column, shared, only_a, only_b, rounded(jaccard), rounded(bits), distance.map(|d| d as i32))
}
