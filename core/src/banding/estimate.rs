//! How many rows lie within a distance, estimated from what ANALYZE keeps of a column: its most common
//! fingerprints, and a few hundred others (the bounds of the histogram) that serve as a sample.
//!
//! A sample of a hundred says nothing about shares below a few percent, and the shares that matter are around
//! one in a million. But the distances from any fingerprint to the unrelated rows follow a bell curve, whose
//! center a hundred values do determine: below the resolution of the sample its tail is used. Related rows are
//! not part of the curve: what is known of them is how many rows share one fingerprint.

use super::cost::random_selectivity;
use super::schedule::MAX_DISTANCE;
use crate::fingerprint::hamming;

/// Values used of each list: more would cost planning time and add nothing.
const TAKEN: usize = 256;
/// Hits in a sample from which on their share is used.
const BELIEVED: f64 = 8.0;
/// The same among pairs of a sample, which are not independent.
const BELIEVED_PAIRS: f64 = 64.0;

/// Statistics of a column of fingerprints.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Sample {
    /// The most common fingerprints and the share of all rows that each has.
    pub common: Vec<(u64, f64)>,
    /// A sample of the others, each once.
    pub others: Vec<u64>,
    /// Share of rows without a fingerprint.
    pub nulls: f64,
    /// Different fingerprints.
    pub distinct: f64,
}

/// Count, mean and variance of distances, and how many of them are small enough.
#[derive(Default)]
struct Distances {
    count: f64,
    within: f64,
    sum: f64,
    squares: f64,
}

impl Distances {
    fn add(&mut self, d: u32, distance: u32) {
        let d_f = f64::from(d);
        self.count += 1.0;
        self.sum += d_f;
        self.squares += d_f * d_f;
        self.within += f64::from(u8::from(d <= distance));
    }

    /// The share within `distance` of the population that the distances were drawn from.
    fn share(&self, distance: u32, believed: f64) -> f64 {
        if self.within >= believed {
            return self.within / self.count;
        }
        let random = random_selectivity(distance);
        if self.count < 16.0 {
            return random;
        }
        let mean = self.sum / self.count;
        // Never narrower than unrelated random bits.
        let deviation = (self.squares / self.count - mean * mean).max(16.0).sqrt();
        let tail = normal_below((f64::from(distance) + 0.5 - mean) / deviation);
        // Had the share been larger, the sample would have shown it.
        tail.max(random).min((self.within + 3.0) / self.count)
    }
}

impl Sample {
    /// The same with lists short enough to be compared pair by pair.
    pub fn thinned(mut self) -> Sample {
        let step = self.others.len().div_ceil(TAKEN).max(1);
        self.others = self.others.into_iter().step_by(step).collect();
        self.common.truncate(TAKEN);
        self
    }

    /// Share of rows with a fingerprint that is not among the common ones.
    fn rest(&self) -> f64 {
        (1.0 - self.nulls - self.common.iter().map(|common| common.1).sum::<f64>()).clamp(0.0, 1.0)
    }

    fn filled(&self) -> f64 {
        (1.0 - self.nulls).clamp(0.0, 1.0)
    }

    /// Share of rows that one fingerprint of those not common has on average.
    fn one(&self) -> f64 {
        self.rest() / (self.distinct - self.common.len() as f64).max(1.0)
    }

    fn others_around(&self, query: u64, distance: u32) -> f64 {
        let mut distances = Distances::default();
        self.others.iter().for_each(|other| distances.add(hamming(*other, query), distance));
        self.rest() * distances.share(distance, BELIEVED)
    }

    fn common_around(&self, query: u64, distance: u32) -> f64 {
        let near = self.common.iter().filter(|(value, _)| hamming(*value, query) <= distance);
        near.map(|common| common.1).sum()
    }

    /// The share of rows within `distance` of `query`.
    pub fn around(&self, query: u64, distance: i32) -> f64 {
        let Ok(distance) = u32::try_from(distance) else { return 0.0 };
        if distance >= MAX_DISTANCE {
            return self.filled();
        }
        let common = self.common_around(query, distance);
        // The fingerprint of a query usually comes from a row like those of the table.
        let related = if common > 0.0 { 0.0 } else { self.one() };
        (common + self.others_around(query, distance).max(related)).min(self.filled())
    }

    /// The share of pairs, a row of each column, that are within `distance`; also the share of rows
    /// within `distance` of a fingerprint that is not known yet, if that is like those of `from`.
    pub fn between(&self, from: &Sample, distance: i32) -> f64 {
        let Ok(distance) = u32::try_from(distance) else { return 0.0 };
        let all = self.filled() * from.filled();
        if distance >= MAX_DISTANCE {
            return all;
        }
        let mut share = 0.0;
        for (value, part) in &from.common {
            share += part * (self.common_around(*value, distance) + self.others_around(*value, distance));
        }
        for (value, part) in &self.common {
            share += part * from.others_around(*value, distance);
        }
        let mut distances = Distances::default();
        for a in &self.others {
            // A fingerprint that both samples hold is that of related rows.
            let unrelated = from.others.iter().map(|b| hamming(*a, *b)).filter(|d| *d > 0);
            unrelated.for_each(|d| distances.add(d, distance));
        }
        let rests = self.rest() * from.rest();
        let related = rests / self.distinct.max(from.distinct).max(1.0);
        (share + (rests * distances.share(distance, BELIEVED_PAIRS)).max(related)).min(all)
    }

    /// The share of rows of `self` that have at least one of `rows` rows of `other` within `distance`.
    pub fn with_partner(&self, other: &Sample, rows: f64, distance: i32) -> f64 {
        (self.between(other, distance) * rows.max(1.0)).min(if distance < 0 { 0.0 } else { self.filled() })
    }
}

/// The part of a standard normal distribution below `z`.
fn normal_below(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}
