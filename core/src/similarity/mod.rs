//! Similarity of the texts themselves, to verify what fingerprints propose.
//!
//! Everything here is exact: nothing is sampled.

mod grams;
mod join;
mod measures;
mod overlap;
mod particulars;
mod sketch;

pub(crate) use grams::{Grams, Maker};
pub use join::{SimilarPair, SimilarPairs, similar_pairs};
pub use measures::{containment, cosine, jaccard, numbers};
pub use overlap::{Overlap, least_shared};
pub use particulars::{Comparer, Kinds, Particular, Passage, particulars, passages};
pub(crate) use sketch::{Sketched, may_reach};
