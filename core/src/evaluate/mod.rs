//! How good a method is, and which one to choose: precision and recall, the background of distances between unrelated rows,
//! and settings by the kind of text.

mod calibrate;
mod chance;
mod count;
mod refit;
mod sample;
mod score;
mod suggest;
mod weigh;

pub use calibrate::{Background, ByRows, Calibration, Nearest, RadiusRow};
pub use chance::Chance;
pub use count::{cumulative, pairs_within};
pub use refit::{Refit, refit};
pub use sample::TextSample;
pub use score::Score;
pub use suggest::{Profile, Suggestion, emptying};
pub use weigh::{weighed, without_copies};
