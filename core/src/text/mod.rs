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

/// [`char::is_alphanumeric`]: of most characters it is known without a look at tables.
pub(crate) fn is_alphanumeric(c: char) -> bool {
    match c {
        '\u{0}'..='\u{7F}' => c.is_ascii_alphanumeric(),
        _ if is_chinese(c) => true,
        // Quotation marks and dashes, brackets and stops of Chinese.
        '\u{2010}'..='\u{2027}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' => false,
        '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' => false,
        _ => c.is_alphanumeric(),
    }
}

#[cfg(test)]
mod tests {
    /// Protects texts from being cut elsewhere than where the standard has it.
    #[test]
    fn letters_and_digits_are_those_of_the_standard() {
        assert!(('\0'..=char::MAX).all(|c| super::is_alphanumeric(c) == c.is_alphanumeric()));
    }
}
