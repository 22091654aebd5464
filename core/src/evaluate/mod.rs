//! How good a method is, and which one to choose: precision and recall against labels, the background of
//! distances between unrelated rows, and settings by the kind of text.

mod calibrate;
mod chance;
mod count;
mod labels;
mod sample;
mod suggest;

pub use calibrate::{Background, ByRows, Calibration, RadiusRow};
pub use chance::Chance;
pub use count::{cumulative, pairs_within};
pub use labels::{Groups, InTwoGroups, Labels, PairSet, Score, Verdict};
pub use sample::TextSample;
pub use suggest::{Profile, Suggestion, TextKind, emptying};
