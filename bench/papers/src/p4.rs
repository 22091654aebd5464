//! P4 (Li, Mao and Chen 2013): SimHash against Shingle on edited texts.

use crate::data::Data;
use crate::edits;
use crate::p2::{prints, single_pass};
use crate::report::{Section, percent, time, timed};
use crate::words::words;
use dedup_core::fingerprint::hamming;
use dedup_core::similarity::Overlap;
use dedup_detectors::shingle;
use dedup_plot::Plot;
use petition_desk::rng::Rng;
use serde_json::{Value, json};

/// P4's threshold for Shingle.
const SIMILAR: f64 = 0.95;

/// Runs the experiments.
pub fn run(data: &Data, quick: bool) -> Section {
    let mut section = Section::new("P4: SimHash against Shingle");
    speed(&mut section, data, quick);
    let texts = data.different(if quick { 200 } else { 1_000 }, 120);
    small_edits(&mut section, &texts);
    by_length(&mut section, data, quick);
    growing_edits(&mut section, &texts);
    reordered(&mut section, &texts);
    section
}

/// SDBM as P4's Java has it.
const P4_HASH: &str = "sdbm_utf16";

/// Features and Single-Pass of a whole collection under both.
fn speed(section: &mut Section, data: &Data, quick: bool) {
    let sizes: &[usize] = if quick { &[1_000, 2_000] } else { &[1_000, 2_000, 5_000, 10_000] };
    let mut rows = Vec::new();
    let (mut simhash_curve, mut shingle_curve) = (Vec::new(), Vec::new());
    for &count in sizes {
        let bodies: Vec<&str> = data.docs.iter().take(count).map(|doc| doc.body.as_str()).collect();
        let (print_time, all) = timed(|| prints(bodies.iter().copied(), words(P4_HASH)));
        let all: Vec<u64> = all.into_iter().flatten().collect();
        let (simhash_time, simhash_clusters) = timed(|| single_pass(&all, 3));
        let (cut_time, sets) =
            timed(|| bodies.iter().map(|body| shingle::hashes(body, 3, 1)).collect::<Vec<_>>());
        let (shingle_time, shingle_clusters) = timed(|| {
            let mut centers: Vec<&[u64]> = Vec::new();
            for set in &sets {
                if !centers.iter().any(|center| Overlap::of_sorted(center, set).jaccard() > SIMILAR) {
                    centers.push(set);
                }
            }
            centers.len()
        });
        simhash_curve.push((count as f64, (print_time + simhash_time) * 1e3));
        shingle_curve.push((count as f64, (cut_time + shingle_time) * 1e3));
        rows.push([
            count.to_string(),
            time(print_time / count as f64),
            time(simhash_time),
            (count - simhash_clusters).to_string(),
            time(cut_time / count as f64),
            time(shingle_time),
            (count - shingle_clusters).to_string(),
        ]);
    }
    rows.push(["paper: 71,765", "22.5 ms", "–", "–", "–", "slower", "–"].map(str::to_owned));
    section.table(
        "Single-Pass over a collection as printed, each text with every center: SimHash of P4's recipe (words without stop words, \
         SDBM as Java has it) within 3, and shingles of three words with Jaccard above 0.95. Dropped are also strangers that the \
         hash puts together.",
        ["texts", "SimHash: fingerprint of one", "clusters", "dropped", "Shingle: cutting one", "clusters", "dropped"],
        rows,
    );
    let plot = Plot::new("P4: time for a collection", "texts", "ms").logarithmic(true, true);
    section.plot("speed", plot.line("SimHash", simhash_curve).line("Shingle", shingle_curve));
}

/// The detectors compared: SimHash by P4's recipe, with its hash in two forms and
/// with CityHash at two radii, the default recipe, Shingle as printed and with a
/// threshold that suits edits.
const DETECTORS: [&str; 8] = [
    "P4 (SDBM of Java) ≤ 3",
    "SDBM of UTF-8 ≤ 3",
    "CityHash ≤ 3",
    "CityHash ≤ 8",
    "default ≤ 8",
    "Shingle > 0.95",
    "Shingle > 0.5",
    "Jaccard of bigrams ≥ 0.6",
];
const COUNT: usize = DETECTORS.len();

/// The share of pairs that each detector recognises.
fn recognised(pairs: &[(String, String)]) -> [f64; COUNT] {
    let (one, other) =
        (|| pairs.iter().map(|pair| pair.0.as_str()), || pairs.iter().map(|pair| pair.1.as_str()));
    let distances = |recipe: Value| -> Vec<u32> {
        let (a, b) = (prints(one(), recipe.clone()), prints(other(), recipe));
        let distance = |(x, y): (Option<u64>, Option<u64>)| x.zip(y).map_or(64, |(x, y)| hamming(x, y));
        a.into_iter().zip(b).map(distance).collect()
    };
    let within = |distances: &[u32], radius: u32| distances.iter().filter(|&&d| d <= radius).count();
    let [java, utf8, city] = [P4_HASH, "sdbm", "city64"].map(|hash| distances(words(hash)));
    let by_default = distances(json!({}));
    let overlap = |(a, b): &(String, String)| {
        Overlap::of_sorted(&shingle::hashes(a, 3, 1), &shingle::hashes(b, 3, 1)).jaccard()
    };
    let shingles: Vec<f64> = pairs.iter().map(overlap).collect();
    let bigrams = pairs.iter().filter(|(a, b)| dedup_core::similarity::jaccard(a, b, 2) >= 0.6).count();
    [
        within(&java, 3),
        within(&utf8, 3),
        within(&city, 3),
        within(&city, 8),
        within(&by_default, 8),
        shingles.iter().filter(|&&j| j > SIMILAR).count(),
        shingles.iter().filter(|&&j| j > 0.5).count(),
        bigrams,
    ]
    .map(|count| count as f64 / pairs.len().max(1) as f64)
}

/// Each text with what an edit makes of it.
pub fn edited(
    texts: &[&str],
    stream: u64,
    edit: impl Fn(&str, &str, &mut Rng) -> String,
) -> Vec<(String, String)> {
    let one = |(at, text): (usize, &&str)| {
        let other = texts[(at + 1) % texts.len()];
        ((*text).to_owned(), edit(text, other, &mut Rng::new(4, stream, at as u64)))
    };
    texts.iter().enumerate().map(one).collect()
}

fn cells(name: &str, shares: [f64; COUNT]) -> [String; COUNT + 1] {
    let mut cells = vec![name.to_owned()];
    cells.extend(shares.map(percent));
    cells.try_into().unwrap_or_default()
}

fn head(first: &'static str) -> [&'static str; COUNT + 1] {
    std::array::from_fn(|at| at.checked_sub(1).map_or(first, |at| DETECTORS[at]))
}

/// About five percent more or less, and what strangers do.
fn small_edits(section: &mut Section, texts: &[&str]) {
    let inserted = edited(texts, 1, |text, other, rng| edits::insert(text, other, 0.05, rng));
    let deleted = edited(texts, 2, |text, _, rng| edits::delete(text, 0.05, rng));
    section.table(
        &format!(
            "{} texts with five percent put in or taken out: the share recognised, which P4 calls precision, and the share of \
             unrelated pairs that are taken for duplicates, which it does not give. The paper: SimHash above Shingle, insertion \
             above deletion.",
            texts.len()
        ),
        head("edit"),
        vec![
            cells("5 % put in", recognised(&inserted)),
            cells("5 % taken out", recognised(&deleted)),
            cells("unrelated texts", recognised(&strangers(texts))),
        ],
    );
}

/// Pairs of different clusters.
fn strangers(texts: &[&str]) -> Vec<(String, String)> {
    (0..texts.len())
        .flat_map(|at| (1..=20).map(move |step| (at, (at + 7 * step) % texts.len())))
        .filter(|(a, b)| a != b)
        .map(|(a, b)| (texts[a].to_owned(), texts[b].to_owned()))
        .collect()
}

/// Five percent of texts of growing lengths: the paper's own were news, posts
/// and blogs.
fn by_length(section: &mut Section, data: &Data, quick: bool) {
    let mut rows = Vec::new();
    for characters in [50, 100, 200, 400, 1_000, 2_500] {
        let all = data.joined(if quick { 100 } else { 500 }, characters);
        let texts: Vec<&str> = all.iter().map(String::as_str).collect();
        let inserted =
            recognised(&edited(&texts, 4, |text, other, rng| edits::insert(text, other, 0.05, rng)));
        let deleted = recognised(&edited(&texts, 5, |text, _, rng| edits::delete(text, 0.05, rng)));
        let mut row = both(&format!("{characters} characters"), inserted, deleted);
        row.iter_mut()
            .skip(1)
            .zip(recognised(&strangers(&texts)))
            .for_each(|(cell, share)| *cell = format!("{cell} / {}", percent(share)));
        rows.push(row);
    }
    rows.push(["paper", "≥ 70 %", "–", "–", "–", "–", "lower", "–", "–"].map(str::to_owned));
    section.table(
        "Five percent put in / taken out / unrelated texts taken for duplicates, by the length of the text.",
        head("length"),
        rows,
    );
}

fn both(name: &str, inserted: [f64; COUNT], deleted: [f64; COUNT]) -> [String; COUNT + 1] {
    let mut row = cells(name, inserted);
    row.iter_mut()
        .skip(1)
        .zip(deleted)
        .for_each(|(cell, share)| *cell = format!("{cell} / {}", percent(share)));
    row
}

/// One to twenty percent.
fn growing_edits(section: &mut Section, texts: &[&str]) {
    let mut rows = Vec::new();
    let mut curves: [[Vec<(f64, f64)>; 2]; COUNT] = Default::default();
    for percents in [1u64, 2, 3, 5, 8, 10, 15, 20] {
        let share = percents as f64 / 100.0;
        let inserted = recognised(&edited(texts, 10 + percents, |t, o, rng| edits::insert(t, o, share, rng)));
        let deleted = recognised(&edited(texts, 50 + percents, |t, _, rng| edits::delete(t, share, rng)));
        for (at, curve) in curves.iter_mut().enumerate() {
            curve[0].push((percents as f64, inserted[at] * 100.0));
            curve[1].push((percents as f64, deleted[at] * 100.0));
        }
        rows.push(both(&format!("{percents} %"), inserted, deleted));
    }
    let paper =
        ["paper, within 5 %", "≥ 70 %, insertion above deletion", "–", "–", "–", "–", "lower", "–", "–"];
    rows.push(paper.map(str::to_owned));
    section.table("Recognised after growing insertion / deletion.", head("edited"), rows);
    let mut plot = Plot::new("P4: recognised after deletions", "% of characters", "% of texts");
    for (name, curve) in DETECTORS.iter().zip(curves) {
        let [_, deleted] = curve;
        plot = plot.line(name, deleted);
    }
    section.plot("edits", plot);
}

/// Clauses in another order.
fn reordered(section: &mut Section, texts: &[&str]) {
    let pairs = edited(texts, 3, |text, _, rng| edits::reorder(text, rng));
    let paper = ["paper", "86.1 %", "–", "–", "–", "–", "6.1 %", "–", "–"].map(str::to_owned);
    let rows = vec![cells("reordered", recognised(&pairs)), paper];
    section.table("Recognised after the clauses of every text were put into another order.", head(""), rows);
}
