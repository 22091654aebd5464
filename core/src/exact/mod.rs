//! The exact stage (P1): has this very text come before?
//!
//! Three ways, so that they can be compared. [`Bloom`] is small and errs on
//! one side: it may say "seen" of a new text, never "new" of a seen one.
//! [`DigitTrie`] is P1's other structure. [`ExactSet`] is the plain way, a
//! table of 128-bit hashes whose matches are compared, and the one to use.
//! [`EqualTexts`] does the same for texts that are all there, within a bound
//! of memory.

mod bloom;
mod set;
mod sorted;
mod trie;

pub use bloom::{Bloom, BloomError, Hashing, MAX_HASHES, Rule, Shape, expected_error, seen_in_passes};
pub use set::{ExactSet, Texts};
pub use sorted::EqualTexts;
pub use trie::DigitTrie;
