//! Weights without labels: a mixture of two kinds of pairs, those of one thing and the others (Fellegi and Sunter 1969),
//! fitted by expectation maximisation (Dempster, Laird and Rubin 1977).
//!
//! Within a kind the levels of fields are taken as independent; what is missing says nothing. The levels of a field have
//! an order: more agreement never tells less.

use super::compare::MISSING;
use crate::interrupt::Meter;
use crate::memory::{OrRaise, filled};

const ROUNDS: usize = 100;
/// The gain in log-likelihood per pair from which on another round is worth it.
const GAIN: f64 = 1e-6;
/// Pairs that are taken to have been seen of each kind, spread over the levels, so that none is impossible.
const PRIOR: f64 = 1.0;

/// Pairs of the same levels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Alike<'l> {
    pub levels: &'l [u8],
    pub count: f64,
    /// How likely they are of one thing, to begin with.
    pub begin: f64,
}

/// The weights of levels.
#[derive(Debug, Clone, Default)]
pub(super) struct Mixture {
    /// ln of the odds that a pair is of one thing.
    pub prior: f64,
    /// For each field and level ln of how much likelier it is of one thing.
    pub weights: Vec<Vec<f64>>,
    /// The penalised log-likelihood in each round.
    #[cfg(test)]
    pub likelihoods: Vec<f64>,
}

impl Mixture {
    /// Learns the weights of fields, the levels of which have these orders.
    pub(super) fn fit(pairs: &[Alike<'_>], orders: &[Vec<u8>]) -> Mixture {
        let mut posteriors = filled(0f64, pairs.len()).or_raise();
        posteriors.iter_mut().zip(pairs).for_each(|(posterior, pair)| *posterior = pair.begin);
        let total: f64 = pairs.iter().map(|pair| pair.count).sum();
        let (mut mixture, mut before, mut meter) = (Mixture::default(), f64::NEG_INFINITY, Meter::new());
        for _ in 0..ROUNDS {
            // Ln of the share of each kind, and of each level within.
            let mut shares = [PRIOR; 2];
            let even = |order: &Vec<u8>| vec![PRIOR / order.len() as f64; order.len()];
            let mut tables = [0, 1].map(|_| orders.iter().map(even).collect::<Vec<_>>());
            for (pair, posterior) in pairs.iter().zip(&posteriors) {
                meter.work(4 * orders.len());
                let counts = [pair.count * posterior, pair.count * (1.0 - posterior)];
                for ((share, table), count) in shares.iter_mut().zip(&mut tables).zip(counts) {
                    *share += count;
                    known(pair.levels).for_each(|(field, level)| table[field][level] += count);
                }
            }
            let shares = shares.map(|share| (share / (total + 2.0 * PRIOR)).ln());
            let mut likelihood = PRIOR * (shares[0] + shares[1]);
            let [same, other] = &mut tables;
            for (order, (same, other)) in orders.iter().zip(same.iter_mut().zip(other)) {
                keep_order(order, same, other);
                for table in [same, other] {
                    let sum: f64 = table.iter().sum();
                    table.iter_mut().for_each(|share| *share = (*share / sum).ln());
                    likelihood += table.iter().sum::<f64>() * PRIOR / order.len() as f64;
                }
            }
            for (pair, posterior) in pairs.iter().zip(&mut posteriors) {
                meter.work(4 * orders.len());
                let [same, other] = [0, 1].map(|kind| {
                    shares[kind]
                        + known(pair.levels).map(|(field, level)| tables[kind][field][level]).sum::<f64>()
                });
                let most = same.max(other);
                likelihood += pair.count * (most + ((same - most).exp() + (other - most).exp()).ln());
                *posterior = probability(same - other);
            }
            let [same, other] = &tables;
            let tell =
                |(same, other): (&Vec<f64>, &Vec<f64>)| same.iter().zip(other).map(|(x, y)| x - y).collect();
            mixture.prior = shares[0] - shares[1];
            mixture.weights = same.iter().zip(other).map(tell).collect();
            #[cfg(test)]
            mixture.likelihoods.push(likelihood);
            if likelihood - before < GAIN * total {
                break;
            }
            before = likelihood;
        }
        mixture
    }

    /// ln of the odds that a pair of these levels is of one thing.
    pub(super) fn odds(&self, levels: &[u8]) -> f64 {
        self.prior + known(levels).map(|(field, level)| self.weights[field][level]).sum::<f64>()
    }
}

/// The probability of odds.
pub(super) fn probability(odds: f64) -> f64 {
    1.0 / (1.0 + (-odds).exp())
}

/// Fields and their levels, but for what is missing.
fn known(levels: &[u8]) -> impl Iterator<Item = (usize, usize)> + '_ {
    levels
        .iter()
        .enumerate()
        .filter(|(_, level)| **level != MISSING)
        .map(|(field, &level)| (field, level as usize))
}

/// The most likely counts of which a later level never tells less for the same than an earlier one: where two would, their
/// share of the same is taken as one (isotonic regression by pooling; Dykstra, Kochar and Robertson 1995).
fn keep_order(order: &[u8], same: &mut [f64], other: &mut [f64]) {
    // Levels taken together: how many, and their counts.
    let mut blocks: Vec<(usize, f64, f64)> = Vec::with_capacity(order.len());
    for &level in order {
        blocks.push((1, same[level as usize], other[level as usize]));
        while let [.., (count, a, b), (more, c, d)] = blocks[..]
            && c * b < a * d
        {
            blocks.truncate(blocks.len() - 2);
            blocks.push((count + more, a + c, b + d));
        }
    }
    let mut levels = order.iter();
    for (count, a, b) in blocks {
        for &level in levels.by_ref().take(count) {
            let both = same[level as usize] + other[level as usize];
            same[level as usize] = both * a / (a + b);
            other[level as usize] = both * b / (a + b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use proptest::prelude::*;

    fn orders() -> Vec<Vec<u8>> {
        vec![vec![0, 1, 2], vec![0, 2, 1, 3], vec![0, 1], vec![0]]
    }

    proptest! {
        /// Whatever the pairs: no round lowers the likelihood, and no weight falls along its order or is infinite.
        #[test]
        fn likelihood_never_falls_and_weights_keep_their_order(
            drawn in prop::collection::vec((0u8..4, 0u8..5, 0u8..3, 0u8..2, 1u8..50, 0.0f64..1.0), 0..60),
        ) {
            let level = |level: u8, levels: u8| if level < levels { level } else { MISSING };
            let levels: Vec<[u8; 4]> =
                drawn.iter().map(|&(a, b, c, d, ..)| [level(a, 3), level(b, 4), level(c, 2), level(d, 1)]).collect();
            let both = drawn.iter().zip(&levels);
            let alike = both.map(|(it, levels)| Alike { levels, count: f64::from(it.4), begin: it.5 });
            let pairs: Vec<Alike<'_>> = alike.collect();
            let mixture = Mixture::fit(&pairs, &orders());
            for two in mixture.likelihoods.windows(2) {
                prop_assert!(two[1] >= two[0] - 1e-9 * two[0].abs(), "{:?}", mixture.likelihoods);
            }
            for (order, weights) in orders().iter().zip(&mixture.weights) {
                for two in order.windows(2) {
                    prop_assert!(weights[two[1] as usize] >= weights[two[0] as usize] - 1e-9);
                }
                prop_assert!(weights.iter().all(|weight| weight.is_finite()));
            }
            prop_assert!(mixture.prior.is_finite());
        }
    }

    /// Of pairs drawn from known weights it finds these.
    #[test]
    fn known_weights_are_found() {
        let mut random = SplitMix64::new(7);
        let drawn: Vec<[u8; 3]> = (0..20_000)
            .map(|_| {
                let agree = if random.below(10) == 0 { [90, 80, 95] } else { [10, 30, 5] };
                agree.map(|agree| u8::from(random.below(100) < agree))
            })
            .collect();
        let alike = |levels: &'_ [u8; 3]| f64::from(levels.iter().sum::<u8>()) / 3.5;
        let pairs: Vec<Alike<'_>> =
            drawn.iter().map(|levels| Alike { levels, count: 1.0, begin: alike(levels) }).collect();
        let mixture = Mixture::fit(&pairs, &[vec![0, 1], vec![0, 1], vec![0, 1]]);
        assert!((probability(mixture.prior) - 0.1).abs() < 0.02, "{mixture:?}");
        for (weights, [m, u]) in mixture.weights.iter().zip([[0.9f64, 0.1f64], [0.8, 0.3], [0.95, 0.05]]) {
            assert!((weights[1] - (m / u).ln()).abs() < 0.3, "{mixture:?}");
            assert!((weights[0] - ((1.0 - m) / (1.0 - u)).ln()).abs() < 0.4, "{mixture:?}");
        }
    }
}
