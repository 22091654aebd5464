//! Fingerprints of bags of weighted features.

mod simhash;
mod similarity;

pub use simhash::{SimHash, Weight, WeightError};
pub use similarity::{containment, cosine, jaccard};

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
