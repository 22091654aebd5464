//! A sample of texts that come one after the other: settings are chosen by it, so that they do not depend on what a
//! table happens to begin with.

use crate::memory::{OrRaise, Room};
use crate::random::SplitMix64;
use std::collections::BinaryHeap;

/// Texts drawn from all that were seen: those of the least random numbers, drawn with a fixed seed, so that the same
/// texts in the same order give the same sample.
#[derive(Debug)]
pub struct TextSample {
    /// The random number of each, its place among all, and itself.
    drawn: BinaryHeap<(u64, u64, String)>,
    /// The most texts, and the most bytes of them but for the last.
    most: (usize, usize),
    /// Bytes of those that are drawn.
    pub bytes: usize,
    /// How many were seen.
    pub seen: u64,
    random: SplitMix64,
    /// Only texts of lesser numbers are drawn.
    limit: u64,
}

impl TextSample {
    /// No texts yet; at most so many, and so many bytes of them, unless a single one has more.
    pub fn new(texts: usize, bytes: usize) -> TextSample {
        TextSample {
            drawn: BinaryHeap::new(),
            most: (texts, bytes),
            bytes: 0,
            seen: 0,
            random: SplitMix64::new(0x5EED),
            limit: u64::MAX,
        }
    }

    /// Sees a text.
    pub fn add(&mut self, text: &str) {
        let number = self.random.next();
        self.seen += 1;
        if number >= self.limit {
            return;
        }
        self.bytes += text.len();
        self.drawn.room(1).or_raise();
        self.drawn.push((number, self.seen, crate::memory::copy_str(text).or_raise()));
        while self.drawn.len() > self.most.0.max(1) || self.bytes > self.most.1 && self.drawn.len() > 1 {
            if let Some((number, _, text)) = self.drawn.pop() {
                (self.limit, self.bytes) = (number, self.bytes - text.len());
            }
        }
    }

    /// The texts drawn, in the order in which they came.
    pub fn texts(self) -> Vec<String> {
        let mut drawn = self.drawn.into_vec();
        drawn.sort_unstable_by_key(|&(_, place, _)| place);
        drawn.into_iter().map(|(_, _, text)| text).collect()
    }
}
