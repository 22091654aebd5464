//! MinHash (Broder 1997; P3, section 2.1): the smallest value that a hash
//! function takes over a set is equal for two sets with a probability that is
//! their Jaccard similarity, so the share of equal minima over `k` functions
//! estimates it, with a standard error of `sqrt(J (1 - J) / k)`.
//!
//! The estimate is only as good as the functions. Each function of the default family applies a bijective mixer
//! (the finaliser of SplitMix64) to the 64-bit hash of the element xor a constant of its own, so it is a
//! permutation of all 64-bit values, and no two functions are measurably related. P3's own
//! experiment uses `(x + i) mod 100`: cyclic shifts of one order, which are
//! far from independent and map many elements of a larger set to the same number. It serves only to repeat that
//! experiment.

use dedup_core::hash::{GOLDEN, city64, mix64};
use dedup_core::interrupt::Meter;
use dedup_core::text::Ngrams;
use std::fmt;

/// A family of hash functions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// Permutations of the 64-bit values, see the module.
    #[default]
    Mixed,
    /// P3's `(x + i) mod 100`, for i from 1.
    Paper,
}

impl Family {
    /// The family of a name: `mixed` or `paper`.
    pub fn from_name(name: &str) -> Option<Family> {
        match name {
            "mixed" => Some(Family::Mixed),
            "paper" => Some(Family::Paper),
            _ => None,
        }
    }
}

/// Modulus of P3's functions.
const PAPER_MODULUS: u64 = 100;

/// The number of an element of a set of texts (CityHash64).
pub fn element(text: &str) -> u64 {
    city64(text.as_bytes())
}

/// The constant of function `i`: the `i`-th number of SplitMix64.
#[inline]
fn constant(i: u64) -> u64 {
    mix64((i + 1).wrapping_mul(GOLDEN))
}

/// The signature of a set of elements: the minimum of each of `k` functions.
/// `None` for the empty set, which has no minima. Elements may repeat.
///
/// ```
/// use dedup_detectors::minhash::{Family, element, signature, similarity};
/// let sign = |words: &[&str]| signature(words.iter().map(|w| element(w)), 128, Family::Mixed).unwrap();
/// assert_eq!(similarity(&sign(&["a", "b"]), &sign(&["b", "a", "a"])), Some(1.0));
/// ```
pub fn signature(elements: impl IntoIterator<Item = u64>, k: usize, family: Family) -> Option<Vec<u64>> {
    match family {
        Family::Mixed => {
            let constants: Vec<u64> = (0..k as u64).map(constant).collect();
            minima(elements, k, |at, x| mix64(x ^ constants[at]))
        }
        Family::Paper => {
            minima(elements, k, |at, x| (x % PAPER_MODULUS + (at as u64 + 1) % PAPER_MODULUS) % PAPER_MODULUS)
        }
    }
}

/// The signature of the set of character `n`-grams of a text's normal form,
/// the sets whose Jaccard similarity `jaccard(a, b, n)` computes exactly.
pub fn text_signature(content: &str, k: usize, n: usize) -> Option<Vec<u64>> {
    // As a set, for each repetition would cost `k` hashes.
    let grams = Ngrams::of(content).set(n, element);
    signature(grams, k, Family::Mixed)
}

/// The signature under P3's characteristic matrix: `rows` are the numbers of
/// the rows in which the set has a 1, function `i` is
/// `(factors[i] x + terms[i]) mod modulus`.
///
/// `None` for the empty set and for modulus 0.
pub fn matrix_signature(rows: &[u64], functions: &[(u64, u64)], modulus: u64) -> Option<Vec<u64>> {
    if modulus == 0 {
        return None;
    }
    let wide = u128::from;
    minima(rows.iter().copied(), functions.len(), |at, x| {
        let (factor, term) = functions[at];
        ((wide(factor) * wide(x) + wide(term)) % wide(modulus)) as u64
    })
}

/// P3's scan: every element lowers the minima that its hashes are below.
fn minima(
    elements: impl IntoIterator<Item = u64>,
    k: usize,
    hash: impl Fn(usize, u64) -> u64,
) -> Option<Vec<u64>> {
    let mut elements = elements.into_iter().peekable();
    elements.peek()?;
    let mut minima = vec![u64::MAX; k];
    let mut meter = Meter::new();
    for x in elements {
        meter.work(1 + k);
        minima.iter_mut().enumerate().for_each(|(at, least)| *least = (*least).min(hash(at, x)));
    }
    Some(minima)
}

/// The share, 0 to 1, of the functions under which two signatures agree: an
/// estimate of the Jaccard similarity. `None` if they are not of one length,
/// or empty.
pub fn similarity(a: &[u64], b: &[u64]) -> Option<f64> {
    if a.len() != b.len() || a.is_empty() {
        return None;
    }
    let equal = a.iter().zip(b).filter(|(x, y)| x == y).count();
    Some(equal as f64 / a.len() as f64)
}

/// More bands than the signature has values for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BandsError {
    /// Values of the signature.
    pub length: usize,
    /// Bands asked for.
    pub bands: usize,
    /// Values per band.
    pub rows: usize,
}

impl fmt::Display for BandsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BandsError { length, bands, rows } = self;
        write!(f, "a signature of {length} values cannot give {bands} bands of {rows}")
    }
}

impl std::error::Error for BandsError {}

/// One key for each of the first `bands` runs of `rows` values (Broder's and
/// Indyk's banding): sets of Jaccard similarity `s` share a key with the
/// probability [`band_recall`]. A key depends on the number of its band, so
/// keys of different bands are equal by chance only (2⁻⁶⁴).
///
/// # Errors
/// No bands, no rows, or more of them than the signature has.
pub fn bands(signature: &[u64], bands: usize, rows: usize) -> Result<Vec<u64>, BandsError> {
    let error = BandsError { length: signature.len(), bands, rows };
    let used = bands.checked_mul(rows).filter(|&used| used > 0 && used <= signature.len()).ok_or(error)?;
    let key = |(number, band): (usize, &[u64])| {
        let start = mix64(constant(number as u64) ^ rows as u64);
        band.iter().fold(start, |key, &value| mix64(key.rotate_left(23) ^ value))
    };
    Ok(signature[..used].chunks(rows).enumerate().map(key).collect())
}

/// The probability `1 - (1 - s^r)^b` that two sets of Jaccard similarity `s`
/// share a key among `b` bands of `r` rows: the recall curve of a search by
/// bands. It rises most steeply near `s = (1/b)^(1/r)`.
pub fn band_recall(similarity: f64, bands: usize, rows: usize) -> f64 {
    // Through logarithms, so that a small probability is not rounded away.
    let miss = (-similarity.powf(rows as f64)).ln_1p();
    -(bands as f64 * miss).exp_m1()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dedup_core::text::normalize;
    use proptest::prelude::*;

    /// P3's example: rows a to e, `(x + 1) mod 5` and `(2x + 1) mod 5`.
    #[test]
    fn the_worked_example_of_p3() {
        let functions = [(1, 1), (2, 1)];
        let sets: [&[u64]; 4] = [&[0, 1], &[1, 2, 3], &[0, 3, 4], &[3, 4]];
        let signatures = sets.map(|rows| matrix_signature(rows, &functions, 5).unwrap());
        assert_eq!(signatures, [[1, 1], [2, 0], [0, 1], [0, 2]]);
        assert_eq!(similarity(&signatures[0], &signatures[2]), Some(0.5));
        assert_eq!(similarity(&signatures[2], &signatures[3]), Some(0.5));
        assert_eq!(similarity(&signatures[0], &signatures[3]), Some(0.0));
    }

    #[test]
    fn paper_mode_is_the_matrix_with_shifts() {
        let shifts: Vec<(u64, u64)> = (1..=100).map(|i| (1, i)).collect();
        let rows = [3, 99, 1_000_000_007, u64::MAX];
        assert_eq!(signature(rows, 100, Family::Paper), matrix_signature(&rows, &shifts, 100));
    }

    /// Two sets of `shared + own` elements each, numbered from `start`.
    fn pair(start: u64, shared: u64, own: u64) -> [Vec<u64>; 2] {
        let name = |number: u64| element(&format!("element {number}"));
        let (a, b) = (start + shared, start + shared + own);
        let set = |from: u64| (start..a).chain(from..from + own).map(name).collect();
        [set(a), set(b)]
    }

    /// The estimate is unbiased and no more than its standard error away:
    /// over 400 pairs the mean error is within four standard errors of the
    /// mean, the mean square within a fifth of J (1 - J) / k.
    #[test]
    fn the_estimate_is_within_its_bound() {
        for (shared, own) in [(1, 9), (3, 4), (50, 50), (90, 10), (20, 1)] {
            let (k, pairs) = (64, 400);
            let truth = shared as f64 / (shared + 2 * own) as f64;
            let variance = truth * (1.0 - truth) / k as f64;
            let (mut bias, mut square) = (0.0, 0.0);
            for number in 0..pairs {
                let [a, b] = pair(number * 1000, shared, own).map(|set| signature(set, k, Family::Mixed));
                let error = similarity(&a.unwrap(), &b.unwrap()).unwrap() - truth;
                bias += error / pairs as f64;
                square += error * error / pairs as f64;
            }
            assert!(bias.abs() < 4.0 * (variance / pairs as f64).sqrt(), "{shared}/{own}: {bias}");
            assert!((0.8..1.25).contains(&(square / variance)), "{shared}/{own}: {}", square / variance);
        }
    }

    /// Why P3's family is not the default: on the same sets its mean square
    /// error is several times as large.
    #[test]
    fn shifts_estimate_worse() {
        let square = |family| -> f64 {
            (0..300)
                .map(|number| {
                    let [a, b] = pair(number * 1000, 3, 2).map(|set| signature(set, 100, family).unwrap());
                    (similarity(&a, &b).unwrap() - 3.0 / 7.0).powi(2)
                })
                .sum()
        };
        assert!(square(Family::Paper) > 3.0 * square(Family::Mixed));
    }

    /// The share of pairs that meet in a band is the curve.
    #[test]
    fn bands_meet_as_often_as_the_curve_says() {
        for (shared, own) in [(10, 10), (40, 10), (90, 10)] {
            let (pairs, b, r) = (600, 16, 4);
            let truth = shared as f64 / (shared + 2 * own) as f64;
            let met = (0..pairs).filter(|number| {
                let keys = pair(number * 1000, shared, own)
                    .map(|set| bands(&signature(set, 64, Family::Mixed).unwrap(), b, r).unwrap());
                keys[0].iter().any(|key| keys[1].contains(key))
            });
            let (share, expected) = (met.count() as f64 / pairs as f64, band_recall(truth, b, r));
            let tolerance = 4.0 * (expected * (1.0 - expected) / pairs as f64).sqrt() + 1e-3;
            assert!((share - expected).abs() < tolerance, "{share} instead of {expected}");
        }
        assert_eq!((band_recall(0.0, 20, 5), band_recall(1.0, 20, 5)), (0.0, 1.0));
        assert!((band_recall(0.5, 20, 5) - (1.0 - (1.0 - 0.5f64.powi(5)).powi(20))).abs() < 1e-12);
    }

    #[test]
    fn what_cannot_be() {
        assert_eq!(signature([], 8, Family::Mixed), None);
        assert_eq!(text_signature("……！", 8, 2), None);
        assert_eq!(matrix_signature(&[1], &[(1, 1)], 0), None);
        assert_eq!((similarity(&[1], &[1, 2]), similarity(&[], &[])), (None, None));
        for (b, r) in [(0, 1), (1, 0), (3, 3), (usize::MAX, 2)] {
            assert!(bands(&[0; 8], b, r).is_err(), "{b} of {r}");
        }
    }

    proptest! {
        /// A set has one signature, whatever the order and the repetitions.
        #[test]
        fn order_and_repetition_do_not_matter(set in prop::collection::vec(any::<u64>(), 1..30), k in 1usize..40) {
            let mut twice: Vec<u64> = set.iter().rev().chain(&set).copied().collect();
            twice.rotate_left(k % set.len());
            prop_assert_eq!(signature(set, k, Family::Mixed), signature(twice, k, Family::Mixed));
        }

        /// A text's signature is that of its n-grams.
        #[test]
        fn of_a_text(text in "[ab水区， ]{1,20}", n in 1usize..4) {
            let compacted = normalize(&text).replace(' ', "");
            let chars: Vec<char> = compacted.chars().collect();
            let mut grams: Vec<String> = chars.windows(n).map(|gram| gram.iter().collect()).collect();
            if grams.is_empty() && !chars.is_empty() {
                grams.push(compacted);
            }
            let expected = signature(grams.iter().map(|gram| element(gram)), 32, Family::Mixed);
            prop_assert_eq!(text_signature(&text, 32, n), expected);
        }
    }
}
