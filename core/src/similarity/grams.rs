//! Sets of character n-grams as numbers, made once and compared by merging.
//!
//! Up to [`PACKED`] characters are their own number. Longer n-grams go by a 64-bit hash, as in the join of texts.

use super::overlap::{overlap_needed, shared};
use super::sketch;
use crate::hash::city64;
use crate::memory::{OrRaise, Room, filled};
use crate::text::{Ngrams, PACKED, pack};

/// In ascending order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grams(pub Vec<u64>);

/// Makes sets. Keeps its buffers from one text to the next.
#[derive(Debug)]
pub(crate) struct Maker {
    n: usize,
    ngrams: Ngrams,
}

impl Maker {
    /// For sets of `n`-grams, `n` being at least 1.
    pub(crate) fn new(n: usize) -> Maker {
        Maker { n: n.max(1), ngrams: Ngrams::default() }
    }

    pub(crate) fn make(&mut self, text: &str) -> Grams {
        self.ngrams.read(text);
        Grams(numbers(&self.ngrams, self.n))
    }
}

/// The set of `n`-grams as numbers, in ascending order.
pub(super) fn numbers(ngrams: &Ngrams, n: usize) -> Vec<u64> {
    match n {
        ..=PACKED => ngrams.set(n, pack),
        n => ngrams.set(n, |gram| city64(gram.as_bytes())),
    }
}

impl Grams {
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Its sketch of at most `most` words.
    pub(crate) fn sketch(&self, most: usize) -> Vec<u64> {
        let mut made = filled(0, sketch::words(self.len(), most)).or_raise();
        self.0.iter().for_each(|&gram| sketch::add(&mut made, gram));
        made
    }

    /// The Jaccard coefficient of two sets if it is at least `threshold`, which is above 0.
    pub(crate) fn similar(&self, other: &Grams, threshold: f64) -> Option<f64> {
        if self.len() == 0 || other.len() == 0 {
            return None;
        }
        let needed = overlap_needed(threshold, self.len(), other.len());
        let both = shared(&self.0, &other.0, needed)?;
        let similarity = both as f64 / (self.len() + other.len() - both) as f64;
        (similarity >= threshold).then_some(similarity)
    }

    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        let from = into.len();
        into.room(8 * self.len()).or_raise();
        into.resize(from + 8 * self.len(), 0);
        let places = into[from..].as_chunks_mut().0;
        places.iter_mut().zip(&self.0).for_each(|(place, gram)| *place = gram.to_le_bytes());
    }

    pub(crate) fn read(bytes: &[u8]) -> Grams {
        let mut grams = Vec::new();
        grams.room(bytes.len() / 8).or_raise();
        grams.extend(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        Grams(grams)
    }
}
