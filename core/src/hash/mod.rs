//! Hash functions of features: the bytes hashed are always UTF-8.

mod paper;

pub use paper::{PaperHash, murmur3_32, murmur3_128};

/// CityHash64, version 1.1, of the bytes of `feature`.
///
/// The papers' choice (P2, P3) and the default: it spreads short Chinese words
/// over all 64 bits, which the classic multiplicative string hashes do not.
#[inline]
pub fn city64(feature: &[u8]) -> u64 {
    cityhasher::hash(feature)
}
