//! `simhash` and its relatives of a nested document, a leaf known by its path.

use super::{EXTRACTOR, explain, feature_rows, to_bigint};
use crate::corpus::{RecipeArg, ShownRecipe};
use crate::pg::{json::Document, json::Part};
use dedup_core::features::{self, Bag, RowRecipe};
use pgrx::prelude::*;

fn read(document: &Document, into: &mut features::Document<'_>) {
    document.each(|part| match part {
        Part::Begin => into.begin(),
        Part::End => into.end(),
        Part::Key(key) => into.key(key),
        Part::Value(value) => into.leaf(value),
    });
}

fn bag(document: &Document, recipe: &RowRecipe) -> Bag {
    EXTRACTOR.with_borrow_mut(|extractor| recipe.bag_document(extractor, |into| read(document, into)))
}

#[pg_extern(sql = "")]
fn simhash_document(document: Document, recipe: RecipeArg<RowRecipe>) -> Option<i64> {
    EXTRACTOR.with_borrow_mut(|extractor| {
        to_bigint(recipe.0.simhash_document(extractor, |into| read(&document, into)))
    })
}

#[pg_extern(sql = "")]
fn simhash_features_document(
    document: Document,
    recipe: ShownRecipe<RowRecipe>,
) -> TableIterator<'static, (name!(feature, String), name!(weight, f64), name!(hash, i64))> {
    TableIterator::new(feature_rows(bag(&document, &recipe.0)))
}

#[pg_extern(sql = "")]
fn simhash_explain_document(
    a: Document,
    b: Document,
    recipe: ShownRecipe<RowRecipe>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let recipe = recipe.0;
    explain::by_column(&bag(&a, &recipe), &bag(&b, &recipe), &recipe, None, fcinfo);
}
