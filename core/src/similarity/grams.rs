//! Sets of character n-grams as numbers, made once and compared by merging.
//!
//! Up to [`PACKED`] characters are their own number; with two characters below U+10000 that number is of 32 bits. Both
//! numbers order alike, so a set of 32-bit numbers becomes one of 64 bits member by member. Longer n-grams go by
//! a 64-bit hash, as in the join of texts.

use super::overlap::{overlap_needed, shared};
use super::sketch;
use crate::hash::city64;
use crate::memory::{OrRaise, Room, collect, filled};
use crate::text::{Ngrams, PACKED, pack};
use std::borrow::Cow;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Grams {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

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
        if self.n <= 2
            && let Some(narrow) = self.ngrams.narrow(self.n)
        {
            return Grams::Narrow(narrow);
        }
        Grams::Wide(numbers(&self.ngrams, self.n))
    }
}

/// The set of `n`-grams as numbers, in ascending order.
pub(super) fn numbers(ngrams: &Ngrams, n: usize) -> Vec<u64> {
    match n {
        ..=PACKED => ngrams.set(n, pack),
        n => ngrams.set(n, |gram| city64(gram.as_bytes())),
    }
}

/// The 64-bit number of an n-gram whose 32-bit number is given.
#[inline]
fn widened(narrow: u32) -> u64 {
    u64::from(narrow >> 16) << 21 | u64::from(narrow & 0xFFFF)
}

impl Grams {
    pub(crate) fn len(&self) -> usize {
        match self {
            Grams::Narrow(grams) => grams.len(),
            Grams::Wide(grams) => grams.len(),
        }
    }

    pub(crate) fn wide(&self) -> Cow<'_, [u64]> {
        match self {
            Grams::Narrow(grams) => Cow::Owned(collect(grams.iter().map(|&gram| widened(gram))).or_raise()),
            Grams::Wide(grams) => Cow::Borrowed(grams),
        }
    }

    /// Its sketch of at most `most` words.
    pub(crate) fn sketch(&self, most: usize) -> Vec<u64> {
        let mut made = filled(0, sketch::words(self.len(), most)).or_raise();
        match self {
            Grams::Narrow(grams) => grams.iter().for_each(|&gram| sketch::add(&mut made, widened(gram))),
            Grams::Wide(grams) => grams.iter().for_each(|&gram| sketch::add(&mut made, gram)),
        }
        made
    }

    /// The Jaccard coefficient of two sets if it is at least `threshold`, which is above 0.
    pub(crate) fn similar(&self, other: &Grams, threshold: f64) -> Option<f64> {
        if self.len() == 0 || other.len() == 0 {
            return None;
        }
        let needed = overlap_needed(threshold, self.len(), other.len());
        let both = match (self, other) {
            (Grams::Narrow(a), Grams::Narrow(b)) => shared(a, b, needed),
            (Grams::Wide(a), Grams::Wide(b)) => shared(a, b, needed),
            (a, b) => shared(&a.wide(), &b.wide(), needed),
        }?;
        let similarity = both as f64 / (self.len() + other.len() - both) as f64;
        (similarity >= threshold).then_some(similarity)
    }

    pub(crate) fn write(&self, into: &mut Vec<u8>) {
        into.room(self.len() * if matches!(self, Grams::Wide(_)) { 8 } else { 4 }).or_raise();
        match self {
            Grams::Narrow(grams) => grams.iter().for_each(|gram| into.extend_from_slice(&gram.to_le_bytes())),
            Grams::Wide(grams) => grams.iter().for_each(|gram| into.extend_from_slice(&gram.to_le_bytes())),
        }
    }

    pub(crate) fn read(bytes: &[u8], wide: bool) -> Grams {
        if wide {
            let grams = bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
            Grams::Wide(collect(grams).or_raise())
        } else {
            let grams = bytes.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
            Grams::Narrow(collect(grams).or_raise())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::similarity::jaccard;
    use proptest::prelude::*;

    proptest! {
        /// The measure of two texts, to the last bit, whether their characters are below U+10000 or not; through a
        /// file too.
        #[test]
        fn equals_the_measure_of_the_texts(
            a in "[ab水区， 😀]{0,14}",
            b in "[ab水区， ]{0,14}",
            n in 1usize..6,
            threshold in prop::sample::select(vec![0.01, 0.3, 0.5, 1.0]),
        ) {
            let mut maker = Maker::new(n);
            let (x, y) = (maker.make(&a), maker.make(&b));
            let expected = Some(jaccard(&a, &b, n)).filter(|similarity| *similarity >= threshold);
            prop_assert_eq!(x.similar(&y, threshold), expected);
            prop_assert_eq!(y.similar(&x, threshold), expected);
            let mut bytes = Vec::new();
            x.write(&mut bytes);
            prop_assert_eq!(Grams::read(&bytes, matches!(x, Grams::Wide(_))), x);
        }
    }
}
