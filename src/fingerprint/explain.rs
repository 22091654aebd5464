//! `simhash_explain`: why two fingerprints differ, feature by feature and
//! column by column.

use super::{bag_of_fields, bag_of_row, bag_of_text, bag_of_values};
use crate::corpus::RecipeArg;
use crate::pg::{Record, raise};
use crate::setup::Settings;
use dedup_core::features::{Bag, Explanation, FieldsRecipe, Part, RowRecipe, TextRecipe, explain};
use dedup_core::interrupt::checked;
use pgrx::prelude::*;

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
    by_column(&bag_of_row(&a.row(), &recipe), &bag_of_row(&b.row(), &recipe), &recipe, None)
}

/// The features of two rows of a table, by the table's settings.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
fn simhash_explain_rows(
    a: Record,
    b: Record,
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
    let settings = Settings::of_row(&a);
    if !settings.is_of(&b) {
        raise(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            "the rows are not of one table",
            "Give two rows of one table with settings, or weights: simhash_explain(a, b, '{\"title\": 2, \"body\": null}').",
        )
    }
    let recipe = settings.recipe();
    let bag = |row: &Record| bag_of_values(&settings.values_of(row), &recipe);
    by_column(&bag(&a), &bag(&b), &recipe, Some(&settings.columns))
}

/// Features of two arrays of fields.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
fn simhash_explain_fields(
    a: Array<'_, &str>,
    b: Array<'_, &str>,
    weights: RecipeArg<FieldsRecipe>,
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
    by_column(&bag_of_fields(&a, &recipe), &bag_of_fields(&b, &recipe), &recipe.0, None)
}

/// A line for each feature and column that it stands in; `names` are those of the columns if they
/// are not those of the recipe.
fn by_column(
    a: &Bag,
    b: &Bag,
    recipe: &RowRecipe,
    names: Option<&[String]>,
) -> TableIterator<'static, FeatureRow> {
    let line = |(column, part): (usize, Part), feature: &str| {
        let name = names.map_or(&recipe.columns[column].0, |names| &names[column]);
        feature_row(Some(name.clone()), recipe.token(column, feature).to_owned(), part)
    };
    let lines: Vec<FeatureRow> = checked(explain(a, b).features)
        .flat_map(|of| of.columns.into_iter().map(move |part| (part, of.feature.clone())))
        .map(|(part, feature)| line(part, &feature))
        .collect();
    TableIterator::new(lines)
}

fn of_texts(a: &str, b: &str, weights: Option<RecipeArg<TextRecipe>>) -> Explanation {
    let recipe = weights.map(|weights| weights.0).unwrap_or_default();
    explain(&bag_of_text(a, &recipe), &bag_of_text(b, &recipe))
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
