//! Similarity of the texts themselves, to verify what fingerprints propose.
//!
//! Everything here is exact: nothing is sampled.

mod join;
mod measures;
mod overlap;
mod particulars;

pub use join::{SimilarPair, SimilarPairs, similar_pairs};
pub use measures::{containment, cosine, jaccard};
pub use overlap::Overlap;
pub use particulars::{Kinds, Particular, Passage, particulars, passages};
