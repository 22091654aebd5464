//! How good a way of finding near-duplicates is, and which way to take:
//! precision and recall against labels, the background of distances that
//! unrelated rows have, settings by the kind of text, and what tells two
//! nearly equal texts apart.

mod calibrate;
mod chance;
mod count;
mod labels;
mod suggest;

pub use calibrate::{Background, Calibration, RadiusRow};
pub use chance::Chance;
pub use count::{cumulative, pairs_within};
pub use labels::{Labels, Score, Verdict};
pub use suggest::{Profile, Suggestion, TextKind};
