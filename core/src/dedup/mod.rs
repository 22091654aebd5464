//! The rules of `dedup` and `dedup_into`: what makes texts equal, what makes near
//! ones alike, which row of a group is kept, and what is said of each row.

mod contained;
mod equal_texts;
mod exact;
mod keep;
mod kind;
mod listed;
mod options;
mod sets;
mod star;
mod text;
mod verdict;
mod verify;

pub use contained::{Contained, Weighed, Words};
pub use equal_texts::EqualTexts;
pub use exact::Exact;
pub use keep::{Keep, Key, Standing};
pub use kind::Kind;
pub use listed::{Listed, Point};
pub use options::{Group, Method, Options, Written, whole};
pub use sets::BYTES_PER_ROW as BYTES_PER_SET;
pub use star::stars;
pub use text::{Ranked, nearness};
pub use verdict::{Member, Stage};
pub use verify::{Alike, Text, Verifier};
