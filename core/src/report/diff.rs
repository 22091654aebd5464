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
