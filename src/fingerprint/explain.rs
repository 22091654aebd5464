//! `simhash_explain`: why two fingerprints differ, feature by feature and
//! column by column.

use super::{bag_of_row, bag_of_text};
use crate::corpus::RecipeArg;
use crate::pg::Record;
use dedup_core::features::{Explanation, Part, explain};
use dedup_core::features::{RowRecipe, TextRecipe};
use dedup_core::interrupt::checked;
use pgrx::prelude::*;
use std::collections::BTreeMap;

/// A row of `simhash_explain`. (The signatures repeat it, because pgrx does not resolve type
/// aliases.)
type FeatureRow = (Option<String>, String, &'static str, f64, f64, f64);

/// The features of two texts, those with the largest effect first.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
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
    let features = of_texts(a, b, weights).features.into_iter();
    TableIterator::new(features.map(|of| feature_row(None, of.feature, of.whole)))
}

/// The features of two rows, by column.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
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
    let recipe = weights.0;
    let features = of_rows(&a, &b, &recipe).features.into_iter();
    TableIterator::new(features.flat_map(move |of| {
        let recipe = recipe.clone();
        of.columns.into_iter().map(move |(column, part)| {
            let (name, _) = &recipe.columns[column];
            feature_row(Some(name.clone()), recipe.token(column, &of.feature).to_owned(), part)
        })
    }))
}

/// The comparison of two texts in one row.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
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
    TableIterator::once(total(&explanation))
}

/// The comparison of two rows: a line for each column, and one for all.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
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
    let mut columns: BTreeMap<usize, Vec<Part>> = BTreeMap::new();
    for (&column, &part) in explanation.features.iter().flat_map(|feature| &feature.columns) {
        columns.entry(column).or_default().push(part);
    }
    let name = |column: usize| Some(weights.0.columns[column].0.clone());
    let mut rows: Vec<_> =
        columns.into_iter().map(|(column, parts)| summary(name(column), &parts, None)).collect();
    rows.sort_by(|x, y| y.5.total_cmp(&x.5));
    rows.push(total(&explanation));
    TableIterator::new(rows)
}

fn of_texts(a: &str, b: &str, weights: Option<RecipeArg<TextRecipe>>) -> Explanation {
    let recipe = weights.map(|weights| weights.0).unwrap_or_default();
    explain(&bag_of_text(a, &recipe), &bag_of_text(b, &recipe))
}

fn of_rows(a: &Record, b: &Record, recipe: &RowRecipe) -> Explanation {
    explain(&bag_of_row(&a.row(), recipe), &bag_of_row(&b.row(), recipe))
}

/// Turns -0, which some sums yield, into 0.
fn unsigned_zero(number: f64) -> f64 {
    number + 0.0
}

fn feature_row(column: Option<String>, token: String, part: Part) -> FeatureRow {
    let found_in = match (part.weight_a > 0.0, part.weight_b > 0.0) {
        (true, true) => "both",
        (true, false) => "a",
        _ => "b",
    };
    (
        column,
        token,
        found_in,
        unsigned_zero(part.weight_a),
        unsigned_zero(part.weight_b),
        unsigned_zero(part.bits),
    )
}

type Summary = (Option<String>, i64, i64, i64, f64, f64, Option<i32>);

fn total(explanation: &Explanation) -> Summary {
    let parts: Vec<Part> = checked(&explanation.features).map(|feature| feature.whole).collect();
    summary(None, &parts, explanation.distance)
}

fn summary(column: Option<String>, parts: &[Part], distance: Option<u32>) -> Summary {
    let count = |of: &dyn Fn(&Part) -> bool| parts.iter().filter(|part| of(part)).count() as i64;
    let shared = count(&|f| f.weight_a > 0.0 && f.weight_b > 0.0);
    let (only_a, only_b) = (count(&|f| f.weight_b == 0.0), count(&|f| f.weight_a == 0.0));
    let smaller: f64 = parts.iter().map(|f| f.weight_a.min(f.weight_b)).sum();
    let larger: f64 = parts.iter().map(|f| f.weight_a.max(f.weight_b)).sum();
    let jaccard = if larger > 0.0 { smaller / larger } else { 0.0 };
    let bits = parts.iter().map(|f| f.bits).sum();
    (column, shared, only_a, only_b, unsigned_zero(jaccard), unsigned_zero(bits), distance.map(|d| d as i32))
}
