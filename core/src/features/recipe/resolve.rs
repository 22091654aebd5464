//! From the JSON form to the recipe: defaults, names looked up, numbers checked. It is read strictly: an unknown key or
//! word is an error, for a misspelt one would silently give other fingerprints.

use super::{Hash, Nowhere, RecipeError, Resolver, Scheme, TextRecipe, Tokens, default_n};
use crate::features::corpus::Corpus;
use crate::features::stop;
use crate::fingerprint::Weight;
use crate::interrupt::checked;
use crate::text::{Markup, Normal, normalize};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;
use serde::de::value::StrDeserializer;
use serde_json::Value;
use std::collections::HashMap;

const MAX_N: u32 = 64;

/// The JSON form of a recipe. What may be of several types is read later.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    tokens: Option<Tokens>,
    n: Option<Value>,
    weight: Option<Value>,
    factor: Option<f64>,
    terms: HashMap<String, f64>,
    stop: Option<Value>,
    hmm: Option<bool>,
    hash: Option<Hash>,
    corpus: Option<String>,
    max_df: Option<f64>,
    dictionary: Option<String>,
    markup: Option<Markup>,
    simplify: Option<bool>,
}

const KEYS: &str = "A recipe is an object with any of the keys tokens, n, weight, factor, terms, stop, hmm, hash, \
                    corpus, max_df, dictionary, markup, simplify; for example {\"tokens\": \"words\", \"weight\": \"tf\"}.";

impl Written {
    fn parse(json: &Value) -> Result<Written, RecipeError> {
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
            RecipeError::new(path.unwrap_or_default(), plain(&error.inner().to_string()), KEYS)
        })
    }
}

/// What is wrong with a value, in the words of JSON.
fn plain(said: &str) -> String {
    const WORDS: [(&str, &str); 9] = [
        ("floating point `", "number `"),
        ("integer `", "number `"),
        ("`", "\""),
        ("type: sequence", "type: an array"),
        ("expected a sequence", "expected an array"),
        ("expected a map", "expected an object"),
        ("string or map", "a word or an object"),
        ("expected u32", "expected a whole number"),
        ("expected f64", "expected a number"),
    ];
    WORDS.iter().fold(said.to_owned(), |said, (of_code, plain)| said.replace(of_code, plain))
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

impl TextRecipe {
    /// The recipe written as `json`: an object whose keys are all optional. `docs/reference.md` has a table of them.
    pub fn from_json(json: &Value) -> Result<TextRecipe, RecipeError> {
        TextRecipe::resolved(json, &Nowhere)
    }

    /// As [`TextRecipe::from_json`], with corpora and dictionaries from `resolver`.
    pub fn resolved(json: &Value, resolver: &dyn Resolver) -> Result<TextRecipe, RecipeError> {
        let (written, default) = (Written::parse(json)?, TextRecipe::default());
        let corpus = written.corpus.as_deref().map(|name| resolver.corpus(name)).transpose()?;
        // What the tokens are is the corpus's choice unless the recipe says.
        let shape = corpus.as_ref().map(|corpus| Written::parse(&corpus.shape)).transpose()?;
        let shape = shape.unwrap_or_default();
        // By its name, for the resolver decides who may see its words.
        let dictionary = written.dictionary.or(shape.dictionary);
        let dictionary = dictionary.map(|name| resolver.dictionary(&name)).transpose()?;
        let tokens = written.tokens.or(shape.tokens).unwrap_or(default.tokens);
        let hmm = written.hmm.or(shape.hmm).unwrap_or(default.hmm);
        let simplify = written.simplify.or(shape.simplify).unwrap_or(default.normal.simplify);
        let normal = Normal { markup: written.markup, simplify };
        let n = match written.n.or(shape.n.filter(|_| Some(tokens) == shape.tokens)) {
            Some(n) => lengths(&n)?,
            None => default_n(tokens),
        };
        let (scheme, weight) = match written.weight {
            None => (default.scheme, 1.0),
            Some(Value::String(name)) => (scheme("weight", &name, KEYS)?, 1.0),
            Some(Value::Number(factor)) => (Scheme::Tf, factor.as_f64().unwrap_or(f64::INFINITY)),
            Some(other) => {
                let message = format!("must be the name of a scheme or a number, not {}", kind(&other));
                return Err(RecipeError::new("weight", message, KEYS));
            }
        };
        let factor = weight_at("factor", written.factor.unwrap_or(1.0))?;
        let factor = weight_at("weight", weight_at("weight", weight)?.value() * factor.value())?;
        let mut terms = FxHashMap::default();
        for (term, weight) in checked(written.terms) {
            let weight = weight_at(&format!("terms.{term}"), weight)?;
            let term = normalize(&term);
            // Which of them counted would be chance, and so would the fingerprint.
            if terms.get(&term).is_some_and(|other| *other != weight) {
                let message = format!("two keys are \"{term}\" when normalized, with different weights");
                const HINT: &str = "Case, width and spaces make no difference in a key. Give each term once.";
                return Err(RecipeError::new("terms", message, HINT));
            }
            terms.insert(term, weight);
        }
        let mut stop = match written.stop {
            None => FxHashSet::default(),
            Some(stop) => stop_words(&stop, resolver)?,
        };
        if let Some(dictionary) = &dictionary {
            stop.extend(dictionary.stop.iter().cloned());
        }
        let recipe = TextRecipe {
            tokens,
            n,
            scheme,
            factor,
            terms,
            stop,
            hmm,
            hash: written.hash.unwrap_or(default.hash),
            corpus,
            max_df: written.max_df,
            dictionary,
            normal,
        };
        recipe.check_corpus()?;
        Ok(recipe)
    }

    fn check_corpus(&self) -> Result<(), RecipeError> {
        if let Some(share) = self.max_df
            && !(share > 0.0 && share <= 1.0)
        {
            const HINT: &str =
                "max_df is the largest share of documents that a token may be in, such as 0.2.";
            return Err(RecipeError::new("max_df", format!("{share} is out of range"), HINT));
        }
        match &self.corpus {
            Some(corpus) => self.check_tokens(corpus),
            None if self.scheme.needs_corpus() => Err(corpus_needed("weight", self.scheme)),
            None if self.max_df.is_some() => {
                Err(RecipeError::new("max_df", "needs a corpus to count documents in", CORPUS_HINT))
            }
            None => Ok(()),
        }
    }

    fn check_tokens(&self, corpus: &Corpus) -> Result<(), RecipeError> {
        let (has, asks) = (&corpus.shape, self.shape());
        if *has == asks {
            return Ok(());
        }
        let mut keys = ["tokens", "n", "hmm", "simplify", "dictionary"].into_iter();
        let key = keys.find(|&key| has[key] != asks[key]).unwrap_or("tokens");
        let message = format!("corpus {} was built with {}, not {}", corpus.name, has[key], asks[key]);
        let hint = format!(
            "Leave the key out to take the corpus's own, or build one for this recipe: \
             dedup_corpus_build(name, query, '{asks}')."
        );
        Err(RecipeError::new(key, message, hint))
    }
}

const CORPUS_HINT: &str =
    "Build one with dedup_corpus_build(name, query) and name it: {\"corpus\": \"name@1\"}.";

/// The error of a scheme that counts documents where no corpus is named.
fn corpus_needed(path: &str, scheme: Scheme) -> RecipeError {
    let name = serde_json::to_value(scheme).unwrap_or_default();
    RecipeError::new(path, format!("{name} needs a corpus to count documents in"), CORPUS_HINT)
}

fn scheme(path: &str, name: &str, hint: &str) -> Result<Scheme, RecipeError> {
    let named = Scheme::deserialize(StrDeserializer::<serde::de::value::Error>::new(name));
    named.map_err(|error| RecipeError::new(path, plain(&error.to_string()), hint))
}

pub(in crate::features) fn of_scheme(path: &str, name: &str, hint: &str) -> Result<TextRecipe, RecipeError> {
    let scheme = scheme(path, name, hint)?;
    if scheme.needs_corpus() {
        return Err(corpus_needed(path, scheme));
    }
    Ok(TextRecipe { scheme, ..TextRecipe::default() })
}

fn lengths(n: &Value) -> Result<Vec<usize>, RecipeError> {
    let wrong = |message: String| {
        let hint = format!("n is a number from 1 to {MAX_N}, or a list of different ones.");
        RecipeError::new("n", message, hint)
    };
    let given = n.as_array().map_or(std::slice::from_ref(n), Vec::as_slice);
    let given = given.iter().map(u32::deserialize).collect::<Result<Vec<_>, _>>();
    let given = given.map_err(|error| wrong(plain(&error.to_string())))?;
    if let Some(n) = given.iter().find(|n| !(1..=MAX_N).contains(n)) {
        return Err(wrong(format!("{n} is out of range")));
    }
    let mut lengths: Vec<usize> = given.iter().map(|&n| n as usize).collect();
    lengths.sort_unstable();
    lengths.dedup();
    if lengths.is_empty() || lengths.len() < given.len() {
        return Err(wrong("the list is empty or says one length twice".into()));
    }
    Ok(lengths)
}

/// The words that `stop` says: a list, or the name of one.
fn stop_words(stop: &Value, resolver: &dyn Resolver) -> Result<FxHashSet<String>, RecipeError> {
    let wrong = |message: String| {
        const HINT: &str = "stop is a list of words, \"zh\", \"en\" or true for both, or the name of a dictionary such as \"own@1\".";
        RecipeError::new("stop", message, HINT)
    };
    match stop {
        Value::Array(words) => {
            let word = |word: &Value| match word.as_str() {
                Some(word) => Ok(normalize(word)),
                None => Err(wrong(format!("a word must be a string, not {}", kind(word)))),
            };
            checked(words).map(word).collect()
        }
        Value::Bool(false) => Ok(FxHashSet::default()),
        Value::Bool(true) => Ok(stop::stop_words().map(str::to_owned).collect()),
        Value::String(name) => match stop::stop_list(name) {
            Some(words) => Ok(words.map(str::to_owned).collect()),
            // The stop words of a dictionary, without its words.
            None if name.contains('@') => Ok(resolver.dictionary(name)?.stop.clone()),
            None => Err(wrong(format!("there is no stop list \"{name}\""))),
        },
        other => Err(wrong(format!("must be a list, a name or true, not {}", kind(other)))),
    }
}

/// The weight `value`, or an error that says where it stands.
pub(in crate::features) fn weight_at(path: &str, value: f64) -> Result<Weight, RecipeError> {
    let hint = || format!("A weight is a number from 0 to {}.", Weight::MAX);
    Weight::new(value).map_err(|error| RecipeError::new(path, error.to_string(), hint()))
}
