//! The words of texts, each weighed by how rare it is among them.

mod contained;

pub(crate) use contained::{Contained, PARTNERS, Texts};

use crate::interrupt::{Meter, checked, sort_and_dedup, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Room, collect, filled};
use crate::text::{char_ngrams, is_spaceless_char};
use rustc_hash::FxHashMap;

/// Calls `each` with the words of a normal form. A run without spaces counts by its pairs of characters.
pub(crate) fn words_of(normal: &str, mut each: impl FnMut(&str)) {
    let mut meter = Meter::new();
    for word in normal.split(' ').filter(|word| !word.is_empty()) {
        meter.work(word.len());
        if word.contains(is_spaceless_char) {
            char_ngrams(word, 2, &mut each);
        } else {
            each(word);
        }
    }
}

/// Lists of numbers one after the other.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    all: Vec<u32>,
    ends: Vec<usize>,
}

impl Lists {
    pub(crate) fn add(&mut self, list: &[u32]) {
        self.all.room(list.len()).or_raise();
        self.all.extend_from_slice(list);
        self.ends.grow(self.all.len()).or_raise();
    }

    pub(crate) fn count(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn all(&self) -> &[u32] {
        &self.all
    }

    /// A list, which is empty beyond the last one.
    pub(crate) fn get(&self, at: usize) -> &[u32] {
        let end = self.ends.get(at).copied().unwrap_or_default();
        &self.all[if at == 0 || end == 0 { 0 } else { self.ends[at - 1] }..end]
    }

    /// Gives each number its rank, and sorts each list.
    fn renumber(&mut self, ranks: &[u32]) {
        checked(&mut self.all).for_each(|number| *number = ranks[*number as usize]);
        let mut from = 0;
        for &end in checked(&self.ends) {
            sort_unstable_by(&mut self.all[from..end], Ord::cmp);
            from = end;
        }
    }
}

/// The words of texts, numbered as they come; each once in a text.
#[derive(Debug, Default)]
pub(crate) struct Words {
    numbers: FxHashMap<u64, u32>,
    /// Those of the text that is being read.
    text: Vec<u32>,
    texts: Lists,
}

impl Words {
    /// Adds a word of the text that is being read, by its hash.
    pub(crate) fn add(&mut self, word: u64) {
        self.numbers.room(1).or_raise();
        let next = self.numbers.len() as u32;
        self.text.grow(*self.numbers.entry(word).or_insert(next)).or_raise();
    }

    /// Ends a text; they are numbered in order.
    pub(crate) fn end(&mut self) {
        sort_and_dedup(&mut self.text);
        self.texts.add(&self.text);
        self.text.clear();
    }

    pub(crate) fn frequencies(&self) -> Vec<u32> {
        let mut frequencies = filled(0u32, self.numbers.len()).or_raise();
        checked(self.texts.all()).for_each(|&word| frequencies[word as usize] += 1);
        frequencies
    }

    /// The words of each text, and the keys by which words are numbered anew: `key` makes them of hashes and numbers.
    pub(crate) fn ranked<K: Ord>(self, key: impl Fn(u64, u32) -> K) -> (Lists, Vec<K>) {
        let Words { numbers, mut texts, .. } = self;
        let keys = checked(numbers).map(|(hash, word)| (key(hash, word), word));
        let mut order: Vec<(K, u32)> = collect(keys).or_raise();
        sort_unstable_by(&mut order, Ord::cmp);
        let mut ranks = filled(0u32, order.len()).or_raise();
        checked(order.iter().zip(0..)).for_each(|(it, rank)| ranks[it.1 as usize] = rank);
        texts.renumber(&ranks);
        (texts, collect(order.into_iter().map(|it| it.0)).or_raise())
    }
}
