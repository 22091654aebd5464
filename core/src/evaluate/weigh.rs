//! Weights of the words that many texts of a table have (P3, inverse document frequency).
//!
//! Letters by one form differ in a few words of a hundred. Fingerprints by all of them are near each other whatever the
//! letters are about; by the words that few texts have they are as far apart as unrelated texts are. So are the copies of one
//! letter that thousands sign, which must not be.

use super::chance::grams;
use crate::dedup::Alike;
use crate::details::{Kinds, Learner};
use crate::features::{Extractor, TextRecipe};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{OrRaise, Room, collect, copy_str};
use crate::random::SplitMix64;
use crate::similarity::Overlap;
use crate::text::Normal;
use rustc_hash::FxHashMap;
use serde_json::{Map, Value};
use std::sync::Arc;

/// Texts that are looked at, at most.
const TEXTS: usize = 4_000;
/// Fewer show nothing.
const FEWEST: usize = 100;
/// The share of the texts that have a common word. Those of forms by fifty patterns are among them.
const COMMON: f64 = 0.02;
/// The share of a text's weight that common words are where they are weighed: of petitions and articles it is a half.
const MOST: f64 = 0.6;
/// Words that are weighed, at most.
const WORDS: usize = 1_000;

/// Random pairs of which those that are alike are judged, and how many of these show something.
const PAIRS: usize = 1_000;
const FEW: u32 = 20;
/// The share of them that are copies where nearly all are: the others are compared too, each with each.
const COPIES: f64 = 0.95;
/// Texts no two of which are alike, at most, and among how many they are looked for.
const UNLIKE: (usize, usize) = (100, 1_000);

/// Some texts no two of which are alike, where nearly all pairs that are, by their `n`-grams from a `threshold` on, are copies that
/// differ in no detail of these kinds. `None`: some are texts of one form about other things.
pub fn without_copies(
    texts: &[String],
    n: usize,
    threshold: f64,
    kinds: Kinds,
    normal: Normal,
) -> Option<Vec<&str>> {
    let mut random = SplitMix64::new(0x5EED);
    // In no order: what comes in turn would be seen in part.
    let texts: Vec<&str> = match texts.len() {
        all if all <= TEXTS => collect(checked(texts).map(String::as_str)),
        all => collect(checked(0..TEXTS).map(|_| texts[random.below(all)].as_str())),
    }
    .or_raise();
    let mut learner = Learner::default();
    texts.iter().for_each(|text| learner.add(&normal.plain(text)));
    let statistics = Some(Arc::new(learner.learn(n)));
    let alike = Alike { similarity: threshold, n, details: Some(kinds), normal, statistics, weighed: false };
    let (mut near, mut same) = (0, 0);
    for _ in checked(0..PAIRS) {
        let [a, b] = [random.below(texts.len()), random.below(texts.len())].map(|at| texts[at]);
        // Equal texts are no evidence.
        if a != b && alike.likeness(a, b) >= threshold {
            near += 1;
            same += usize::from(alike.one(a, b).is_some());
        }
    }
    if near < FEW || (same as f64) < COPIES * f64::from(near) {
        return None;
    }
    let (mut unlike, mut sets) = (Vec::new(), Vec::<Vec<u64>>::new());
    for text in checked(&texts).take(UNLIKE.1) {
        let Some(set) = grams(text, n).filter(|_| unlike.len() < UNLIKE.0) else { continue };
        if sets.iter().all(|other| Overlap::of_sorted(&set, other).jaccard() < threshold) {
            unlike.push(*text);
            sets.push(set);
        }
    }
    Some(unlike)
}

/// A recipe in which the words that many of some texts have weigh (ln(N / df) / ln N)², in hundredths and one at least, of N texts
/// of which df have it: not squared, the hundred words of one of twelve forms outweigh the few in its slots. `None`: of most
/// texts less than three fifths is such words.
pub fn weighed<T: AsRef<str>>(recipe: &Value, texts: &[T]) -> Option<Value> {
    let made = TextRecipe::from_json(recipe).ok().filter(|_| texts.len() >= FEWEST)?;
    let (mut extractor, mut counts) = (Extractor::new(), FxHashMap::<String, u32>::default());
    let texts = || checked(texts).step_by(texts.len().div_ceil(TEXTS));
    for text in texts() {
        let bag = extractor.bag(text.as_ref(), &made);
        counts.room(bag.features().len()).or_raise();
        bag.features().iter().for_each(|it| *counts.entry(copy_str(&it.text).or_raise()).or_default() += 1);
    }
    let all = texts().count() as f64;
    let common = |text: &str| f64::from(counts[text]) >= COMMON * all;
    let mut alike = 0;
    for text in texts() {
        let bag = extractor.bag(text.as_ref(), &made);
        let weight = |only: &dyn Fn(&str) -> bool| -> f64 {
            bag.features().iter().filter(|it| only(&it.text)).map(|it| it.weight.value()).sum()
        };
        alike += usize::from(weight(&common) > MOST * weight(&|_| true));
    }
    if 2.0 * alike as f64 <= all {
        return None;
    }
    let mut words: Vec<(u32, &str)> = collect(counts.iter().map(|it| (*it.1, it.0.as_str()))).or_raise();
    sort_unstable_by(&mut words, |a: &(u32, &str), b| (b.0, a.1).cmp(&(a.0, b.1)));
    let words = words.into_iter().take_while(|it| f64::from(it.0) >= COMMON * all).take(WORDS);
    // A text of such words alone has a fingerprint too.
    let weight =
        |count: u32| (((all / f64::from(count)).ln() / all.ln()).powi(2) * 100.0).round().max(1.0) / 100.0;
    let terms: Map<String, Value> =
        words.map(|(count, word)| (word.to_owned(), weight(count).into())).collect();
    let mut recipe = recipe.clone();
    recipe["terms"] = terms.into();
    Some(recipe)
}
