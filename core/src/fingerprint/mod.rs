//! 64-bit SimHash fingerprints and their Hamming distance; hashes of other makers as they are written.

mod bands;
mod prints;
mod simhash;
mod written;

pub use bands::{Bands, BandsError};
pub use prints::Prints;
pub use simhash::{SimHash, Weight, WeightError};
pub use written::parts_of_written;

/// The Hamming distance of two fingerprints, 0 to 64: the number of bits in
/// which they differ (P2, P4: `d(x, y) = Σ xᵢ xor yᵢ`).
#[inline]
pub fn hamming(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// Fingerprints compared at once.
pub(crate) const LANES: usize = 16;

/// Whether one of a few fingerprints is within a distance: all are compared, which vectors do at once.
#[inline(always)]
pub(crate) fn any_near(fp: u64, lanes: &[u64], distance: u32) -> bool {
    lanes.iter().fold(false, |any, &other| any | (hamming(fp, other) <= distance))
}
