//! Character n-grams of a text.

use super::normalize::normalize_into;
use crate::interrupt::{self, Meter, checked};
use crate::memory::{Grow, OrRaise, Room};

/// Drops the spaces of the normal form `text` into `out`: n-grams of
/// characters run across words, so that a missing or additional space changes few of them.
pub fn compact(text: &str, out: &mut String) {
    out.clear();
    out.room(text.len()).or_raise();
    checked(text.split(' ')).for_each(|word| out.push_str(word));
}

/// Calls `each` with every run of `n` characters of `text`, in order, `length - n + 1` of them. A text
/// shorter than `n` is one run of itself: it must have a feature, and must not look like every other short
/// text. An empty text has none.
///
/// `n` is at least 1.
pub fn char_ngrams<'a>(text: &'a str, n: usize, mut each: impl FnMut(&'a str)) {
    debug_assert!(n >= 1);
    if text.is_empty() {
        return;
    }
    let bytes = text.as_bytes();
    let mut end = 0;
    for _ in 0..n {
        if end == bytes.len() {
            return each(text);
        }
        end += char_length(bytes[end]);
    }
    let mut start = 0;
    let mut meter = Meter::new();
    loop {
        meter.work(1 + n / 16);
        each(&text[start..end]);
        if end == bytes.len() {
            return;
        }
        start += char_length(bytes[start]);
        end += char_length(bytes[end]);
    }
}

/// The sets of character n-grams of texts, by which all measures compare them: those of the normal form
/// without spaces. Keeps its buffers from one text to the next.
#[derive(Debug, Default)]
pub struct Ngrams {
    normal: String,
    compact: String,
}

/// Runs of so many characters fit into one number, 21 bits per character.
pub const PACKED: usize = 3;

/// An n-gram of up to [`PACKED`] characters as a number; different ones have different numbers, for no
/// character of a normal form is 0.
pub fn pack(gram: &str) -> u64 {
    gram.chars().fold(0, |packed, c| packed << 21 | u64::from(c))
}

/// Whether there is a digit, 0 to 9, in a packed n-gram.
pub fn has_digit(packed: u64) -> bool {
    (0..PACKED).any(|at| (u64::from(b'0')..=u64::from(b'9')).contains(&(packed >> (21 * at) & 0x1F_FFFF)))
}

impl Ngrams {
    /// Those of a text.
    pub fn of(text: &str) -> Ngrams {
        let mut ngrams = Ngrams::default();
        ngrams.read(text);
        ngrams
    }

    /// Goes on to another text.
    pub fn read(&mut self, text: &str) {
        normalize_into(text, &mut self.normal);
        compact(&self.normal, &mut self.compact);
    }

    /// The set of n-grams of `n` characters (at least 1), each as `element` maps it, in ascending order.
    /// Empty if the text has no characters but punctuation.
    pub fn set<'a, T: Ord>(&'a self, n: usize, element: impl Fn(&'a str) -> T) -> Vec<T> {
        let mut grams = Vec::new();
        grams.room(self.compact.len() / 3 + 1).or_raise();
        char_ngrams(&self.compact, n.max(1), |gram| grams.grow(element(gram)).or_raise());
        interrupt::sort_and_dedup(&mut grams);
        grams
    }
}

/// The length of the UTF-8 character that begins with `first`.
#[inline]
fn char_length(first: u8) -> usize {
    match first {
        0..0x80 => 1,
        0x80..0xE0 => 2,
        0xE0..0xF0 => 3,
        0xF0.. => 4,
    }
}
