//! Similarity of the texts themselves, to verify what fingerprints propose.
//!
//! Everything here is exact: nothing is sampled.

mod frequencies;
mod grams;
mod join;
mod overlap;
mod sketch;

pub use frequencies::{Frequencies, Likeness};
pub(crate) use grams::{Grams, Maker};
pub use join::{Compare, Jaccard, SimilarPair, SimilarPairs};
pub use overlap::{Overlap, containment, jaccard, least_shared, numbers};
pub(crate) use sketch::{Sketched, may_reach};
