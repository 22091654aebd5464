//! P3's combined similarity, formula (1): `S = μ / (H + 1) + (1 - μ) J`, of
//! the Hamming distance H of two fingerprints and the (estimated) Jaccard similarity J of other attributes of
//! the two documents: keywords, tags, references.
//!
//! S is 1 for equal documents, and P3 calls a pair similar from S = 0.25 on.
//! (Its text says "less than 0.25", under which equal documents would differ.)

/// P3's threshold.
pub const THRESHOLD: f64 = 0.25;
/// P3's μ: the weight of the fingerprints against the sets.
pub const MU: f64 = 0.9;

/// The combined similarity, 0 to 1, of a Hamming distance of 0 to 64, a
/// Jaccard similarity of 0 to 1, and `mu` of 0 to 1. `None` outside of these.
///
/// Rounded to twelve places: S of distance 5 and Jaccard 1 is 0.25 at μ = 0.9,
/// and must not miss that threshold by the last bit of a sum.
///
/// ```
/// use dedup_detectors::combined::similarity;
/// assert_eq!(similarity(0, 1.0, 0.9), Some(1.0));
/// assert_eq!(similarity(5, 1.0, 0.9), Some(0.25));
/// ```
pub fn similarity(hamming: u32, jaccard: f64, mu: f64) -> Option<f64> {
    let share = 0.0..=1.0;
    if hamming > 64 || !share.contains(&jaccard) || !share.contains(&mu) {
        return None;
    }
    let exact = mu / f64::from(hamming + 1) + (1.0 - mu) * jaccard;
    Some((exact * 1e12).round() / 1e12)
}

/// The largest Hamming distance, 0 to 64, at which the combined similarity
/// can reach `threshold` (at Jaccard 1): the radius of the search that misses
/// no pair. -1 if none can reach it. `None` if an argument is not 0 to 1.
///
/// In closed form `⌊μ / (threshold - (1 - μ))⌋ - 1`; no more than 64, which
/// is everything, once the threshold is at most 1 - μ.
pub fn radius(threshold: f64, mu: f64) -> Option<i32> {
    let share = 0.0..=1.0;
    if !share.contains(&threshold) || !share.contains(&mu) {
        return None;
    }
    let reached = (0..=64).take_while(|&distance| similarity(distance, 1.0, mu) >= Some(threshold));
    Some(reached.count() as i32 - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// P3's threshold needs more than the radius 3 of its index.
    #[test]
    fn radii_of_p3() {
        assert_eq!([0.9, 0.85, 0.8].map(|mu| radius(THRESHOLD, mu)), [Some(5), Some(7), Some(15)]);
        assert_eq!((radius(0.0, 0.9), radius(1.0, 0.9), radius(0.2, 0.5)), (Some(64), Some(0), Some(64)));
        assert_eq!((radius(0.25, 0.0), radius(1.5, 0.9), radius(f64::NAN, 0.9)), (Some(64), None, None));
    }

    #[test]
    fn similarities_of_p3() {
        let s = |hamming, jaccard| similarity(hamming, jaccard, MU).unwrap();
        assert_eq!((s(2, 0.0), s(3, 0.25), s(4, 0.5)), (0.3, 0.25, 0.23));
        assert_eq!(
            (similarity(65, 0.5, MU), similarity(3, 1.1, MU), similarity(3, 0.5, -0.1)),
            (None, None, None)
        );
    }

    proptest! {
        /// No pair within the threshold is outside the radius.
        #[test]
        fn the_radius_misses_nothing(h in 0u32..=64, j in 0.0..=1.0f64, mu in 0.0..=1.0f64, t in 0.0..=1.0f64) {
            if similarity(h, j, mu).unwrap() >= t {
                prop_assert!(h as i32 <= radius(t, mu).unwrap());
            }
        }
    }
}
