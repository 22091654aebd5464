//! How many pairs of rows there are within each distance, counted.

use crate::external::{Host, Result};
use crate::fingerprint::hamming;
use crate::groups::{PairSearch, Pairs};
use crate::interrupt::check;

/// Rows up to which all pairs are compared: at most 800 million.
const ALL_PAIRS: usize = 40_000;

/// The number of pairs of `prints` at each distance, 0 to 64.
pub(super) fn distances(prints: &[u64]) -> [u64; 65] {
    let mut counts = [0; 65];
    for (at, &print) in prints.iter().enumerate() {
        check();
        prints[..at].iter().for_each(|&other| counts[hamming(print, other) as usize] += 1);
    }
    counts
}

/// From the counts at each distance those within it.
pub fn cumulative(mut counts: [u64; 65]) -> [u64; 65] {
    for distance in 1..counts.len() {
        counts[distance] += counts[distance - 1];
    }
    counts
}

/// The number of pairs of `prints` within each distance from 0 on: up to 64 for at most 40,000 rows, else up to
/// `settings.distance`. `on_pair` is called for every pair that the search of many rows finds.
pub fn pairs_within<H: Host>(
    prints: &[u64],
    settings: PairSearch,
    host: &mut H,
    mut on_pair: impl FnMut(),
) -> Result<Vec<u64>> {
    if prints.len() <= ALL_PAIRS {
        return Ok(cumulative(distances(prints)).to_vec());
    }
    let mut pairs = Pairs::new(settings);
    for (&print, row) in prints.iter().zip(0..) {
        pairs.add(row, print, host)?;
    }
    let mut counts = [0; 65];
    pairs.finish(host, |pair, _| {
        counts[pair.distance as usize] += 1;
        on_pair();
        Ok(())
    })?;
    Ok(cumulative(counts)[..=settings.distance.min(64) as usize].to_vec())
}
