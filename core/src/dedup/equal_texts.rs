//! Equal texts of a whole table: their hashes are sorted externally, and texts with equal hashes are compared.

use crate::external::{Result, Sorter, Spill};
use crate::hash::murmur3_128;
use crate::memory::Grow;

/// Collects the hashes of texts, then finds the equal ones. Hashes that do not
/// fit in memory wait in a file, 12 bytes each.
///
/// A hash takes the first two of three numbers, that of its text the last.
pub struct EqualTexts<F: Spill>(Sorter<[u32; 3], F>);

impl<F: Spill> EqualTexts<F> {
    /// No texts yet; `memory`: bytes to sort in.
    pub fn new(memory: usize, file: F) -> EqualTexts<F> {
        EqualTexts(Sorter::new(memory, file))
    }

    /// Adds a text under a number; numbers must ascend. Returns the text's whole hash.
    pub fn add(&mut self, number: u32, content: &[u8]) -> Result<u128> {
        let [hash, high] = murmur3_128(content, 0);
        self.0.add([(hash >> 32) as u32, hash as u32, number])?;
        Ok(u128::from(high) << 64 | u128::from(hash))
    }

    /// Calls `copy` with the numbers of the first text of its kind and of a later one that equals it, for every
    /// later one. `equal` compares two texts; it is called only for those with equal hashes.
    pub fn finish(
        self,
        mut equal: impl FnMut(u32, u32) -> Result<bool>,
        mut copy: impl FnMut(u32, u32) -> Result<()>,
    ) -> Result<()> {
        let mut last = None;
        // The first texts of each kind with this hash: hardly ever more than one.
        let mut firsts: Vec<u32> = Vec::new();
        self.0.finish(|[high, low, number]| {
            if last.replace([high, low]) != Some([high, low]) {
                firsts.clear();
            }
            for &first in &firsts {
                if equal(first, number)? {
                    return copy(first, number);
                }
            }
            firsts.grow(number)?;
            Ok(())
        })
    }
}
