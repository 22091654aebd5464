//! Figures about a desk, for its README and for judging a change to the texts.

use crate::desk::{Desk, Row};
use crate::plan::{Role, Settings};
use crate::rng::Rng;
use crate::similarity::{grams, jaccard};
use crate::vary::Variant;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

/// Similarities of random pairs of originals of one topic, sorted.
pub fn background(rows: &[Row], pairs: usize, seed: u64) -> Vec<f64> {
    let mut topics: BTreeMap<&str, Vec<Vec<u64>>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.variant == Variant::Original) {
        topics.entry(row.topic).or_default().push(grams(&row.body));
    }
    let topics: Vec<_> = topics.into_values().filter(|bodies| bodies.len() > 1).collect();
    let mut rng = Rng::new(seed, 0, 0);
    let mut found: Vec<f64> = Vec::with_capacity(pairs);
    while found.len() < pairs {
        let bodies = &topics[rng.below(topics.len())];
        let (a, b) = (rng.below(bodies.len()), rng.below(bodies.len()));
        if a != b {
            found.push(jaccard(&bodies[a], &bodies[b]));
        }
    }
    found.sort_by(f64::total_cmp);
    found
}

/// Similarities of the rows to what they were made from, by variant, sorted.
pub fn to_source(settings: &Settings, rows: &[Row]) -> BTreeMap<Variant, Vec<f64>> {
    let mut found: BTreeMap<Variant, Vec<f64>> = BTreeMap::new();
    for (n, row) in rows.iter().enumerate() {
        if let Role::DuplicateOf(source) | Role::MovedFrom(source) = settings.role(n as u64) {
            let source = &rows[source as usize];
            found.entry(row.variant).or_default().push(jaccard(&grams(&row.body), &grams(&source.body)));
        }
    }
    found.values_mut().for_each(|v| v.sort_by(f64::total_cmp));
    found
}

/// The value below which the share `at` of sorted values lies.
pub fn quantile<T: Copy>(sorted: &[T], at: f64) -> T {
    sorted[((sorted.len() - 1) as f64 * at).round() as usize]
}

/// The share of sorted values that are at least `limit`.
pub fn share_from(sorted: &[f64], limit: f64) -> f64 {
    1.0 - sorted.partition_point(|v| *v < limit) as f64 / sorted.len().max(1) as f64
}

/// Figures about the desk; it is held in memory, so take no more rows than fit.
pub fn report(settings: &Settings) -> String {
    let started = std::time::Instant::now();
    let rows: Vec<Row> = Desk::new(settings.clone()).rows().collect();
    let seconds = started.elapsed().as_secs_f64();
    let mut out = String::new();
    let mut line = |text: std::fmt::Arguments| {
        // Writing to a String does not fail.
        let _ = writeln!(out, "{text}");
    };
    line(format_args!("rows: {}, {:.0} per second", rows.len(), rows.len() as f64 / seconds));

    for (what, length) in [("body", lengths(&rows, |row| &row.body)), ("title", lengths(&rows, |r| &r.title))]
    {
        let at = |q| quantile(&length, q);
        line(format_args!(
            "{what} characters: least {}, 1 % {}, quartiles {} {} {}, 99 % {}, most {}",
            at(0.0),
            at(0.01),
            at(0.25),
            at(0.5),
            at(0.75),
            at(0.99),
            at(1.0)
        ));
    }

    let mut variants: BTreeMap<Variant, usize> = BTreeMap::new();
    let mut clusters: HashMap<u64, usize> = HashMap::new();
    for row in &rows {
        *variants.entry(row.variant).or_default() += 1;
        *clusters.entry(row.cluster).or_default() += 1;
    }
    for (variant, n) in &variants {
        let share = *n as f64 / rows.len() as f64 * 100.0;
        line(format_args!("variant {}: {n} rows, {share:.2} %", variant.name()));
    }
    for (lo, hi) in [(1, 1), (2, 2), (3, 3), (4, 9), (10, 50), (51, usize::MAX)] {
        let n = clusters.values().filter(|&&n| n >= lo && n <= hi).count();
        line(format_args!("clusters of {lo} to {hi} rows: {n}"));
    }

    let pairs = background(&rows, 1_000_000, settings.seed);
    line(format_args!(
        "similarity of unrelated pairs of a topic: median {:.3}, 99 % {:.3}, 99.9 % {:.3}, most {:.3}; \
         {:.4} % at least 0.2",
        quantile(&pairs, 0.5),
        quantile(&pairs, 0.99),
        quantile(&pairs, 0.999),
        quantile(&pairs, 1.0),
        share_from(&pairs, 0.2) * 100.0
    ));
    for (variant, found) in to_source(settings, &rows) {
        line(format_args!(
            "similarity of {} to its source: least {:.3}, 1 % {:.3}, 10 % {:.3}, median {:.3}; {:.2} % at \
             least 0.5",
            variant.name(),
            found[0],
            quantile(&found, 0.01),
            quantile(&found, 0.1),
            quantile(&found, 0.5),
            share_from(&found, 0.5) * 100.0
        ));
    }
    out
}

fn lengths(rows: &[Row], field: impl Fn(&Row) -> &String) -> Vec<usize> {
    let mut found: Vec<usize> = rows.iter().map(|row| field(row).chars().count()).collect();
    found.sort_unstable();
    found
}
