//! The background of distances, and the cost and yield of each radius.
//!
//! Unrelated texts share words: how far apart they are depends on the texts and the recipe, and is measured. A radius lets
//! in a share of random pairs, and N rows have N (N - 1) / 2 pairs, so one that is safe for a thousand rows is not for a
//! million.
//!
//! The few sampled pairs within a small radius are the near-duplicates themselves. So the tail is that of a beta-binomial
//! distribution of the measured mean and variance, raised to meet the measurement where one pair in a thousand lies. Large
//! families of copies would widen it: what a gap divides from the others is left out.

use super::count::{cumulative, distances};
use crate::banding::{probes, radius};
use crate::fingerprint::Prints;
use crate::interrupt::{check, checked};
use crate::memory::{Grow, OrRaise};
use crate::random::SplitMix64;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The most random pairs measured.
const PAIRS: u64 = 4_000_000;
/// The most comparisons spent on nearest neighbours.
const NEAREST: u64 = 1_000_000_000;
/// The most rows whose nearest neighbour is searched.
const ROWS: usize = 5_000;
/// The share of pairs at which the model is fitted to the measurement.
const ANCHOR: f64 = 1e-3;
/// The share below which the model has practically no pairs.
const EMPTY: f64 = 1e-7;
/// Candidates that any table may have, however few its rows: a second of comparing.
const ONCE: f64 = 1e6;
/// The widest radius for them.
const WIDEST_ONCE: u32 = 24;
/// The distance, on average, of texts that have nothing to do with each other.
const USUAL: f64 = 30.0;
/// Pairs of such texts that stand beside those of a small table.
const USUAL_PAIRS: f64 = 100.0;
/// The most rows that a distance is chosen for.
const MOST_ROWS: u64 = 10_000_000_000;
const WIDEST: u32 = 20;

/// Distances measured on the fingerprints of a table.
#[derive(Debug, Clone)]
pub struct Background {
    /// Rows.
    pub rows: u64,
    /// Random pairs by distance, from 0 to the bits of a fingerprint.
    pub random: Vec<u64>,
    /// Rows, evenly spread, with the nearest other row.
    pub nearest: Vec<Nearest>,
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

impl Nearest {
    fn of(row: usize, prints: Prints) -> Nearest {
        const BLOCK: usize = 1 << 12;
        let mut best = Nearest { row, nearest: row, distance: u32::MAX };
        for from in (0..prints.count()).step_by(BLOCK) {
            check();
            prints.distances(row, from..prints.count().min(from + BLOCK), |other, distance| {
                if distance < best.distance && other != row {
                    best = Nearest { row, nearest: other, distance };
                }
            });
        }
        best
    }
}

/// The figures of one radius.
#[derive(Debug, Clone, PartialEq)]
pub struct RadiusRow {
    /// The radius, 0 to 20 bits of 64.
    pub radius: u32,
    /// The share of random pairs within it, 0 to 1, as measured.
    pub random: f64,
    /// The share of rows whose nearest neighbour is within it, 0 to 1.
    pub nearest: f64,
    /// The expected number of unrelated pairs of the whole table within it.
    pub false_pairs: f64,
    /// Buckets that an index search visits.
    pub probes: u64,
}

/// The table of radii, and the radii that it suggests.
#[derive(Debug, Clone)]
pub struct Calibration {
    /// A row for each radius from 0 on.
    pub rows: Vec<RadiusRow>,
    /// The widest radius at which at most one pair in twenty is expected to be unrelated, if the fingerprint
    /// alone decides.
    pub alone: u32,
    /// The widest radius whose false candidates are few enough to be verified on the text: ten per row.
    pub verified: u32,
    /// What is chosen: as `verified`, but in a small table more are few enough.
    pub once: u32,
}

impl Background {
    /// Measures fingerprints. Deterministic: samples are drawn with a fixed seed.
    pub fn measure<'p>(prints: impl Into<Prints<'p>>) -> Background {
        let prints = prints.into();
        let (count, random) = (prints.count(), vec![0; prints.bits() as usize + 1]);
        let mut background = Background { rows: count as u64, random, nearest: Vec::new() };
        if count < 2 {
            return background;
        }
        if (count as u64) * (count as u64 - 1) / 2 <= PAIRS {
            background.random = distances(prints);
        } else {
            let mut random = SplitMix64::new(0x5EED);
            for _ in checked(0..PAIRS) {
                let (a, b) = (random.below(count), random.below(count));
                if a != b {
                    background.random[prints.distance(a, b) as usize] += 1;
                }
            }
        }
        let rows = (NEAREST / count as u64).clamp(1, ROWS as u64) as usize;
        let step = count.div_ceil(rows);
        for row in (0..count).step_by(step) {
            background.nearest.grow(Nearest::of(row, prints)).or_raise();
        }
        background
    }

    /// Bits of a fingerprint.
    pub fn bits(&self) -> usize {
        self.random.len() - 1
    }

    /// Rows by the distance of their nearest neighbour.
    pub fn by_nearest(&self) -> Vec<u64> {
        let mut counts = vec![0; self.random.len()];
        self.nearest.iter().for_each(|pair| counts[pair.distance as usize] += 1);
        counts
    }

    /// The share of unrelated pairs within each radius, as what is chosen for a table of any size sees it. In a small
    /// table a few near-duplicates are a large part of all pairs: what is less than two thirds as far apart as others is left
    /// out, and texts as they usually are make up for what was not seen.
    fn expected(&self) -> Vec<f64> {
        let pairs = self.random.iter().sum::<u64>();
        let mut counts: Vec<f64> = self.random.iter().map(|&count| count as f64).collect();
        if pairs as f64 > ONCE {
            return model(&counts);
        }
        let usual = binomial(USUAL / 64.0, counts.len() - 1);
        counts.iter_mut().zip(usual).for_each(|(count, share)| *count += share * USUAL_PAIRS);
        let median = median(&counts);
        counts[..median * 2 / 3].fill(0.0);
        model(&counts)
    }

    /// The table of radii for this many rows.
    pub fn calibrate(&self) -> Calibration {
        let pairs = self.rows as f64 * (self.rows as f64 - 1.0).max(0.0) / 2.0;
        let mut counts: Vec<f64> = self.random.iter().map(|&count| count as f64).collect();
        let nearest_of_others = gap(&counts);
        counts[..nearest_of_others].fill(0.0);
        let model = model(&counts);
        let [random, nearest] = [self.random.clone(), self.by_nearest()].map(cumulative);
        let bits = random.len() - 1;
        let parts = bits / u64::BITS as usize;
        let share = |within: &[u64], radius: usize| within[radius] as f64 / within[bits].max(1) as f64;
        let of_part = |most: u32, part| u32::try_from(radius(most, part, parts)).map_or(0, probes);
        let row = |radius: u32| RadiusRow {
            radius,
            random: share(&random, radius as usize),
            nearest: share(&nearest, radius as usize),
            false_pairs: pairs * model[radius as usize],
            probes: (0..parts).map(|part| u64::from(of_part(radius, part))).sum(),
        };
        let rows: Vec<RadiusRow> = (0..=WIDEST * parts as u32).map(row).collect();
        let widest = |fits: &dyn Fn(&RadiusRow) -> bool| {
            rows.iter().take_while(|row| row.radius <= 3 || fits(row)).last().map_or(3, |row| row.radius)
        };
        // A row with a neighbour is at least half a pair.
        let alone = widest(&|row| row.false_pairs <= 0.05 * row.nearest * self.rows as f64 / 2.0);
        let verified = widest(&|row| row.false_pairs <= 5.0 * self.rows as f64 && row.probes <= 10_000);
        Calibration { alone, verified, once: chosen(&self.expected(), self.rows), rows }
    }

    /// What is chosen for hashes of which nothing else is compared: the distance that is usual for their length, or less where
    /// more than one row in a thousand is expected to have another one so near by chance.
    pub fn of_hashes(&self) -> RadiusRow {
        let usual = match self.bits() {
            64 => 10,
            // 31 of 256, as for PDQ.
            bits => bits as u32 / 8 - 1,
        };
        let few = |row: &RadiusRow| row.radius <= 3 || row.false_pairs <= self.rows as f64 / 2000.0;
        let rows = self.calibrate().rows.into_iter().take_while(|row| row.radius <= usual && few(row));
        rows.last().unwrap_or_else(|| unreachable!("0 is always so"))
    }

    /// What is chosen for any number of rows, of which these are some.
    pub fn by_rows(&self) -> ByRows {
        let model = self.expected();
        let mut by_rows = BTreeMap::new();
        let (mut least, mut distance) = (0, chosen(&model, 0));
        while chosen(&model, MOST_ROWS) < distance {
            // The most rows for which it is this distance.
            let (mut fits, mut narrower) = (least, MOST_ROWS);
            while narrower - fits > 1 {
                let middle = fits + (narrower - fits) / 2;
                *(if chosen(&model, middle) < distance { &mut narrower } else { &mut fits }) = middle;
            }
            by_rows.insert(distance, Some(fits));
            (least, distance) = (narrower, chosen(&model, narrower));
        }
        by_rows.insert(distance, None);
        ByRows(by_rows)
    }
}

/// The distance that half of the pairs do not exceed.
fn median(counts: &[f64]) -> usize {
    let (half, mut so_far) = (counts.iter().sum::<f64>() / 2.0, 0.0);
    let reached = counts.iter().position(|count| {
        so_far += count;
        so_far >= half
    });
    reached.unwrap_or(0)
}

/// The distance, less than half of the median, at which there are the fewest pairs; of several the greatest. Below it are
/// copies, if anything: without them it is 0, or what is below is little.
fn gap(counts: &[f64]) -> usize {
    // Two by two: hashes that have as many ones as zeroes are an even number of bits apart.
    let pairs = counts.windows(2).take(median(counts) / 2).map(|two| two[0] + two[1]);
    let fewest = pairs.enumerate().reduce(|best, it| if it.1 <= best.1 { it } else { best });
    fewest.map_or(0, |it| it.0)
}

/// The share of unrelated pairs within each radius, by what pairs are at each distance.
fn model(counts: &[f64]) -> Vec<f64> {
    let total = counts.iter().sum::<f64>();
    if total == 0.0 {
        return vec![0.0; counts.len()];
    }
    let bits = (counts.len() - 1) as f64;
    let moment =
        |power: i32| counts.iter().enumerate().map(|(d, &n)| n * (d as f64).powi(power)).sum::<f64>() / total;
    let mean = moment(1).clamp(0.5, bits - 0.5);
    let variance = moment(2) - moment(1).powi(2);
    let p = mean / bits;
    // The binomial distribution is the narrowest possible; shared vocabulary widens it.
    let spread = ((variance / (bits * p * (1.0 - p)) - 1.0) / (bits - 1.0)).clamp(1e-4, 0.9);
    let strength = 1.0 / spread - 1.0;
    let (alpha, beta) = (p * strength, (1.0 - p) * strength);
    let mut weights = vec![0.0f64; counts.len()];
    let mut log_weight = 0.0;
    for (d, weight) in weights.iter_mut().enumerate() {
        *weight = log_weight;
        let k = d as f64;
        if k < bits {
            log_weight += ((bits - k) * (k + alpha)).ln() - ((k + 1.0) * (bits - 1.0 - k + beta)).ln();
        }
    }
    let top = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().for_each(|weight| *weight = (*weight - top).exp());
    let sum: f64 = weights.iter().sum();
    let mut model: Vec<f64> = cumulative(weights.iter().map(|weight| weight / sum).collect());
    let mut measured: Vec<f64> = cumulative(counts.iter().map(|count| count / total).collect());
    // Pairs where the model has practically none are the near-duplicates.
    let empty = model.iter().rposition(|&share| share < EMPTY);
    let duplicates = empty.map_or(0.0, |radius| measured[radius]);
    measured.iter_mut().for_each(|share| *share = (*share - duplicates).max(0.0));
    let meets = |radius: &usize| measured[*radius] >= ANCHOR && model[*radius] >= ANCHOR / 10.0;
    if let Some(anchor) = (0..counts.len()).find(meets) {
        let raise = (measured[anchor] / model[anchor]).max(1.0);
        for radius in 0..counts.len() {
            model[radius] = if radius >= anchor { measured[radius] } else { model[radius] * raise };
        }
    }
    model
}

/// The share of pairs at each distance if each of so many bits differs with probability `p`.
fn binomial(p: f64, bits: usize) -> impl Iterator<Item = f64> {
    let mut ways = 1.0;
    (0..=bits).map(move |d| {
        if d > 0 {
            ways *= (bits + 1 - d) as f64 / d as f64;
        }
        ways * p.powi(d as i32) * (1.0 - p).powi((bits - d) as i32)
    })
}

/// The widest distance whose unrelated candidates are few enough in a table of so many rows, rounded up to two digits:
/// never wider for more.
fn chosen(model: &[f64], rows: u64) -> u32 {
    let unit = 10u64.pow(rows.max(1).ilog10().saturating_sub(1));
    let rows = rows.div_ceil(unit) * unit;
    // Each side follows the rows in one direction, rounded or not.
    let pairs_of_a_row = (rows as f64 - 1.0).max(0.0) / 2.0;
    let few = (ONCE / rows as f64).max(5.0);
    let fits = |radius: &u32| *radius <= 3 || model[*radius as usize] * pairs_of_a_row <= few;
    (0..=WIDEST_ONCE).take_while(fits).last().unwrap_or(3)
}

/// The distance that is chosen, by the rows of a table: each with the most rows that it is for, the narrowest for any.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByRows(BTreeMap<u32, Option<u64>>);

impl ByRows {
    /// The distance for a table of so many rows.
    pub fn distance(&self, rows: u64) -> Option<u32> {
        let fits = |most: &Option<u64>| most.is_none_or(|most| rows <= most);
        let widest = self.0.iter().rev().find(|(_, most)| fits(most));
        widest.or_else(|| self.0.first_key_value()).map(|(distance, _)| *distance)
    }
}
