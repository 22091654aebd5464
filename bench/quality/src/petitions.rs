//! Long texts: candidates and verification, fingerprints alone, the papers, and
//! MinHash in bands.

use crate::data::{Data, Petition};
use crate::lsh;
use crate::prints::{Own, row_prints};
use crate::truth::{Pair, Truth};
use dedup_core::details::{Kinds, differing};
use dedup_core::evaluate::{Profile, Suggestion};
use dedup_core::external::MemoryHost;
use dedup_core::similarity::{Jaccard, SimilarPair, SimilarPairs, jaccard};
use serde_json::json;
use std::time::Instant;

/// Texts above which a hash that gives millions of false pairs is left out.
const MANY: usize = 20_000;

/// Texts that dedup_suggest looks at closely.
const SAMPLE: usize = 20_000;

/// Prints the table; gives the pairs of the suggested way.
pub fn report(data: &Data, judged_only: bool) -> Option<Vec<(String, String)>> {
    let petitions = data.petitions()?;
    let bodies: Vec<&str> = petitions.iter().map(|petition| petition.body.as_str()).collect();
    let judged = data.judged(&petitions).unwrap_or_default();
    let truth = Truth::new(&judged, judged_only);
    println!("\n## {} texts\n", petitions.len());
    println!(
        "P/R 0.5: against the {} `same` pairs of Jaccard >= 0.5; P/R all: against all {}. A pair that is not judged {}.\n",
        truth.close.len(),
        truth.all.len(),
        if judged_only { "does not count" } else { "is wrong" }
    );
    let mut profile = Profile::default();
    bodies.iter().for_each(|body| profile.add(body));
    let suggestion = profile.suggest(&bodies[..bodies.len().min(SAMPLE)], bodies.len() as u64);
    println!("dedup_suggest: {}\n", suggestion.reason);
    Truth::header();
    let own = Own::of(&bodies);
    papers(&truth, &petitions, &bodies, &own);
    alone(&truth, &bodies, &own);
    minhash(&truth, &bodies);
    let found = suggested(&truth, &bodies, &own, &suggestion);
    let name = |at: usize| petitions[at].id.clone();
    Some(found.into_iter().map(|(a, b)| (name(a), name(b))).collect())
}

fn papers(truth: &Truth, petitions: &[Petition], bodies: &[&str], own: &Own) {
    if petitions.iter().any(|it| !it.petitioner.is_empty() || !it.title.is_empty()) {
        let prints = row_prints(petitions);
        truth.print(
            "P2: columns of weight 2, words tf without stop words, CityHash, distance 3",
            &prints.near(3),
            prints.seconds,
        );
    }
    let papers = [
        (
            "P3: words tf-idf-len without stop words, CityHash",
            json!({"weight": "tfidf_len", "stop": "zh", "corpus": "words@1"}),
        ),
        (
            "P4: words tf without stop words, SDBM of Java",
            json!({"tokens": "words", "stop": "zh", "hash": "sdbm_utf16"}),
        ),
        ("P4 with CityHash", json!({"tokens": "words", "stop": "zh"})),
    ];
    for (name, recipe) in papers {
        if recipe["hash"] == "sdbm_utf16" && bodies.len() > MANY {
            println!("| {name}: left out above {MANY} texts | | | | | | | |");
            continue;
        }
        let prints = own.prints(bodies, &recipe);
        truth.print(&format!("{name}, distance 3"), &prints.near(3), prints.seconds);
    }
}

fn alone(truth: &Truth, bodies: &[&str], own: &Own) {
    let default = own.prints(bodies, &json!({}));
    let widest = default.calibrate().alone;
    for (radius, note) in [(3, ""), (widest, " (near_dup_calibrate)")] {
        let way = format!("default fingerprint alone, distance {radius}{note}");
        truth.print(&way, &default.near(radius), default.seconds);
    }
    let tfidf = own.prints(bodies, &json!({"weight": "tfidf", "corpus": "both@1"}));
    let widest = tfidf.calibrate().alone;
    let way = format!("default tokens with tf-idf alone, distance {widest} (near_dup_calibrate)");
    truth.print(&way, &tfidf.near(widest), tfidf.seconds);
}

fn minhash(truth: &Truth, bodies: &[&str]) {
    for threshold in [0.4, 0.5] {
        let started = Instant::now();
        let found = lsh::pairs(bodies.iter().copied(), 3, threshold);
        let (bands, rows) = lsh::shape(threshold);
        let way = format!("MinHash, 3-grams, threshold {threshold} ({bands} bands of {rows}), not verified");
        truth.print(&way, &found, started.elapsed().as_secs_f64());
    }
}

fn guarded(bodies: &[&str], kinds: Kinds, pairs: &[Pair]) -> Vec<Pair> {
    let same = |&(a, b): &Pair| differing(bodies[a], bodies[b], kinds).is_empty();
    pairs.iter().copied().filter(same).collect()
}

/// The pairs of similar texts.
pub fn text_pairs<T: AsRef<str>>(texts: &[T], n: usize, threshold: f64) -> Vec<Pair> {
    let (mut all, mut found) = (SimilarPairs::new(n, threshold, usize::MAX, 2), Vec::new());
    for (text, number) in texts.iter().zip(0..) {
        all.add(number, text.as_ref(), &mut MemoryHost).expect("memory");
    }
    let take = |pair: SimilarPair, _: &mut MemoryHost| {
        found.push((pair.a as usize, pair.b as usize));
        Ok(())
    };
    all.finish(&mut MemoryHost, &Jaccard, take).expect("memory");
    found
}

/// The suggested way and what is near it; gives the pairs of the suggested one.
fn suggested(truth: &Truth, bodies: &[&str], own: &Own, suggestion: &Suggestion) -> Vec<Pair> {
    let (n, threshold) = (suggestion.n as usize, suggestion.threshold);
    let started = Instant::now();
    let prints = own.prints(bodies, &suggestion.recipe);
    let radius = prints.calibrate().once;
    let candidates = prints.near(radius);
    let above = |limit: f64| -> Vec<Pair> {
        candidates.iter().copied().filter(|&(a, b)| jaccard(bodies[a], bodies[b], n) >= limit).collect()
    };
    let verified = above(threshold);
    let mark = |this: bool| if this { " (dedup_suggest)" } else { "" };
    let by_text = suggestion.short;
    let way = format!(
        "candidates at distance {radius} ({}), jaccard(n={n}) >= {threshold}{}",
        candidates.len(),
        mark(!by_text)
    );
    truth.print(&way, &verified, started.elapsed().as_secs_f64());
    let seconds = started.elapsed().as_secs_f64();
    truth.print("the same, and same_details(name)", &guarded(bodies, Kinds::NAMES, &verified), seconds);
    truth.print("the same, and same_details", &guarded(bodies, Kinds::ALL, &verified), seconds);
    let mut by_texts = Vec::new();
    for limit in [threshold, 0.4, 0.5] {
        let started = Instant::now();
        let found = text_pairs(bodies, n, limit);
        let way = format!("near_dup_pairs by text ({limit}, {n}){}", mark(by_text && limit == threshold));
        let seconds = started.elapsed().as_secs_f64();
        truth.print(&way, &found, seconds);
        let places = guarded(bodies, Kinds::NAMES, &found);
        truth.print(&format!("{way}, and same_details(name)"), &places, seconds);
        if limit == threshold {
            by_texts = found;
        }
    }
    if by_text { by_texts } else { verified }
}
