//! Similarity of texts: `ngram_jaccard`, `ngram_containment`, `simhash_cosine`.

use crate::corpus::RecipeArg;
use crate::fingerprint::text_recipe;
use crate::pg::raise;
use dedup_core::features::TextRecipe;
use dedup_core::signature;
use pgrx::prelude::*;

/// Jaccard's coefficient of the character n-grams.
#[pg_extern(sql = "")]
fn ngram_jaccard(a: &str, b: &str, n: i32) -> f64 {
    signature::jaccard(a, b, length(n))
}

/// The share of the character n-grams of `a` that `b` has.
#[pg_extern(sql = "")]
fn ngram_containment(a: &str, b: &str, n: i32) -> f64 {
    signature::containment(a, b, length(n))
}

/// The cosine of the weighted features; NULL weights are the default recipe.
#[pg_extern(sql = "")]
fn simhash_cosine(a: Option<&str>, b: Option<&str>, weights: Option<RecipeArg<TextRecipe>>) -> Option<f64> {
    Some(signature::cosine(a?, b?, &text_recipe(weights)))
}

fn length(n: i32) -> usize {
    match usize::try_from(n) {
        Ok(n @ 1..=64) => n,
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("n-grams of {n} characters are not possible"),
            "n is 1 to 64.",
        ),
    }
}
