//! How many pairs of rows there are within each distance, counted.

use crate::external::{Host, Result};
use crate::fingerprint::Prints;
use crate::groups::{PairSearch, PartPairs};
use crate::interrupt::check;
use std::ops::AddAssign;

/// Rows up to which all pairs are compared: at most 800 million.
const ALL_PAIRS: usize = 40_000;

/// The number of pairs of `prints` at each distance, from 0 to their bits.
pub(super) fn distances(prints: Prints) -> Vec<u64> {
    let mut counts = vec![0; prints.bits() as usize + 1];
    for row in 0..prints.count() {
        check();
        prints.distances(row, 0..row, |_, distance| counts[distance as usize] += 1);
    }
    counts
}

/// From the counts at each distance those within it.
pub fn cumulative<T: Copy + AddAssign>(mut counts: Vec<T>) -> Vec<T> {
    for distance in 1..counts.len() {
        let nearer = counts[distance - 1];
        counts[distance] += nearer;
    }
    counts
}

/// The number of pairs of `prints` within each distance from 0 on: up to their bits for at most 40,000 rows, else up to
/// `settings.distance`. `on_pair` is called for every pair that the search of many rows finds.
pub fn pairs_within<H: Host>(
    prints: Prints,
    settings: PairSearch,
    host: &mut H,
    mut on_pair: impl FnMut(),
) -> Result<Vec<u64>> {
    if prints.count() <= ALL_PAIRS {
        return Ok(cumulative(distances(prints)));
    }
    let mut pairs = PartPairs::new(prints.parts(), settings);
    for row in 0..prints.count() {
        pairs.add(row as i64, prints.get(row), host)?;
    }
    let mut counts = vec![0; prints.bits() as usize + 1];
    pairs.finish(host, |pair, _| {
        counts[pair.distance as usize] += 1;
        on_pair();
        Ok(())
    })?;
    counts.truncate(settings.distance as usize + 1);
    Ok(cumulative(counts))
}
