//! Segmentation of a normal form into words: jieba for Chinese, Unicode's word boundaries for the scripts that
//! jieba does not know.

use super::cut::cut;
use super::normalize::{han_prefix, normalize};
use super::own_words::OwnWords;
use crate::interrupt::check;
use crate::memory::{OrRaise, Room};
use unicode_segmentation::UnicodeSegmentation;

/// jieba takes a few dozen bytes per character while it works on one block of
/// Chinese, so a long text goes through in pieces of this many bytes.
pub(crate) const PIECE_BYTES: usize = 1 << 16;

/// Bytes of the longest word of a dictionary: jieba tries every length that a word has at every place of a text.
const LONGEST_WORD: usize = 1 << 10;

/// Cuts normal forms into words.
#[derive(Debug)]
pub struct Segmenter {
    own: Option<OwnWords>,
}

impl Segmenter {
    /// The segmenter with jieba's own dictionary, which is part of the library: nothing is loaded.
    pub fn shared() -> &'static Segmenter {
        static SHARED: Segmenter = Segmenter { own: None };
        &SHARED
    }

    /// The shared segmenter with more words, given in jieba's own form: a line a word, `word frequency
    /// [tag]`, as [`Segmenter::complete_words`] writes them.
    pub fn with_words(words: &str) -> Segmenter {
        let mut own = OwnWords::new();
        for (word, frequency) in words.lines().filter_map(entry) {
            check();
            own.add(word, frequency);
        }
        Segmenter { own: Some(own) }
    }

    /// Words as people write them, `word [frequency] [tag]` each, made ready for [`Segmenter::with_words`]:
    /// the word in its normal form, and the frequency that jieba suggests where none is given, just high
    /// enough for the word not to be cut.
    ///
    /// # Errors
    /// A frequency that is not a number, a word with a sign within it, a word of more than a kilobyte. Empty lines, and words of which
    /// nothing remains in the normal form, are passed over.
    pub fn complete_words<'a>(lines: impl IntoIterator<Item = &'a str>) -> Result<(String, usize), String> {
        let mut own = OwnWords::new();
        let (mut complete, mut count) = (String::new(), 0);
        for (at, line) in lines.into_iter().enumerate() {
            check();
            let mut fields = line.trim_start_matches('\u{FEFF}').split_whitespace();
            let Some(word) = fields.next() else { continue };
            let word = normalize(word);
            if word.is_empty() {
                continue;
            }
            let wrong = |what: &str| Err(format!("{what}: \"{}\"", line.trim()));
            let number = at + 1;
            if word.contains(' ') {
                return wrong(&format!(
                    "the word in line {number} is never found, as texts are cut at its spaces and signs"
                ));
            }
            if word.len() > LONGEST_WORD {
                let beginning: String = word.chars().take(20).collect();
                return Err(format!(
                    "the word in line {number} is longer than {LONGEST_WORD} bytes: \"{beginning}…\""
                ));
            }
            let (second, tag) = (fields.next().unwrap_or(""), fields.next());
            let (frequency, tag) = match second.parse() {
                Ok(frequency) => (Some(frequency), tag.unwrap_or("")),
                // jieba also allows `word tag`.
                Err(_) if tag.is_none() && second.bytes().all(|b| b.is_ascii_alphabetic()) => (None, second),
                Err(_) => return wrong(&format!("line {number} is not a word with a frequency and a tag")),
            };
            let frequency = frequency.filter(|frequency| (1..1 << 40).contains(frequency));
            let frequency = frequency.unwrap_or_else(|| suggested(&own, &word));
            own.add(&word, frequency);
            let line = format!("{word} {frequency} {tag}\n");
            complete.room(line.len()).or_raise();
            complete.push_str(&line);
            count += 1;
        }
        Ok((complete, count))
    }

    /// Whether `words` are as [`Segmenter::complete_words`] writes them: a word
    /// and its frequency on each line, and perhaps a tag.
    pub fn are_complete(words: &str) -> bool {
        words.lines().all(|line| entry(line).is_some())
    }

    /// Calls `each` with every word of the normal form `text`, in order.
    ///
    /// With `hmm`, jieba's hidden Markov model joins characters that its dictionary does not know into words
    /// (names, new words). Without it the cut of a sentence depends on the dictionary alone and one changed
    /// character disturbs fewer words.
    pub fn words<'a>(&self, text: &'a str, hmm: bool, mut each: impl FnMut(&'a str)) {
        for piece in pieces(text, PIECE_BYTES) {
            check();
            if piece.bytes().all(|byte| byte.is_ascii()) {
                piece.split(' ').filter(|word| !word.is_empty()).for_each(&mut each);
                continue;
            }
            let mut block_start = 0;
            for (start, end) in foreign_runs(piece) {
                self.han_words(&piece[block_start..start], hmm, &mut each);
                piece[start..end].unicode_words().for_each(&mut each);
                block_start = end;
            }
            self.han_words(&piece[block_start..], hmm, &mut each);
        }
    }

    fn han_words<'a>(&self, block: &'a str, hmm: bool, each: &mut impl FnMut(&'a str)) {
        cut(block, hmm, self.own.as_ref(), &mut |word| {
            if word != " " {
                each(word);
            }
        });
    }

    /// The plain cut of jieba, with nothing normalised.
    pub fn raw_cut<'a>(&self, text: &'a str, hmm: bool) -> Vec<&'a str> {
        let mut words = Vec::new();
        cut(text, hmm, self.own.as_ref(), &mut |word| words.push(word));
        words
    }
}

/// Word and frequency of a line `word frequency [tag]`.
fn entry(line: &str) -> Option<(&str, u64)> {
    let mut fields = line.split_whitespace();
    let (word, frequency) = (fields.next()?, fields.next()?.parse().ok()?);
    (frequency > 0 && fields.nth(1).is_none()).then_some((word, frequency))
}

/// The frequency that jieba suggests for a word: just high enough for it not to be cut.
fn suggested(own: &OwnWords, word: &str) -> u64 {
    let log_total = (own.total() as f64).ln();
    let mut logarithm = 0.0;
    cut(word, false, Some(own), &mut |part| {
        logarithm = logarithm + (own.frequency(part).unwrap_or(1) as f64).ln() - log_total;
    });
    ((logarithm + log_total).exp() as u64 + 1).max(own.frequency(word).unwrap_or(1))
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{20000}'..='\u{323AF}' | '\u{F900}'..='\u{FAFF}' | '\u{3005}'..='\u{3007}')
}

/// The runs of `text` without Han characters and spaces that hold a letter
/// which jieba would emit as a word of its own, one neither Han nor ASCII.
fn foreign_runs(text: &str) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    if only_han_and_ascii(text.as_bytes()) {
        return runs;
    }
    let (mut start, mut foreign) = (0, false);
    for (at, c) in text.char_indices() {
        if c == ' ' || is_han(c) {
            if foreign {
                runs.push((start, at));
            }
            (start, foreign) = (at + c.len_utf8(), false);
        } else {
            foreign |= !c.is_ascii();
        }
    }
    if foreign {
        runs.push((start, text.len()));
    }
    runs
}

/// Whether a text holds nothing but common Han characters and ASCII, as most Chinese texts do.
fn only_han_and_ascii(mut text: &[u8]) -> bool {
    while let Some(first) = text.first() {
        let known = if first.is_ascii() { 1 } else { han_prefix(text) };
        if known == 0 {
            return false;
        }
        text = &text[known..];
    }
    true
}

/// Cuts `text` into pieces of at most `limit` bytes, at a space near the end of the piece if there is one.
fn pieces(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        if end > limit {
            end = rest.floor_char_boundary(limit);
            if let Some(space) = rest[..end].rfind(' ')
                && space > limit / 2
            {
                end = space;
            }
        }
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Pieces cover the text and respect the limit.
        #[test]
        fn pieces_cover(text in "[a 水é]{0,200}", limit in 8usize..40) {
            let all: Vec<&str> = pieces(&text, limit).collect();
            prop_assert_eq!(all.concat(), &text[..]);
            prop_assert!(all.iter().all(|piece| piece.len() <= limit));
        }
    }
}
