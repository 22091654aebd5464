//! P3 (Wang and Wang 2019): weights of tf, idf and length, the combined
//! similarity, the second level of hot buckets.

use crate::data::{Data, Doc};
use crate::found::{Score, near};
use crate::p2::prints;
use crate::report::{Section, percent};
use crate::words::{Known, text_recipe, words};
use dedup_core::features::{Corpus, CorpusBuilder, Extractor, TextRecipe};
use dedup_core::fingerprint::hamming;
use dedup_detectors::combined;
use dedup_detectors::minhash::{Family, element, signature, similarity};
use dedup_plot::Plot;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

/// Runs the experiments.
pub fn run(data: &Data, quick: bool) -> Section {
    let mut section = Section::new("P3: long documents with keywords");
    quality(&mut section, data, quick);
    balance(&mut section, data);
    section
}

/// The corpus of the collection at hand.
fn collection(docs: &[&Doc]) -> Known {
    let mut builder = CorpusBuilder::new(text_recipe(&words("city64")));
    let mut extractor = Extractor::new();
    docs.iter().for_each(|doc| builder.add(&mut extractor, &doc.body));
    let (shape, stored) = (builder.shape(), builder.finish());
    let corpus = Corpus::new("papers@1", shape, stored.documents, &stored.common).expect("a corpus");
    Known(Some(Arc::new(corpus)))
}

/// What stands for a document's keywords: the five heaviest words by P3's
/// weight, and the department.
fn keywords(doc: &Doc, recipe: &TextRecipe, extractor: &mut Extractor) -> Vec<u64> {
    let heaviest = extractor.bag(&doc.body, recipe).into_heaviest_first();
    let words = heaviest.iter().filter(|feature| feature.text.chars().count() > 1).take(5);
    let mut all: Vec<u64> = words.map(|feature| element(&feature.text)).collect();
    if !doc.department.is_empty() {
        all.push(element(&doc.department));
    }
    all
}

fn quality(section: &mut Section, data: &Data, quick: bool) {
    let (similar, others) = if quick { (300, 1_000) } else { (1_000, 5_000) };
    let mut rows = Vec::new();
    let mut sums = [Score::default(); 5];
    for topic in data.topics().into_iter().take(5) {
        let docs = data.mixture(&topic, similar, others, false);
        let recipe = json!({"weight": "tfidf_len", "corpus": "papers@1", "stop": "zh"});
        let recipe = TextRecipe::resolved(&recipe, &collection(&docs)).expect("a recipe");
        let mut extractor = Extractor::new();
        let p3: Vec<Option<u64>> = docs.iter().map(|doc| extractor.simhash(&doc.body, &recipe)).collect();
        let tf = prints(docs.iter().map(|doc| doc.body.as_str()), words("city64"));
        let sets: Vec<Vec<u64>> = docs.iter().map(|doc| keywords(doc, &recipe, &mut extractor)).collect();
        let signatures = |family| -> Vec<Option<Vec<u64>>> {
            sets.iter().map(|set| signature(set.iter().copied(), 100, family)).collect()
        };
        let radius = combined::radius(combined::THRESHOLD, combined::MU).unwrap_or(0) as u32;
        let candidates = near(&p3, radius);
        let combine = |signatures: &[Option<Vec<u64>>]| -> Vec<(usize, usize)> {
            let similar = |&(a, b): &(usize, usize)| {
                let (Some(x), Some(y)) = (p3[a], p3[b]) else { return false };
                let jaccard = match (&signatures[a], &signatures[b]) {
                    (Some(x), Some(y)) => similarity(x, y).unwrap_or(0.0),
                    _ => 0.0,
                };
                combined::similarity(hamming(x, y), jaccard, combined::MU) >= Some(combined::THRESHOLD)
            };
            candidates.iter().copied().filter(similar).collect()
        };
        let scores = [
            near(&tf, 3),
            near(&p3, 3),
            combine(&signatures(Family::Paper)),
            combine(&signatures(Family::Mixed)),
            near(&p3, 8),
        ]
        .map(|pairs| Score::of(&docs, pairs));
        sums.iter_mut().zip(&scores).for_each(|(sum, score)| *sum = sum.plus(*score));
        rows.push(row(&format!("{topic} ({} of {})", scores[0].known, docs.len()), &scores));
    }
    if rows.len() > 1 {
        rows.push(row("all", &sums));
    }
    rows.push(["paper", "lower", "–", "≈ 0.94 / ≈ 0.92", "–", "–"].map(str::to_owned));
    section.table(
        "Precision / recall by topic, 1,000 texts with duplicates among 6,000; words without stop words. Combined: S ≥ 0.25 at μ = 0.9 over keywords \
         (the five heaviest words and the department) and 100 MinHash functions.",
        ["topic", "tf, ≤ 3", "tf·idf·(1+len), ≤ 3", "combined, (x+i) mod 100", "combined, sound family", "tf·idf·(1+len), ≤ 8"],
        rows,
    );
}

fn row(name: &str, scores: &[Score; 5]) -> [String; 6] {
    let mut cells = vec![name.to_owned()];
    cells.extend(scores.iter().map(Score::cell));
    cells.try_into().unwrap_or_default()
}

/// How full buckets are, and what a search within 3 compares with.
fn balance(section: &mut Section, data: &Data) {
    let bodies = || data.docs.iter().map(|doc| doc.body.as_str());
    let mut rows = Vec::new();
    let mut plot =
        Plot::new("P3: rows compared by a search, sorted", "% of searches", "rows").logarithmic(false, true);
    for (name, recipe) in [("CityHash64", words("city64")), ("BKDR, UTF-16", words("bkdr_utf16"))] {
        let all: Vec<u64> = prints(bodies(), recipe).into_iter().flatten().collect();
        for mu in [None, Some(2.0), Some(0.5)] {
            let (hot, compared, largest) = compared(&all, mu);
            let mean = compared.iter().sum::<f64>() / compared.len() as f64;
            let at = |share: f64| compared[((compared.len() - 1) as f64 * share) as usize];
            let level = mu.map_or("one level".to_owned(), |mu| format!("second level, μ = {mu}"));
            rows.push([
                name.to_owned(),
                level.clone(),
                hot.to_string(),
                largest.to_string(),
                format!("{mean:.0}"),
                format!("{:.0}", at(0.5)),
                format!("{:.0}", at(0.99)),
                percent(mean / all.len() as f64),
            ]);
            if mu != Some(0.5) {
                let curve = (0..=50).map(|step| (f64::from(step) * 2.0, at(f64::from(step) / 50.0).max(0.1)));
                plot = plot.line(
                    &format!("{name}, {}", if mu.is_none() { "one level" } else { "two levels" }),
                    curve.collect(),
                );
            }
        }
    }
    section.table(
        &format!(
            "Buckets of {} fingerprints under four blocks of 16 bits, and rows that a search within 3 compares with, over all \
             rows as searches. A bucket above (1 + μ) times the average of those that are not empty is hashed again, its other \
             48 bits in four blocks of 12. (The paper gives no figures but its example of 2^33 rows.)",
            data.docs.len()
        ),
        ["hash", "levels", "hot buckets", "largest bucket", "mean compared", "median", "99 %", "of all rows"],
        rows,
    );
    section.plot("balance", plot);
}

/// Hot buckets; the rows each search compares with, ascending; the largest
/// bucket.
fn compared(prints: &[u64], mu: Option<f64>) -> (usize, Vec<f64>, usize) {
    let mut sums = vec![0.0; prints.len()];
    let (mut hot, mut largest) = (0, 0);
    for block in 0..4 {
        let rotated = |print: u64| print.rotate_left(16 * block);
        let mut buckets: HashMap<u64, Vec<usize>> = HashMap::new();
        prints.iter().enumerate().for_each(|(at, &p)| buckets.entry(rotated(p) >> 48).or_default().push(at));
        let average = prints.len() as f64 / buckets.len() as f64;
        for rows in buckets.values() {
            largest = largest.max(rows.len());
            let Some(_) = mu.filter(|mu| rows.len() as f64 > (1.0 + mu) * average) else {
                rows.iter().for_each(|&at| sums[at] += rows.len() as f64);
                continue;
            };
            hot += 1;
            for part in 0..4 {
                let key = |at: usize| rotated(prints[at]) >> (36 - 12 * part) & 0xFFF;
                let mut counts: HashMap<u64, usize> = HashMap::new();
                rows.iter().for_each(|&at| *counts.entry(key(at)).or_default() += 1);
                rows.iter().for_each(|&at| sums[at] += counts[&key(at)] as f64);
            }
        }
    }
    sums.sort_by(f64::total_cmp);
    (hot, sums, largest)
}
