//! `simhash_explain` of two rows of a table with settings.

use crate::corpus::check_shown;
use crate::fingerprint::{bag_of_values, explain_by_column};
use crate::pg::{Record, raise_mismatch, raise_state};
use crate::table::Settings;
use dedup_core::dedup::Method;
use dedup_core::features::FieldsRecipe;
use pgrx::prelude::*;
use serde_json::Value;

#[pg_extern(sql = "")]
fn simhash_explain_rows(a: Record, b: Record, fcinfo: pg_sys::FunctionCallInfo) {
    let settings = Settings::of_row(&a);
    if b.table() != Some(settings.table) {
        raise_mismatch(
            "the rows are not of one table",
            "Give two rows of one table with settings, or a recipe: simhash_explain(a, b, '{\"title\": 2, \"body\": null}').",
        )
    }
    check_shown::<FieldsRecipe>(&Value::Array(settings.recipes.clone()));
    if settings.method == Method::Hash {
        raise_state(
            format!("table {} has hashes, which are made of nothing", settings.table_name()),
            "dedup_explain of pairs of its rows says how far they are apart.",
        )
    }
    let recipe = settings.recipe();
    let bag = |row: &Record| bag_of_values(&settings.values_of(row), &recipe);
    explain_by_column(&bag(&a), &bag(&b), &recipe, Some(&settings.columns), fcinfo);
}
