//! What stands in the slots of a text, so far as it can be told from others at a glance.

use super::tokens::Text;
use crate::text::is_spaceless_char;
use std::ops::Range;

/// How a text fills the slots of the template that it is of.
#[derive(Debug)]
pub(super) struct Filling {
    pub template: u32,
    pub values: Vec<Value>,
}

/// Words of a value that are known one by one.
const WORDS: usize = 3;

/// What stands in a slot, so far as it can be told from others at a glance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Value {
    /// A bit for each of its words.
    words: u64,
    /// The first of them, and how many there are.
    first: [u32; WORDS],
    count: u16,
    /// How often it has characters, up to three times: two bits for each of 32 kinds.
    characters: u64,
    length: u16,
    /// Whether some of them are of a script that spells, of one without spaces, and others.
    scripts: [bool; 3],
}

impl Value {
    pub fn add(&mut self, at: usize, hash: u32, text: &Text) {
        self.words |= 1 << (hash % 64);
        if let Some(word) = self.first.get_mut(usize::from(self.count)) {
            *word = hash;
        }
        self.count = self.count.saturating_add(1);
        for c in text.word_at(at).chars() {
            let at = u32::from(c) % 32 * 2;
            let often = ((self.characters >> at & 3) + 1).min(3);
            self.characters = self.characters & !(3 << at) | often << at;
            self.length = self.length.saturating_add(1);
            let spaceless = is_spaceless_char(c);
            self.scripts[if spaceless { 1 } else { 2 * usize::from(!c.is_alphabetic()) }] = true;
        }
    }

    /// Whether the other is a value too, has none of its words, and cannot be one with it.
    pub fn is_another(&self, other: &Value) -> bool {
        const LOW: u64 = 0x5555_5555_5555_5555;
        let kinds = |bits: u64| (bits | bits >> 1) & LOW;
        let may_be_one = match (self.scripts, other.scripts) {
            ([true, false, false], [true, false, false]) => {
                let alike = kinds(self.characters ^ other.characters).count_ones() <= 2;
                self.length.abs_diff(other.length) < 2 && alike
            }
            ([false, true, false], [false, true, false]) => {
                let [ours, theirs] = [self, other].map(|it| kinds(it.characters));
                ours & !theirs == 0 || theirs & !ours == 0
            }
            _ => false,
        };
        self.count > 0 && other.count > 0 && self.has_none_of(other) && !may_be_one
    }

    fn has_none_of(&self, other: &Value) -> bool {
        let all = |it: &Value| (usize::from(it.count) <= WORDS).then(|| usize::from(it.count));
        self.words & other.words == 0
            || all(self).zip(all(other)).is_some_and(|(ours, theirs)| {
                !self.first[..ours].iter().any(|word| other.first[..theirs].contains(word))
            })
    }
}

/// The words of a text that stand in a slot: their tokens, and the value that they are.
#[derive(Debug, Default)]
pub(super) struct Filled {
    pub tokens: Vec<usize>,
    pub value: Value,
}

impl Filled {
    pub fn place(&self) -> Range<usize> {
        self.tokens.first().zip(self.tokens.last()).map_or(0..0, |(first, last)| *first..last + 1)
    }
}
