//! The JSON form of a recipe, read strictly: an unknown key or word is an error, for a misspelt one would
//! silently give other fingerprints.

use super::error::RecipeError;
use super::{Hash, Scheme, Tokens};
use crate::interrupt::Meter;
use crate::text::Markup;
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;

/// The JSON form of a recipe.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Written {
    pub(super) tokens: Option<Tokens>,
    pub(super) n: Option<OneOrMany<u32>>,
    pub(super) weight: Option<SchemeOrFactor>,
    pub(super) factor: Option<f64>,
    pub(super) terms: HashMap<String, f64>,
    pub(super) stop: Option<Stop>,
    pub(super) hmm: Option<bool>,
    pub(super) hash: Option<Hash>,
    pub(super) corpus: Option<String>,
    pub(super) max_df: Option<f64>,
    pub(super) dictionary: Option<String>,
    pub(super) markup: Option<Markup>,
    pub(super) simplify: Option<bool>,
}

/// The value of `n`.
#[derive(Debug)]
pub(super) enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// The value of `stop`.
#[derive(Debug)]
pub(super) enum Stop {
    Words(Vec<String>),
    BuiltIn(bool),
    Named(String),
}

// Written out, so that a fault in a list is reported where it stands.
impl<'de> Deserialize<'de> for OneOrMany<u32> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Array(all) => {
                let all = all.into_iter().map(u32::deserialize).collect::<Result<_, _>>();
                all.map(OneOrMany::Many).map_err(de::Error::custom)
            }
            one => u32::deserialize(one).map(OneOrMany::One).map_err(de::Error::custom),
        }
    }
}

/// The value of `weight`: a scheme's name, or a factor on term frequencies.
#[derive(Debug, Clone, Copy)]
pub(super) enum SchemeOrFactor {
    Scheme(Scheme),
    Factor(f64),
}

impl<'de> Deserialize<'de> for SchemeOrFactor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = SchemeOrFactor;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a scheme (`tf`, `log`, `one`, `tfidf` or `tfidf_len`) or a number")
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

impl<'de> Deserialize<'de> for Stop {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;
        impl<'de> Visitor<'de> for Any {
            type Value = Stop;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a list of words, the name of a stop list, or true")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<Stop, E> {
                Ok(Stop::BuiltIn(on))
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<Stop, E> {
                Ok(Stop::Named(name.to_owned()))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Stop, A::Error> {
                let (mut words, mut meter) = (Vec::new(), Meter::new());
                while let Some(word) = list.next_element()? {
                    meter.work(1);
                    words.push(word);
                }
                Ok(Stop::Words(words))
            }
        }
        deserializer.deserialize_any(Any)
    }
}

const KEYS: &str = "A recipe is an object with any of the keys tokens, n, weight, factor, terms, stop, hmm, hash, \
                    corpus, max_df, dictionary, markup, simplify; for example {\"tokens\": \"words\", \"weight\": \"tf\"}.";

impl Written {
    /// Reads the JSON form.
    pub(super) fn parse(json: &Value) -> Result<Written, RecipeError> {
        if !json.is_object() {
            let message = format!("a recipe must be a JSON object, not {}", kind(json));
            let hint = if json.is_array() {
                "Weights in a JSON array go with an array of fields: simhash(ARRAY[title, body], '[2, null]')."
            } else {
                KEYS
            };
            return Err(RecipeError { path: String::new(), message, hint: hint.into() });
        }
        serde_path_to_error::deserialize(json).map_err(|error| RecipeError {
            path: if error.path().iter().len() == 0 { String::new() } else { error.path().to_string() },
            message: error.inner().to_string(),
            hint: KEYS.into(),
        })
    }
}

/// What a JSON value is, for a message.
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
