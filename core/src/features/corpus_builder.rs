//! Building a corpus: counting documents, and the bytes that [`Corpus`](super::Corpus) reads.

use super::corpus::{key, read_common, read_keys};
use super::extract::Extractor;
use super::recipe::TextRecipe;
use crate::interrupt::{self, checked};
use crate::memory::{self, OrRaise, Room};
use rustc_hash::FxHashMap;
use serde_json::Value;

/// Counts documents.
#[derive(Debug)]
pub struct CorpusBuilder {
    recipe: TextRecipe,
    /// Documents counted.
    pub documents: u64,
    /// By key: the frequency, and the last document counted.
    frequencies: FxHashMap<u64, (u32, u64)>,
}

/// The stored form of a corpus.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredCorpus {
    /// Number of documents.
    pub documents: u64,
    /// Number of different tokens.
    pub tokens: u64,
    /// The tokens of several documents and their frequencies.
    pub common: Vec<u8>,
    /// The tokens of one document.
    pub single: Vec<u8>,
}

impl CorpusBuilder {
    /// An empty corpus of the tokens of `recipe`; what the recipe leaves out or weighs does not matter.
    pub fn new(mut recipe: TextRecipe) -> CorpusBuilder {
        recipe.stop.clear();
        CorpusBuilder { recipe, documents: 0, frequencies: FxHashMap::default() }
    }

    /// Starts with the documents of an earlier version. `None` if the bytes are not those of a corpus.
    pub fn extend(&mut self, documents: u64, common: &[u8], single: &[u8]) -> Option<()> {
        self.documents += documents;
        let last = self.documents;
        let mut add = |key, frequency| {
            self.frequencies.room(1).or_raise();
            self.frequencies.entry(key).or_insert((0, last)).0 += frequency;
        };
        read_common(common, &mut add)?;
        read_keys(single, |key, _| {
            add(key, 1);
            Some(())
        })
    }

    /// Adds a document. One without any token does not count.
    pub fn add(&mut self, extractor: &mut Extractor, text: &str) {
        let this = self.documents + 1;
        let frequencies = &mut self.frequencies;
        let mut any = false;
        extractor.each_token(text, &self.recipe, |token| {
            any = true;
            frequencies.room(1).or_raise();
            let (frequency, last) = frequencies.entry(key(token)).or_insert((0, 0));
            if *last != this {
                (*frequency, *last) = (*frequency + 1, this);
            }
        });
        self.documents += u64::from(any);
    }

    /// What determines its tokens, as keys of a recipe.
    pub fn shape(&self) -> Value {
        self.recipe.shape()
    }

    /// The corpus, to be stored: keys in order, each as the difference to the one before, in bytes of seven bits.
    pub fn finish(self) -> StoredCorpus {
        let all = checked(self.frequencies).map(|(key, (f, _))| (key, f));
        let mut all = memory::collect(all).or_raise();
        interrupt::sort_unstable_by(&mut all, Ord::cmp);
        let mut stored = StoredCorpus {
            documents: self.documents,
            tokens: all.len() as u64,
            common: vec![],
            single: vec![],
        };
        let (mut last_common, mut last_single) = (0, 0);
        for (key, frequency) in checked(all) {
            if frequency > 1 {
                write_number(&mut stored.common, key - last_common);
                write_number(&mut stored.common, u64::from(frequency));
                last_common = key;
            } else {
                write_number(&mut stored.single, key - last_single);
                last_single = key;
            }
        }
        stored
    }
}

fn write_number(out: &mut Vec<u8>, mut number: u64) {
    out.room(10).or_raise();
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
