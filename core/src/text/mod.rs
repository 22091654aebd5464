//! From raw text to its normal form and its tokens.

mod ngrams;
mod normalize;
mod segment;
mod sentences;

pub use ngrams::{char_ngrams, compact};
pub use normalize::{normalize, normalize_into};
pub use segment::Segmenter;
pub use sentences::{clauses, sentences};
