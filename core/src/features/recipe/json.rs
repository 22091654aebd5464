//! The JSON form of a recipe, read strictly: an unknown key or word is an error, for a misspelt one would
//! silently give other fingerprints.

use super::{Hash, RecipeError, Tokens};
use crate::text::Markup;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// The JSON form of a recipe. What may be of several types is read later.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    pub(super) tokens: Option<Tokens>,
    pub(super) n: Option<Value>,
    pub(super) weight: Option<Value>,
    pub(super) factor: Option<f64>,
    pub(super) terms: HashMap<String, f64>,
    pub(super) stop: Option<Value>,
    pub(super) hmm: Option<bool>,
    pub(super) hash: Option<Hash>,
    pub(super) corpus: Option<String>,
    pub(super) max_df: Option<f64>,
    pub(super) dictionary: Option<String>,
    pub(super) markup: Option<Markup>,
    pub(super) simplify: Option<bool>,
}

pub(super) const KEYS: &str = "A recipe is an object with any of the keys tokens, n, weight, factor, terms, stop, hmm, hash, \
                    corpus, max_df, dictionary, markup, simplify; for example {\"tokens\": \"words\", \"weight\": \"tf\"}.";

impl Written {
    pub(super) fn parse(json: &Value) -> Result<Written, RecipeError> {
        if !json.is_object() {
            let message = format!("a recipe must be a JSON object, not {}", kind(json));
            let hint = if json.is_array() {
                "Weights in a JSON array go with an array of fields: simhash(ARRAY[title, body], '[2, null]')."
            } else {
                KEYS
            };
            return Err(RecipeError::new("", message, hint));
        }
        serde_path_to_error::deserialize(json).map_err(|error| {
            let path = Some(error.path().to_string()).filter(|_| error.path().iter().len() > 0);
            RecipeError::new(path.unwrap_or_default(), error.inner().to_string(), KEYS)
        })
    }
}

pub(in crate::features) fn kind(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
