//! Lookup of the corpora and dictionaries that a recipe names.

use super::RecipeError;
use crate::features::corpus::Corpus;
use crate::features::dictionary::Dictionary;
use std::sync::Arc;

/// Finds what a recipe names. Names are versioned (`petitions@1`) and a
/// version never changes, so that a recipe always makes the same features.
pub trait Resolver {
    /// The corpus called `name`.
    ///
    /// # Errors
    /// There is none; the hint lists the existing ones.
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError>;

    /// The dictionary called `name`.
    ///
    /// # Errors
    /// There is none; the hint lists the existing ones.
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError>;
}

/// Knows no corpus and no dictionary.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nowhere;

impl Resolver for Nowhere {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        Err(missing("corpus", name, &[]))
    }
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        Err(missing("dictionary", name, &[]))
    }
}

/// The error for a `kind` of thing called `name` that is not among `known`.
pub fn missing(kind: &str, name: &str, known: &[String]) -> RecipeError {
    let hint = if known.is_empty() {
        format!(
            "There is no {kind} yet; dedup_{kind}_build makes one. A dump of the whole database brings \
             versions along; one of chosen schemas or tables does not."
        )
    } else {
        format!("Names have a version. There are: {}.", known.join(", "))
    };
    RecipeError::new(kind, format!("there is no {kind} \"{name}\""), hint)
}
