//! A survey of recipes: fingerprints alone, radius by radius.

use crate::data::{Data, Matter, fail};
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::fingerprint::hamming;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::time::Instant;

/// Prints the survey; false if there are no texts.
pub fn report(data: &Data) -> bool {
    let Some(all) = data.petitions() else { return false };
    let bodies: Vec<&str> = all.iter().map(|petition| petition.body.as_str()).collect();
    let judged: HashMap<(usize, usize), (f64, Matter)> = data
        .judged(&all)
        .unwrap_or_default()
        .iter()
        .map(|it| ((it.a, it.b), (it.similarity, it.matter)))
        .collect();
    let short = data.short_pairs().unwrap_or_default();
    println!(
        "\n## Recipes\n\npetitions: truth = `same` pairs with Jaccard >= 0.5; unsure pairs count for neither side"
    );
    println!("P/R at distance 3, 6, 8, 10, 12 | short: recall (false share) at 6, 10, 13 | MB/s");
    for recipe in recipes() {
        let parsed = TextRecipe::from_json(&recipe).unwrap_or_else(|error| fail("recipe", error));
        let mut extractor = Extractor::new();
        let started = Instant::now();
        let prints: Vec<Option<u64>> = bodies.iter().map(|body| extractor.simhash(body, &parsed)).collect();
        let speed = bodies.iter().map(|body| body.len()).sum::<usize>() as f64
            / started.elapsed().as_secs_f64()
            / 1e6;
        let mut cells = Vec::new();
        for radius in [3, 6, 8, 10, 12] {
            cells.push(petitions(&prints, &judged, radius));
        }
        let short_prints: Vec<(Option<u64>, Option<u64>)> = short
            .iter()
            .map(|pair| (extractor.simhash(&pair.a, &parsed), extractor.simhash(&pair.b, &parsed)))
            .collect();
        let short: Vec<String> =
            [6, 10, 13].iter().map(|&radius| short_recall(&short_prints, radius)).collect();
        println!("{:<74} {} | {} | {speed:.0}", recipe.to_string(), cells.join(" "), short.join(" "));
    }
    true
}

fn recipes() -> Vec<Value> {
    let mut all = vec![json!({})];
    for hmm in [false, true] {
        for weight in ["tf", "log", "one"] {
            all.push(json!({"tokens": "words", "weight": weight, "hmm": hmm}));
        }
    }
    for n in [1, 2, 3, 4] {
        for weight in ["tf", "log"] {
            all.push(json!({"tokens": "chars", "n": n, "weight": weight}));
        }
    }
    for n in [1, 2, 3] {
        for weight in ["tf", "log", "one"] {
            all.push(json!({"tokens": "words+chars", "n": n, "weight": weight}));
        }
    }
    for n in [2, 3] {
        all.push(json!({"tokens": "shingles", "n": n}));
    }
    all
}

fn petitions(prints: &[Option<u64>], judged: &HashMap<(usize, usize), (f64, Matter)>, radius: u32) -> String {
    let truth = |&(similarity, matter): &(f64, Matter)| matter == Matter::Same && similarity >= 0.5;
    let positives = judged.values().filter(|pair| truth(pair)).count();
    let (mut right, mut wrong) = (0, 0);
    for (b, &print_b) in prints.iter().enumerate() {
        for (a, &print_a) in prints[..b].iter().enumerate() {
            let (Some(print_a), Some(print_b)) = (print_a, print_b) else { continue };
            if hamming(print_a, print_b) > radius {
                continue;
            }
            match judged.get(&(a, b)) {
                Some(pair) if truth(pair) => right += 1,
                Some((_, Matter::Same | Matter::Unsure)) => {}
                _ => wrong += 1,
            }
        }
    }
    format!(
        "{:.2}/{:.2}",
        f64::from(right) / f64::from((right + wrong).max(1)),
        f64::from(right) / positives.max(1) as f64
    )
}

fn short_recall(prints: &[(Option<u64>, Option<u64>)], radius: u32) -> String {
    let near =
        |a: Option<u64>, b: Option<u64>| matches!((a, b), (Some(a), Some(b)) if hamming(a, b) <= radius);
    let found = prints.iter().filter(|&&(a, b)| near(a, b)).count();
    let mut false_pairs = 0u32;
    let mut unrelated = 0u32;
    for step in 1..=200 {
        for at in 0..prints.len().saturating_sub(step) {
            unrelated += 1;
            false_pairs += u32::from(near(prints[at].0, prints[at + step].1));
        }
    }
    format!(
        "{:.2}({:.0e})",
        found as f64 / prints.len().max(1) as f64,
        f64::from(false_pairs) / f64::from(unrelated.max(1))
    )
}
