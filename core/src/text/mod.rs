//! Normal form, words and n-grams of a text.

mod cell;
mod characters;
mod cut;
mod lexicon;
mod markup;
mod ngrams;
mod normal;
mod normalize;
mod own_words;
mod segment;
mod simplify;

pub(crate) use characters::Characters;
pub use lexicon::tag;
pub use markup::{Markup, strip_markup};
pub use ngrams::{Ngrams, PACKED, char_ngrams, compact, has_digit, pack};
pub use normal::Normal;
pub(crate) use normalize::is_spaceless as is_spaceless_char;
pub(crate) use normalize::{fold, has_symbol, is_nothing, is_word};
pub use normalize::{normalize, normalize_into};
pub(crate) use segment::PIECE_BYTES;
pub use segment::Segmenter;
pub use simplify::simplify;

/// Whether a character is one of the common ones of Chinese: a letter that is written alike in capitals.
pub(crate) fn is_chinese(c: char) -> bool {
    ('\u{4E00}'..='\u{9FFF}').contains(&c)
}
