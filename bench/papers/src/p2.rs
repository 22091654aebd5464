//! P2 (Li and Han 2015): hash functions, quality by topic, Single-Pass
//! against the index.

use crate::data::{Data, Doc};
use crate::found::{Score, near, sharing};
use crate::p1::join;
use crate::report::{Section, time, timed};
use crate::words::{Known, text_recipe, words};
use dedup_core::features::{Corpus, CorpusBuilder, Extractor, Hash, RowRecipe, TextRecipe};
use dedup_core::fingerprint::hamming;
use dedup_core::text::{Segmenter, normalize};
use dedup_detectors::imatch::{Lexicon, LexiconBuilder};
use dedup_detectors::single_pass::SinglePass;
use dedup_plot::Plot;
use serde_json::{Value, json};
use std::sync::Arc;

/// Runs the experiments.
pub fn run(data: &Data, quick: bool) -> Section {
    let mut section = Section::new("P2: rows of a relational table");
    hashes(&mut section, data, quick);
    quality(&mut section, data, quick);
    batch(&mut section, data, quick);
    section
}

/// The fingerprints of texts under a recipe.
pub fn prints<'a>(bodies: impl IntoIterator<Item = &'a str>, recipe: Value) -> Vec<Option<u64>> {
    let recipe = text_recipe(&recipe);
    let mut extractor = Extractor::new();
    bodies.into_iter().map(|body| extractor.simhash(body, &recipe)).collect()
}

/// The time of fingerprinting under each hash, and what it does to them.
fn hashes(section: &mut Section, data: &Data, quick: bool) {
    let count = if quick { 3_000 } else { 30_000 };
    let bodies: Vec<&str> = data.docs.iter().take(count).map(|doc| doc.body.as_str()).collect();
    let mut cut: Vec<String> = Vec::new();
    for body in bodies.iter().take(1_000) {
        Segmenter::shared().words(&normalize(body), false, |word| cut.push(word.to_owned()));
    }
    let mut rows = Vec::new();
    for hash in [
        "city64",
        "murmur3",
        "java",
        "bkdr",
        "ap",
        "djb",
        "js",
        "rs",
        "sdbm",
        "pjw",
        "elf",
        "bkdr_utf16",
        "sdbm_utf16",
    ] {
        let (seconds, all) = timed(|| prints(bodies.iter().copied(), words(hash)));
        let alone = Hash::from_name(hash).expect("a hash");
        let all_words = || cut.iter().fold(0u64, |sum, word| sum.wrapping_add(alone.of(word)));
        // The best of ten, for a machine that does other things too.
        let hash_time =
            (0..10).map(|_| timed(|| std::hint::black_box(all_words())).0).fold(f64::INFINITY, f64::min);
        let all: Vec<u64> = all.into_iter().flatten().collect();
        let share =
            |bit: u32| all.iter().filter(|&&print| print >> bit & 1 == 1).count() as f64 / all.len() as f64;
        let constant = (0..64).filter(|&bit| !(0.02..=0.98).contains(&share(bit))).count();
        let mut different = strangers(data, 1_500, hash);
        different.sort_unstable();
        let mean = different.iter().map(|&d| f64::from(d)).sum::<f64>() / different.len() as f64;
        let near = different.iter().filter(|&&d| d <= 3).count();
        rows.push([
            hash.to_owned(),
            time(seconds),
            time(hash_time / cut.len() as f64),
            constant.to_string(),
            format!("{mean:.1}"),
            if near == 0 { "0".to_owned() } else { format!("{:.1e}", near as f64 / different.len() as f64) },
        ]);
    }
    section.table(
        &format!(
            "Fingerprints of {} texts (words without stop words, term frequency) under each hash; java is the paper's built-in \
             one, String.hashCode. Its times are lost; it orders built-in, BKDR, CityHash from slow to fast and says CityHash is \
             over 30 % faster. Constant bits have one value in \
             98 % of the fingerprints; distances are of texts of different clusters.",
            bodies.len()
        ),
        ["hash", "time", "hashing a word", "constant bits of 64", "mean distance of strangers", "strangers within 3"],
        rows,
    );
}

/// Distances of fingerprints of texts of different clusters.
fn strangers(data: &Data, count: usize, hash: &str) -> Vec<u32> {
    let all: Vec<u64> = prints(data.different(count, 1), words(hash)).into_iter().flatten().collect();
    let mut distances = Vec::with_capacity(all.len() * all.len() / 2);
    for (at, &print) in all.iter().enumerate() {
        distances.extend(all[..at].iter().map(|&other| hamming(print, other)));
    }
    distances
}

/// The weights of P2: 2 for every short column, term frequency for the text.
fn weighted(docs: &[&Doc]) -> Vec<Option<u64>> {
    let recipe = json!({"petitioner": 2, "department": 2, "title": 2, "body": words("city64")});
    let recipe = RowRecipe::resolved(&recipe, &Known::default()).expect("a recipe");
    let mut extractor = Extractor::new();
    let value = |doc: &'_ Doc, name: &str| {
        let value = match name {
            "petitioner" => &doc.petitioner,
            "department" => &doc.department,
            "title" => &doc.title,
            _ => &doc.body,
        };
        Some(value.clone())
    };
    docs.iter()
        .map(|doc| {
            let values: Vec<Option<String>> =
                recipe.columns.iter().map(|(name, _)| value(doc, name)).collect();
            recipe.simhash(&mut extractor, values.iter().map(Option::as_deref))
        })
        .collect()
}

/// I-Match over the shingles of three words that neither most texts have nor one alone.
fn shingles(docs: &[&Doc]) -> Lexicon {
    let mut builder = CorpusBuilder::new(text_recipe(&json!({"tokens": "shingles", "n": 3})));
    let mut extractor = Extractor::new();
    docs.iter().for_each(|doc| builder.add(&mut extractor, &doc.body));
    let (shape, stored) = (builder.shape(), builder.finish());
    let corpus = Corpus::new("shingles@1", shape, stored.documents, &stored.common).expect("a corpus");
    let recipe = TextRecipe::resolved(&json!({"corpus": "shingles@1"}), &Known(Some(Arc::new(corpus))));
    Lexicon::of_corpus(recipe.expect("a recipe"), 0.2..=0.8)
}

/// Precision and recall by topic.
fn quality(section: &mut Section, data: &Data, quick: bool) {
    let others = if quick { 1_000 } else { 4_700 };
    let mut rows = Vec::new();
    let mut sums = [Score::default(); 8];
    let topics: Vec<String> = data.topics().into_iter().take(3).collect();
    let moved = data.docs.iter().any(|doc| doc.moved);
    let mut with_moved = [Score::default(); 8];
    for (topic, moved) in topics
        .iter()
        .flat_map(|topic| [(topic, false), (topic, true)].into_iter().take(1 + usize::from(moved)))
    {
        let docs = data.mixture(topic, 300, others, moved);
        let bodies = || docs.iter().map(|doc| doc.body.as_str());
        let mut counts = LexiconBuilder::new();
        bodies().for_each(|body| counts.add(body));
        let telling = counts.words(0.2, 0.8);
        let lexicon = Lexicon::new(telling.iter().map(String::as_str));
        let of_shingles = shingles(&docs);
        let imatch = sharing(bodies().map(|body| lexicon.signature(body, 3)), 0);
        let random = sharing(bodies().map(|body| lexicon.randomized(body, 10, 0.67, 3)), 0);
        let by_shingles = sharing(bodies().map(|body| of_shingles.signature(body, 3)), 0);
        let mut plain = words("city64");
        plain["weight"] = json!("one");
        let plain = prints(bodies(), plain);
        let weighted = weighted(&docs);
        let default = prints(bodies(), json!({}));
        let verified = near(&default, 12)
            .into_iter()
            .filter(|&(a, b)| dedup_core::similarity::jaccard(&docs[a].body, &docs[b].body, 2) >= 0.6);
        let scores = [
            imatch,
            by_shingles,
            random,
            near(&plain, 3),
            near(&weighted, 3),
            near(&default, 3),
            near(&default, 8),
            verified.collect(),
        ]
        .map(|pairs| Score::of(&docs, pairs));
        let sums = if moved { &mut with_moved } else { &mut sums };
        sums.iter_mut().zip(&scores).for_each(|(sum, score)| *sum = sum.plus(*score));
        if !moved {
            rows.push(row(&format!("{topic} ({} of {})", scores[0].known, docs.len()), &scores));
        }
    }
    if rows.len() > 1 {
        rows.push(row("all", &sums));
    }
    if moved {
        rows.push(row("all, with copies of another place", &with_moved));
    }
    rows.push(
        [
            "paper",
            "good recall on one topic",
            "–",
            "–",
            "below the weighted",
            "≈ 0.95 / ≈ 0.90",
            "–",
            "–",
            "–",
        ]
        .map(str::to_owned),
    );
    section.table(
        "Precision / recall by topic, 300 texts that have duplicates among about 5,000. The last line has, among the others, texts \
         copied word for word with the place swapped, which count as different.",
        [
            "topic",
            "I-Match",
            "I-Match over shingles",
            "I-Match, 10 random lexicons",
            "SimHash, no weights, ≤ 3",
            "weighted columns (P2), ≤ 3",
            "default, ≤ 3",
            "default, ≤ 8",
            "default, ≤ 12, Jaccard ≥ 0.6",
        ],
        rows,
    );
}

fn row(name: &str, scores: &[Score; 8]) -> [String; 9] {
    let mut cells = vec![name.to_owned()];
    cells.extend(scores.iter().map(Score::cell));
    cells.try_into().unwrap_or_default()
}

/// Single-Pass as printed, Single-Pass by the index, all pairs by blocks.
fn batch(section: &mut Section, data: &Data, quick: bool) {
    let sizes: &[usize] = if quick { &[1_000, 5_000] } else { &[5_000, 10_000, 20_000, 50_000, 100_000] };
    let bodies = data.docs.iter().map(|doc| doc.body.as_str()).take(sizes[sizes.len() - 1]);
    let all: Vec<u64> = prints(bodies, json!({})).into_iter().flatten().collect();
    let mut rows = Vec::new();
    let mut curves: [Vec<(f64, f64)>; 3] = Default::default();
    let mut sizes: Vec<usize> = sizes.iter().map(|&count| count.min(all.len())).collect();
    sizes.dedup();
    for count in sizes {
        let prints = &all[..count];
        let (scan, centers) = timed(|| single_pass(prints, 3));
        let mut pass = SinglePass::new(3);
        let (indexed, again) = timed(|| {
            prints.iter().enumerate().filter(|&(at, &print)| pass.assign(print).row as usize == at).count()
        });
        assert_eq!(centers, again, "both ways make the same clusters");
        let (blocks, pairs) = timed(|| join(prints, 3));
        for (curve, seconds) in curves.iter_mut().zip([scan, indexed, blocks]) {
            curve.push((count as f64, seconds * 1e3));
        }
        rows.push([
            count.to_string(),
            time(scan),
            time(indexed),
            time(blocks),
            centers.to_string(),
            pairs.to_string(),
        ]);
    }
    section.table(
        "A whole table at once, distance 3 (the paper's times are lost): Single-Pass as printed, which compares with every \
         center; single_pass(), which looks centers up; near_dup_pairs(), the paper's index classification.",
        ["rows", "Single-Pass, printed", "single_pass()", "near_dup_pairs()", "clusters", "pairs"],
        rows,
    );
    let [scan, indexed, blocks] = curves;
    let plot = Plot::new("P2: a whole table at once", "rows", "ms").logarithmic(true, true);
    section.plot(
        "batch",
        plot.line("Single-Pass, printed", scan)
            .line("single_pass()", indexed)
            .line("near_dup_pairs()", blocks),
    );
}

/// P4's algorithm to the letter; the number of centers.
pub fn single_pass(prints: &[u64], distance: u32) -> usize {
    let mut centers: Vec<u64> = Vec::new();
    for &print in prints {
        let nearest = centers.iter().map(|&center| hamming(center, print)).min();
        if nearest.is_none_or(|nearest| nearest > distance) {
            centers.push(print);
        }
    }
    centers.len()
}
