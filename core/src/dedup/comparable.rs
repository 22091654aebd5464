//! What of a text there is to compare.

use crate::features::TextRecipe;
use crate::text::{Normal, has_symbol, is_word};

/// How a row can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparable {
    /// Not at all: its text is NULL, or has only spaces, punctuation, controls, markup and stop words. It equals nothing.
    Empty,
    /// Only exactly: its text has symbols alone, or it has no fingerprint.
    Plain,
    /// Exactly and by what it is like.
    Near,
}

/// Bytes of the beginning of a text that are looked at first, and next: hardly a text has no word there.
const BEGINNINGS: [usize; 3] = [32, 512, usize::MAX];

impl Comparable {
    /// That of a text as a recipe reads it.
    pub fn of(text: &str, recipe: &TextRecipe) -> Comparable {
        let as_it_is = recipe.stop.is_empty() && recipe.normal == Normal::default();
        if as_it_is && text.chars().next().is_some_and(is_word) {
            return Comparable::Near;
        }
        let mut normal = String::new();
        for bytes in BEGINNINGS {
            let end = text.floor_char_boundary(bytes);
            recipe.normal.write(&text[..end], &mut normal);
            if has_word(&normal, recipe, end < text.len()) {
                return Comparable::Near;
            }
            if end == text.len() {
                break;
            }
        }
        match (has_symbol(&recipe.normal.visible(text)), normal.is_empty()) {
            (false, _) => Comparable::Empty,
            (true, true) => Comparable::Plain,
            (true, false) => Comparable::Near,
        }
    }
}

/// Whether a normal form has a word that is no stop word. Of one that is `cut` the last may be the beginning of another.
fn has_word(normal: &str, recipe: &TextRecipe, cut: bool) -> bool {
    let (mut found, mut last) = (false, None);
    let mut counts = |word: Option<&str>| found |= word.is_some_and(|word| !recipe.stop.contains(word));
    recipe.segmenter().words(normal, recipe.hmm, |word| counts(last.replace(word)));
    counts(last.filter(|_| !cut));
    found
}
