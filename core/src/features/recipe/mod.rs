//! Recipes: which features a text has and how they are weighted.

mod resolve;

pub(super) use resolve::{kind, of_scheme, weight_at};

use super::corpus::Corpus;
use super::dictionary::Dictionary;
use crate::fingerprint::Weight;
use crate::hash::{PaperHash, city64, java, murmur3_128};
use crate::text::{Normal, Segmenter};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::Arc;

/// A recipe that cannot be followed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{}{message}", if path.is_empty() { String::new() } else { format!("\"{path}\": ") })]
pub struct RecipeError {
    /// Where in the recipe: a key, or keys joined by points; empty for the whole.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// What would be right.
    pub hint: String,
}

impl RecipeError {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Self {
        RecipeError { path: path.into(), message: message.into(), hint: hint.into() }
    }
}

/// The tokens of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tokens {
    /// Words: jieba's for Chinese, Unicode's for other scripts.
    Words,
    /// Runs of `n` characters.
    Chars,
    /// Both of them in one bag.
    #[serde(rename = "words+chars")]
    WordsAndChars,
    /// Runs of `n` words (P1's shingles).
    Shingles,
}

/// The weight of a feature that occurs `tf` times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// `tf`, its number of occurrences (P2, P4).
    Tf,
    /// `1 + ln tf`.
    Log,
    /// 1, however often it occurs.
    One,
    /// `tf · ln(N / df)`, with the frequencies of a corpus.
    Tfidf,
    /// `tf · ln(N / df) · (1 + len(x))`: P3's, which favours words as long as terms are.
    #[serde(rename = "tfidf_len")]
    TfidfLen,
}

/// How the features of one text are made.
#[derive(Debug, Clone, PartialEq)]
pub struct TextRecipe {
    /// What the text is cut into.
    pub tokens: Tokens,
    /// Characters of a character n-gram, words of a shingle; several lengths go into one bag.
    pub n: Vec<usize>,
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
    /// The documents that `tfidf` and `max_df` count.
    pub corpus: Option<Arc<Corpus>>,
    /// Tokens that a larger share of the corpus has are left out: the words of a form that everybody fills in.
    pub max_df: Option<f64>,
    /// Own words for the segmentation.
    pub dictionary: Option<Arc<Dictionary>>,
    /// How the text is read.
    pub normal: Normal,
}

/// A hash function, by its name in a recipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Hash {
    /// `city64`: CityHash64 1.1.
    #[default]
    City64,
    /// `murmur3`: the first half of MurmurHash3's 128 bits (x64, seed 0).
    Murmur3,
    /// `java`: `String.hashCode`, P2's built-in hash, widened as Java does it.
    Java,
    /// `bkdr`, …: a string hash of the papers in 64 bits, over UTF-8.
    Paper(PaperHash),
    /// `bkdr_utf16`, …: the same hash as Partow's Java computes it, over UTF-16 units.
    PaperUtf16(PaperHash),
}

impl Hash {
    /// The hash of a feature.
    #[inline]
    pub fn of(self, feature: &str) -> u64 {
        match self {
            Hash::City64 => city64(feature.as_bytes()),
            Hash::Murmur3 => murmur3_128(feature.as_bytes(), 0)[0],
            Hash::Java => i64::from(java(feature)).cast_unsigned(),
            Hash::Paper(hash) => hash.hash64(feature.as_bytes()),
            Hash::PaperUtf16(hash) => hash.hash64_utf16(feature),
        }
    }

    /// The hash of that name.
    pub fn from_name(name: &str) -> Option<Hash> {
        let paper = |name: &str| PaperHash::ALL.into_iter().find(|hash| hash.name() == name);
        match (name, name.strip_suffix("_utf16")) {
            ("city64", _) => Some(Hash::City64),
            ("murmur3", _) => Some(Hash::Murmur3),
            ("java", _) => Some(Hash::Java),
            (_, Some(name)) => paper(name).map(Hash::PaperUtf16),
            _ => paper(name).map(Hash::Paper),
        }
    }
}

impl<'de> Deserialize<'de> for Hash {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Hash::from_name(&name).ok_or_else(|| {
            let papers = PaperHash::ALL.map(|hash| format!("`{}`", hash.name())).join(", ");
            de::Error::custom(format!(
                "unknown hash `{name}`, expected `city64`, `murmur3`, or a paper's: `java`, {papers}, each but `java` also as `…_utf16`"
            ))
        })
    }
}

impl Default for TextRecipe {
    /// The recipe of a text for which none was named; its choice is measured in `docs/internals/measurements.md`.
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
            corpus: None,
            max_df: None,
            dictionary: None,
            normal: Normal::default(),
        }
    }
}

impl TextRecipe {
    /// What determines the tokens, and so must be the same for a corpus and what counts by it; as keys of a recipe.
    pub fn shape(&self) -> Value {
        let mut json =
            json!({"tokens": self.tokens, "n": self.n, "hmm": self.hmm, "simplify": self.normal.simplify});
        if let Some(dictionary) = &self.dictionary {
            json["dictionary"] = json!(dictionary.name);
        }
        json
    }

    /// Cuts the recipe's words.
    pub fn segmenter(&self) -> &Segmenter {
        self.dictionary.as_ref().map_or_else(|| Segmenter::shared(), |dictionary| dictionary.segmenter())
    }
}

impl Scheme {
    /// Whether it counts documents.
    pub fn needs_corpus(self) -> bool {
        matches!(self, Scheme::Tfidf | Scheme::TfidfLen)
    }
}

/// The length of n-grams or shingles where none is given.
fn default_n(tokens: Tokens) -> Vec<usize> {
    match tokens {
        Tokens::Words => vec![1],
        Tokens::Chars | Tokens::Shingles => vec![3],
        Tokens::WordsAndChars => vec![2],
    }
}

/// Finds what a recipe names. Names are versioned (`petitions@1`) and a
/// version never changes, so that a recipe always makes the same features.
pub trait Resolver {
    /// The corpus called `name`.
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError>;

    /// The dictionary called `name`.
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

/// The error for a name that is not among the `known` ones of a corpus or a dictionary, which `what` says.
pub fn missing(what: &str, name: &str, known: &[String]) -> RecipeError {
    let hint = if known.is_empty() {
        format!(
            "There is no {what} yet; dedup_{what}_build makes one. A dump of the whole database brings \
             versions along; one of chosen schemas or tables does not."
        )
    } else {
        format!("Names have a version. There are: {}.", known.join(", "))
    };
    RecipeError::new(what, format!("there is no {what} \"{name}\""), hint)
}
