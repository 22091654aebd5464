//! The rules of `dedup` and `dedup_into`: what makes texts equal, what makes near
//! ones alike, which row of a group is kept, and what is said of each row.

mod contained;
mod equal_texts;
mod exact;
mod found;
mod group;
mod judge;
mod keep;
mod keys;
mod kind;
mod making;
mod options;
mod rows;
mod sets;
mod star;
mod verdict;

pub use equal_texts::EqualTexts;
pub use exact::Exact;
pub use found::{Found, Verdict, find};
pub use group::{Groups, Limits, group, nearness};
pub use judge::{Alike, Judge, Measure, Text};
pub use keep::{Keep, Key, Standing};
pub use keys::{DEDUP, EXPLAIN, GUARD, INTO, KEYS, PAIRS, REPORT, SETUP, SINKS, Sink, Wrong, whole};
pub use kind::Kind;
pub use making::{Making, making};
pub use options::{Group, Method, Options, Written};
pub use rows::{Order, Rows, Texts};
pub use star::stars;
pub use verdict::{Member, Stage};
