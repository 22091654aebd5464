//! `simhash_trigger`: keeps a fingerprint column up to date, in the manner of `tsvector_update_trigger`.

use super::{names, recipe_of_fields, simhash_columns};
use crate::corpus::cached_from_text;
use crate::pg::{Pointer, raise_protocol, trigger::Call};
use dedup_core::features::RowRecipe;
use pgrx::prelude::*;

const USAGE: &str = "Use simhash_trigger('fingerprint column', '{\"column\": weight, …}') or \
                     simhash_trigger('fingerprint column', '[weight, …]', 'column', …).";

/// Fills the column named by the first argument with the fingerprint of the row that is inserted or updated.
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
