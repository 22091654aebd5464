//! Limits chosen anew by what people have decided.
//!
//! How likely a pair is the same by where it stands to the limit: a logistic curve, averaged over all that the answers allow
//! (one in twenty may be wrong). The limit is where the expected F1 of the pairs that hang on it is greatest. Of records the model
//! is fitted first.

use crate::dedup::{Found, Limits, Method};
use crate::details::Statistics;
use crate::external::{Host, Result};
use crate::interrupt::checked;
use crate::records::{Model, STRONG, UNSURE};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is chosen anew.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Refit {
    /// The least similarity or probability.
    pub similarity: Option<f64>,
    /// The largest distance.
    pub distance: Option<u32>,
    /// The kinds of details that count.
    pub details: Option<Vec<&'static str>>,
    /// Slots of templates that tell nothing, by their names.
    pub slots: Vec<String>,
    /// What tells about records.
    pub model: Option<Arc<Model>>,
    /// Answers that could be used: that two rows are the same, and that they are not.
    pub answers: [usize; 2],
    /// Whether these are too few, or nearly all of one kind, to choose a limit by.
    pub is_little: bool,
    /// The F1 that is expected with the limit as it is and as it will be.
    pub expected: Option<[f64; 2]>,
}

/// The fewest answers of either kind by which a limit is chosen, and of both.
const FEWEST: (usize, usize) = (3, 10);
/// The fewest answers about a kind of details, and the share of them from which on it counts no more or does.
const OF_KIND: (usize, f64) = (4, 0.65);
/// The fewest pairs that are the same, with none that is not, by which a slot tells nothing.
const OF_SLOT: usize = 2;
/// The share of answers that are wrong.
const WRONG: f64 = 0.05;
/// How far the limit may be off, and the logarithm of the slope, before anything is asked.
const SPREAD: (f64, f64) = (4.0, 1.0);
/// By how much the expected F1 must rise.
const GAIN: f64 = 0.002;

/// Pairs that may be asked about while limits are chosen.
const SEEN: usize = 1000;

/// Chooses limits by the decisions about rows that are there.
pub fn refit<H: Host>(found: &mut Found<H::File>, limits: Limits, host: &mut H) -> Result<Refit> {
    let mut refit = Refit::default();
    let mut looked = Vec::new();
    for (rows, same) in checked(&found.answers()?).copied() {
        host.step();
        let pair = rows.map(|row| found.rows.first[row]);
        let kinds: Vec<&str> = found.details(pair)?.into_iter().map(|it| it.kind).collect();
        looked.push((found.stand(pair)?, kinds, same, pair));
    }
    const KINDS: [&str; 4] = ["name", "date", "number", "slot"];
    let by_records = found.options.method == Method::Records;
    let before: Vec<&str> =
        KINDS.into_iter().filter(|kind| found.options.alike.details.is_some_and(|it| it.has(kind))).collect();
    // Nothing else tells these apart.
    let alone = |kind: &&str, kinds: &[&str]| {
        kinds.contains(kind) && kinds.iter().all(|it| it == kind || !before.contains(it))
    };
    let share = |same: usize, all: usize| (same as f64 + 1.0) / (all as f64 + 2.0);
    let mut slots: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (at, (stand, kinds, _, pair)) in looked.iter().enumerate() {
        if *stand >= 0.0 && kinds.contains(&"slot") && before.contains(&"slot") {
            found.slot(*pair)?.into_iter().for_each(|name| slots.entry(name).or_default().push(at));
        }
    }
    for (name, of) in slots {
        let pairs: BTreeSet<[u32; 2]> = of.iter().map(|&at| looked[at].3).collect();
        if pairs.len() >= OF_SLOT && of.iter().all(|&at| looked[at].2) {
            of.iter().for_each(|&at| looked[at].1.clear());
            refit.slots.push(name);
        }
    }
    let counts = |kind: &&str| {
        let of = looked.iter().filter(|it| it.0 >= 0.0 && alone(kind, &it.1));
        let (all, same) = (of.clone().count(), of.filter(|it| it.2).count());
        let share = share(same, all);
        match before.contains(kind) {
            true => all < OF_KIND.0 || share < OF_KIND.1,
            false => all >= OF_KIND.0 && share <= 1.0 - OF_KIND.1,
        }
    };
    let details: Vec<&'static str> = KINDS.into_iter().filter(counts).collect();
    looked.retain(|(_, kinds, ..)| !kinds.iter().any(|kind| details.contains(kind)));
    let by_texts = !matches!(found.options.method, Method::Records | Method::Hash);
    if by_texts && details != before {
        refit.details = Some(details);
    }
    let mut answers: Vec<(f64, bool)> = looked.iter().map(|it| (it.0, it.2)).collect();
    let same = answers.iter().filter(|it| it.1).count();
    refit.answers = [same, answers.len() - same];
    if answers.len() < FEWEST.1 || refit.answers.iter().any(|count| *count < FEWEST.0) {
        refit.is_little = true;
        return Ok(refit);
    }
    if let Some(records) = found.groups.records.as_mut().filter(|_| by_records) {
        let of_pairs: Vec<([u32; 2], bool)> = looked.iter().map(|it| (it.3, it.2)).collect();
        records.fit(&of_pairs, WRONG);
        let model = Arc::clone(&records.model);
        found.options.alike.statistics = Some(Arc::new(Statistics::of_records(Arc::clone(&model))));
        refit.model = Some(model);
        for (answer, looked) in answers.iter_mut().zip(&looked) {
            answer.0 = found.stand(looked.3)?;
        }
    }
    let mut pool = found.review(SEEN, limits, host)?.pool;
    // What is decided hangs on the limit as well.
    pool.extend(answers.iter().map(|answer| (answer.0, 1.0)));
    if let Some((stand, expected)) = limit(&answers, &pool) {
        let at = found.limit_at(stand);
        if by_records || found.options.alike.similarity > 0.0 {
            // Rows that are rather two things are never taken for one.
            let least = if by_records { UNSURE } else { 1e-4 };
            let limit = ((at * 1e4).round() / 1e4).clamp(least, 1.0 - 1e-4);
            if limit == found.options.alike.similarity {
                return Ok(refit);
            }
            refit.similarity = Some(limit);
        } else {
            let most = u64::BITS as usize * found.rows.parts();
            refit.distance = Some(at.round().clamp(0.0, most as f64) as u32);
        }
        refit.expected = Some(expected);
    }
    Ok(refit)
}

/// Where the limit should stand to what it is, and the expected F1 before and after; `None`: where it is. `pool`: pairs that
/// hang on it, by where they stand, and how many.
fn limit(answers: &[(f64, bool)], pool: &[(f64, f64)]) -> Option<(f64, [f64; 2])> {
    let sigmoid = |odds: f64| 1.0 / (1.0 + (-odds).exp());
    let (mut curves, mut best, mut priors) = (Vec::new(), f64::NEG_INFINITY, 0.0);
    for at in checked(-24i32..=24) {
        for slope in -8i32..=8 {
            let (shift, slope) = (f64::from(at) / 2.0, f64::from(slope) / 4.0);
            let prior = -(shift / SPREAD.0).powi(2) / 2.0 - (slope / SPREAD.1).powi(2) / 2.0;
            priors += prior.exp();
            let slope = slope.exp();
            let tells = |(stand, same): &(f64, bool)| {
                let p = WRONG + (1.0 - 2.0 * WRONG) * sigmoid(slope * (stand - shift));
                (if *same { p } else { 1.0 - p }).ln()
            };
            let weight = prior + answers.iter().map(tells).sum::<f64>();
            best = best.max(weight);
            curves.push((shift, slope, weight));
        }
    }
    curves.iter_mut().for_each(|curve| curve.2 = (curve.2 - best).exp());
    let total: f64 = curves.iter().map(|it| it.2).sum();
    // Answers that one share clearly tells better than any curve, for they are mixed all over the scale or contradict it, tell no limit.
    let (all, same) = (answers.len(), answers.iter().filter(|it| it.1).count());
    let binomial: f64 = (1..=same).map(|it| ((all - same + it) as f64 / it as f64).ln()).sum();
    if best + (total / priors).ln() + STRONG < -binomial - (all as f64 + 1.0).ln() {
        return None;
    }
    let likely = |stand: f64| {
        curves.iter().map(|(shift, slope, weight)| weight * sigmoid(slope * (stand - shift))).sum::<f64>()
            / total
    };
    let mut pool: Vec<(f64, f64, f64)> =
        pool.iter().map(|&(stand, count)| (stand, count, likely(stand) * count)).collect();
    pool.sort_by(|a, b| b.0.total_cmp(&a.0));
    let truth: f64 = pool.iter().map(|it| it.2).sum();
    let f1 = |count: f64, right: f64| 2.0 * right / (count + truth).max(1e-9);
    let (mut count, mut right, mut now) = (0.0, 0.0, 0.0);
    let mut most = (0.0, 0.0);
    for (at, &(stand, pairs, same)) in pool.iter().enumerate() {
        (count, right) = (count + pairs, right + same);
        let f1 = f1(count, right);
        if stand >= 0.0 {
            now = f1;
        }
        if f1 > most.1 {
            // Between it and the next.
            let next = pool.get(at + 1).map_or(stand - 0.25, |it| it.0);
            most = ((stand + next.max(stand - 0.25)) / 2.0, f1);
        }
    }
    (most.1 > now + GAIN && most.0.abs() > 0.1).then_some((most.0, [now, most.1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers all over the scale, that a pair is the same from `edge` on; every twentieth is wrong.
    fn chosen(edge: f64) -> Option<f64> {
        let stands = (0..50).map(|at| f64::from(at * 7 % 50) * 0.32 - 8.0);
        let answers: Vec<(f64, bool)> =
            stands.enumerate().map(|(at, stand)| (stand, (stand >= edge) != (at % 20 == 9))).collect();
        by(&answers)
    }

    fn by(answers: &[(f64, bool)]) -> Option<f64> {
        let pool: Vec<(f64, f64)> = (-40..40).map(|at| (f64::from(at) / 4.0 + 0.125, 10.0)).collect();
        limit(answers, &pool).map(|it| it.0)
    }

    #[test]
    fn answers_that_follow_no_limit_change_none() {
        let answers = |says: fn(i32, f64) -> bool| -> Vec<(f64, bool)> {
            let of = |at| (at, f64::from(at) * 0.4 - 8.0);
            (0..40).map(of).map(|(at, stand)| (stand, says(at, stand))).collect()
        };
        assert_eq!(by(&answers(|_, stand| stand < 0.0)), None, "contradicts");
        assert_eq!(by(&answers(|at, _| at % 2 == 0)), None, "mixed");
        assert_eq!(by(&answers(|at, _| at % 5 == 0)), None, "mixed, few");
    }

    #[test]
    fn the_limit_goes_where_the_answers_change() {
        for edge in [-5.0, -2.5, 2.5, 5.0] {
            assert!((chosen(edge).unwrap() - edge).abs() < 1.0, "{edge}: {:?}", chosen(edge));
        }
        assert!(chosen(0.0).is_none_or(|limit| limit.abs() < 0.7), "{:?}", chosen(0.0));
    }
}
