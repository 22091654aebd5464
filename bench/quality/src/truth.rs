//! Found pairs against the labels.

use crate::data::{Judged, Matter};
use std::collections::HashSet;

pub type Pair = (usize, usize);

/// The labels as two questions: the pairs of Jaccard >= 0.5, and all of them.
/// A pair that nobody judged is wrong, unless only judged pairs count. Pairs
/// judged `unsure` count for neither side, nor do true pairs that are not asked
/// for.
pub struct Truth {
    pub close: HashSet<Pair>,
    pub all: HashSet<Pair>,
    unsure: HashSet<Pair>,
    different: HashSet<Pair>,
    judged_only: bool,
}

impl Truth {
    pub fn new(judged: &[Judged], judged_only: bool) -> Truth {
        let of = |keep: &dyn Fn(&Judged) -> bool| {
            judged.iter().filter(|it| keep(it)).map(|it| (it.a, it.b)).collect()
        };
        Truth {
            close: of(&|it| it.matter == Matter::Same && it.similarity >= 0.5),
            all: of(&|it| it.matter == Matter::Same),
            unsure: of(&|it| it.matter == Matter::Unsure),
            different: of(&|it| it.matter == Matter::Different),
            judged_only,
        }
    }

    fn is_wrong(&self, pair: &Pair) -> bool {
        if self.judged_only {
            self.different.contains(pair)
        } else {
            !self.all.contains(pair) && !self.unsure.contains(pair)
        }
    }

    /// Precision and recall, where there is something to divide by.
    fn score(&self, found: &[Pair], asked: &HashSet<Pair>) -> (f64, f64) {
        let right = found.iter().filter(|pair| asked.contains(pair)).count() as f64;
        let wrong = found.iter().filter(|pair| self.is_wrong(pair)).count() as f64;
        (right / (right + wrong), right / asked.len() as f64)
    }

    pub fn print(&self, name: &str, found: &[Pair], seconds: f64) {
        let (p5, r5) = self.score(found, &self.close);
        let (pa, ra) = self.score(found, &self.all);
        let cell = |share: f64| if share.is_finite() { format!("{share:.3}") } else { "–".to_owned() };
        let [p5, r5, f5] = [p5, r5, 2.0 * p5 * r5 / (p5 + r5)].map(cell);
        let [pa, ra] = [pa, ra].map(cell);
        println!("| {name} | {p5} | {r5} | {f5} | {pa} | {ra} | {} | {seconds:.2} |", found.len());
    }

    pub fn header() {
        println!(
            "| way | P 0.5 | R 0.5 | F1 0.5 | P all | R all | pairs | s |\n|---|---|---|---|---|---|---|---|"
        );
    }
}
