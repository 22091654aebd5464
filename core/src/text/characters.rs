//! The characters of a text, as the cut takes them.

use super::cell::{Cell as Node, UNKNOWN};
use super::lexicon;
use super::normalize::{Class, classify, is_han};
use crate::interrupt::Meter;
use crate::memory::{Grow, OrRaise, Room};
use std::ops::Range;

/// Characters of a text, and the best cut of each end of the runs among them.
#[derive(Debug, Default)]
pub struct Characters {
    /// How many they are. What the other lists have after them is of no use.
    pub(super) count: usize,
    /// Their bytes, if they were read of a text that has others too.
    pub(super) text: Vec<u8>,
    /// Where each begins, and the end.
    pub(super) starts: Vec<u32>,
    /// The code of each, then so many unknown ones that two characters ahead can be looked at.
    pub(super) codes: Vec<u16>,
    /// The logarithm of the probability of the best cut from each on to the end of its run.
    pub(super) chances: Vec<f64>,
    /// The characters of the first word of that cut.
    pub(super) lengths: Vec<u32>,
    /// Where the first two and the first three from each on lead in the dictionary.
    pub(super) seconds: Vec<Node>,
    pub(super) thirds: Vec<Node>,
    pub(super) ends: Vec<u32>,
}

/// What stands after the last character, so that two characters ahead can be looked at.
pub(super) const AHEAD: usize = 2;

/// Makes a list at least so long. Each is looked at by itself: where memory ran out before, some have grown and others not.
fn grow<T: Clone>(list: &mut Vec<T>, places: usize, value: T) {
    if list.len() < places {
        list.room(places - list.len()).or_raise();
        list.resize(places, value);
    }
}

/// Buffers for more characters are freed after use.
const KEPT_CHARACTERS: usize = 1 << 14;

impl Characters {
    /// Takes the characters of the normal form of a text but its spaces. Whether it could: not, and what was taken is of
    /// no use, if the normal form has others than ASCII and those from U+4E00 to U+9FFF, or only the Unicode tables can
    /// tell.
    pub fn read(&mut self, text: &str) -> bool {
        // No character becomes more bytes than it was.
        self.clear(text.len());
        grow(&mut self.text, text.len(), 0);
        let (mut gap, mut spaced) = (false, false);
        let (mut count, mut bytes) = (0, 0);
        let (starts, codes) = (&mut self.starts[..text.len()], &mut self.codes[..text.len()]);
        let taken = &mut self.text[..text.len()];
        let mut rest = text;
        let mut meter = Meter::new();
        loop {
            let mut left = rest.as_bytes();
            while let Some((&[a, b, c], after)) = left.split_first_chunk()
                && is_han(a, b)
            {
                meter.work(1);
                starts[count] = bytes as u32;
                codes[count] =
                    lexicon::code(u32::from(a & 0x0F) << 12 | u32::from(b & 0x3F) << 6 | u32::from(c & 0x3F));
                taken[bytes..bytes + 3].copy_from_slice(&[a, b, c]);
                (count, bytes, left) = (count + 1, bytes + 3, after);
                (gap, spaced) = (false, false);
            }
            rest = &rest[rest.len() - left.len()..];
            let Some(c) = rest.chars().next() else { break };
            meter.work(1);
            match classify(c) {
                Class::Spaced(c) if c.is_ascii() => {
                    if gap && spaced {
                        self.ends.grow(count as u32).or_raise();
                    }
                    starts[count] = bytes as u32;
                    codes[count] = lexicon::code(c.into());
                    taken[bytes] = c as u8;
                    (count, bytes) = (count + 1, bytes + 1);
                    (gap, spaced) = (false, true);
                }
                Class::Separator => gap = true,
                Class::Nothing => {}
                Class::Spaced(_) | Class::Spaceless(_) | Class::Unknown => return false,
            }
            rest = &rest[c.len_utf8()..];
        }
        self.end(count, bytes);
        self.ends.grow(count as u32).or_raise();
        self.text.truncate(bytes);
        true
    }

    /// Takes the run that `text` begins with, of characters that are `in_words`.
    pub fn read_run(&mut self, text: &str, in_words: impl Fn(char) -> bool) -> Range<usize> {
        self.clear(0);
        let (mut count, mut end) = (0, text.len());
        let mut meter = Meter::new();
        for (at, c) in text.char_indices() {
            if !in_words(c) {
                end = at;
                break;
            }
            meter.work(1);
            if count + 1 + AHEAD > self.codes.len() {
                self.clear(2 * count);
            }
            self.starts[count] = at as u32;
            self.codes[count] = lexicon::code(c.into());
            count += 1;
        }
        self.end(count, end);
        0..count
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// The bytes of each run of `n` characters, in order; `n` is at least 1.
    pub fn runs(&self, n: usize) -> impl Iterator<Item = &[u8]> {
        let ends = self.starts[..=self.count].iter().skip(n);
        self.starts.iter().zip(ends).map(|(&start, &end)| &self.text[start as usize..end as usize])
    }

    #[inline]
    pub fn bytes(&self, characters: Range<usize>) -> Range<usize> {
        self.starts[characters.start] as usize..self.starts[characters.end] as usize
    }

    /// Begins anew with room for so many characters.
    fn clear(&mut self, characters: usize) {
        self.ends.clear();
        let places = characters + 1 + AHEAD;
        grow(&mut self.starts, places, 0);
        grow(&mut self.codes, places, UNKNOWN);
    }

    /// Ends the characters, whose text has so many bytes.
    fn end(&mut self, count: usize, bytes: usize) {
        self.count = count;
        self.starts[count] = bytes as u32;
        self.codes[count..count + AHEAD].fill(UNKNOWN);
        let places = count + AHEAD;
        grow(&mut self.lengths, places, 1);
        grow(&mut self.chances, places, 0.0);
        grow(&mut self.seconds, places, Node::EMPTY);
        grow(&mut self.thirds, places, Node::EMPTY);
    }

    pub fn keep_small(&mut self) {
        if self.codes.len() > KEPT_CHARACTERS {
            *self = Characters::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the texts after one for which memory ran out: of the lists, any may have grown alone.
    #[test]
    fn lists_of_unequal_length_do_no_harm() {
        let long: [fn(&mut Characters); 6] = [
            |characters| characters.starts.resize(1000, 7),
            |characters| characters.codes.resize(1000, 7),
            |characters| characters.lengths.resize(1000, 7),
            |characters| characters.chances.resize(1000, 7.0),
            |characters| characters.seconds.resize(1000, Node::EMPTY),
            |characters| characters.thirds.resize(1000, Node::EMPTY),
        ];
        for grow in long {
            let mut characters = Characters::default();
            grow(&mut characters);
            assert!(characters.read(&"水停区".repeat(100)));
            assert_eq!((characters.count(), characters.bytes(299..300)), (300, 897..900));
        }
    }
}
