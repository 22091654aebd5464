//! Connected components of near fingerprints, with an optional limit of their diameter.

use dedup_core::dedup::{Comparable, DEDUP, Keep, Limits, Rows, Written, group};
use dedup_core::external::{Host, Result};
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::collect;
use serde_json::json;

/// For each row the number of the first row of its component: rows are in the same component if a chain of steps of at most
/// `distance` bits connects them.
///
/// With a `diameter`, no component holds two rows farther apart than that: near pairs are taken from the nearest to the
/// farthest (among equals in the order of the rows), and a pair joins its components only if no row of one is farther than
/// `diameter` from a row of the other (complete linkage over near pairs). The result does not depend on the threads.
///
/// # Errors
/// A file fails, or there is no memory.
pub fn components<H: Host>(
    fps: &[u64],
    distance: u32,
    diameter: Option<u32>,
    limits: Limits,
    host: &mut H,
) -> Result<Vec<u32>> {
    let options = json!({"method": "fingerprint", "distance": distance, "similarity": 0, "group": "components",
        "diameter": diameter});
    let options = Written::new(DEDUP, Some(options)).and_then(|written| written.read());
    let options = options.unwrap_or_else(|error| unreachable!("{}", error.what));
    let mut rows = Rows::new(host.file(), Keep::First);
    for &fp in checked(fps) {
        rows.add(&[], "", Comparable::Near, fp)?;
    }
    // Rows of one fingerprint are one.
    let mut sorted = collect(0..fps.len() as u32)?;
    sort_unstable_by(&mut sorted, |&a, &b| (fps[a as usize], a).cmp(&(fps[b as usize], b)));
    for same in checked(sorted.chunk_by(|&a, &b| fps[a as usize] == fps[b as usize])) {
        same.iter().for_each(|&row| rows.first[row as usize] = same[0]);
    }
    let sets = group(&options, &mut rows, limits, host)?.sets;
    Ok(collect(checked(&rows.first).map(|&first| sets.find(first)))?)
}
