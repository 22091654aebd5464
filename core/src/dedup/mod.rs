//! The stages of `dedup`, without PostgreSQL: [`find`] in `found.rs` calls them one after the other.

mod contained;
mod decisions;
mod equal;
mod equal_texts;
mod finding;
mod found;
mod group;
mod judge;
mod keep;
mod keys;
mod kind;
mod making;
mod options;
mod review;
mod rows;
mod sets;
mod star;

pub use decisions::{Decided, Decisions};
pub use equal::Equal;
pub use equal_texts::EqualTexts;
pub use finding::{Finding, Stage};
pub use found::{Evidence, Found, find};
pub use group::{Groups, Limits, group, nearness};
pub use judge::{Alike, Judge, Measure, ReadText};
pub use keep::{Keep, Key, Standing};
pub use keys::{
    CLEAN, DEDUP, EXPLAIN, GUARD, INTO, KEYS, LINK, PAIRS, REPORT, REVIEW, SETUP, SINKS, Sink, Wrong, whole,
};
pub use kind::Kind;
pub use making::{Making, making};
pub use options::{Group, Method, Options, Written};
pub use review::{KINDS, Question, Review};
pub use rows::{Order, Rows, Texts};
pub use star::stars;
