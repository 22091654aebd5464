//! Fingerprints of bags of weighted features, and the other detectors that
//! the five papers use, compare with or survey.
//!
//! SimHash with the banding index is what pg_dedup is built on. The others
//! stand beside it, for texts it serves badly (very short, quoted in part,
//! rearranged by sentences) and so that the papers' comparisons can be made
//! again on anybody's data. `docs/papers.md` says when to use which.
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
//!
//! A text without any feature (empty, or nothing but punctuation) has no
//! signature, and similarity 0 to everything: empty never equals empty.

pub mod automaton;
pub mod codes;
pub mod combined;
pub mod imatch;
pub mod minhash;
pub mod scam;
pub mod sentence;
pub mod sets;
pub mod shingle;
mod simhash;
mod similarity;
pub mod spotsigs;
mod terms;

pub use simhash::{SimHash, Weight, WeightError};
pub use similarity::{containment, cosine, jaccard};
pub use terms::terms;

/// The Hamming distance of two fingerprints: the number of bits, 0 to 64, in
/// which they differ (P2, P4: `d(x, y) = Σ xᵢ xor yᵢ`).
///
/// ```
/// assert_eq!(dedup_core::signature::hamming(0b10101, 0b00110), 3);
/// ```
#[inline]
pub fn hamming(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}
