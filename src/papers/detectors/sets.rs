//! Shingles, and Jaccard similarity and containment of arrays.

use super::{Element, elements, numbers, to_bigints, within};
use dedup_core::similarity::Overlap;
use dedup_detectors::shingle;
use pgrx::prelude::*;

fn texts(a: Array<'_, &str>, b: Array<'_, &str>) -> Overlap {
    Overlap::of_sets(a.iter().flatten().collect(), b.iter().flatten().collect())
}

fn hashes(a: Array<'_, i64>, b: Array<'_, i64>) -> Overlap {
    Overlap::of_sets(a.iter().flatten().collect(), b.iter().flatten().collect())
}

#[pg_extern(sql = "")]
fn set_jaccard_texts(a: Array<'_, &str>, b: Array<'_, &str>) -> f64 {
    texts(a, b).jaccard()
}

#[pg_extern(sql = "")]
fn set_jaccard_hashes(a: Array<'_, i64>, b: Array<'_, i64>) -> f64 {
    hashes(a, b).jaccard()
}

#[pg_extern(sql = "")]
fn set_containment_texts(a: Array<'_, &str>, b: Array<'_, &str>) -> f64 {
    texts(a, b).containment()
}

#[pg_extern(sql = "")]
fn set_containment_hashes(a: Array<'_, i64>, b: Array<'_, i64>) -> f64 {
    hashes(a, b).containment()
}

#[pg_extern(sql = "")]
fn spotsigs_similarity(a: Array<'_, &str>, b: Array<'_, &str>) -> f64 {
    Overlap::of_multisets(a.iter().flatten().collect(), b.iter().flatten().collect()).jaccard()
}

fn words(w: i32) -> usize {
    within("w", w, 1, 64)
}

#[pg_extern(sql = "")]
fn shingles(content: &str, w: i32) -> Vec<Element> {
    elements(shingle::shingles(content, words(w)))
}

#[pg_extern(sql = "")]
fn shingle_hashes(content: &str, w: i32, modulus: i32) -> Vec<i64> {
    to_bigints(shingle::hashes(content, words(w), within("modulus", modulus, 1, i32::MAX) as u64))
}

#[pg_extern(sql = "")]
fn super_shingles(content: &str, w: i32, modulus: i32, size: i32) -> Vec<i64> {
    let sample = shingle::hashes(content, words(w), within("modulus", modulus, 1, i32::MAX) as u64);
    to_bigints(shingle::super_shingles(&sample, within("size", size, 1, 1024)))
}

#[pg_extern(sql = "")]
fn super_shingles_of(sample: Array<'_, i64>, size: i32) -> Vec<i64> {
    let mut sample = numbers("a sample", sample);
    sample.sort_unstable();
    sample.dedup();
    to_bigints(shingle::super_shingles(&sample, within("size", size, 1, 1024)))
}
