//! Random input of every kind that comes from outside: texts, recipes, options, stored bytes, pages. Nothing panics,
//! and what can be compared is right.
//!
//! A fixed number of inputs by default; `scripts/fuzz` goes on for a time. The n-th input of a seed is always the same:
//! DEDUP_FUZZ_FROM=n begins there.

mod common;
#[path = "common/inputs.rs"]
mod inputs;

use common::Rng;
use common::banding::*;
use inputs::*;

use dedup_core::banding::{Index, NearestScan, Pages, RangeScan, check, radii};
use dedup_core::dedup::{KEYS as KEYS_OF_OPTIONS, SINKS, Written};
use dedup_core::details::{Kinds, differing, passages};
use dedup_core::features::{
    Corpus, CorpusBuilder, Dictionary, Extractor, FieldsRecipe, RecipeError, Resolver, RowRecipe, TextRecipe,
    explain, missing, shared,
};
use dedup_core::fingerprint::SimHash;
use dedup_core::similarity::{containment, jaccard};
use dedup_core::text::{Markup, Segmenter, char_ngrams, compact, normalize, simplify, strip_markup};
use dedup_detectors::exact::{Bloom, Hashing, Shape as Filter};
use dedup_detectors::{codes, minhash, scam, sentence, shingle, spotsigs, terms};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|value| value.parse().unwrap_or_else(|_| panic!("{name} is not a number")))
}

/// Runs `each` on so many inputs, or for DEDUP_FUZZ_SECONDS.
fn fuzz(target: &str, inputs: u64, mut each: impl FnMut(&mut Rng)) {
    let seed = setting("DEDUP_TEST_SEED").unwrap_or(20_140_217);
    let first = setting("DEDUP_FUZZ_FROM").unwrap_or(0);
    let time = setting("DEDUP_FUZZ_SECONDS").map(Duration::from_secs);
    let begun = Instant::now();
    let mut at = first;
    while time.map_or(at < first + inputs, |time| begun.elapsed() < time) {
        let mut rng = Rng::new(seed ^ at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| each(&mut rng))) {
            eprintln!("{target}: DEDUP_TEST_SEED={seed} DEDUP_FUZZ_FROM={at} repeats it");
            resume_unwind(panic);
        }
        at += 1;
    }
    println!("{target}: {} inputs of seed {seed}", at - first);
}

/// A corpus and a dictionary that recipes can name.
struct Known(Arc<Corpus>, Arc<Dictionary>);

impl Known {
    fn new() -> Known {
        let mut builder = CorpusBuilder::new(TextRecipe::default());
        let mut extractor = Extractor::new();
        for text in ["停水五天了", "停水", "no water since sunday", "no water"] {
            builder.add(&mut extractor, text);
        }
        let shape = builder.shape();
        let stored = builder.finish();
        let corpus = Corpus::new("c@1", shape, stored.documents, &stored.common).unwrap();
        let (words, _) = Segmenter::complete_words(["停水五天", "水管爆 9"]).unwrap();
        Known(Arc::new(corpus), Arc::new(Dictionary::new("d@1", words, ["的", "了"])))
    }
}

impl Resolver for Known {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        if name == "c@1" { Ok(Arc::clone(&self.0)) } else { Err(missing("corpus", name, &[])) }
    }
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        if name == "d@1" { Ok(Arc::clone(&self.1)) } else { Err(missing("dictionary", name, &[])) }
    }
}

const KEYS: [&str; 20] = [
    "tokens",
    "n",
    "weight",
    "terms",
    "stop",
    "hash",
    "corpus",
    "max_df",
    "dictionary",
    "markup",
    "simplify",
    "hmm",
    "min_length",
    "scheme",
    "title",
    "body",
    "",
    "停水",
    "drop",
    "features",
];
const WORDS: [&str; 23] = [
    "words",
    "chars",
    "words+chars",
    "shingles",
    "tf",
    "log",
    "tfidf",
    "length",
    "binary",
    "city64",
    "murmur3",
    "java",
    "bkdr",
    "bkdr_utf16",
    "c@1",
    "d@1",
    "c@2",
    "html",
    "xml",
    "",
    "停水",
    "default",
    "1",
];

/// Protects every statement that has a recipe: whatever the JSON is, it is a recipe that works or an error that says why.
#[test]
fn fuzz_recipes() {
    let known = Known::new();
    let mut extractor = Extractor::new();
    let (mut good, mut bad) = (0, 0);
    fuzz("recipes", 6_000, |rng| {
        let mut json =
            if rng.below(3) == 0 { json(&KEYS, &WORDS, 3, rng) } else { object(&KEYS[..16], &WORDS, 2, rng) };
        if rng.below(20) == 0 {
            let written = damaged(json.to_string().as_bytes(), rng);
            let Ok(other) = serde_json::from_slice(&written) else { return };
            json = other;
        }
        let texts = [text(rng), text(rng)];
        match TextRecipe::resolved(&json, &known) {
            Ok(recipe) => {
                good += 1;
                let (a, b) = (extractor.bag(&texts[0], &recipe), extractor.bag(&texts[1], &recipe));
                assert_eq!(extractor.simhash(&texts[0], &recipe), a.simhash(), "{json}");
                explain(&a, &b);
                shared(&a, &b, 5);
            }
            Err(error) => {
                bad += 1;
                assert!(!error.to_string().is_empty());
            }
        }
        let row = RowRecipe::resolved(&json, &known);
        let fields = FieldsRecipe::resolved(&json, &known).map(|fields| fields.0);
        for recipe in [row, fields].into_iter().flatten() {
            let values = || texts.iter().map(|text| Some(text.as_str()));
            let bag = recipe.bag(&mut extractor, values());
            assert_eq!(recipe.simhash(&mut extractor, values()), bag.simhash(), "{json}");
            recipe.in_words().bag(&mut extractor, values());
        }
    });
    assert!(good > 0 && bad > 0, "{good} recipes, {bad} errors");
}

/// Protects the options of dedup and its kin.
#[test]
fn fuzz_options() {
    let mut keys: Vec<&str> = KEYS_OF_OPTIONS.iter().map(|key| key.name).collect();
    keys.push("x");
    let words = [
        "text",
        "normal",
        "none",
        "fingerprint",
        "records",
        "exact",
        "star",
        "jaccard",
        "flag",
        "log",
        "components",
        "single_pass",
        "first",
        "last",
        "longest",
        "newest",
        "id",
        "name",
        "date",
        "fp",
        "number",
        "",
        "-created",
    ];
    let (mut good, mut bad) = (0, 0);
    fuzz("options", 30_000, |rng| {
        let json =
            if rng.below(20) == 0 { json(&keys, &words, 2, rng) } else { object(&keys, &words, 1, rng) };
        let sink = SINKS[rng.below(SINKS.len() as u64) as usize];
        let Ok(written) = Written::new(sink, Some(json.clone())) else {
            bad += 1;
            return;
        };
        match written.read() {
            Ok(_) => {
                good += 1;
                // What it says of itself means the same.
                assert!(Written::new(sink, Some(written.complete())).unwrap().read().is_ok(), "{json}");
            }
            Err(error) => {
                bad += 1;
                assert!(!error.what.is_empty());
            }
        }
        written.lets_texts_choose();
    });
    assert!(good > 0 && bad > 0, "{good} options, {bad} errors");
}

/// All that is done with one text and with two.
fn read_texts(a: &str, b: &str) {
    let normal = normalize(a);
    let mut without_spaces = String::new();
    compact(&normal, &mut without_spaces);
    for n in [1, 2, 3, 64] {
        char_ngrams(&without_spaces, n, |gram| assert!(!gram.is_empty()));
        let similarity = jaccard(a, b, n);
        assert!((0.0..=1.0).contains(&similarity) && similarity == jaccard(b, a, n), "{a:?} {b:?}");
        assert!((0.0..=1.0).contains(&containment(a, b, n)), "{a:?} {b:?}");
    }
    for hmm in [false, true] {
        assert_eq!(Segmenter::shared().raw_cut(&normal, hmm).concat(), normal);
        Segmenter::shared().words(&normal, hmm, |word| assert!(!word.is_empty()));
    }
    simplify(a);
    let mut out = String::new();
    strip_markup(a, Markup::Html, &mut out);
    strip_markup(a, Markup::Xml, &mut out);

    let found = differing(a, b, Kinds::parse(["name", "date", "number"]).unwrap());
    let turned = differing(b, a, Kinds::parse(["name", "date", "number"]).unwrap());
    assert!(found.iter().map(|p| (&p.a, &p.b)).eq(turned.iter().map(|p| (&p.b, &p.a))), "{a:?} {b:?}");
    assert!(differing(a, a, Kinds::parse(["name", "date", "number"]).unwrap()).is_empty(), "{a:?}");
    passages(a, b);

    terms(a);
    codes::codes(a, 2);
    shingle::shingles(a, 3);
    scam::similarity(a, b, 2.5);
    spotsigs::Spots::new(spotsigs::ANTECEDENTS.iter().copied(), [], 2, 3).of(a);
    let stop = sentence::StopWords::default();
    let (a, b) = (sentence::split(a, &stop), sentence::split(b, &stop));
    sentence::blocks(&a, &b);
    assert!((0.0..=1.0).contains(&sentence::similarity(&a, &b)));
    sentence::length_string(&a);
}

/// Protects every row that is stored: no text ends in a panic.
#[test]
fn fuzz_texts() {
    fuzz("texts", 4_000, |rng| {
        let a = text(rng);
        let b = if rng.below(4) == 0 { text(rng) } else { changed(&a, rng) };
        read_texts(&a, &b);
        minhash::text_signature(&a, 16, 2);
    });
}

/// What is stored of a corpus, a dictionary, a Bloom filter and sums can be damaged, or forged.
#[test]
fn fuzz_stored() {
    let mut builder = CorpusBuilder::new(TextRecipe::default());
    let mut extractor = Extractor::new();
    let mut sums = SimHash::new();
    let mut rng = Rng::new(7);
    for _ in 0..60 {
        builder.add(&mut extractor, &text(&mut rng));
        sums.count(rng.next());
    }
    let shape = builder.shape();
    let stored = builder.finish();
    let mut bloom = Bloom::new(Filter::new(500, 3, Hashing::City).unwrap());
    bloom.add("停水".as_bytes());
    let bloom = bloom.into_bytes();
    let sums = sums.to_bytes();
    let (words, _) = Segmenter::complete_words(["停水五天", "水管爆 9", "a 7 n"]).unwrap();
    fuzz("stored", 6_000, |rng| {
        let text = text(rng);
        let (common, single) = (damaged(&stored.common, rng), damaged(&stored.single, rng));
        let documents = rng.next() >> rng.below(64);
        if let Some(corpus) = Corpus::new("c@1", shape.clone(), documents, &common) {
            for token in ["停水", "water", text.as_str()] {
                assert!(corpus.idf(token).is_finite() && corpus.share(token) >= 0.0);
            }
            let mut builder = CorpusBuilder::new(TextRecipe::default());
            if builder.extend(documents >> 1, &common, &single).is_some() {
                builder.add(&mut extractor, &text);
                builder.finish();
            }
        }
        let damaged_bloom = damaged(&bloom, rng);
        if let Ok(mut filter) = Bloom::open(damaged_bloom) {
            filter.add(text.as_bytes());
            assert!(filter.contains(text.as_bytes()));
            assert!(filter.current_error() >= 0.0 && filter.estimated_items() >= 0.0);
            let _ = filter.merge(&Bloom::open(&bloom).unwrap());
        }
        if let Some(mut sums) = SimHash::from_bytes(&damaged(&sums, rng)) {
            sums.finish();
            sums.sums();
        }
        let list = String::from_utf8_lossy(&damaged(words.as_bytes(), rng)).into_owned() + &text;
        Segmenter::are_complete(&list);
        let own = Segmenter::with_words(&list);
        assert_eq!(own.raw_cut(&normalize(&text), true).concat(), normalize(&text), "{list:?}");
        if let Ok((complete, _)) = Segmenter::complete_words(list.lines()) {
            assert!(Segmenter::are_complete(&complete), "{list:?}");
        }
    });
}

/// Protects the claim that a search is complete: two fingerprints within a distance meet in a bucket that is probed,
/// however their bits are spread over the blocks.
#[test]
fn fuzz_probes() {
    fuzz("probes", 200_000, |rng| {
        let distance = rng.below(65);
        let (query, blocks) = (rng.next(), 1 + rng.below(15));
        let mut other = query;
        let mut left = rng.below(distance + 1);
        for _ in 0..200 {
            let bit = rng.below(64);
            if left > 0 && blocks >> (bit / 16) & 1 == 1 && (other ^ query) >> bit & 1 == 0 {
                other ^= 1 << bit;
                left -= 1;
            }
        }
        let radii = radii(distance as u32);
        let meets = |i: usize| ((query ^ other) >> (48 - 16 * i) & 0xffff).count_ones() as i32 <= radii[i];
        assert!((0..4).any(meets), "{query:x} {other:x} within {distance}: {radii:?}");
    });
}

/// Protects answers: an index of random rows, some of them taken out, at random distances.
#[test]
fn fuzz_searches() {
    fuzz("searches", 60, |rng| {
        let shape = SHAPES[rng.below(SHAPES.len() as u64) as usize];
        let fps = fingerprints(shape, 20 + rng.below(900) as usize, rng);
        let (pages, index, mut rows) = index_by_insert(512 << rng.below(5), &fps);
        let one_in = 2 + rng.below(9) as u16;
        index.bulk_delete(&pages, |tid| tid.offset() % one_in == 0).unwrap();
        rows.retain(|tid, _| tid.offset() % one_in != 0);
        index.maintain(&pages).unwrap();
        assert_sound(&pages, "after a vacuum");
        let index = Index::open(&pages).unwrap();
        for query in queries(&fps, 6, rng) {
            let (distance, batch) = (rng.below(70) as u32, 1 + rng.below(400) as usize);
            assert!(
                search(&pages, &index, query, distance, batch) == brute(&rows, query, distance),
                "{shape:?} {distance}"
            );
            let mut scan = NearestScan::new(&index, query, 64);
            let mut hits = Vec::new();
            while scan.next_batch(&pages, batch, &mut hits).unwrap() {}
            assert!(hits.is_sorted_by_key(|hit| hit.distance), "{shape:?}");
            hits.sort_unstable();
            assert!(hits == brute(&rows, query, 64), "{shape:?}");
        }
    });
}

/// Protects against damaged pages: bytes flipped, pages torn, exchanged, of another time or zero. Everything ends, and
/// if a check finds nothing wrong then answers are right.
#[test]
fn fuzz_pages() {
    let mut rng = Rng::new(3);
    let body = 512;
    let base = rng.next();
    let mut fps = fingerprints(Shape::NearDuplicates, 700, &mut rng);
    fps.extend((0..700).map(|_| base & 0xffff << 48 | rng.next() >> 16));
    let (early, index, mut rows) = index_by_insert(body, &fps);
    let image = |pages: &MemoryPages| -> Vec<Vec<u8>> {
        (0..pages.len().unwrap()).map(|block| pages.read(block).unwrap().to_vec()).collect()
    };
    let before = image(&early);
    for (n, fp) in fps.iter().enumerate().take(300) {
        index.insert(&early, 0, fp ^ 5, tid(2000 + n)).unwrap();
        rows.insert(tid(2000 + n), fp ^ 5);
    }
    index.bulk_delete(&early, |tid| tid.offset() % 9 == 0).unwrap();
    rows.retain(|tid, _| tid.offset() % 9 != 0);
    index.maintain(&early).unwrap();
    let after = image(&early);
    let mut unnoticed = 0;
    fuzz("pages", 1_500, |rng| {
        let mut images = after.clone();
        for _ in 0..1 + rng.below(3) {
            let some = |rng: &mut Rng| {
                let most = if rng.below(3) == 0 { 6 } else { after.len() as u64 };
                rng.below(most) as usize
            };
            let (a, b) = (some(rng), some(rng));
            match rng.below(8) {
                0 => images.swap(a, b),
                1 => images[a] = images[b].clone(),
                2 => images[a].fill(0),
                3 => images[a] = before.get(a).unwrap_or(&after[b]).clone(),
                4 => {
                    let (end, old) = (rng.below(body as u64) as usize, before.get(a).unwrap_or(&after[b]));
                    images[a][..end].copy_from_slice(&old[..end]);
                }
                5 => images.truncate(1.max(a)),
                _ => {
                    let most = if rng.below(2) == 0 { 128 } else { body as u64 };
                    let at = rng.below(most) as usize;
                    if let Some(page) = images.get_mut(a) {
                        page[at] = [0, 0xff, rng.next() as u8][rng.below(3) as usize];
                    }
                }
            }
            if images.len() < after.len() {
                break;
            }
        }
        let pages = MemoryPages::new(body);
        for (block, image) in images.iter().enumerate() {
            drop(pages.extend().unwrap());
            pages.overwrite(block as u32, |to| to.copy_from_slice(image)).unwrap();
        }
        let faults = faults(&pages);
        let Ok(index) = Index::open(&pages) else {
            assert!(!faults.is_empty());
            return;
        };
        let query = fps[rng.below(1400) as usize];
        for distance in [0, 3, 8, 64] {
            let mut scan = RangeScan::new(&index, query, distance);
            let mut hits = Vec::new();
            let ended = loop {
                match scan.next_batch(&pages, 50, &mut hits) {
                    Ok(true) => assert!(hits.len() < 40_000, "a scan without end"),
                    other => break other,
                }
            };
            hits.sort_unstable();
            if faults.is_empty() {
                unnoticed += 1;
                // A whole tree of another time, or no damage at all: only the comparison with the table can tell.
                let listed = hits.iter().all(|hit| (hit.fingerprint ^ query).count_ones() == hit.distance);
                assert!(ended.is_ok() && listed, "distance {distance}");
                assert!(images != after || hits == brute(&rows, query, distance), "distance {distance}");
            }
        }
        let mut scan = NearestScan::new(&index, query, 64);
        let mut hits = Vec::new();
        while hits.len() < 5000 && scan.next_batch(&pages, 100, &mut hits) == Ok(true) {}
        let _ = index.stats(&pages);
        let _ = index.maintain(&pages);
        for n in 0..20 {
            let fp = rng.flip(query, n);
            let _ = index.insert(&pages, 0, fp, tid(5000 + n as usize));
        }
        let _ = index.bulk_delete(&pages, |tid| tid.offset() % 2 == 0);
        let _ = check(&pages, false, |_, _, _| ());
    });
    println!("pages: {unnoticed} searches of pages that a check finds nothing wrong with");
}

/// Nanoseconds of the processor that this thread has had, whatever else the machine does.
fn worked() -> Option<u64> {
    std::fs::read_to_string("/proc/thread-self/schedstat").ok()?.split_whitespace().next()?.parse().ok()
}

/// Protects writers from a text that takes for ever: sixteen times the length takes nothing like 256 times as long.
#[test]
fn fuzz_no_text_takes_more_than_linear_time() {
    let units = [
        "停水五天了",
        "a",
        "w1 w2 ",
        "。",
        "a. ",
        "\u{301}",
        "的",
        "1",
        "<b ",
        "&amp;",
        "1年2月3日",
        "张三、",
        "\u{316}\u{301}",
        "的了是在",
        "Mr. Smith paid 12 ",
        "-",
        "ab",
    ];
    for unit in units {
        let mut least = [u64::MAX; 2];
        for (at, bytes) in [(0, 2 << 10), (1, 32 << 10)] {
            for _ in 0..2 {
                let a = unit.repeat(bytes / unit.len());
                let b = a[unit.len()..].to_owned() + "x";
                let Some(begun) = worked() else { return println!("skipped: no schedstat") };
                read_texts(&a, &b);
                least[at] = least[at].min(worked().unwrap() - begun);
            }
        }
        println!("{unit:?}: {} and {} microseconds", least[0] / 1000, least[1] / 1000);
        assert!(least[1] < 100 * least[0] + 3_000_000_000, "{unit:?}: {least:?} ns");
    }
}
