//! Recipes as arguments, cached by their bytes: a statement over a million rows parses its recipe once.

use super::cache::{Database, Shown, cached_recipe};
use crate::pg::{argument, json, raise, raise_invalid};
use dedup_core::features::{FieldsRecipe, RecipeError, Resolver, RowRecipe, TextRecipe};
use pgrx::{PgSqlErrorCode, pg_sys};
use serde_json::Value;
use std::rc::Rc;

/// A kind of recipe that can be an argument.
pub(crate) trait Cached: Sized + 'static {
    fn parse(json: &Value, resolver: &dyn Resolver) -> Result<Self, RecipeError>;
}

macro_rules! cached {
    ($($recipe:ty),*) => {$(
        impl Cached for $recipe {
            fn parse(json: &Value, resolver: &dyn Resolver) -> Result<Self, RecipeError> {
                <$recipe>::resolved(json, resolver)
            }
        }
    )*};
}
cached!(TextRecipe, RowRecipe, FieldsRecipe);

/// An argument of type `jsonb` that holds a recipe, of a function that shows words and weights or not.
pub(crate) struct RecipeArg<T, const SHOWN: bool = false>(pub(crate) Rc<T>);

/// An argument of a function that shows words and weights.
pub(crate) type ShownRecipe<T> = RecipeArg<T, true>;

/// Refuses a recipe that names a version whose words and weights the user may not see: for what shows them.
pub(crate) fn check_shown<T: Cached>(json: &Value) {
    T::parse(json, &Shown).unwrap_or_else(|error| raise_recipe(error));
}

#[track_caller]
pub(crate) fn raise_recipe(error: RecipeError) -> ! {
    let message = format!("invalid recipe: {error}");
    raise_invalid(message, error.hint)
}

fn parse<T: Cached>(text: &str, code: PgSqlErrorCode, resolver: &dyn Resolver) -> T {
    match serde_json::from_str(text) {
        Ok(json) => T::parse(&json, resolver).unwrap_or_else(|error| raise_recipe(error)),
        Err(error) => raise(
            code,
            format!("invalid recipe: {error}"),
            "Weights are JSON, for example {\"title\": 20, \"body\": null}, {\"标题\": 20, \"内容\": null} or [20, null]; a weight is at most 1000000.",
        ),
    }
}

/// The recipe written as JSON in `text`, a trigger's argument.
pub(crate) fn cached_from_text<T: Cached>(text: &str) -> Rc<T> {
    cached_recipe(text.as_bytes(), || {
        parse(text, PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION, &Database)
    })
}

impl<T: Cached, const SHOWN: bool> RecipeArg<T, SHOWN> {
    unsafe fn read(varlena: *mut pg_sys::varlena) -> Self {
        // SAFETY: a detoasted jsonb.
        let (bytes, text) = unsafe { (pgrx::varlena_to_byte_slice(varlena), || json::text(varlena)) };
        let make = |resolver| parse(&text(), PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, resolver);
        // The name of a version has an @. Rights may change while a recipe is cached.
        if SHOWN && bytes.contains(&b'@') {
            drop::<T>(make(&Shown));
        }
        RecipeArg(cached_recipe(bytes, || make(&Database)))
    }
}

argument!(RecipeArg<T, SHOWN>, RecipeArg::read, T: Cached, const SHOWN: bool);
