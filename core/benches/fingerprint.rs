//! Throughput of fingerprinting by recipe, against the segmentation alone
//! (`jieba/raw`) on the same texts: `cargo bench -p dedup_core`.

// The macros of criterion make functions without comments.
#![allow(missing_docs)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use dedup_core::features::{Extractor, RowRecipe, TextRecipe};
use dedup_core::text::{Segmenter, normalize_into};
use serde_json::json;
use std::hint::black_box;

mod petitions;

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
    for (name, recipe) in [
        ("default", json!({})),
        ("words", json!({"tokens": "words"})),
        ("words hmm", json!({"tokens": "words", "hmm": true})),
        ("words log", json!({"tokens": "words", "weight": "log"})),
        ("words own terms", json!({"tokens": "words", "terms": {"停水": 3}, "stop": ["的", "了"]})),
        ("chars 2", json!({"tokens": "chars", "n": 2})),
        ("chars 3", json!({"tokens": "chars", "n": 3})),
        ("chars 3 one", json!({"tokens": "chars", "n": 3, "weight": "one"})),
        ("shingles 2", json!({"tokens": "shingles", "n": 2})),
    ] {
        let recipe = TextRecipe::from_json(&recipe).expect("a recipe");
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
    let recipe = RowRecipe::from_weights(&[Some(2.0), Some(2.0), Some(2.0), None]).expect("a recipe");
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

criterion_group!(benches, fingerprinting, rows);
criterion_main!(benches);
