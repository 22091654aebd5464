//! Short texts: exact pairs of texts, and what fingerprints can do.

use crate::data::{Data, fail};
use dedup_core::evaluate::{Background, Profile, similar_pairs};
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::signature::{hamming, jaccard};
use serde_json::json;
use std::collections::HashSet;
use std::ops::ControlFlow;
use std::time::Instant;

const N: usize = 2;
const THRESHOLD: f64 = 0.5;
/// Texts compared with all texts, one by one, as a check of the truth.
const CHECKED: usize = 100;

pub fn report(data: &Data) {
    let texts = data.short_texts();
    let edited = data.short_pairs();
    println!("\n## {} short texts, {} edited pairs\n", texts.len(), edited.len());
    let mut profile = Profile::default();
    texts.iter().for_each(|text| profile.add(text));
    let suggestion = profile.suggest();
    println!(
        "dedup_suggest: {} {} n={} threshold={}\n",
        suggestion.recipe,
        if suggestion.kind.compare_texts() { "near_dup_text_pairs" } else { "near_dup" },
        suggestion.n,
        suggestion.threshold
    );

    let join = |threshold: f64| {
        let started = Instant::now();
        let mut pairs: Vec<(usize, usize)> = Vec::new();
        similar_pairs(texts.iter().map(String::as_str), N, threshold, |pair| {
            pairs.push((pair.a, pair.b));
            ControlFlow::Continue(())
        });
        (pairs, started.elapsed().as_secs_f64())
    };
    let (truth, seconds) = join(THRESHOLD);
    // The join is exact; that it is, is checked against plain comparison of a
    // sample with everything.
    let step = texts.len().div_ceil(CHECKED).max(1);
    let known: HashSet<(usize, usize)> = truth.iter().copied().collect();
    let (mut expected, mut agreed) = (0, 0);
    for a in (0..texts.len()).step_by(step) {
        for b in 0..texts.len() {
            if a != b && jaccard(&texts[a], &texts[b], N) >= THRESHOLD {
                expected += 1;
                agreed += usize::from(known.contains(&(a.min(b), a.max(b))));
            }
        }
    }
    let found_edited = |keep: &dyn Fn(&str, &str) -> bool| {
        edited.iter().filter(|(a, b)| keep(a, b)).count() as f64 / edited.len().max(1) as f64
    };
    println!("| way | pairs J >= 0.5 found | edited pairs found | candidates | s |\n|---|---|---|---|---|");
    println!(
        "| near_dup_text_pairs({THRESHOLD}, {N}) | 1.000 of {} ({agreed} of {expected} in {CHECKED} texts against all) | {:.3} | {} | {seconds:.1} |",
        truth.len(),
        found_edited(&|a, b| jaccard(a, b, N) >= THRESHOLD),
        truth.len(),
    );
    let (wider, seconds) = join(suggestion.threshold);
    println!(
        "| near_dup_text_pairs({}, {N}) (dedup_suggest) | 1.000 | {:.3} | {} | {seconds:.1} |",
        suggestion.threshold,
        found_edited(&|a, b| jaccard(a, b, N) >= suggestion.threshold),
        wider.len(),
    );
    for (name, recipe) in [
        ("chars n=[1,2]", json!({"tokens": "chars", "n": [1, 2]})),
        ("default", json!({})),
        ("P1: shingles of 2 words", json!({"tokens": "shingles", "n": 2})),
        ("P2/P4: words tf", json!({"tokens": "words"})),
    ] {
        let recipe = TextRecipe::from_json(&recipe).unwrap_or_else(|error| fail("recipe", error));
        let mut extractor = Extractor::new();
        let started = Instant::now();
        let prints: Vec<Option<u64>> = texts.iter().map(|text| extractor.simhash(text, &recipe)).collect();
        let seconds = started.elapsed().as_secs_f64();
        let known: Vec<u64> = prints.iter().flatten().copied().collect();
        let background = Background::measure(&known);
        let calibration = background.calibrate();
        let mut radii = vec![3, 4, 8, calibration.verified, 12, 16];
        radii.sort_unstable();
        radii.dedup();
        let within =
            |a: Option<u64>, b: Option<u64>, radius| a.zip(b).is_some_and(|(a, b)| hamming(a, b) <= radius);
        for radius in radii {
            let found = truth.iter().filter(|&&(a, b)| within(prints[a], prints[b], radius)).count();
            let mut second = Extractor::new();
            let pairs = edited
                .iter()
                .filter(|(a, b)| within(second.simhash(a, &recipe), second.simhash(b, &recipe), radius));
            let pairs = pairs.count() as f64 / edited.len().max(1) as f64;
            let expected = calibration.rows.get(radius as usize).map_or(f64::NAN, |row| row.false_pairs);
            println!(
                "| {name}, radius {radius}{} | {:.3} | {pairs:.3} | about {:.0} false | {seconds:.1} |",
                if radius == calibration.verified { " (near_dup_calibrate)" } else { "" },
                found as f64 / truth.len().max(1) as f64,
                expected,
            );
        }
    }
}
