//! Detectors of words: I-Match, SpotSigs, SCAM, the Boolean model, feature codes, the cosine of weighted features.

use super::{Element, LastUsed, check_range, elements, last_of, share, to_bigints, within};
use crate::corpus::{Database, RecipeArg};
use crate::fingerprint::text_recipe;
use crate::pg::{Texts, aggregate, raise_no_object};
use dedup_core::features::{TextRecipe, stop_words};
use dedup_detectors::imatch::{Lexicon, LexiconBuilder};
use dedup_detectors::spotsigs::{ANTECEDENTS, Spots};
use dedup_detectors::{codes, cosine, scam, terms};
use pgrx::datum::Internal;
use pgrx::prelude::*;
use serde_json::json;
use std::cell::RefCell;
use std::ops::Bound;
use std::rc::Rc;

fn lexicon(words: Texts) -> Rc<Lexicon> {
    thread_local!(static LAST: LastUsed<(), Lexicon> = const { RefCell::new(Vec::new()) });
    last_of(&LAST, Some(words), (), |words| Lexicon::new(words.into_iter().flat_map(Texts::iter)))
}

fn least(least: i32) -> usize {
    within("at_least", least, 1, i32::MAX)
}

#[pg_extern(sql = "")]
fn imatch_words(content: &str, words: Texts, at_least: i32) -> Option<i64> {
    lexicon(words).signature(content, least(at_least)).map(|signature| signature as i64)
}

/// The I-Match signature under the words or shingles of a corpus within bounds of IDF.
#[pg_extern(sql = "")]
fn imatch_corpus(content: &str, corpus: &str, low: f64, high: f64, at_least: i32) -> Option<i64> {
    let recipe = TextRecipe::resolved(&json!({"corpus": corpus}), &Database)
        .unwrap_or_else(|error| raise_no_object(error.message, error.hint));
    let lexicon = Lexicon::of_corpus(recipe, share("low", low)..=share("high", high));
    lexicon.signature(content, least(at_least)).map(|signature| signature as i64)
}

#[pg_extern(sql = "")]
fn imatch_random(content: &str, words: Texts, copies: i32, keep: f64, at_least: i32) -> Vec<i64> {
    let copies = within("copies", copies, 0, 1000);
    to_bigints(lexicon(words).randomized(content, copies, share("keep", keep), least(at_least)))
}

#[derive(Default)]
struct Counting {
    counts: LexiconBuilder,
    bounds: (f64, f64),
}

#[pg_extern(sql = "")]
fn imatch_lexicon_add(
    mut state: Internal,
    content: Option<&str>,
    low: Option<f64>,
    high: Option<f64>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    // SAFETY: both functions of this aggregate keep a `Counting`.
    let counting = unsafe { aggregate::state_or_else(&mut state, fcinfo, Counting::default) };
    let bound = |name, bound: Option<f64>| share(name, bound.unwrap_or(f64::NAN));
    counting.bounds = (bound("low", low), bound("high", high));
    if let Some(content) = content {
        counting.counts.add(content);
    }
    state
}

#[pg_extern(sql = "")]
fn imatch_lexicon_finish(state: Internal) -> Option<Vec<Element>> {
    // SAFETY: both functions of this aggregate keep a `Counting`.
    let counting = unsafe { aggregate::state::<Counting>(&state) }?;
    Some(elements(counting.counts.words(counting.bounds.0, counting.bounds.1)))
}

#[pg_extern(sql = "")]
fn spotsigs(
    content: Option<&str>,
    antecedents: Option<Texts>,
    stop: Option<Texts>,
    distance: Option<i32>,
    chain: Option<i32>,
) -> Option<Vec<Element>> {
    type Key = (Option<Texts>, usize, usize);
    thread_local!(static LAST: LastUsed<Key, Spots> = const { RefCell::new(Vec::new()) });
    let (distance, chain) = (within("distance", distance?, 1, 64), within("chain", chain?, 1, 64));
    let content = content?;
    let spots = last_of(&LAST, antecedents, (stop.clone(), distance, chain), |antecedents| {
        let antecedents = antecedents.map_or_else(|| ANTECEDENTS.to_vec(), |own| own.iter().collect());
        let stop = stop.as_ref().map_or_else(|| stop_words().collect(), |own| own.iter().collect::<Vec<_>>());
        Spots::new(antecedents, stop, distance, chain)
    });
    Some(elements(spots.of(content)))
}

fn epsilon(epsilon: f64) -> f64 {
    let above = (Bound::Excluded(2.0), Bound::Unbounded);
    check_range("epsilon", epsilon, &above, "above 2: at 2 no two frequencies are close.");
    epsilon
}

#[pg_extern(sql = "")]
fn scam_subset(a: &str, b: &str, closeness: f64) -> f64 {
    scam::subset(a, b, epsilon(closeness))
}

#[pg_extern(sql = "")]
fn scam_similarity(a: &str, b: &str, closeness: f64) -> f64 {
    scam::similarity(a, b, epsilon(closeness))
}

#[pg_extern(sql = "")]
fn boolean_terms(content: &str) -> Vec<Element> {
    elements(terms(content))
}

#[pg_extern(sql = "")]
fn feature_codes(content: &str, n: i32) -> Vec<Element> {
    elements(codes::codes(content, within("n", n, 1, 64)))
}

#[pg_extern(sql = "")]
fn simhash_cosine(a: Option<&str>, b: Option<&str>, recipe: Option<RecipeArg<TextRecipe>>) -> Option<f64> {
    Some(cosine(a?, b?, &text_recipe(recipe)))
}
