//! Pairs of rows that are worth comparing: each row with those that share most with it.

use super::words::Weighed;
use crate::hash::mix64;
use crate::interrupt::{self, Meter};
use crate::memory::{OrRaise, Room, filled};

/// Partners that a row asks for: copies beyond them are found by those that they repeat.
const PARTNERS: usize = 10;
/// Rows that are looked at for a row, by its rarest words; as many again have the last of these words.
const LOOKED_AT: usize = 2_000;

/// Two rows, the one of the lesser number first, and what they share: the cosine of their words by weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Candidate {
    pub a: u32,
    pub b: u32,
    pub share: f64,
}

/// Shares of rows.
pub(super) struct Shares {
    /// The sum of squares of each row's weights.
    totals: Vec<f64>,
    /// The greatest share of each row.
    best: Vec<f64>,
}

impl Shares {
    /// What two rows share, by their words.
    pub(super) fn of(&self, weighed: &Weighed, rows: [u32; 2], words: &[Vec<u32>; 2]) -> f64 {
        let [x, y] = words;
        let shared: f64 = common(x, y).map(|word| weighed.weights[word as usize].powi(2)).sum();
        let [a, b] = rows.map(|row| self.totals[row as usize]);
        if shared > 0.0 { shared / (a * b).sqrt() } else { 0.0 }
    }

    /// A share beside the greatest one of a row.
    pub(super) fn relative(&self, share: f64, row: u32) -> f64 {
        let best = self.best[row as usize].max(share);
        if best > 0.0 { share / best } else { 0.0 }
    }
}

/// What two sorted lists have in common.
pub(super) fn common<'l>(x: &'l [u32], y: &'l [u32]) -> impl Iterator<Item = u32> + 'l {
    let mut rest = y;
    interrupt::checked(x).copied().filter(move |word| {
        while let [first, others @ ..] = rest
            && first < word
        {
            rest = others;
        }
        rest.first() == Some(word)
    })
}

/// Candidates in order, each once, and the shares of rows.
pub(super) fn candidates(of: &Weighed) -> (Vec<Candidate>, Shares) {
    let rows = of.rows();
    let (mut words, mut meter) = ([Vec::new(), Vec::new()], Meter::new());
    let mut totals = filled(0f64, rows).or_raise();
    // Of each row what does not depend on its place decides between equals.
    let mut marks = filled(0u64, rows).or_raise();
    for row in 0..rows {
        let words = &mut words[0];
        of.all(row as u32, words);
        meter.work(words.len() + 1);
        totals[row] = words.iter().map(|&word| of.weights[word as usize].powi(2)).sum();
        marks[row] = words.iter().fold(0, |mark, &word| mix64(mark ^ u64::from(word)));
    }
    let looked_at = of.index.shared(LOOKED_AT);
    let all = (0..rows).map(|row| (row as u32, of.index.of_all(row * of.columns..(row + 1) * of.columns)));
    let (holders, ends) = of.index.holders(&looked_at, all);
    let mut found: Vec<(u32, u32)> = Vec::new();
    let mut shared = filled(0f64, rows).or_raise();
    let mut touched: Vec<u32> = Vec::new();
    for row in 0..rows as u32 {
        let words = &mut words[0];
        of.all(row, words);
        for &word in &*words {
            // Too many have the ones that follow.
            if word as usize >= looked_at.end || touched.len() >= LOOKED_AT {
                break;
            }
            let Some(at) = (word as usize).checked_sub(looked_at.start) else { continue };
            let holders = &holders[if at == 0 { 0 } else { ends[at - 1] }..ends[at]];
            meter.work(holders.len() + 1);
            touched.room(holders.len()).or_raise();
            for &other in holders.iter().filter(|&&other| other != row) {
                if shared[other as usize] == 0.0 {
                    touched.push(other);
                }
                shared[other as usize] += of.weights[word as usize].powi(2);
            }
        }
        let share = |other: u32| shared[other as usize] / totals[other as usize].sqrt();
        let order = |x: &u32, y: &u32| {
            share(*y).total_cmp(&share(*x)).then(marks[*x as usize].cmp(&marks[*y as usize]))
        };
        meter.work(touched.len());
        if touched.len() > PARTNERS {
            touched.select_nth_unstable_by(PARTNERS - 1, order);
        }
        found.room(PARTNERS).or_raise();
        found.extend(touched.iter().take(PARTNERS).map(|&other| (row.min(other), row.max(other))));
        touched.drain(..).for_each(|other| shared[other as usize] = 0.0);
    }
    drop((holders, ends, shared));
    interrupt::sort_and_dedup(&mut found);
    let mut shares = Shares { totals, best: filled(0f64, rows).or_raise() };
    let mut candidates = Vec::new();
    candidates.room(found.len()).or_raise();
    for (a, b) in found {
        of.all(a, &mut words[0]);
        of.all(b, &mut words[1]);
        let share = shares.of(of, [a, b], &words);
        for row in [a, b] {
            shares.best[row as usize] = shares.best[row as usize].max(share);
        }
        candidates.push(Candidate { a, b, share });
    }
    (candidates, shares)
}
