//! What a page says of distances, from samples whose size it tells.

use crate::fingerprint::hamming;
use crate::interrupt::{check, checked};
use crate::memory::{OrRaise, Room};
use crate::random::SplitMix64;

/// Pairs at each distance, 0 to 64.
pub type Distances = [u64; 65];

/// Random pairs that are drawn at most.
const DRAWS: usize = 100_000;
/// Rows whose nearest row is looked for, at most.
const ROWS: usize = 2000;
/// Comparisons that this may take, but for the least number of rows.
const COMPARISONS: usize = 200_000_000;
const LEAST_ROWS: usize = 100;

/// Distances of random pairs of different rows; all pairs, if they are fewer than would be drawn.
pub fn random_pairs(prints: &[u64]) -> Distances {
    let mut found = [0; 65];
    let rows = prints.len();
    if rows * rows.saturating_sub(1) / 2 <= DRAWS {
        for (at, &print) in prints.iter().enumerate() {
            check();
            prints[..at].iter().for_each(|&other| found[hamming(print, other) as usize] += 1);
        }
        return found;
    }
    let mut random = SplitMix64::new(0x5EED);
    for _ in checked(0..DRAWS) {
        let a = random.below(rows);
        // Any row but the first one.
        let b = (a + 1 + random.below(rows - 1)) % rows;
        found[hamming(prints[a], prints[b]) as usize] += 1;
    }
    found
}

/// A row and the nearest other one, by their places in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nearest {
    /// The row.
    pub row: usize,
    /// The nearest other row; of several the first.
    pub nearest: usize,
    /// Bits in which they differ.
    pub distance: u32,
}

/// For random rows, each once, the nearest other row; for all, if they are few.
pub fn nearest(prints: &[u64]) -> Vec<Nearest> {
    let rows = prints.len();
    let mut found = Vec::new();
    if rows < 2 {
        return found;
    }
    let wanted = rows.min(ROWS).min((COMPARISONS / rows).max(LEAST_ROWS));
    let mut random = SplitMix64::new(0x5EED);
    let mut left = wanted;
    // Selection sampling: each row with the share of those still wanted among those still to come.
    for row in checked(0..rows) {
        if random.below(rows - row) < left {
            left -= 1;
            found.room(1).or_raise();
            found.push(nearest_to(prints, row));
        }
    }
    found
}

fn nearest_to(prints: &[u64], row: usize) -> Nearest {
    const BLOCK: usize = 1 << 12;
    let mut best = Nearest { row, nearest: row, distance: u32::MAX };
    for (block, some) in prints.chunks(BLOCK).enumerate() {
        check();
        for (at, &print) in some.iter().enumerate() {
            let (other, distance) = (block * BLOCK + at, hamming(prints[row], print));
            if distance < best.distance && other != row {
                best = Nearest { row, nearest: other, distance };
            }
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The nearest row is the nearest, and few rows are all looked at, once each.
        #[test]
        fn nearest_is_nearest(seed: u64, rows in 0usize..200, bits in 0u32..60) {
            let mut random = SplitMix64::new(seed);
            let prints: Vec<u64> = (0..rows).map(|_| random.next() >> bits).collect();
            let found = nearest(&prints);
            let expected: Vec<_> = (0..rows).filter_map(|row| {
                let others = (0..rows).filter(|&other| other != row);
                others.map(|other| (hamming(prints[row], prints[other]), other)).min()
                    .map(|(distance, nearest)| Nearest { row, nearest, distance })
            }).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(random_pairs(&prints).iter().sum::<u64>(), (rows * rows.saturating_sub(1) / 2) as u64);
        }
    }

    /// Protects the samples of many rows: their sizes, each row once, and no row with itself.
    #[test]
    fn samples_of_many_rows() {
        let prints: Vec<u64> = (0..5000).map(crate::hash::mix64).collect();
        let found = nearest(&prints);
        assert_eq!(found.len(), ROWS);
        assert!(found.windows(2).all(|two| two[0].row < two[1].row));
        let drawn = random_pairs(&prints);
        assert_eq!((drawn.iter().sum::<u64>(), drawn[0]), (DRAWS as u64, 0));
    }
}
