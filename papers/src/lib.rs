//! The detectors that the five papers use, compare with or survey, besides SimHash, and their [`exact`] stage.
//!
//! They serve texts that SimHash serves badly (very short, quoted in part, rearranged by sentences), and
//! repeat the papers' comparisons on other data. `docs/detectors.md` says when to use which.
//!
//! | module | what it compares | candidates through an index |
//! |---|---|---|
//! | [`minhash`] | sets, by samples of them (P3) | equal bands |
//! | [`shingle`] | runs of words (Broder) | sampled shingles, super-shingles |
//! | [`imatch`] | the set of telling words (Chowdhury, Kołcz) | equal signatures |
//! | [`spotsigs`] | words that follow function words | shared spots |
//! | [`codes`] | ends of clauses (P4's survey) | shared codes |
//! | [`scam`] | relative frequencies of words | – |
//! | [`sentence`] | runs of sentences (P5, Wang) | – |
//! | [`single_pass`], [`components`] | fingerprints, to groups (P4) | blocks |
//!
//! A text without any feature (empty, or nothing but punctuation) has no
//! signature, and similarity 0 to everything: empty never equals empty.

#![deny(unsafe_code)]

pub mod automaton;
pub mod codes;
pub mod combined;
pub mod components;
mod cosine;
pub mod exact;
pub mod imatch;
pub mod minhash;
pub mod scam;
pub mod sentence;
pub mod sentences;
pub mod shingle;
pub mod single_pass;
pub mod spotsigs;
mod terms;

pub use cosine::cosine;
pub use terms::terms;
