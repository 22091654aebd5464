//! Numbers for sampling: the same every time.

use crate::hash::{GOLDEN, mix64};

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// A number below `limit`.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(GOLDEN);
        ((u128::from(mix64(self.0)) * limit as u128) >> 64) as usize
    }
}
