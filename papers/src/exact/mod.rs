//! The exact stage (P1): whether an equal text came before.
//!
//! Three methods, for comparison. [`Bloom`] is small and has one-sided error: it may take a new text for a seen
//! one, never the reverse. [`DigitTrie`] is P1's other structure. [`ExactSet`], a table of 128-bit hashes whose
//! matches are compared, is the one to use; [`EqualTexts`](dedup_core::dedup::EqualTexts) does the same for all texts of a
//! table, within a bound of memory.

mod bloom;
mod set;
mod trie;

pub use bloom::{Bloom, BloomError, Hashing, MAX_HASHES, Rule, Shape, expected_error, seen_in_passes};
pub use set::{ExactSet, Texts};
pub use trie::DigitTrie;
