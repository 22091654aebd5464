//! What two texts share and where they differ, word by word; Chinese character by character.

use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

/// A piece of two texts. Put together, the pieces of a comparison are both texts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// In the first text.
    pub a: String,
    /// In the second text.
    pub b: String,
    /// Both are the same; else they stand in each other's place, and one may be empty.
    pub shared: bool,
}

/// Compares two texts of a page: they are short. A single word, or nothing but blanks and punctuation, that is the same
/// between two differences counts to them: it is a coincidence, and confuses a reader.
pub(super) fn diff(a: &str, b: &str) -> Vec<Piece> {
    let [x, y] = [a, b].map(|text| text.split_word_bounds().collect::<Vec<_>>());
    let operations = capture_diff_slices(Algorithm::Myers, &x, &y);
    let mut pieces: Vec<Piece> = Vec::new();
    for (at, operation) in operations.iter().enumerate() {
        let words = &x[operation.old_range()];
        let (in_a, in_b) = (words.concat(), y[operation.new_range()].concat());
        let is_between = at > 0 && at + 1 < operations.len();
        let is_word = words.len() > 1 && in_a.contains(char::is_alphanumeric);
        let shared = matches!(operation, DiffOp::Equal { .. }) && (is_word || !is_between);
        match pieces.last_mut() {
            Some(last) if last.shared == shared => {
                last.a += &in_a;
                last.b += &in_b;
            }
            _ => pieces.push(Piece { a: in_a, b: in_b, shared }),
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
            true => piece.a,
            false => format!("[{}|{}]", piece.a, piece.b),
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

        /// The pieces put together are both texts, and what is shared is the same.
        #[test]
        fn pieces_are_both_texts(a in "([停水电路a1 ,。]|👨‍👩‍👧|e\u{301}|\\PC){0,14}", b in "[停水电路a1 ,。\r\n]{0,14}", one: bool) {
            let (a, b) = if one { (a, b) } else { (format!("{b}{a}"), format!("{a}{b}{a}")) };
            let pieces = diff(&a, &b);
            for (at, piece) in pieces.iter().enumerate() {
                prop_assert!(piece.a.len() + piece.b.len() > 0 && (!piece.shared || piece.a == piece.b));
                prop_assert!(at == 0 || pieces[at - 1].shared != piece.shared);
            }
            let whole = |part: fn(&Piece) -> &str| pieces.iter().map(part).collect::<String>();
            prop_assert_eq!((whole(|piece| &piece.a), whole(|piece| &piece.b)), (a, b));
        }
    }
}
