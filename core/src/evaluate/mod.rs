//! How good a way of finding near-duplicates is, and which way to take:
//! precision and recall against labels, the background of distances that
//! unrelated rows have, settings by the kind of text, and what tells two
//! nearly equal texts apart.

mod calibrate;
mod chance;
mod explain;
mod labels;
mod particulars;
mod similar;
mod suggest;

pub use calibrate::{Background, Calibration, RadiusRow};
pub use chance::Chance;
pub use explain::{Explained, Explanation, Part, explain};
pub use labels::{Labels, Score, Verdict};
pub use particulars::{Kinds, Particular, particulars};
pub use similar::{SimilarPair, SimilarPairs, similar_pairs};
pub use suggest::{Profile, Suggestion, TextKind};
