//! P5 (Feng 2015): SL+ST against Shingle, SpotSigs and sentence lengths.

use crate::data::{Data, Doc};
use crate::edits;
use crate::found::Score;
use crate::report::{Section, time, timed};
use dedup_core::features::stop_words;
use dedup_core::similarity::Overlap;
use dedup_detectors::sentence::{self, Sentence};
use dedup_detectors::shingle;
use dedup_detectors::spotsigs::{ANTECEDENTS, Spots};
use dedup_plot::Plot;
use petition_desk::rng::Rng;

/// A detector: its name, the similarity of two texts by their numbers.
type Detector<'a> = (&'static str, f64, Box<dyn Fn(usize, usize) -> f64 + 'a>);

/// Runs the experiment on the texts as they are, and on texts that quote
/// half of another.
pub fn run(data: &Data, quick: bool) -> Section {
    let mut section = Section::new("P5: sentences in a row");
    let (similar, others) = if quick { (150, 350) } else { (400, 1_100) };
    let topics = data.topics();
    let mut docs: Vec<Doc> = Vec::new();
    for topic in topics.iter().take(4) {
        docs.extend(data.mixture(topic, similar / 4, others / 4, false).into_iter().cloned());
    }
    compare(&mut section, &docs, "as_they_are", "Texts as they are");
    let quoting = quote(&docs);
    compare(
        &mut section,
        &quoting,
        "quoting",
        "Texts of which some quote half the sentences of another before going on",
    );
    section
}

/// Every fourth text that has no duplicate begins with the first half of the
/// text before it and is then in its cluster.
fn quote(docs: &[Doc]) -> Vec<Doc> {
    let mut all = docs.to_vec();
    let mut counts = std::collections::HashMap::new();
    docs.iter().for_each(|doc| *counts.entry(doc.cluster).or_insert(0) += 1);
    for at in (1..all.len()).step_by(4) {
        if counts[&all[at].cluster] > 1 || counts[&all[at - 1].cluster] > 1 {
            continue;
        }
        let mut ranges = Vec::new();
        dedup_detectors::sentences::sentences(&all[at - 1].body, |range| ranges.push(range));
        let Some(half) = ranges.get(ranges.len() / 2) else { continue };
        let quoted = all[at - 1].body[..half.end].to_owned();
        // With one character lost, as copies have it.
        let quoted = edits::delete(
            &quoted,
            1.0 / quoted.chars().count().max(1) as f64,
            &mut Rng::new(5, 0, at as u64),
        );
        all[at].body = format!("{quoted}{}", all[at].body);
        all[at].cluster = all[at - 1].cluster;
    }
    all
}

fn compare(section: &mut Section, docs: &[Doc], name: &str, caption: &str) {
    let bodies: Vec<&str> = docs.iter().map(|doc| doc.body.as_str()).collect();
    let stop: sentence::StopWords = stop_words().map(str::to_owned).collect();
    let (split_time, sentences) =
        timed(|| bodies.iter().map(|body| sentence::split(body, &stop)).collect::<Vec<Vec<Sentence>>>());
    let (shingle_time, shingles) =
        timed(|| bodies.iter().map(|body| shingle::hashes(body, 3, 1)).collect::<Vec<_>>());
    let spots = Spots::new(ANTECEDENTS.iter().copied(), stop_words(), 1, 2);
    let (spot_time, spotted) = timed(|| {
        let sorted = |body: &&str| {
            let mut all: Vec<u64> =
                spots.of(body).iter().map(|spot| dedup_core::hash::city64(spot.as_bytes())).collect();
            all.sort_unstable();
            all
        };
        bodies.iter().map(sorted).collect::<Vec<_>>()
    });
    let lengths: Vec<Vec<u32>> =
        sentences.iter().map(|all| all.iter().map(|sentence| sentence.words as u32).collect()).collect();
    let detectors: [Detector; 5] = [
        ("SL+ST", split_time, Box::new(|a, b| sentence::similarity(&sentences[a], &sentences[b]))),
        (
            "sentence lengths",
            split_time,
            Box::new(|a, b| sentence::length_similarity(&lengths[a], &lengths[b])),
        ),
        ("Shingle", shingle_time, Box::new(|a, b| Overlap::of_sorted(&shingles[a], &shingles[b]).jaccard())),
        ("SpotSigs", spot_time, Box::new(|a, b| Overlap::of_sorted(&spotted[a], &spotted[b]).jaccard())),
        (
            "Shingle, containment",
            shingle_time,
            Box::new(|a, b| {
                let overlap = Overlap::of_sorted(&shingles[a], &shingles[b]);
                overlap.shared as f64 / overlap.left.min(overlap.right).max(1) as f64
            }),
        ),
    ];
    let references: Vec<&Doc> = docs.iter().collect();
    let mut rows = Vec::new();
    let mut plot = Plot::new(&format!("P5: {caption}"), "recall", "precision");
    for (name, prepare, detector) in detectors {
        let (seconds, pairs) = timed(|| {
            let mut pairs = Vec::new();
            for a in 0..docs.len() {
                pairs.extend((0..a).map(|b| (b, a, detector(a, b))).filter(|pair| pair.2 >= 0.02));
            }
            pairs
        });
        let at = |threshold: f64| {
            Score::of(
                &references,
                pairs.iter().filter(|pair| pair.2 >= threshold).map(|pair| (pair.0, pair.1)),
            )
        };
        let thresholds: Vec<f64> = (1..=20).map(|step| f64::from(step) / 20.0).collect();
        let best =
            thresholds.iter().copied().max_by(|&x, &y| at(x).f1().total_cmp(&at(y).f1())).unwrap_or(0.5);
        let count = (docs.len() * (docs.len() - 1) / 2) as f64;
        rows.push([
            name.to_owned(),
            at(0.2).cell(),
            at(0.5).cell(),
            format!("{best:.2}"),
            at(best).cell(),
            format!("{:.3}", at(best).f1()),
            time(prepare / docs.len() as f64),
            time(seconds / count),
        ]);
        plot = plot.line(name, thresholds.iter().map(|&t| (at(t).recall(), at(t).precision())).collect());
    }
    let known = Score::of(&references, []).known;
    section.table(
        &format!(
            "{caption}: {} texts, {known} with duplicates, every pair compared. Precision / recall. (The paper's tables are \
             lost.)",
            docs.len()
        ),
        ["detector", "at 0.2", "at 0.5", "best threshold", "there", "F1", "prepare one text", "compare a pair"],
        rows,
    );
    section.plot(name, plot);
}
