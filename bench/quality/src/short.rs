//! Short texts: exact pairs of texts, and what fingerprints can do.

use crate::data::{Data, Matter, ShortPair, fail};
use crate::lsh;
use crate::petitions::text_pairs;
use crate::truth::Pair;
use dedup_core::evaluate::{Background, Profile};
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::fingerprint::hamming;
use dedup_core::similarity::jaccard;
use dedup_detectors::minhash::{bands, text_signature};
use serde_json::json;
use std::collections::HashSet;
use std::time::Instant;

const THRESHOLD: f64 = 0.5;
/// Texts compared with all texts, one by one, as a check of the truth.
const CHECKED: usize = 100;

/// Shares of judged pairs that a way calls near-duplicates.
struct Shares {
    same: f64,
    precision: Option<f64>,
}

fn shares(judged: &[ShortPair], mut near: impl FnMut(&str, &str) -> bool) -> Shares {
    let (mut same, mut found, mut wrong, mut others) = (0usize, 0usize, 0usize, 0usize);
    for pair in judged {
        let hit = usize::from(pair.matter != Matter::Unsure && near(&pair.a, &pair.b));
        match pair.matter {
            Matter::Same => (same, found) = (same + 1, found + hit),
            Matter::Different => (others, wrong) = (others + 1, wrong + hit),
            Matter::Unsure => {}
        }
    }
    let precision = (others > 0 && found + wrong > 0).then(|| found as f64 / (found + wrong) as f64);
    Shares { same: found as f64 / same.max(1) as f64, precision }
}

fn print(way: &str, pairs: &str, shares: &Shares, reported: &str, seconds: f64) {
    let precision = shares.precision.map_or("–".into(), |share| format!("{share:.3}"));
    println!("| {way} | {pairs} | {:.3} | {precision} | {reported} | {seconds:.1} |", shares.same);
}

fn join(texts: &[String], n: usize, threshold: f64) -> (Vec<Pair>, f64) {
    let started = Instant::now();
    let pairs = text_pairs(texts, n, threshold);
    (pairs, started.elapsed().as_secs_f64())
}

/// Texts that dedup_suggest looks at closely.
const SAMPLE: usize = 20_000;

/// Prints the tables; false if there are no texts.
pub fn report(data: &Data) -> bool {
    let Some(texts) = data.short_texts() else { return false };
    let judged = data.short_pairs().unwrap_or_default();
    println!("\n## {} short texts, {} judged pairs\n", texts.len(), judged.len());
    let mut profile = Profile::default();
    texts.iter().for_each(|text| profile.add(text));
    let suggestion = profile.suggest(&texts[..texts.len().min(SAMPLE)], texts.len() as u64);
    let (n, threshold) = (suggestion.n as usize, suggestion.threshold);
    println!("dedup_suggest: {} {}\n", suggestion.recipe, suggestion.reason);

    let (truth, seconds) = join(&texts, n, THRESHOLD);
    println!("The join checked against plain comparison: {}.\n", checked(&texts, &truth, n));
    println!(
        "| way | pairs of J >= {THRESHOLD} found | judged same found | precision among judged | reported | s |"
    );
    println!("|---|---|---|---|---|---|");
    let by_text = |limit: f64| shares(&judged, |a, b| jaccard(a, b, n) >= limit);
    let found = format!("1.000 of {}", truth.len());
    print(
        &format!("near_dup_pairs by text ({THRESHOLD}, {n})"),
        &found,
        &by_text(THRESHOLD),
        &truth.len().to_string(),
        seconds,
    );
    let (wider, seconds) = join(&texts, n, threshold);
    let way = format!("near_dup_pairs by text ({threshold}, {n}) (dedup_suggest)");
    print(&way, "1.000", &by_text(threshold), &wider.len().to_string(), seconds);
    drop(wider);
    minhash(&texts, &judged, &truth, n);
    fingerprints(&texts, &judged, &truth);
    true
}

/// The join is exact; that it is, is checked against plain comparison of a
/// sample with everything.
fn checked(texts: &[String], truth: &[Pair], n: usize) -> String {
    let step = texts.len().div_ceil(CHECKED).max(1);
    let known: HashSet<Pair> = truth.iter().copied().collect();
    let (mut expected, mut agreed) = (0, 0);
    for a in (0..texts.len()).step_by(step) {
        for b in 0..texts.len() {
            if a != b && jaccard(&texts[a], &texts[b], n) >= THRESHOLD {
                expected += 1;
                agreed += usize::from(known.contains(&(a.min(b), a.max(b))));
            }
        }
    }
    format!("{agreed} of {expected} pairs of {} texts", texts.len().div_ceil(step))
}

fn minhash(texts: &[String], judged: &[ShortPair], truth: &[Pair], n: usize) {
    for threshold in [0.4, THRESHOLD] {
        let started = Instant::now();
        let found = lsh::pairs(texts.iter().map(String::as_str), n, threshold);
        let seconds = started.elapsed().as_secs_f64();
        let (count, rows) = lsh::shape(threshold);
        let keys = |text: &str| text_signature(text, 128, n).and_then(|all| bands(&all, count, rows).ok());
        let near = |a: &str, b: &str| {
            keys(a).zip(keys(b)).is_some_and(|(a, b)| a.iter().zip(&b).any(|(a, b)| a == b))
        };
        let shares = shares(judged, near);
        let reported = found.len();
        let known: HashSet<Pair> = found.into_iter().collect();
        let recall =
            truth.iter().filter(|pair| known.contains(pair)).count() as f64 / truth.len().max(1) as f64;
        let way =
            format!("MinHash, {n}-grams, threshold {threshold} ({count} bands of {rows}), not verified");
        print(&way, &format!("{recall:.3}"), &shares, &reported.to_string(), seconds);
    }
}

fn fingerprints(texts: &[String], judged: &[ShortPair], truth: &[Pair]) {
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
        let calibration = Background::measure(&known[..]).calibrate();
        let mut radii = vec![3, 4, 8, calibration.verified, 12, 16];
        radii.sort_unstable();
        radii.dedup();
        let within =
            |a: Option<u64>, b: Option<u64>, radius| a.zip(b).is_some_and(|(a, b)| hamming(a, b) <= radius);
        for radius in radii {
            let found = truth.iter().filter(|&&(a, b)| within(prints[a], prints[b], radius)).count();
            let found = found as f64 / truth.len().max(1) as f64;
            let shares = shares(judged, |a, b| {
                within(extractor.simhash(a, &recipe), extractor.simhash(b, &recipe), radius)
            });
            let expected = calibration.rows.get(radius as usize).map_or(f64::NAN, |row| row.false_pairs);
            let mark = if radius == calibration.verified { " (near_dup_calibrate)" } else { "" };
            let reported = format!("about {expected:.0} false");
            print(
                &format!("{name}, distance {radius}{mark}"),
                &format!("{found:.3}"),
                &shares,
                &reported,
                seconds,
            );
        }
    }
}
