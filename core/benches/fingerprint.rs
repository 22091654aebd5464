//! Throughput of fingerprinting by recipe, against the segmentation alone
//! (`jieba/raw`) on the same texts: `cargo bench -p dedup_core`.

// The macros of criterion make functions without comments.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dedup_core::features::{Extractor, FieldsRecipe, TextRecipe};
use dedup_core::text::{Segmenter, normalize_into};
use serde_json::json;
use std::hint::black_box;
use std::time::Instant;

mod petitions;

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

/// Prints megabytes a second and their ratio to the plain segmentation, the
/// best of rounds that take turns: what else the machine does then bears on
/// all alike.
fn ratios(_: &mut Criterion) {
    const ROUNDS: usize = 40;
    let texts = petitions::petitions(500);
    let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
    let (segmenter, mut extractor) = (Segmenter::shared(), Extractor::new());
    let recipes: Vec<_> = recipes().collect();
    let mut best = vec![f64::INFINITY; recipes.len() + 2];
    let timed = |best: &mut f64, mut run: Box<dyn FnMut() + '_>| {
        let started = Instant::now();
        run();
        *best = best.min(started.elapsed().as_secs_f64());
    };
    for _ in 0..ROUNDS {
        for (at, hmm) in [(0, false), (1, true)] {
            timed(
                &mut best[at],
                Box::new(|| texts.iter().for_each(|text| _ = black_box(segmenter.raw_cut(text, hmm)))),
            );
        }
        for ((_, recipe), best) in recipes.iter().zip(&mut best[2..]) {
            timed(
                best,
                Box::new(|| texts.iter().for_each(|text| _ = black_box(extractor.simhash(text, recipe)))),
            );
        }
    }
    println!("\n{:<18} {:>8} {:>16}", "recipe", "MB/s", "of jieba's cut");
    let names = ["(jieba's cut)", "(with hmm)"].into_iter().chain(recipes.iter().map(|(name, _)| *name));
    for ((at, name), seconds) in names.enumerate().zip(&best) {
        let cut = best[usize::from(at == 1 || name == "words hmm")];
        println!("{name:<18} {:>8.1} {:>16.2}", megabytes / seconds, cut / seconds);
    }
    println!();
}

fn fingerprinting(criterion: &mut Criterion) {
    let texts = petitions::petitions(2000);
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
    let texts = petitions::petitions(2000);
    let FieldsRecipe(recipe) = FieldsRecipe::from_json(&json!([2, 2, 2, null])).expect("a recipe");
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
