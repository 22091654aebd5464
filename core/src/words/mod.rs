//! The words of texts, each weighed by how rare it is among them.

mod contained;

pub(crate) use contained::{Contained, Texts};

use crate::hash::city64;
use crate::interrupt::{self, Meter, checked};
use crate::memory::{Grow, OrRaise, Room, collect, filled};
use crate::text::{char_ngrams, is_spaceless_char};
use rustc_hash::FxHashMap;
use std::ops::Range;

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

/// The words of texts, numbered as they come; each once in a text.
#[derive(Debug, Default)]
pub(crate) struct Words {
    numbers: FxHashMap<u64, u32>,
    words: Vec<u32>,
    /// Where the next text begins.
    from: usize,
    ends: Vec<usize>,
}

impl Words {
    /// Adds a word of the text that is being read; true if it is new.
    pub(crate) fn add(&mut self, word: &str) -> bool {
        self.numbers.room(1).or_raise();
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(city64(word.as_bytes())).or_insert(next);
        self.words.grow(number).or_raise();
        number == next
    }

    /// Ends a text; they are numbered in order.
    pub(crate) fn end(&mut self) {
        interrupt::sort_unstable_by(&mut self.words[self.from..], Ord::cmp);
        let mut kept = self.from;
        for at in self.from..self.words.len() {
            if at == self.from || self.words[at] != self.words[at - 1] {
                self.words[kept] = self.words[at];
                kept += 1;
            }
        }
        self.words.truncate(kept);
        self.from = kept;
        self.ends.grow(kept).or_raise();
    }

    /// The words weighed, and the number that each had as they came. `columns`: texts that are one row together.
    pub(crate) fn weigh(self, columns: usize) -> (Index, Vec<u32>) {
        let Words { numbers, mut words, ends, .. } = self;
        let mut frequencies = filled(0u32, numbers.len()).or_raise();
        let mut seen = filled(usize::MAX, numbers.len()).or_raise();
        let mut from = 0;
        for (at, &end) in checked(ends.iter().enumerate()) {
            for &word in &words[from..end] {
                let row = at / columns;
                if std::mem::replace(&mut seen[word as usize], row) != row {
                    frequencies[word as usize] += 1;
                }
            }
            from = end;
        }
        drop(seen);
        // The rarest words get the least numbers, whatever the order of texts was.
        let mut order: Vec<(u32, u64, u32)> = Vec::new();
        order.room(numbers.len()).or_raise();
        order.extend(checked(&numbers).map(|(&hash, &word)| (frequencies[word as usize], hash, word)));
        drop(numbers);
        interrupt::sort_unstable_by(&mut order, Ord::cmp);
        let mut rank = filled(0u32, order.len()).or_raise();
        checked(order.iter().zip(0..)).for_each(|(&(_, _, word), at)| rank[word as usize] = at);
        checked(&mut words).for_each(|word| *word = rank[*word as usize]);
        let mut from = 0;
        for &end in checked(&ends) {
            interrupt::sort_unstable_by(&mut words[from..end], Ord::cmp);
            from = end;
        }
        let frequencies = collect(checked(&order).map(|of| of.0)).or_raise();
        let came = collect(checked(&order).map(|of| of.2)).or_raise();
        (Index { words, ends, frequencies }, came)
    }
}

/// The words of texts by number, the rarest first.
#[derive(Debug)]
pub(crate) struct Index {
    words: Vec<u32>,
    ends: Vec<usize>,
    /// In how many texts each word is.
    pub(crate) frequencies: Vec<u32>,
}

impl Index {
    /// How many texts there are.
    pub(crate) fn texts(&self) -> usize {
        self.ends.len()
    }

    /// The words of a text.
    pub(crate) fn of(&self, text: usize) -> &[u32] {
        self.of_all(text..text + 1)
    }

    /// The words of texts that follow each other.
    pub(crate) fn of_all(&self, texts: Range<usize>) -> &[u32] {
        let end = |text: usize| if text == 0 { 0 } else { self.ends[text - 1] };
        &self.words[end(texts.start)..end(texts.end)]
    }

    /// Those that more than one text and no more than `most` have.
    pub(crate) fn shared(&self, most: usize) -> Range<usize> {
        let up_to = |most: usize| self.frequencies.partition_point(|&frequency| frequency as usize <= most);
        up_to(1).min(up_to(most))..up_to(most)
    }

    /// What each of the words `of` weighs by its frequency.
    pub(crate) fn weights(&self, weight: impl Fn(f64) -> f64) -> Vec<f64> {
        collect(checked(&self.frequencies).map(|&frequency| weight(f64::from(frequency)))).or_raise()
    }

    /// The holders of shared words, one word after the other, and where those of each word end. Not all texts need be
    /// holders, and the words of one need not differ.
    pub(crate) fn holders<'w>(
        &self,
        shared: &Range<usize>,
        holders: impl Iterator<Item = (u32, &'w [u32])> + Clone,
    ) -> (Vec<u32>, Vec<usize>) {
        let mut ends = filled(0usize, shared.len()).or_raise();
        let mut meter = Meter::new();
        let mut each = |take: &mut dyn FnMut(usize, u32)| {
            let mut last = filled(u32::MAX, shared.len()).or_raise();
            for (holder, words) in holders.clone() {
                meter.work(1 + words.len());
                for &word in words.iter().filter(|&&word| shared.contains(&(word as usize))) {
                    let word = word as usize - shared.start;
                    if std::mem::replace(&mut last[word], holder) != holder {
                        take(word, holder);
                    }
                }
            }
        };
        each(&mut |word, _| ends[word] += 1);
        let mut length = 0;
        checked(&mut ends).for_each(|end| length += std::mem::replace(end, length));
        let mut all = filled(0u32, length).or_raise();
        each(&mut |word, holder| {
            all[ends[word]] = holder;
            ends[word] += 1;
        });
        (all, ends)
    }
}
