//! What a search is expected to cost, for a planner, from the number of rows and of leaves of one main tree.

use super::key::BLOCKS;
use super::schedule::{MAX_DISTANCE, buckets_within, is_narrow, leaves_read, radii, radius};

/// The expected cost of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SearchCost {
    /// Buckets probed; 0 if one whole tree is read.
    pub probes: u32,
    /// Leaf pages read.
    pub leaf_pages: f64,
    /// Inner pages read.
    pub inner_pages: f64,
    /// Entries whose distance is computed.
    pub entries: f64,
}

/// The cost of searching within `distance` in an index of `rows` rows, each main tree of `leaves`
/// leaves. Hot buckets are not modelled: their second level keeps them near this.
pub fn search_cost(distance: u32, rows: f64, leaves: f64) -> SearchCost {
    let (rows, leaves) = (rows.max(0.0), leaves.max(1.0));
    let per_leaf = rows / leaves;
    let (mut probes, mut pages, mut inner) = (0, 0.0, 0.0);
    for radius in radii(distance.min(MAX_DISTANCE)) {
        let buckets = buckets_within(0, radius);
        let read = leaves_read(leaves, buckets);
        probes += buckets;
        pages += read;
        // The level above is shared between leaves; a leaf in forty-eight needs a new descent.
        inner += if buckets == 0 { 0.0 } else { 2.0 + read / 24.0 };
    }
    if pages >= leaves {
        let inner_pages = 2.0 + leaves / 24.0;
        return SearchCost { probes: 0, leaf_pages: leaves, inner_pages, entries: rows };
    }
    SearchCost { probes, leaf_pages: pages, inner_pages: inner, entries: pages * per_leaf }
}

/// The same for fingerprints of `parts` parts, of which each tree has an entry each.
pub fn parts_cost(parts: usize, distance: u32, rows: f64, leaves: f64) -> SearchCost {
    if parts == 1 {
        return search_cost(distance, rows, leaves);
    }
    let radii =
        (0..parts).map(|part| if is_narrow(parts, distance) { radius(distance, part, parts) } else { 64 });
    let parts = parts as f64;
    let searches =
        radii.filter_map(|radius| Some(search_cost(radius.try_into().ok()?, rows, leaves / parts)));
    searches.fold(SearchCost { probes: 0, leaf_pages: 0.0, inner_pages: 0.0, entries: 0.0 }, |all, one| {
        SearchCost {
            probes: all.probes + one.probes,
            leaf_pages: all.leaf_pages + one.leaf_pages,
            inner_pages: all.inner_pages + one.inner_pages,
            entries: all.entries + one.entries,
        }
    })
}

/// The share of random rows that a search by parts finds, most of them farther than the distance.
pub fn candidates(parts: usize, distance: u32) -> f64 {
    let radii = (0..parts).filter_map(|part| u32::try_from(radius(distance, part, parts)).ok());
    if parts == 1 || !is_narrow(parts, distance) { 0.0 } else { radii.map(random_selectivity).sum() }
}

/// The least distance such that about `wanted` of `rows` random fingerprints lie between `from` and it: of data without
/// near-duplicates.
pub fn nearest_distance(rows: f64, wanted: f64, from: u32) -> u32 {
    let nearer = from.checked_sub(1).map_or(0.0, random_selectivity);
    let enough = |distance: &u32| rows * (random_selectivity(*distance) - nearer) >= wanted;
    (from..MAX_DISTANCE).find(enough).unwrap_or(MAX_DISTANCE)
}

/// The share of random fingerprints within `distance` of any one, from 2^-64 to 1: the estimate without
/// statistics, a lower bound for real data.
pub fn random_selectivity(distance: u32) -> f64 {
    let mut binomial = 1.0f64;
    let mut sum = 0.0;
    for k in 0..=distance.min(MAX_DISTANCE) {
        sum += binomial;
        binomial *= f64::from(MAX_DISTANCE - k) / f64::from(k + 1);
    }
    (sum * 0.5f64.powi(16 * BLOCKS as i32)).min(1.0)
}
