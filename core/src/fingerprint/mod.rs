//! 64-bit SimHash fingerprints and their Hamming distance; hashes of other makers as they are written.

mod bands;
mod simhash;

pub use bands::{Bands, BandsError};
pub use simhash::{SimHash, Weight, WeightError};
use std::ops::Range;

/// The Hamming distance of two fingerprints, 0 to 64: the number of bits in
/// which they differ (P2, P4: `d(x, y) = Σ xᵢ xor yᵢ`).
#[inline]
pub fn hamming(a: u64, b: u64) -> u32 {
    (a ^ b).count_ones()
}

/// Fingerprints compared at once. ARM64 needs no version of these loops of its own: all its processors have the vectors (NEON)
/// that the plain one is compiled to.
pub(crate) const LANES: usize = 16;

/// Whether one of a few fingerprints is within a distance: all are compared, which vectors do at once.
#[inline(always)]
pub(crate) fn any_near(fp: u64, lanes: &[u64], distance: u32) -> bool {
    lanes.iter().fold(false, |any, &other| any | (hamming(fp, other) <= distance))
}

/// The parts of 64 bits of a hash as PostgreSQL writes it, the highest first: a bigint in decimal digits, or a bit string of 64,
/// 128 or 256 bits. `None` if it is neither.
pub fn parts_of_written(hash: &str) -> Option<Vec<u64>> {
    // A bigint has fewer digits.
    if !matches!(hash.len(), 64 | 128 | 256) {
        return Some(vec![hash.parse::<i64>().ok()?.cast_unsigned()]);
    }
    let is_bits = hash.bytes().all(|it| matches!(it, b'0' | b'1'));
    let part = |at: usize| u64::from_str_radix(&hash[at..at + 64], 2).ok();
    if is_bits { (0..hash.len()).step_by(64).map(part).collect() } else { None }
}

/// Fingerprints of one length, a multiple of 64 bits, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Prints<'p> {
    words: &'p [u64],
    parts: usize,
}

impl<'p> From<&'p [u64]> for Prints<'p> {
    fn from(words: &'p [u64]) -> Self {
        Prints { words, parts: 1 }
    }
}

impl<'p> Prints<'p> {
    /// Fingerprints of so many parts of 64 bits, at least one.
    pub fn of_parts(words: &'p [u64], parts: usize) -> Self {
        Prints { words, parts }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.words.len() / self.parts
    }

    /// Parts of each.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Bits of each.
    pub fn bits(&self) -> u32 {
        u64::BITS * self.parts as u32
    }

    /// The parts of one.
    pub fn get(&self, at: usize) -> &'p [u64] {
        &self.words[at * self.parts..][..self.parts]
    }

    /// The Hamming distance of two of them.
    pub fn distance(&self, a: usize, b: usize) -> u32 {
        self.get(a).iter().zip(self.get(b)).map(|(&a, &b)| hamming(a, b)).sum()
    }

    /// Shows the distances of one to some of them, in their order.
    pub fn distances(&self, of: usize, to: Range<usize>, mut see: impl FnMut(usize, u32)) {
        match self.get(of) {
            &[one] => self.words[to.clone()].iter().zip(to).for_each(|(&it, at)| see(at, hamming(one, it))),
            _ => to.for_each(|at| see(at, self.distance(of, at))),
        }
    }
}
