//! What two texts share and where they differ, word by word; Chinese character by character.

use crate::interrupt::{check, checked};
use crate::memory::{self, OrRaise, Room};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// A piece of two texts, as ranges of bytes. The pieces of a comparison follow each other in both texts, without
/// gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// In the first text.
    pub a: Range<usize>,
    /// In the second text.
    pub b: Range<usize>,
    /// Both ranges have the same characters; else they stand in each other's place, and one may be empty.
    pub shared: bool,
}

/// A word whose comparison is a check for interrupts.
#[derive(Clone, Copy, Eq, PartialOrd, Ord)]
struct Word(u32);

impl PartialEq for Word {
    fn eq(&self, other: &Word) -> bool {
        check();
        self.0 == other.0
    }
}

impl Hash for Word {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// The words of a text: where each ends, and its number.
#[derive(Default)]
struct Words {
    ends: Vec<usize>,
    numbers: Vec<Word>,
}

impl Words {
    fn of<'t>(text: &'t str, known: &mut HashMap<&'t str, u32>) -> Words {
        let mut words = Words::default();
        let mut end = 0;
        for word in checked(text.split_word_bounds()) {
            known.room(1).or_raise();
            words.ends.room(1).or_raise();
            words.numbers.room(1).or_raise();
            let number = known.len() as u32;
            words.numbers.push(Word(*known.entry(word).or_insert(number)));
            end += word.len();
            words.ends.push(end);
        }
        words
    }

    fn bytes(&self, words: Range<usize>) -> Range<usize> {
        let at = |word: usize| word.checked_sub(1).map_or(0, |before| self.ends[before]);
        at(words.start)..at(words.end)
    }
}

/// Compares two texts. A single word, or nothing but blanks and punctuation, that is the same between two differences
/// counts to them: it is a coincidence, and confuses a reader.
pub(super) fn diff(a: &str, b: &str) -> Vec<Piece> {
    /// Memory of the alignment per word: two vectors of numbers, and its operations.
    const BYTES_PER_WORD: usize = 128;
    let mut known = HashMap::new();
    let (x, y) = (Words::of(a, &mut known), Words::of(b, &mut known));
    memory::ensure(BYTES_PER_WORD * (x.numbers.len() + y.numbers.len())).or_raise();
    let operations = capture_diff_slices(Algorithm::Myers, &x.numbers, &y.numbers);
    let mut pieces: Vec<Piece> = Vec::new();
    let last = operations.len().saturating_sub(1);
    for (at, operation) in checked(operations.iter().enumerate()) {
        let piece = Piece {
            a: x.bytes(operation.old_range()),
            b: y.bytes(operation.new_range()),
            shared: matches!(operation, DiffOp::Equal { .. })
                && !{
                    let words = operation.old_range().len();
                    let text = &a[x.bytes(operation.old_range())];
                    at > 0 && at < last && (words == 1 || !text.contains(char::is_alphanumeric))
                },
        };
        match pieces.last_mut() {
            Some(before) if before.shared == piece.shared => {
                (before.a.end, before.b.end) = (piece.a.end, piece.b.end);
            }
            _ => {
                pieces.room(1).or_raise();
                pieces.push(piece);
            }
        }
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// As one string: `[first|second]` where they differ.
    fn shown(a: &str, b: &str) -> String {
        let piece = |piece: Piece| match piece.shared {
            true => a[piece.a].to_owned(),
            false => format!("[{}|{}]", &a[piece.a], &b[piece.b]),
        };
        diff(a, b).into_iter().map(piece).collect()
    }

    #[test]
    fn reads_well() {
        assert_eq!(shown("停水三天了", "停水四天了"), "停水[三|四]天了");
        assert_eq!(shown("The lamp is broken", "The light is broken"), "The [lamp|light] is broken");
        assert_eq!(shown("one two", "three four"), "[one two|three four]");
        assert_eq!((shown("", ""), shown("a", "a"), shown("", "a")), ("".into(), "a".into(), "[|a]".into()));
    }

    /// Protects whoever cancels: a comparison of texts that share nothing asks often.
    #[test]
    fn can_be_interrupted() {
        let text = |from: u32| (from..from + 400).filter_map(char::from_u32).collect::<String>();
        let (a, b) = (text(0x4E00), text(0x6E00));
        assert!(crate::interrupt::testing::interrupted_after(20, || drop(diff(&a, &b))));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

        /// The pieces put together are both texts, and what is shared is the same.
        #[test]
        fn pieces_are_both_texts(a in "([停水电路a1 ,。]|👨‍👩‍👧|e\u{301}|\\PC){0,14}", b in "[停水电路a1 ,。\r\n]{0,14}", one: bool) {
            let (a, b) = if one { (a, b) } else { (format!("{b}{a}"), format!("{a}{b}{a}")) };
            let (mut in_a, mut in_b) = (0, 0);
            let pieces = diff(&a, &b);
            for (at, piece) in pieces.iter().enumerate() {
                prop_assert_eq!((piece.a.start, piece.b.start), (in_a, in_b));
                (in_a, in_b) = (piece.a.end, piece.b.end);
                let (x, y) = (&a[piece.a.clone()], &b[piece.b.clone()]);
                prop_assert!(x.len() + y.len() > 0 && (!piece.shared || x == y));
                prop_assert!(at == 0 || pieces[at - 1].shared != piece.shared);
            }
            prop_assert_eq!((in_a, in_b), (a.len(), b.len()));
            prop_assert_eq!(diff(&a, &a).len(), usize::from(!a.is_empty()));
        }
    }
}
