//! Keys for a join on equality: fingerprints within a distance share at least one.
//!
//! The 64 bits are cut into blocks. At most `distance` of them can hold a differing bit, so two such fingerprints agree
//! in at least `blocks - distance` whole blocks, and a key is made of every choice of so many (P2's four-block
//! classification is `distance` 3 by four blocks). More blocks make longer keys, which fewer rows share by chance, and
//! more of them.

use thiserror::Error;

/// The keys of a fingerprint that a [`Bands`] makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bands {
    /// Where each block begins, from the lowest bit, and how many bits it has; the top block first.
    blocks: Vec<(u32, u32)>,
    /// The blocks of each key, as bits: block `i` is bit `i`.
    keys: Vec<u64>,
    /// The bits of the longest key; above them stands the key's number.
    width: u32,
}

/// Why there are no such keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum BandsError {
    /// The distance is not 0 to 63.
    #[error("distance {0} is out of range")]
    Distance(i32),
    /// There are no more blocks than bits that may differ, or more than 64.
    #[error("{0} blocks are out of range")]
    Blocks(i32),
    /// There are more than [`Bands::MOST`].
    #[error("{0} keys a fingerprint are too many")]
    TooMany(u64),
    /// A key and its number have more than 64 bits.
    #[error("keys of {0} bits and their numbers do not fit in 64 bits")]
    TooLong(u32),
}

impl Bands {
    /// The most keys of a fingerprint.
    pub const MOST: usize = 10_000;

    /// Keys of which fingerprints within `distance` share one, of `blocks` blocks; without a number one block more than
    /// the distance.
    pub fn new(distance: i32, blocks: Option<i32>) -> Result<Bands, BandsError> {
        if !(0..=63).contains(&distance) {
            return Err(BandsError::Distance(distance));
        }
        let blocks = blocks.unwrap_or(distance + 1);
        if blocks <= distance || blocks > 64 {
            return Err(BandsError::Blocks(blocks));
        }
        let (distance, blocks) = (distance as u32, blocks as u32);
        let count = choose(blocks, distance);
        if count > Self::MOST as u64 {
            return Err(BandsError::TooMany(count));
        }
        // The longest of them: the blocks that have a bit more than the others come first into a key.
        let kept = blocks - distance;
        let width = kept * (64 / blocks) + kept.min(64 % blocks);
        let number_bits = u64::BITS - (count - 1).leading_zeros();
        if width + number_bits > 64 {
            return Err(BandsError::TooLong(width));
        }
        let end = |block: u32| 64 - 64 * block / blocks;
        let blocks: Vec<_> = (0..blocks).map(|block| (end(block + 1), end(block) - end(block + 1))).collect();
        let mut keys = Vec::with_capacity(count as usize);
        chosen(0, blocks.len(), kept as usize, 0, &mut keys);
        Ok(Bands { blocks, keys, width })
    }

    /// The number of keys of a fingerprint.
    pub fn count(&self) -> usize {
        self.keys.len()
    }

    /// Key `number`, from 0: the bits of its blocks, the top one first, and above them the number.
    pub fn key(&self, fp: u64, number: usize) -> u64 {
        let mut bits = 0u64;
        for (block, &(from, width)) in self.blocks.iter().enumerate() {
            if self.keys[number] >> block & 1 == 1 {
                // A block of 64 bits is the only one.
                bits = bits.checked_shl(width).unwrap_or(0) | fp >> from & (u64::MAX >> (64 - width));
            }
        }
        (number as u64).checked_shl(self.width).unwrap_or(0) | bits
    }
}

/// Appends the choices of `left` more blocks from `from` on, those of earlier blocks first.
fn chosen(from: usize, blocks: usize, left: usize, already: u64, all: &mut Vec<u64>) {
    if left == 0 {
        all.push(already);
        return;
    }
    for block in from..=blocks - left {
        chosen(block + 1, blocks, left - 1, already | 1 << block, all);
    }
}

/// The number of choices of `k` out of `n`, or `u64::MAX` where it is larger.
fn choose(n: u32, k: u32) -> u64 {
    let mut count: u128 = 1;
    for i in 0..u128::from(k.min(n - k)) {
        count = count * (u128::from(n) - i) / (i + 1);
    }
    u64::try_from(count).unwrap_or(u64::MAX)
}
