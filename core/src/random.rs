//! Reproducible pseudo-random numbers, for samples and tests.

use crate::hash::{GOLDEN, mix64};

/// SplitMix64 (Steele, Lea and Flood 2014).
#[derive(Debug, Clone)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// The sequence of a seed.
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next number of 64 bits.
    #[expect(clippy::should_implement_trait, reason = "an iterator without an end would be clumsier")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix64(self.0)
    }

    /// A number from 0 up to, not including, `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}
