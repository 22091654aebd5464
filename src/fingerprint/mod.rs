//! Fingerprints: `simhash` in its five forms and `simhash_features`.

mod aggregate;
mod document;
mod explain;
mod tsvector;

use crate::corpus::{RecipeArg, ShownRecipe, cached_from_text};
use crate::pg::{Pointer, Record, Row, raise_corrupted, raise_elements, raise_protocol, trigger::Call};
use dedup_core::features::{Bag, Extractor, FieldsRecipe, RowRecipe, TextRecipe};
use dedup_core::fingerprint::SimHash;
use dedup_core::hash::city64;
pub(crate) use explain::by_column as explain_by_column;
use pgrx::prelude::*;
use std::cell::RefCell;
use std::rc::Rc;
use tsvector::{LabelWeights, TsVector};

thread_local! {
    /// The buffers of feature extraction, reused from row to row.
    static EXTRACTOR: RefCell<Extractor> = RefCell::new(Extractor::new());
    static DEFAULT_RECIPE: Rc<TextRecipe> = Rc::default();
}

pub(crate) fn text_recipe<const SHOWN: bool>(recipe: Option<RecipeArg<TextRecipe, SHOWN>>) -> Rc<TextRecipe> {
    recipe.map_or_else(|| DEFAULT_RECIPE.with(Rc::clone), |recipe| recipe.0)
}

fn to_bigint(fingerprint: Option<u64>) -> Option<i64> {
    fingerprint.map(|bits| bits as i64)
}

#[pg_extern(sql = "")]
fn simhash_text(content: Option<&str>, recipe: Option<RecipeArg<TextRecipe>>) -> Option<i64> {
    to_bigint(simhash_of(content?, &text_recipe(recipe)))
}

#[pg_extern(sql = "")]
fn simhash_fields(fields: Array<'_, &str>, recipe: RecipeArg<FieldsRecipe>) -> Option<i64> {
    let recipe = recipe_of_fields(&recipe.0, fields.len());
    EXTRACTOR.with_borrow_mut(|extractor| to_bigint(recipe.simhash(extractor, fields.iter())))
}

fn recipe_of_fields(recipe: &FieldsRecipe, fields: usize) -> &RowRecipe {
    let weights = recipe.0.columns.len();
    if weights != fields {
        raise_elements(
            format!("as many weights as fields are needed: {fields}, not {weights}"),
            "Give one weight a field: a number for a value that counts as a whole, null for running text.",
        )
    }
    &recipe.0
}

#[pg_extern(sql = "")]
fn simhash_record(row: Record, recipe: RecipeArg<RowRecipe>) -> Option<i64> {
    simhash_columns(&row.row(), names(&recipe.0), &recipe.0)
}

fn names(recipe: &RowRecipe) -> impl Iterator<Item = &str> {
    recipe.columns.iter().map(|(name, _)| name.as_str())
}

/// The fingerprint of these columns of a row, by the recipe of each.
fn simhash_columns<'n>(row: &Row, columns: impl Iterator<Item = &'n str>, recipe: &RowRecipe) -> Option<i64> {
    let values: Vec<_> = columns.map(|name| row.text(name)).collect();
    EXTRACTOR.with_borrow_mut(|extractor| {
        to_bigint(recipe.simhash(extractor, values.iter().map(Option::as_deref)))
    })
}

#[pg_extern(sql = "")]
fn simhash_tsvector(content: Option<TsVector<'_>>, weights: Option<RecipeArg<LabelWeights>>) -> Option<i64> {
    let weights = weights.map_or_else(LabelWeights::default, |weights| *weights.0);
    let Some(lexemes) = content?.lexemes() else { raise_corrupted("tsvector cannot be read", "") };
    let mut sums = SimHash::new();
    for lexeme in lexemes {
        let hash = city64(lexeme.text.as_bytes());
        for (weight, times) in weights.0.iter().zip(lexeme.labels) {
            (0..times).for_each(|_| sums.add(hash, *weight));
        }
    }
    to_bigint(sums.finish())
}

#[pg_extern(sql = "")]
fn simhash_features_text(
    content: Option<&str>,
    recipe: Option<ShownRecipe<TextRecipe>>,
) -> TableIterator<'static, (name!(feature, String), name!(weight, f64), name!(hash, i64))> {
    let recipe = text_recipe(recipe);
    let bag = content.map(|content| bag_of_text(content, &recipe));
    TableIterator::new(feature_rows(bag.unwrap_or_default()))
}

#[pg_extern(sql = "")]
fn simhash_features_record(
    row: Record,
    recipe: ShownRecipe<RowRecipe>,
) -> TableIterator<'static, (name!(feature, String), name!(weight, f64), name!(hash, i64))> {
    TableIterator::new(feature_rows(bag_of_row(&row.row(), &recipe.0)))
}

#[pg_extern(sql = "")]
fn simhash_features_fields(
    fields: Array<'_, &str>,
    recipe: ShownRecipe<FieldsRecipe>,
) -> TableIterator<'static, (name!(feature, String), name!(weight, f64), name!(hash, i64))> {
    TableIterator::new(feature_rows(bag_of_fields(&fields, &recipe.0)))
}

pub(crate) fn bag_of_text(content: &str, recipe: &TextRecipe) -> Bag {
    EXTRACTOR.with_borrow_mut(|extractor| extractor.bag(content, recipe))
}

fn bag_of_row(row: &Row, recipe: &RowRecipe) -> Bag {
    bag_of_values(&names(recipe).map(|name| row.text(name)).collect::<Vec<_>>(), recipe)
}

fn bag_of_fields(fields: &Array<'_, &str>, recipe: &FieldsRecipe) -> Bag {
    let recipe = recipe_of_fields(recipe, fields.len());
    EXTRACTOR.with_borrow_mut(|extractor| recipe.bag(extractor, fields.iter()))
}

/// The features of values in the order of the recipe's columns.
pub(crate) fn bag_of_values(values: &[Option<String>], recipe: &RowRecipe) -> Bag {
    let values = values.iter().map(Option::as_deref);
    EXTRACTOR.with_borrow_mut(|extractor| recipe.bag(extractor, values))
}

pub(crate) fn simhash_of(content: &str, recipe: &TextRecipe) -> Option<u64> {
    EXTRACTOR.with_borrow_mut(|extractor| extractor.simhash(content, recipe))
}

fn feature_rows(bag: Bag) -> impl Iterator<Item = (String, f64, i64)> {
    let features = bag.into_heaviest_first().into_iter();
    features.map(|feature| (feature.text, feature.weight.value(), feature.hash as i64))
}

const USAGE: &str = "Use simhash_trigger('fingerprint column', '{\"column\": weight, …}') or \
                     simhash_trigger('fingerprint column', '[weight, …]', 'column', …).";

/// Keeps a fingerprint column up to date, in the manner of `tsvector_update_trigger`: fills the column named by the first argument with the fingerprint of the row that is inserted or updated.
/// With two arguments the second is the JSON of `simhash(record, jsonb)`; with more it is that of
/// `simhash(text[], jsonb)`, and the rest are the columns.
#[pg_extern(sql = "")]
fn simhash_trigger(fcinfo: pg_sys::FunctionCallInfo) -> Pointer {
    // SAFETY: the call is running.
    let call = unsafe { Call::new(fcinfo, "simhash_trigger") }.filter(|call| call.is_before);
    let Some(mut call) = call else {
        raise_protocol(
            "simhash_trigger must be fired before INSERT or UPDATE, for each row",
            "CREATE TRIGGER … BEFORE INSERT OR UPDATE ON … FOR EACH ROW EXECUTE FUNCTION simhash_trigger(…)",
        )
    };
    let arguments = call.arguments();
    let [target, recipe, columns @ ..] = arguments.as_slice() else {
        raise_protocol(
            format!("simhash_trigger takes at least two arguments, not {}", arguments.len()),
            USAGE,
        )
    };
    let fingerprint = if columns.is_empty() {
        let recipe = cached_from_text::<RowRecipe>(recipe);
        call.compute(names(&recipe));
        simhash_columns(&call.row(), names(&recipe), &recipe)
    } else {
        let recipe = cached_from_text(recipe);
        let columns = columns.iter().map(String::as_str);
        call.compute(columns.clone());
        simhash_columns(&call.row(), columns.clone(), recipe_of_fields(&recipe, columns.len()))
    };
    Pointer(call.keep_with_bigint(target, fingerprint))
}
