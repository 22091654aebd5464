//! Throughput of fingerprinting by recipe, against jieba-rs's cut alone on the same texts, which are those of the
//! sample desk, so that their words are not all in the cache: `cargo bench -p dedup_core`.

// The macros of criterion make functions without comments.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dedup_core::features::{Extractor, FieldsRecipe, Nowhere, TextRecipe};
use dedup_core::text::{Segmenter, normalize_into};
use jieba_rs::Jieba;
use petition_desk::desk::Desk;
use petition_desk::plan::Settings;
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;

/// What is measured, by name.
fn recipes() -> impl Iterator<Item = (&'static str, TextRecipe)> {
    let recipes = [
        ("default", json!({})),
        ("words", json!({"tokens": "words"})),
        ("words hmm", json!({"tokens": "words", "hmm": true})),
        ("words log", json!({"tokens": "words", "weight": "log"})),
        ("words own terms", json!({"tokens": "words", "terms": {"停水": 3}, "stop": ["的", "了"]})),
        ("chars 2", json!({"tokens": "chars", "n": 2})),
        ("chars 3", json!({"tokens": "chars", "n": 3})),
        ("chars 3 one", json!({"tokens": "chars", "n": 3, "weight": "one"})),
        ("shingles 2", json!({"tokens": "shingles", "n": 2})),
    ];
    recipes.into_iter().map(|(name, json)| (name, TextRecipe::from_json(&json).expect("a recipe")))
}

/// Bodies of the sample desk.
fn petitions(rows: u64) -> Vec<String> {
    let desk = Desk::new(Settings { rows, ..Settings::default() });
    desk.rows().map(|row| row.body).collect()
}

/// Prints megabytes a second and their ratio to jieba-rs's cut, the best of rounds that take turns: what else the
/// machine does then bears on all alike.
fn ratios(_: &mut Criterion) {
    const ROUNDS: usize = 7;
    let texts = petitions(30_000);
    let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let (jieba, segmenter, mut extractor) = (Jieba::new(), Segmenter::shared(), Extractor::new());
    let mut best: Vec<(String, f64)> = Vec::new();
    for round in 0..ROUNDS {
        let mut at = 0;
        let mut timed = |name: &str, each: &mut dyn FnMut(&str)| {
            let started = Instant::now();
            texts.iter().for_each(|text| each(text));
            let seconds = started.elapsed().as_secs_f64();
            if round == 0 {
                best.push((name.to_owned(), seconds));
            }
            best[at].1 = best[at].1.min(seconds);
            at += 1;
        };
        timed("(jieba-rs's cut)", &mut |text| _ = black_box(jieba.cut(text, false)));
        timed("(with hmm)", &mut |text| _ = black_box(jieba.cut(text, true)));
        timed("(our own cut)", &mut |text| _ = black_box(segmenter.raw_cut(text, false)));
        let mut normal = String::new();
        timed("(normal form)", &mut |text| normalize_into(black_box(text), &mut normal));
        for (name, recipe) in recipes() {
            timed(name, &mut |text| _ = black_box(extractor.simhash(text, &recipe)));
        }
    }
    println!("\n{:<18} {:>8} {:>16}", "recipe", "MB/s", "of jieba's cut");
    for (name, seconds) in &best {
        let cut = best[usize::from(name.contains("hmm"))].1;
        println!("{name:<18} {:>8.1} {:>16.2}", megabytes / seconds, cut / seconds);
    }
    println!();
}

fn fingerprinting(criterion: &mut Criterion) {
    let texts = petitions(2000);
    let bytes = texts.iter().map(String::len).sum::<usize>() as u64;
    let segmenter = Segmenter::shared();
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Bytes(bytes)).sample_size(20);

    for (name, hmm) in [("jieba/raw", false), ("jieba/raw hmm", true)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| texts.iter().map(|text| segmenter.raw_cut(text, hmm).len()).sum::<usize>());
        });
    }
    let mut normal = String::new();
    group.bench_function("normalize", |bencher| {
        bencher.iter(|| texts.iter().for_each(|text| normalize_into(black_box(text), &mut normal)));
    });
    for (name, recipe) in recipes() {
        let mut extractor = Extractor::new();
        group.bench_function(format!("simhash/{name}"), |bencher| {
            bencher.iter(|| {
                texts.iter().filter_map(|text| extractor.simhash(text, &recipe)).fold(0, |all, one| all ^ one)
            });
        });
    }
    group.finish();
}

fn rows(criterion: &mut Criterion) {
    let texts = petitions(2000);
    let FieldsRecipe(recipe) = FieldsRecipe::resolved(&json!([2, 2, 2, null]), &Nowhere).expect("a recipe");
    let mut extractor = Extractor::new();
    let mut group = criterion.benchmark_group("row");
    group.throughput(Throughput::Elements(texts.len() as u64)).sample_size(20);
    group.bench_function("four columns", |bencher| {
        bencher.iter(|| {
            texts
                .iter()
                .map(|text| {
                    [Some("李建国"), Some("市住房和城乡建设局"), Some("停水问题"), Some(text.as_str())]
                })
                .filter_map(|row| recipe.simhash(&mut extractor, row))
                .fold(0, |all, one| all ^ one)
        });
    });
    group.finish();
}

criterion_group!(benches, ratios, fingerprinting, rows);
criterion_main!(benches);
