//! How P2, P3 and P4 cut texts: words without stop words, with a user dictionary.

use dedup_core::features::{Corpus, Dictionary, RecipeError, Resolver, TextRecipe, missing};
use dedup_core::text::Segmenter;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::{Arc, OnceLock};

static DICTIONARY: OnceLock<Arc<Dictionary>> = OnceLock::new();

/// Takes the user dictionary, a word a line; returns how many words it has.
pub fn read_dictionary(path: &Path) -> Result<usize, String> {
    let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let lines = std::fs::read_to_string(path).map_err(|error| fail(&error))?;
    let (words, count) = Segmenter::complete_words(lines.lines()).map_err(|error| fail(&error))?;
    let _ = DICTIONARY.set(Arc::new(Dictionary::new("own@1", words, [])));
    Ok(count)
}

/// Knows the user dictionary, and perhaps a corpus.
#[derive(Default)]
pub struct Known(pub Option<Arc<Corpus>>);

impl Resolver for Known {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        self.0.clone().ok_or_else(|| missing("corpus", name, &[]))
    }
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        DICTIONARY.get().cloned().ok_or_else(|| missing("dictionary", name, &[]))
    }
}

/// The recipe of the papers' words under a hash.
pub fn words(hash: &str) -> Value {
    let mut recipe = json!({"tokens": "words", "weight": "tf", "stop": "zh", "hash": hash});
    if DICTIONARY.get().is_some() {
        recipe["dictionary"] = json!("own@1");
    }
    recipe
}

/// A text's recipe.
pub fn text_recipe(recipe: &Value) -> TextRecipe {
    TextRecipe::resolved(recipe, &Known::default()).expect("a recipe")
}
