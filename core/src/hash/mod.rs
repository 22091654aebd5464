//! Hash functions of features: the bytes hashed are always UTF-8.

mod string_hashes;

pub use string_hashes::{PaperHash, java, murmur3_128};

/// CityHash64, version 1.1, of the bytes of `feature`.
///
/// The papers' choice (P2, P3) and the default: it spreads short Chinese words
/// over all 64 bits, which the classic multiplicative string hashes do not.
#[inline]
pub fn city64(feature: &[u8]) -> u64 {
    // Nearly all features are this short, and hashing them costs as much as
    // the call of a function that is ready for longer ones.
    if feature.len() <= 16 { city64_short(feature) } else { cityhasher::hash(feature) }
}

/// What SplitMix64 adds from one number to the next.
pub const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64 (Steele, Lea and Flood 2014), a bijection.
#[inline]
pub fn mix64(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// `HashLen0to16` of CityHash64 1.1.
#[inline]
fn city64_short(bytes: &[u8]) -> u64 {
    const K0: u64 = 0xc3a5_c85c_97cb_3127;
    const K2: u64 = 0x9ae1_6a3b_2f90_404f;
    let length = bytes.len() as u64;
    let factor = K2.wrapping_add(2 * length);
    let mix = |u: u64, v: u64| {
        let a = (u ^ v).wrapping_mul(factor);
        let b = (v ^ a ^ (a >> 47)).wrapping_mul(factor);
        (b ^ (b >> 47)).wrapping_mul(factor)
    };
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (a, b) = (u64::from_le_bytes(*first).wrapping_add(K2), u64::from_le_bytes(*last));
        let c = b.rotate_right(37).wrapping_mul(factor).wrapping_add(a);
        let d = a.rotate_right(25).wrapping_add(b).wrapping_mul(factor);
        return mix(c, d);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let (a, b) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
        return mix(length.wrapping_add(u64::from(a) << 3), u64::from(b));
    }
    let (Some(&a), Some(&c)) = (bytes.first(), bytes.last()) else { return K2 };
    let y = u64::from(a) + (u64::from(bytes[bytes.len() / 2]) << 8);
    let z = length + (u64::from(c) << 2);
    let mixed = y.wrapping_mul(K2) ^ z.wrapping_mul(K0);
    (mixed ^ (mixed >> 47)).wrapping_mul(K2)
}
