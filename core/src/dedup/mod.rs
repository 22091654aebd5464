//! The stages of `dedup`, without PostgreSQL: [`find`] in `found.rs` calls them one after the other.

mod candidates;
mod comparable;
mod contained;
mod decisions;
mod equal_texts;
mod found;
mod group;
mod judge;
mod keep;
mod keys;
mod limits;
mod links;
mod making;
mod options;
mod review;
mod rows;
mod sets;
mod star;
mod texts;

pub use candidates::nearness;
pub use comparable::Comparable;
pub use decisions::{Decided, Decisions};
pub use equal_texts::EqualTexts;
pub use found::{Evidence, Finding, Found, Stage, find};
pub use group::{Groups, group};
pub use judge::{Alike, Judge};
pub use keep::{Keep, Key, Precedence};
pub use keys::{
    BATCHES, CLEAN, DEDUP, EXPLAIN, FIND, GUARD, INTO, KEYS, LINK, MOST_ASKED, PAIRS, REPORT, REVIEW, SETUP,
    SINKS, Sink, Wrong, whole,
};
pub use limits::Limits;
pub use making::{Making, making};
pub use options::{Equal, Group, Method, Options, Written};
pub use review::{KINDS, Question, Review};
pub use rows::{Order, Rows};
pub use star::stars;
pub use texts::Texts;
