//! What one gets without pg_dedup: MinHash signatures in bands, as the Python
//! libraries do it, every pair that shares a band being reported.

use crate::truth::Pair;
use dedup_detectors::minhash::{band_recall, bands, text_signature};
use std::collections::{HashMap, HashSet};

const PERMUTATIONS: usize = 128;
/// Points at which an area is measured.
const STEPS: usize = 200;

/// The bands and rows whose share of false and missed pairs around `threshold`
/// is least, both weighed equally and all similarities taken as equally likely.
pub fn shape(threshold: f64) -> (usize, usize) {
    let area = |from: f64, to: f64, value: &dyn Fn(f64) -> f64| {
        let step = (to - from) / STEPS as f64;
        (0..STEPS).map(|at| value(from + (at as f64 + 0.5) * step)).sum::<f64>() * step
    };
    let cost = |&(count, rows): &(usize, usize)| {
        let wrong = area(0.0, threshold, &|s| band_recall(s, count, rows));
        let missed = area(threshold, 1.0, &|s| 1.0 - band_recall(s, count, rows));
        wrong + missed
    };
    let shapes =
        (1..=PERMUTATIONS).flat_map(|count| (1..=PERMUTATIONS / count).map(move |rows| (count, rows)));
    shapes.min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or((PERMUTATIONS, 1))
}

/// The pairs that share a band.
pub fn pairs<'a>(texts: impl Iterator<Item = &'a str>, n: usize, threshold: f64) -> Vec<Pair> {
    let (count, rows) = shape(threshold);
    let mut held: HashMap<u64, Vec<usize>> = HashMap::new();
    let mut found: HashSet<Pair> = HashSet::new();
    for (at, text) in texts.enumerate() {
        let Some(signature) = text_signature(text, PERMUTATIONS, n) else { continue };
        for key in bands(&signature, count, rows).unwrap_or_default() {
            let others = held.entry(key).or_default();
            found.extend(others.iter().map(|&other| (other, at)));
            others.push(at);
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shapes that datasketch has for these thresholds and 128 values.
    #[test]
    fn shapes_are_those_of_the_usual_library() {
        assert_eq!((shape(0.4), shape(0.5)), ((32, 4), (25, 5)));
    }
}
