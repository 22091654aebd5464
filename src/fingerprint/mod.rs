//! Fingerprints: `simhash` in its four forms and `simhash_features`.

mod aggregate;
mod distance;
mod explain;
mod trigger;
mod tsvector;

use crate::corpus::{RecipeArg, raise_recipe};
use crate::pg::{Record, Row, raise};
use dedup_core::features::{Bag, Extractor, RowRecipe, TextRecipe};
use dedup_core::fingerprint::{SimHash, Weight};
use dedup_core::hash::city64;
use pgrx::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tsvector::TsVector;

/// The weights of an array of fields, and the recipe made of them.
type WeightedFields = (Vec<Option<f64>>, Rc<RowRecipe>);

thread_local! {
    /// The buffers of feature extraction, reused from row to row.
    static EXTRACTOR: RefCell<Extractor> = RefCell::new(Extractor::new());
    static DEFAULT_RECIPE: Rc<TextRecipe> = Rc::default();
    /// The weights of the last array of fields.
    static ARRAY_RECIPE: RefCell<Option<WeightedFields>> = const { RefCell::new(None) };
}

/// The recipe given, or the default one.
pub(crate) fn text_recipe(weights: Option<RecipeArg<TextRecipe>>) -> Rc<TextRecipe> {
    weights.map_or_else(|| DEFAULT_RECIPE.with(Rc::clone), |weights| weights.0)
}

fn to_bigint(fingerprint: Option<u64>) -> Option<i64> {
    fingerprint.map(|bits| bits as i64)
}

/// The fingerprint of one text.
#[pg_extern(sql = "")]
fn simhash_text(content: Option<&str>, weights: Option<RecipeArg<TextRecipe>>) -> Option<i64> {
    let content = content?;
    let recipe = text_recipe(weights);
    EXTRACTOR.with_borrow_mut(|extractor| to_bigint(extractor.simhash(content, &recipe)))
}

/// The fingerprint of the columns of a row, given as an array.
#[pg_extern(sql = "")]
fn simhash_fields(fields: Array<'_, &str>, weights: Array<'_, f64>) -> Option<i64> {
    let recipe = array_recipe(weights.iter(), fields.len());
    EXTRACTOR.with_borrow_mut(|extractor| to_bigint(recipe.simhash(extractor, fields.iter())))
}

/// The recipe of `weights`, which must be as many as the fields.
pub(crate) fn array_recipe(weights: impl Iterator<Item = Option<f64>>, fields: usize) -> Rc<RowRecipe> {
    let weights: Vec<Option<f64>> = weights.collect();
    if weights.len() != fields {
        raise(
            PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR,
            format!("as many weights as fields are needed: {fields}, not {}", weights.len()),
            "Give one weight a field: a number for a value that counts as a whole, NULL for running text.",
        )
    }
    ARRAY_RECIPE.with_borrow_mut(|last| match last {
        Some((written, recipe)) if *written == weights => Rc::clone(recipe),
        _ => {
            let recipe =
                Rc::new(RowRecipe::from_weights(&weights).unwrap_or_else(|error| raise_recipe(error)));
            *last = Some((weights, Rc::clone(&recipe)));
            recipe
        }
    })
}

/// The fingerprint of a row, its columns weighted by name.
#[pg_extern(sql = "")]
fn simhash_record(row: Record, weights: RecipeArg<RowRecipe>) -> Option<i64> {
    simhash_row(&row.row(), &weights.0)
}

/// The fingerprint of a row by its recipe.
pub(crate) fn simhash_row(row: &Row, recipe: &RowRecipe) -> Option<i64> {
    let values: Vec<_> = recipe.columns.iter().map(|(name, _)| row.text(name)).collect();
    EXTRACTOR.with_borrow_mut(|extractor| {
        to_bigint(recipe.simhash(extractor, values.iter().map(Option::as_deref)))
    })
}

/// The fingerprint of some columns of a row, weighted as an array of fields.
pub(crate) fn simhash_columns(row: &Row, columns: &[String], recipe: &RowRecipe) -> Option<i64> {
    let values: Vec<_> = columns.iter().map(|name| row.text(name)).collect();
    EXTRACTOR.with_borrow_mut(|extractor| {
        to_bigint(recipe.simhash(extractor, values.iter().map(Option::as_deref)))
    })
}

/// Default weights of the labels D, C, B and A, those of `ts_rank`.
const LABEL_WEIGHTS: [f32; 4] = [0.1, 0.2, 0.4, 1.0];

/// The fingerprint of a text-search vector: each position of a lexeme has the weight of its label.
#[pg_extern(sql = "")]
fn simhash_tsvector(content: Option<TsVector<'_>>, weights: Option<Array<'_, f32>>) -> Option<i64> {
    let weights = match weights {
        None => LABEL_WEIGHTS,
        Some(weights) => {
            let given: Vec<Option<f32>> = weights.iter().collect();
            let four: Option<Vec<f32>> = given.iter().copied().collect();
            four.and_then(|four| <[f32; 4]>::try_from(four).ok()).unwrap_or_else(|| {
                raise(
                    PgSqlErrorCode::ERRCODE_ARRAY_ELEMENT_ERROR,
                    "weights of a tsvector must be four numbers",
                    "They weigh the labels {D, C, B, A}, as in ts_rank: {0.1, 0.2, 0.4, 1.0}.",
                )
            })
        }
    };
    let weights = weights.map(|weight| label_weight(f64::from(weight)));
    let Some(lexemes) = content?.lexemes() else {
        raise(PgSqlErrorCode::ERRCODE_DATA_CORRUPTED, "tsvector cannot be read", "")
    };
    let mut sums = SimHash::new();
    for lexeme in lexemes {
        let hash = city64(lexeme.text.as_bytes());
        for (weight, times) in weights.iter().zip(lexeme.labels) {
            (0..times).for_each(|_| sums.add(hash, *weight));
        }
    }
    to_bigint(sums.finish())
}

fn label_weight(weight: f64) -> Weight {
    Weight::new(weight).unwrap_or_else(|error| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("invalid weights: {error}"),
            format!("A weight is a number from 0 to {}.", Weight::MAX),
        )
    })
}

/// The features of a text, heaviest first.
#[pg_extern(sql = "")]
fn simhash_features_text(
    content: Option<&str>,
    weights: Option<RecipeArg<TextRecipe>>,
) -> TableIterator<'static, (name!(feature, String), name!(weight, f64), name!(hash, i64))> {
    let recipe = text_recipe(weights);
    let bag = content.map(|content| bag_of_text(content, &recipe));
    TableIterator::new(feature_rows(bag.unwrap_or_default()))
}

/// The features of a row, heaviest first.
#[pg_extern(sql = "")]
fn simhash_features_record(
    row: Record,
    weights: RecipeArg<RowRecipe>,
) -> TableIterator<'static, (name!(feature, String), name!(weight, f64), name!(hash, i64))> {
    TableIterator::new(feature_rows(bag_of_row(&row.row(), &weights.0)))
}

/// The features of a text.
pub(crate) fn bag_of_text(content: &str, recipe: &TextRecipe) -> Bag {
    EXTRACTOR.with_borrow_mut(|extractor| extractor.bag(content, recipe))
}

/// The features of a row.
pub(crate) fn bag_of_row(row: &Row, recipe: &RowRecipe) -> Bag {
    let values: Vec<_> = recipe.columns.iter().map(|(name, _)| row.text(name)).collect();
    let values = values.iter().map(Option::as_deref);
    EXTRACTOR.with_borrow_mut(|extractor| recipe.bag(extractor, values))
}

/// The fingerprint of a text.
pub(crate) fn simhash_of(content: &str, recipe: &TextRecipe) -> Option<u64> {
    EXTRACTOR.with_borrow_mut(|extractor| extractor.simhash(content, recipe))
}

fn feature_rows(bag: Bag) -> impl Iterator<Item = (String, f64, i64)> {
    let features = bag.into_heaviest_first().into_iter();
    features.map(|feature| (feature.text, feature.weight.value(), feature.hash as i64))
}
