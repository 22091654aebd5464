//! What stands in the slots of a text, so far as it can be told from others at a glance.

use super::tokens::Text;
use crate::memory::{Grow, OrRaise};
use crate::text::is_spaceless_char;
use std::ops::Range;

/// How a text fills the slots of the template that it is of.
#[derive(Debug)]
pub struct Filling {
    pub(super) template: u32,
    pub(super) values: Vec<Value>,
}

/// Words of a value that are known one by one: names without spaces are cut into many.
const WORDS: usize = 12;

/// So many words that two longer values each have and the other lacks are not misspelt.
const MANY: u32 = 3;

/// What stands in a slot, so far as it can be told from others at a glance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct Value {
    /// A bit for each of its words, and for those of no script that spells, as numbers.
    words: u64,
    signs: u64,
    /// All in their order.
    order: u32,
    /// The first of them, and how many there are.
    first: Vec<(u32, Written)>,
    count: u16,
    all: Written,
}

/// How words are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Written {
    /// How often they have characters, up to three times: two bits for each of 32 kinds.
    characters: u64,
    length: u16,
    /// Whether some of them are of a script that spells, of one without spaces, and others.
    scripts: [bool; 3],
}

impl Written {
    fn add(&mut self, c: char, often: u64) {
        let at = u32::from(c) % 32 * 2;
        let often = ((self.characters >> at & 3) + often).min(3);
        self.characters = self.characters & !(3 << at) | often << at;
    }

    fn of(word: &str) -> Written {
        let mut written = Written::default();
        for c in word.chars() {
            written.add(c, 1);
            written.length = written.length.saturating_add(1);
            let spaceless = is_spaceless_char(c);
            written.scripts[if spaceless { 1 } else { 2 * usize::from(!c.is_alphabetic()) }] = true;
        }
        written
    }

    fn join(mut self, other: Written) -> Written {
        (0..32u8).for_each(|at| self.add(char::from(at), other.characters >> (2 * at) & 3));
        self.length = self.length.saturating_add(other.length);
        self.scripts.iter_mut().zip(other.scripts).for_each(|(here, there)| *here |= there);
        self
    }

    fn may_be_one(self, other: Written) -> bool {
        const LOW: u64 = 0x5555_5555_5555_5555;
        let kinds = |bits: u64| (bits | bits >> 1) & LOW;
        match (self.scripts, other.scripts) {
            ([true, false, false], [true, false, false]) => {
                let alike = kinds(self.characters ^ other.characters).count_ones() <= 2;
                self.length.abs_diff(other.length) < 2 && alike
            }
            ([false, true, false], [false, true, false]) => {
                let [ours, theirs] = [self, other].map(|it| kinds(it.characters));
                ours & !theirs == 0 || theirs & !ours == 0
            }
            _ => false,
        }
    }
}

impl Value {
    pub fn add(&mut self, at: usize, hash: u32, text: &Text) {
        let written = Written::of(text.word_at(at));
        self.words |= 1 << (hash % 64);
        self.order = self.order.wrapping_mul(31).wrapping_add(hash);
        if written.scripts[2] {
            self.signs |= 1 << (hash % 64);
        }
        if self.first.len() < WORDS {
            self.first.grow((hash, written)).or_raise();
        }
        self.count = self.count.saturating_add(1);
        self.all = self.all.join(written);
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.count == 0
    }

    /// The hash of the only word, if that is of no script that spells, so that any other such word is another value.
    pub fn sign(&self) -> Option<u32> {
        self.first.first().filter(|_| self.count == 1 && self.all.scripts[2]).map(|word| word.0)
    }

    /// Whether either has a word that the other lacks, and these cannot be one.
    pub fn is_another(&self, other: &Value) -> bool {
        if self.is_none() || other.is_none() {
            return false;
        }
        match self.known().zip(other.known()) {
            Some((ours, theirs)) => {
                let [ours, theirs] = [(ours, theirs), (theirs, ours)].map(|(own, other)| {
                    let own = own.iter().filter(|word| other.iter().all(|it| it.0 != word.0));
                    own.map(|it| it.1).reduce(Written::join)
                });
                ours.zip(theirs).is_some_and(|(ours, theirs)| !ours.may_be_one(theirs))
            }
            None => {
                let [ours, theirs] = [self.words & !other.words, other.words & !self.words];
                let spaceless = |it: &Value| it.all.scripts == [false, true, false];
                let many = || [ours, theirs].iter().all(|own| own.count_ones() >= MANY);
                (ours != 0 && theirs != 0 && (ours & self.signs | theirs & other.signs) != 0)
                    || many() && ![self, other].into_iter().any(spaceless)
                    || self.words & other.words == 0 && !self.all.may_be_one(other.all)
            }
        }
    }

    /// Whether both have the same words, several, in another order or another number of times.
    pub fn is_reordered(&self, other: &Value) -> bool {
        let same = self.count == other.count && self.words == other.words;
        same && u32::from(self.count) >= MANY && self.order != other.order
    }

    /// All its words, if they are few.
    fn known(&self) -> Option<&[(u32, Written)]> {
        self.first.get(..usize::from(self.count))
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
