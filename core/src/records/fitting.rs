//! What people's answers say of a model: how much what each field tells really counts.
//!
//! The odds are shift + scale · (prior + Σ factor · told), a logistic regression on the weights of evidence. Before any answer
//! the model is believed: the shift is 0, scale and factors are 1, and few answers move them little (maximum a posteriori); what
//! one share of the answers tells as well changes nothing. Which pairs were asked about does not matter, for a regression takes
//! them as they are. The prior is scaled as well, so that weights that are too large do not bring millions of other pairs near.

use super::Records;
use super::column::NONE;
use super::model::{Fitted, probability};
use super::values::FIELDS;
use crate::interrupt::checked;
use std::sync::Arc;

/// How far the shift may be off, the logarithm of the scale, and that of one factor.
const SPREAD: [f64; 3] = [1.5, 0.7, 0.5];
/// The first step by which the likeliest is looked for, in spreads, and how often it is halved.
const STEPS: (f64, usize) = (1.0, 7);

/// The logarithm of odds from which on evidence is strong: twenty to one (Kass and Raftery 1995).
pub const STRONG: f64 = 3.0;

/// A pair that was answered: the odds of any pair, what each field tells, what is kept of the probability, and the answer.
type Answered = (f64, [f64; FIELDS], f64, bool);

impl Records {
    /// Has the model follow answers about pairs of rows, a share of which is wrong, and no others.
    pub fn fit(&mut self, answers: &[([u32; 2], bool)], wrong: f64) {
        Arc::make_mut(&mut self.model).weights.fitted = Fitted::default();
        let answered = |&(rows, same): &([u32; 2], bool)| {
            let places = rows.map(|row| self.places[row as usize]);
            // What is empty is not compared.
            let (_, told, kept) = (!places.contains(&NONE)).then(|| self.told(places))?;
            Some((self.model.weights.prior, told, kept, same))
        };
        let answered: Vec<Answered> = answers.iter().filter_map(answered).collect();
        let fields = self.model.weights.fields.len();
        Arc::make_mut(&mut self.model).weights.fitted = fit(&answered, fields, wrong);
    }
}

fn fit(answered: &[Answered], fields: usize, wrong: f64) -> Fitted {
    let factors = |at: &[f64]| -> Vec<f64> {
        let factor = |own: &f64| (at[1] * SPREAD[1] + own * SPREAD[2]).exp();
        at[2..].iter().map(factor).collect()
    };
    let likelihood = |at: &[f64]| -> f64 {
        let (shift, scale, factors) = (at[0] * SPREAD[0], (at[1] * SPREAD[1]).exp(), factors(at));
        let tells = |(prior, told, kept, same): &Answered| {
            let odds =
                shift + scale * prior + told.iter().zip(&factors).map(|(told, by)| told * by).sum::<f64>();
            let same_by = wrong + (1.0 - 2.0 * wrong) * kept * probability(odds);
            (if *same { same_by } else { 1.0 - same_by }).ln()
        };
        answered.iter().map(tells).sum::<f64>() - at.iter().map(|it| it * it / 2.0).sum::<f64>()
    };
    if answered.is_empty() {
        return Fitted::default();
    }
    let mut at = vec![0.0; fields + 2];
    let (mut best, mut step) = (likelihood(&at), STEPS.0);
    for _ in 0..STEPS.1 {
        let mut goes_on = true;
        while goes_on {
            goes_on = false;
            for of in checked(0..at.len()) {
                for by in [step, -step] {
                    at[of] += by;
                    let now = likelihood(&at);
                    if now > best + 1e-9 {
                        (best, goes_on) = (now, true);
                        break;
                    }
                    at[of] -= by;
                }
            }
        }
        step /= 2.0;
    }
    // What one share of them, the best, tells as well.
    let (count, same) = (answered.len() as f64, answered.iter().filter(|it| it.3).count() as f64);
    let entropy = |part: f64| if part > 0.0 { part * (part / count).ln() } else { 0.0 };
    if best < entropy(same) + entropy(count - same) + STRONG {
        return Fitted::default();
    }
    let scaled = answered[0].0 * ((at[1] * SPREAD[1]).exp() - 1.0);
    Fitted { shift: at[0] * SPREAD[0] + scaled, factors: factors(&at) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix64;

    /// A hundred pairs with what three fields tell, answered by `same`.
    fn fitted(same: impl Fn(usize, &[f64]) -> bool) -> Fitted {
        let pair = |at: usize| {
            let mut told = [0.0; FIELDS];
            told[..3].copy_from_slice(&[at % 7, at * 3 % 11, at * 5 % 13].map(|it| it as f64 - 4.0));
            (-2.0, told, 1.0, same(at, &told))
        };
        fit(&(0..100).map(pair).collect::<Vec<Answered>>(), 3, 0.05)
    }

    #[test]
    fn what_answers_follow_counts_more_and_what_they_do_not_counts_less() {
        let Fitted { factors: second, .. } = fitted(|_, told| told[1] > 1.0);
        assert!(second[1] > 4.0 * second[0].max(second[2]), "{second:?}");
        // The model was right.
        let Fitted { factors: all, .. } = fitted(|_, told| told.iter().sum::<f64>() > 2.0);
        assert!(all.iter().all(|it| (0.7..1.4).contains(&(it / all[0]))), "{all:?}");
        // Nearly all pairs are two things.
        let strict = fitted(|_, told| told.iter().sum::<f64>() > 7.0);
        assert!(strict.shift < -1.0, "{strict:?}");
    }

    #[test]
    fn answers_that_one_share_tells_as_well_change_nothing() {
        assert_eq!(fit(&[], 2, 0.05), Fitted::default());
        assert_eq!(fitted(|_, _| true), Fitted::default(), "all alike");
        assert_eq!(fitted(|at, _| mix64(at as u64).is_multiple_of(2)), Fitted::default(), "mixed");
        assert_eq!(fitted(|_, told| told.iter().sum::<f64>() < 2.0), Fitted::default(), "contradict");
    }
}
