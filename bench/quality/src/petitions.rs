//! Long texts: candidates and verification, fingerprints alone, the papers.

use crate::data::{Data, Judged, Matter, Petition, fail};
use dedup_core::evaluate::{Background, Kinds, Profile, particulars, similar_pairs};
use dedup_core::features::{
    Corpus, CorpusBuilder, Dictionary, Extractor, RecipeError, Resolver, RowRecipe, TextRecipe, missing,
};
use dedup_core::signature::{hamming, jaccard};
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

type Pair = (usize, usize);

/// The labels as two questions: the pairs of Jaccard >= 0.5, and all of them.
/// A pair that nobody judged is lexically unrelated, and wrong. Pairs judged
/// `unsure` count for neither side, nor do true pairs that are not asked for.
struct Truth {
    close: HashSet<Pair>,
    all: HashSet<Pair>,
    unsure: HashSet<Pair>,
}

impl Truth {
    fn new(judged: &[Judged]) -> Truth {
        let of = |keep: &dyn Fn(&Judged) -> bool| {
            judged.iter().filter(|it| keep(it)).map(|it| (it.a, it.b)).collect()
        };
        Truth {
            close: of(&|it| it.matter == Matter::Same && it.similarity >= 0.5),
            all: of(&|it| it.matter == Matter::Same),
            unsure: of(&|it| it.matter == Matter::Unsure),
        }
    }

    fn score(&self, found: &[Pair], asked: &HashSet<Pair>) -> (f64, f64) {
        let right = found.iter().filter(|pair| asked.contains(pair)).count() as f64;
        let wrong =
            found.iter().filter(|pair| !self.all.contains(pair) && !self.unsure.contains(pair)).count()
                as f64;
        (if right + wrong > 0.0 { right / (right + wrong) } else { f64::NAN }, right / asked.len() as f64)
    }

    fn print(&self, name: &str, found: &[Pair], seconds: f64) {
        let (p5, r5) = self.score(found, &self.close);
        let (pa, ra) = self.score(found, &self.all);
        let f1 = 2.0 * p5 * r5 / (p5 + r5);
        println!(
            "| {name} | {p5:.3} | {r5:.3} | {f1:.3} | {pa:.3} | {ra:.3} | {} | {seconds:.2} |",
            found.len()
        );
    }
}

/// The corpus of the petitions themselves.
struct Own(HashMap<&'static str, Arc<Corpus>>);

impl Resolver for Own {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        self.0.get(name).map(Arc::clone).ok_or_else(|| missing("corpus", name, &[]))
    }
    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        Err(missing("dictionary", name, &[]))
    }
}

fn corpus(name: &'static str, recipe: TextRecipe, petitions: &[Petition]) -> (&'static str, Arc<Corpus>) {
    let mut builder = CorpusBuilder::new(recipe);
    let mut extractor = Extractor::new();
    petitions.iter().for_each(|petition| builder.add(&mut extractor, &petition.body));
    let (shape, stored) = (builder.shape(), builder.finish());
    let corpus =
        Corpus::new(name, shape, stored.documents, &stored.common).unwrap_or_else(|| fail(name, "not read"));
    (name, Arc::new(corpus))
}

fn near(prints: &[Option<u64>], radius: u32) -> Vec<Pair> {
    let mut found = Vec::new();
    for (b, print_b) in prints.iter().enumerate() {
        let Some(print_b) = print_b else { continue };
        for (a, print_a) in prints[..b].iter().enumerate() {
            if print_a.is_some_and(|print_a| hamming(print_a, *print_b) <= radius) {
                found.push((a, b));
            }
        }
    }
    found
}

pub fn report(data: &Data) {
    let petitions = data.petitions();
    let truth = Truth::new(&data.judged(&petitions));
    println!("\n## {} petitions\n", petitions.len());
    println!(
        "P/R 0.5: against the {} `same` pairs of Jaccard >= 0.5; P/R all: against all {}.\n",
        truth.close.len(),
        truth.all.len()
    );
    println!(
        "| way | P 0.5 | R 0.5 | F1 0.5 | P all | R all | pairs | s |\n|---|---|---|---|---|---|---|---|"
    );
    let bodies: Vec<&str> = petitions.iter().map(|petition| petition.body.as_str()).collect();
    let own = Own(HashMap::from([
        corpus("words@1", TextRecipe::from_json(&json!({"tokens": "words"})).unwrap_or_default(), &petitions),
        corpus("both@1", TextRecipe::default(), &petitions),
    ]));
    let prints = |recipe: serde_json::Value| -> (Vec<Option<u64>>, f64) {
        let recipe = TextRecipe::resolved(&recipe, &own).unwrap_or_else(|error| fail("recipe", error));
        let mut extractor = Extractor::new();
        let started = Instant::now();
        let prints = bodies.iter().map(|body| extractor.simhash(body, &recipe)).collect();
        (prints, started.elapsed().as_secs_f64())
    };
    let row = RowRecipe::from_json(&json!({"petitioner": 2, "title": 2, "body": {"tokens": "words"}}))
        .unwrap_or_else(|error| fail("recipe", error));
    let mut extractor = Extractor::new();
    let started = Instant::now();
    let p2: Vec<Option<u64>> = petitions
        .iter()
        .map(|it| {
            let value = |name: &str| match name {
                "petitioner" => it.petitioner.as_str(),
                "title" => it.title.as_str(),
                _ => it.body.as_str(),
            };
            row.simhash(
                &mut extractor,
                row.columns.iter().map(|(name, _)| Some(value(name))).collect::<Vec<_>>(),
            )
        })
        .collect();
    truth.print(
        "P2: columns of weight 2, words tf, CityHash, radius 3",
        &near(&p2, 3),
        started.elapsed().as_secs_f64(),
    );
    let papers = [
        ("P3: words tf-idf-len, CityHash", json!({"weight": "tfidf_len", "corpus": "words@1"})),
        (
            "P4: words tf without stop words, SDBM of Java",
            json!({"tokens": "words", "stop": "zh", "hash": "sdbm_utf16"}),
        ),
        ("P4 with CityHash", json!({"tokens": "words", "stop": "zh"})),
    ];
    for (name, recipe) in papers {
        let (prints, seconds) = prints(recipe);
        truth.print(&format!("{name}, radius 3"), &near(&prints, 3), seconds);
    }
    let (default, seconds) = prints(json!({}));
    let known: Vec<u64> = default.iter().flatten().copied().collect();
    let calibration = Background::measure(&known).calibrate();
    for radius in [3, calibration.alone] {
        let note = if radius == 3 { "" } else { " (near_dup_calibrate)" };
        truth.print(
            &format!("default fingerprint alone, radius {radius}{note}"),
            &near(&default, radius),
            seconds,
        );
    }
    let (tfidf, seconds) = prints(json!({"weight": "tfidf", "corpus": "both@1"}));
    let known: Vec<u64> = tfidf.iter().flatten().copied().collect();
    let alone = Background::measure(&known).calibrate().alone;
    truth.print(
        &format!("default tokens with tf-idf alone, radius {alone} (near_dup_calibrate)"),
        &near(&tfidf, alone),
        seconds,
    );

    let mut profile = Profile::default();
    bodies.iter().for_each(|body| profile.add(body));
    let suggestion = profile.suggest();
    let (n, threshold) = (suggestion.n as usize, suggestion.threshold);
    let started = Instant::now();
    let (suggested, _) = prints(suggestion.recipe.clone());
    let known: Vec<u64> = suggested.iter().flatten().copied().collect();
    let radius = Background::measure(&known).calibrate().verified;
    let candidates = near(&suggested, radius);
    let verified: Vec<Pair> =
        candidates.iter().copied().filter(|&(a, b)| jaccard(bodies[a], bodies[b], n) >= threshold).collect();
    let seconds = started.elapsed().as_secs_f64();
    let way = format!(
        "candidates at radius {radius} (dedup_suggest: {}), jaccard(n={n}) >= {threshold}",
        candidates.len()
    );
    truth.print(&way, &verified, seconds);
    let lower: Vec<Pair> =
        candidates.iter().copied().filter(|&(a, b)| jaccard(bodies[a], bodies[b], n) >= 0.3).collect();
    let guarded = |kinds: Kinds, pairs: &[Pair]| -> Vec<Pair> {
        pairs.iter().copied().filter(|&(a, b)| particulars(bodies[a], bodies[b], kinds).is_empty()).collect()
    };
    truth.print(
        "the same, and same_particulars(place)",
        &guarded(Kinds::PLACES, &verified),
        started.elapsed().as_secs_f64(),
    );
    truth.print(
        "the same, and same_particulars",
        &guarded(Kinds::ALL, &verified),
        started.elapsed().as_secs_f64(),
    );
    truth.print(
        "the same with jaccard >= 0.3, and same_particulars(place)",
        &guarded(Kinds::PLACES, &lower),
        started.elapsed().as_secs_f64(),
    );
    for threshold in [threshold, 0.3] {
        let started = Instant::now();
        let mut exact = Vec::new();
        similar_pairs(bodies.iter().copied(), n, threshold, |pair| {
            exact.push((pair.a, pair.b));
            ControlFlow::Continue(())
        });
        let way = format!("near_dup_text_pairs({threshold}, {n})");
        truth.print(&way, &exact, started.elapsed().as_secs_f64());
        truth.print(
            &format!("{way}, and same_particulars(place)"),
            &guarded(Kinds::PLACES, &exact),
            started.elapsed().as_secs_f64(),
        );
    }
}
