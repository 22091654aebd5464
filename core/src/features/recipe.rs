//! Recipes: what the features of a text are and what they weigh.
//!
//! A recipe is written in JSON and read strictly: a key or a word that means
//! nothing is an error, for a misspelt one would silently give other
//! fingerprints.

use crate::hash::city64;
use crate::signature::Weight;
use crate::text::normalize;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use thiserror::Error;

/// What a text is cut into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tokens {
    /// Words: jieba's for Chinese, Unicode's for other scripts.
    #[serde(rename = "words")]
    Words,
    /// Runs of `n` characters.
    #[serde(rename = "chars")]
    Chars,
    /// Both of them in one bag.
    #[serde(rename = "words+chars")]
    WordsAndChars,
    /// Runs of `n` words (P1's shingles).
    #[serde(rename = "shingles")]
    Shingles,
}

/// What a feature that occurs `tf` times weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `tf`, its number of occurrences (P2, P4).
    Tf,
    /// `1 + ln tf`.
    Log,
    /// 1, however often it occurs.
    One,
}

/// A recipe that cannot be followed.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("\"{path}\": ") })]
pub struct RecipeError {
    /// Where in the recipe: a key, or keys joined by points; empty for the whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

/// How the features of one text are made.
#[derive(Debug, Clone, PartialEq)]
pub struct TextRecipe {
    /// What the text is cut into.
    pub tokens: Tokens,
    /// Characters of a character n-gram, words of a shingle.
    pub n: usize,
    /// Weight of a feature by its frequency.
    pub scheme: Scheme,
    /// Factor on every weight: the weight of the column in its row.
    pub factor: Weight,
    /// Own weights of some tokens, by normal form; they multiply the scheme's.
    pub terms: FxHashMap<String, Weight>,
    /// Tokens to leave out, by normal form.
    pub stop: FxHashSet<String>,
    /// Whether jieba may join unknown characters to words.
    pub hmm: bool,
    /// The hash of a feature.
    pub hash: Hash,
}

/// A hash function, by its name in a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hash {
    /// CityHash64 1.1.
    #[default]
    City64,
}

impl Hash {
    /// The hash of a feature's UTF-8 bytes.
    #[inline]
    pub fn of(self, feature: &[u8]) -> u64 {
        match self {
            Hash::City64 => city64(feature),
        }
    }
}

impl Default for TextRecipe {
    /// The recipe of a text for which none was named; its choice is measured
    /// in `docs/recipes.md`.
    fn default() -> Self {
        TextRecipe {
            tokens: Tokens::WordsAndChars,
            n: default_n(Tokens::WordsAndChars),
            scheme: Scheme::Tf,
            factor: Weight::ONE,
            terms: FxHashMap::default(),
            stop: FxHashSet::default(),
            hmm: false,
            hash: Hash::City64,
        }
    }
}

/// Largest `n` of n-grams and shingles.
const MAX_N: u32 = 64;

fn default_n(tokens: Tokens) -> usize {
    match tokens {
        Tokens::Words => 1,
        Tokens::Chars => 3,
        Tokens::WordsAndChars => 2,
        Tokens::Shingles => 3,
    }
}

/// The JSON form of a recipe.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    tokens: Option<Tokens>,
    n: Option<u32>,
    weight: Option<SchemeOrFactor>,
    factor: Option<f64>,
    terms: HashMap<String, f64>,
    stop: Vec<String>,
    hmm: Option<bool>,
    hash: Option<Hash>,
}

/// The value of `weight`: a scheme's name, or a factor on term frequencies.
#[derive(Debug, Clone, Copy)]
enum SchemeOrFactor {
    Scheme(Scheme),
    Factor(f64),
}

impl<'de> Deserialize<'de> for SchemeOrFactor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = SchemeOrFactor;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a scheme (`tf`, `log` or `one`) or a number")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<SchemeOrFactor, E> {
                Scheme::deserialize(de::value::StrDeserializer::new(name)).map(SchemeOrFactor::Scheme)
            }
            fn visit_u64<E: de::Error>(self, factor: u64) -> Result<SchemeOrFactor, E> {
                Ok(SchemeOrFactor::Factor(factor as f64))
            }
            fn visit_i64<E: de::Error>(self, factor: i64) -> Result<SchemeOrFactor, E> {
                Ok(SchemeOrFactor::Factor(factor as f64))
            }
            fn visit_f64<E: de::Error>(self, factor: f64) -> Result<SchemeOrFactor, E> {
                Ok(SchemeOrFactor::Factor(factor))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

const KEYS: &str = "A recipe is an object with any of the keys tokens, n, weight, factor, terms, stop, hmm, hash; \
                    for example {\"tokens\": \"words\", \"weight\": \"tf\"}.";

impl TextRecipe {
    /// The recipe written as `json`: an object whose keys are all optional.
    ///
    /// | key | value | when it is missing |
    /// |---|---|---|
    /// | `tokens` | `words`, `chars`, `words+chars`, `shingles` | that of [`TextRecipe::default`] |
    /// | `n` | 1 to 64: characters of an n-gram, words of a shingle | 3 for `chars`, 2 for `words+chars`, 3 for `shingles` |
    /// | `weight` | `tf`, `log`, `one`, or a number: `tf` times that number | `tf` |
    /// | `factor` | a number that multiplies every weight | 1 |
    /// | `terms` | `{"token": number}`: own weights, multiplying the scheme's | none |
    /// | `stop` | `["token", …]` to leave out | none |
    /// | `hmm` | `true` lets jieba guess unknown words | `false` |
    /// | `hash` | `city64` | `city64` |
    ///
    /// # Errors
    /// An unknown key or name, a wrong type, a number out of range. The error
    /// says where and names what is known.
    pub fn from_json(json: &Value) -> Result<TextRecipe, RecipeError> {
        if !json.is_object() {
            let message = format!("a recipe must be a JSON object, not {}", kind(json));
            return Err(RecipeError { path: String::new(), message, hint: KEYS.into() });
        }
        let written: Written = serde_path_to_error::deserialize(json).map_err(|error| RecipeError {
            path: if error.path().iter().len() == 0 { String::new() } else { error.path().to_string() },
            message: error.inner().to_string(),
            hint: KEYS.into(),
        })?;
        TextRecipe::from_written(written)
    }

    /// The recipe that weighs words or n-grams of the default kind by
    /// `scheme`.
    pub fn from_scheme(scheme: Scheme) -> TextRecipe {
        TextRecipe { scheme, ..TextRecipe::default() }
    }

    fn from_written(written: Written) -> Result<TextRecipe, RecipeError> {
        let default = TextRecipe::default();
        let tokens = written.tokens.unwrap_or(default.tokens);
        let n = match written.n {
            None => default_n(tokens),
            Some(n) if (1..=MAX_N).contains(&n) => n as usize,
            Some(n) => {
                return Err(RecipeError {
                    path: "n".into(),
                    message: format!("{n} is out of range"),
                    hint: format!("n is a number from 1 to {MAX_N}."),
                });
            }
        };
        let (scheme, weight) = match written.weight {
            None => (default.scheme, 1.0),
            Some(SchemeOrFactor::Scheme(scheme)) => (scheme, 1.0),
            Some(SchemeOrFactor::Factor(factor)) => (Scheme::Tf, factor),
        };
        let factor = weight_at("factor", written.factor.unwrap_or(1.0))?;
        let factor = weight_at("weight", weight_at("weight", weight)?.value() * factor.value())?;
        let terms = written
            .terms
            .into_iter()
            .map(|(term, weight)| Ok((normalize(&term), weight_at(&format!("terms.{term}"), weight)?)))
            .collect::<Result<_, RecipeError>>()?;
        let stop = written.stop.iter().map(|word| normalize(word)).collect();
        let hmm = written.hmm.unwrap_or(default.hmm);
        let hash = written.hash.unwrap_or(default.hash);
        Ok(TextRecipe { tokens, n, scheme, factor, terms, stop, hmm, hash })
    }
}

/// The weight `value`, or an error that says where it stands.
pub(super) fn weight_at(path: &str, value: f64) -> Result<Weight, RecipeError> {
    Weight::new(value).map_err(|error| RecipeError {
        path: path.into(),
        message: error.to_string(),
        hint: format!("A weight is a number from 0 to {}.", Weight::MAX),
    })
}

/// What a JSON value is, for a message.
pub(super) fn kind(json: &Value) -> &'static str {
    match json {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_empty_recipe_is_the_default() {
        assert_eq!(TextRecipe::from_json(&json!({})), Ok(TextRecipe::default()));
    }

    #[test]
    fn every_key_is_read() {
        let json = json!({"tokens": "shingles", "n": 2, "weight": "log", "factor": 2.5,
            "terms": {"停 水": 3}, "stop": ["的", "ＯＫ"], "hmm": true, "hash": "city64"});
        let recipe = TextRecipe::from_json(&json).unwrap();
        assert_eq!((recipe.tokens, recipe.n, recipe.scheme), (Tokens::Shingles, 2, Scheme::Log));
        assert_eq!(recipe.factor.value(), 2.5);
        assert_eq!(recipe.terms["停水"].value(), 3.0);
        assert!(recipe.stop.contains("ok") && recipe.hmm);
    }

    #[test]
    fn a_number_for_weight_is_a_factor_on_term_frequency() {
        let recipe = TextRecipe::from_json(&json!({"tokens": "chars", "weight": 4})).unwrap();
        assert_eq!((recipe.scheme, recipe.factor.value(), recipe.n), (Scheme::Tf, 4.0, 3));
    }

    /// Each message must say where the fault lies and what is known there.
    #[test]
    fn faults_are_named() {
        for (json, part) in [
            (json!({"token": "words"}), "unknown field `token`, expected one of `tokens`, `n`, `weight`"),
            (
                json!({"tokens": "word"}),
                "\"tokens\": unknown variant `word`, expected one of `words`, `chars`",
            ),
            (
                json!({"weight": "bm25"}),
                "\"weight\": unknown variant `bm25`, expected one of `tf`, `log`, `one`",
            ),
            (json!({"weight": true}), "\"weight\": invalid type: boolean `true`, expected a scheme"),
            (json!({"weight": -2}), "\"weight\": weight -2 is out of range"),
            (json!({"factor": 1e300}), "\"factor\": weight 1"),
            (json!({"terms": {"a": "b"}}), "\"terms.a\": invalid type: string \"b\", expected f64"),
            (json!({"terms": {"a": -1}}), "\"terms.a\": weight -1 is out of range"),
            (json!({"stop": [1]}), "\"stop[0]\": invalid type: integer `1`, expected a string"),
            (json!({"n": 0}), "\"n\": 0 is out of range"),
            (json!({"n": -1}), "\"n\": invalid value: integer `-1`"),
            (json!({"hash": "md5"}), "\"hash\": unknown variant `md5`, expected `city64`"),
            (json!(["words"]), "a recipe must be a JSON object, not an array"),
        ] {
            let error = TextRecipe::from_json(&json).unwrap_err();
            assert!(error.to_string().contains(part), "{json}: {error}");
            assert!(!error.hint.is_empty());
        }
    }
}
