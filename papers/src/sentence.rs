//! Runs of sentences that two texts share (P5, "SL+ST"), and sequences of
//! sentence lengths (Wang and Chang 2009), which P5 improves on.
//!
//! P5 writes a document as a string, one letter per sentence: the number of its
//! words without stop words. Common runs of two such strings, found by a
//! generalised suffix tree in linear time, are blocks that may be equal. A
//! sentence of a block is verified by its first two words; where one fails
//! the block is split, and blocks of one sentence are dropped.
//!
//! Here a symbol is the length *and* the two words, so that verification is
//! part of the match: on every alignment of the two strings, the runs of
//! equal symbols of at least two sentences are exactly what P5's verifying, splitting and dropping leave of the
//! runs of equal lengths (a test compares the two). The suffix automaton of one text reads
//! the other, so time is linear also where all lengths are equal and the
//! number of alignments is quadratic.

use super::automaton::SuffixAutomaton;
use crate::sentences::sentences;
use dedup_core::interrupt::{check, checked};
use dedup_core::text::{Segmenter, normalize};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Sentences of more words have no letter and are left out (P5: 0.1 to 0.3 %
/// of all).
pub const LONGEST: usize = 35;
/// The shortest block that counts.
pub const SHORTEST_BLOCK: usize = 2;

/// Words in normal form that do not count.
pub type StopWords = FxHashSet<String>;

/// One sentence of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// Where it is in the text, in bytes.
    pub range: Range<usize>,
    /// Its number among all sentences of the text, from 1.
    pub number: usize,
    /// The number of its words that are not stop words.
    pub words: usize,
    /// The first two of them; fewer if it has fewer.
    pub first: Vec<String>,
}

impl Sentence {
    /// P5's letter for its length: `0` to `9`, then `a` for 10 to `z` for 35.
    pub fn letter(&self) -> char {
        char::from_digit(self.words as u32, LONGEST as u32 + 1).unwrap_or('?')
    }
}

/// The sentences of a text that have at most [`LONGEST`] words that are not
/// in `stop`, in order.
pub fn split(content: &str, stop: &StopWords) -> Vec<Sentence> {
    let (mut all, mut number) = (Vec::new(), 0);
    sentences(content, |range| {
        number += 1;
        let normal = normalize(&content[range.clone()]);
        let (mut words, mut first) = (0, Vec::new());
        Segmenter::shared().words(&normal, false, |word| {
            if !stop.contains(word) {
                words += 1;
                if first.len() < 2 {
                    first.push(word.to_owned());
                }
            }
        });
        if words <= LONGEST {
            all.push(Sentence { range, number, words, first });
        }
    });
    all
}

/// P5's length string.
pub fn length_string(sentences: &[Sentence]) -> String {
    sentences.iter().map(Sentence::letter).collect()
}

/// A run of sentences that both texts have, as indexes into their lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// The first sentence in the first text.
    pub a: usize,
    /// The first sentence in the second text, at its first occurrence there.
    pub b: usize,
    /// The number of sentences.
    pub length: usize,
}

/// The longest blocks of two texts, in the order of the first text. A block
/// that is part of a longer one at the same place is not listed; blocks may
/// overlap, where the second text has their ends and beginnings apart.
pub fn blocks(a: &[Sentence], b: &[Sentence]) -> Vec<Block> {
    let (a, b) = symbols(a, b);
    longest_runs(&a, &b)
}

/// The numbers of sentences of the two texts that lie in a block.
fn covered(a: &[u32], b: &[u32]) -> usize {
    let cover = |runs: Vec<Block>| {
        let (mut sum, mut end) = (0, 0);
        for run in checked(runs) {
            sum += (run.a + run.length).saturating_sub(end.max(run.a));
            end = end.max(run.a + run.length);
        }
        sum
    };
    // A text may have a block twice that the other has once.
    usize::min(cover(longest_runs(a, b)), cover(longest_runs(b, a)))
}

/// P5's similarity, 0 to 1: `m / (n₁ + n₂ - m)` with m the sentences that lie
/// in common blocks (in the text that has fewer of them) and n the sentences
/// of a text. 0 if neither has one.
pub fn similarity(a: &[Sentence], b: &[Sentence]) -> f64 {
    let (x, y) = symbols(a, b);
    jaccard(covered(&x, &y), a.len(), b.len())
}

/// The similarity, 0 to 1, of two sequences of sentence lengths: the longest
/// common subsequence over all, `l / (n₁ + n₂ - l)`. The time is proportional
/// to the product of the lengths: a fifth of a second for sequences of
/// 100,000, half a minute for sequences of a million.
pub fn length_similarity(a: &[u32], b: &[u32]) -> f64 {
    jaccard(longest_common_subsequence(a, b), a.len(), b.len())
}

/// The length of the longest common subsequence (Hyyrö 2004): a column of the
/// textbook's table as bits, 64 rows a word. The rows are done word by word,
/// each over all of the columns, so that a word's masks stay at hand and only
/// the carries have to be kept.
fn longest_common_subsequence(a: &[u32], b: &[u32]) -> usize {
    let same = |(x, y): &(&u32, &u32)| x == y;
    let head = checked(a.iter().zip(b)).take_while(same).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = checked(a.iter().rev().zip(b.iter().rev())).take_while(same).count();
    let (rows, columns) = (&a[..a.len() - tail], &b[..b.len() - tail]);

    // Symbols by number; those that only one of the two has match nothing.
    let mut numbers: FxHashMap<u32, u32> = FxHashMap::default();
    for &symbol in checked(rows) {
        let next = numbers.len() as u32 + 1;
        numbers.entry(symbol).or_insert(next);
    }
    let columns: Vec<u32> =
        checked(columns).map(|symbol| numbers.get(symbol).copied().unwrap_or(0)).collect();
    let mut masks = vec![0u64; numbers.len() + 1];
    let mut carries = vec![0u64; columns.len().div_ceil(64)];
    let mut length = 0;
    for word in rows.chunks(64) {
        for (row, symbol) in word.iter().enumerate() {
            masks[numbers[symbol] as usize] |= 1 << row;
        }
        // A bit of `column` is 0 where the table is one more than in the row above.
        let mut column = u64::MAX;
        for (columns, carries) in columns.chunks(64).zip(&mut carries) {
            check();
            let (carry_in, mut carry_out) = (*carries, 0);
            for (at, &symbol) in columns.iter().enumerate() {
                let matching = column & masks[symbol as usize];
                let (sum, over) = column.overflowing_add(matching);
                let (sum, over_too) = sum.overflowing_add(carry_in >> at & 1);
                carry_out |= u64::from(over | over_too) << at;
                column = sum | (column & !matching);
            }
            *carries = carry_out;
        }
        // Rows that the last word does not have match nothing and stay 1.
        length += column.count_zeros() as usize;
        word.iter().for_each(|symbol| masks[numbers[symbol] as usize] = 0);
    }
    head + length + tail
}

fn jaccard(shared: usize, a: usize, b: usize) -> f64 {
    let all = a + b - shared;
    if all == 0 { 0.0 } else { shared as f64 / all as f64 }
}

/// A number for every different pair of length and first words.
fn symbols(a: &[Sentence], b: &[Sentence]) -> (Vec<u32>, Vec<u32>) {
    let mut known: FxHashMap<(usize, &[String]), u32> = FxHashMap::default();
    let mut number = |sentence| {
        let Sentence { words, first, .. }: &Sentence = sentence;
        let next = known.len() as u32;
        *known.entry((*words, first.as_slice())).or_insert(next)
    };
    let a = checked(a).map(&mut number).collect();
    (a, checked(b).map(&mut number).collect())
}

fn longest_runs(a: &[u32], b: &[u32]) -> Vec<Block> {
    let found = SuffixAutomaton::new(b).matches(a);
    let ends = checked(&found).enumerate().filter(|&(end, run)| {
        let goes_on = found.get(end + 1).is_some_and(|next| next.length == run.length + 1);
        run.length >= SHORTEST_BLOCK && !goes_on
    });
    ends.map(|(end, run)| Block { a: end + 1 - run.length, b: run.start, length: run.length }).collect()
}

#[cfg(test)]
#[path = "sentence_tests.rs"]
mod tests;
