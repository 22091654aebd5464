//! Corpora: frozen document frequencies, for `idf` and `max_df`.
//!
//! A corpus is stored as two byte strings: the tokens of more than one document, which weighing needs, and
//! those of one document only, which only an extension of the corpus needs. A token that is not in the first
//! has the frequency 1, and so has a token of no document: both have the highest `idf`, ln N.

use crate::hash::city64;
use crate::interrupt::Meter;
use crate::memory::{OrRaise, Room};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Tokens are known by the upper 48 bits of their hash: of a million tokens
/// two are taken for one with a probability of 1 in 500.
const KEY_BITS: u32 = 48;

pub(super) fn key(token: &str) -> u64 {
    city64(token.as_bytes()) >> (u64::BITS - KEY_BITS)
}

/// A frozen corpus.
#[derive(Debug)]
pub struct Corpus {
    /// Its name and version, `petitions@1`.
    pub name: String,
    /// What determines its tokens, as keys of a recipe.
    pub shape: Value,
    /// Documents that it was built from.
    pub documents: u64,
    pub(super) frequencies: FxHashMap<u64, u32>,
}

/// Corpora are append-only versions: one name, one corpus.
impl PartialEq for Corpus {
    fn eq(&self, other: &Corpus) -> bool {
        self.name == other.name
    }
}

impl Corpus {
    /// The corpus whose frequencies [`CorpusBuilder`](super::CorpusBuilder) wrote; `None` if the bytes are not that.
    pub fn new(name: &str, shape: Value, documents: u64, common: &[u8]) -> Option<Corpus> {
        let mut frequencies = FxHashMap::default();
        frequencies.room(common.len() / 6).or_raise();
        read_common(common, |key, frequency| {
            frequencies.room(1).or_raise();
            frequencies.insert(key, frequency);
        })?;
        Some(Corpus { name: name.to_owned(), shape, documents, frequencies })
    }

    /// The number of documents with `token`; 1 if there is none.
    pub fn frequency(&self, token: &str) -> u32 {
        self.frequencies.get(&key(token)).copied().unwrap_or(1)
    }

    /// The inverse document frequency (P3, formula 3): the natural logarithm of documents over frequency.
    pub fn idf(&self, token: &str) -> f64 {
        (self.documents as f64 / f64::from(self.frequency(token))).ln().max(0.0)
    }

    /// The share of documents with `token`, 0 to 1.
    pub fn share(&self, token: &str) -> f64 {
        f64::from(self.frequency(token)) / self.documents.max(1) as f64
    }
}

fn read_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

pub(super) fn read_common(bytes: &[u8], mut each: impl FnMut(u64, u32)) -> Option<()> {
    read_keys(bytes, |key, bytes| {
        // Tokens of fewer documents are not among these.
        each(key, u32::try_from(read_number(bytes)?).ok().filter(|&frequency| frequency > 1)?);
        Some(())
    })
}

/// Calls `each` with the keys, and the bytes behind each.
pub(super) fn read_keys(mut bytes: &[u8], mut each: impl FnMut(u64, &mut &[u8]) -> Option<()>) -> Option<()> {
    let (mut key, mut meter) = (0u64, Meter::new());
    while !bytes.is_empty() {
        meter.work(1);
        key = key.checked_add(read_number(&mut bytes)?)?;
        each(key, &mut bytes)?;
    }
    Some(())
}
