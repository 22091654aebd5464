//! MinHash and P3's combined similarity.

use super::{numbers, share, to_bigints, within};
use crate::pg::{raise_elements, raise_invalid};
use dedup_core::features;
use dedup_detectors::{combined, minhash};
use pgrx::prelude::*;

const LONGEST: i32 = 4096;

fn length(k: i32) -> usize {
    within("k", k, 1, LONGEST)
}

#[pg_extern(sql = "")]
fn minhash_elements(elements: Array<'_, &str>, k: i32, family: &str) -> Option<Vec<i64>> {
    let family = minhash::Family::from_name(family).unwrap_or_else(|| {
        raise_invalid(
            format!("unknown family of hash functions \"{family}\""),
            "Families are mixed (sound, the default) and paper ((x + i) mod 100).",
        )
    });
    minhash::signature(elements.iter().flatten().map(minhash::element), length(k), family).map(to_bigints)
}

#[pg_extern(sql = "")]
fn minhash_text(content: &str, k: i32, n: i32) -> Option<Vec<i64>> {
    minhash::text_signature(content, length(k), within("n", n, 1, 64)).map(to_bigints)
}

#[pg_extern(sql = "")]
fn minhash_matrix(
    rows: Array<'_, i64>,
    factors: Array<'_, i64>,
    terms: Array<'_, i64>,
    modulus: i64,
) -> Option<Vec<i64>> {
    let (rows, factors, terms) =
        (numbers("rows", rows), numbers("factors", factors), numbers("terms", terms));
    let negative = [&rows, &factors, &terms].into_iter().flatten().any(|&number| number > i64::MAX as u64);
    if modulus < 1 || negative || factors.len() != terms.len() || factors.is_empty() {
        raise_invalid(
            "not a family of hash functions",
            "Function i is (factors[i] * row + terms[i]) mod modulus: as many factors as terms, none negative, modulus at \
             least 1.",
        )
    }
    let functions: Vec<(u64, u64)> = factors.into_iter().zip(terms).collect();
    minhash::matrix_signature(&rows, &functions, modulus as u64).map(to_bigints)
}

#[pg_extern(sql = "")]
fn minhash_similarity(a: Array<'_, i64>, b: Array<'_, i64>) -> f64 {
    let (a, b) = (numbers("a signature", a), numbers("a signature", b));
    minhash::similarity(&a, &b).unwrap_or_else(|| {
        raise_elements(
            format!("signatures of {} and {} values cannot be compared", a.len(), b.len()),
            "Make both with the same k.",
        )
    })
}

#[pg_extern(sql = "")]
fn minhash_bands(signature: Array<'_, i64>, bands: i32, rows: i32) -> Vec<i64> {
    let (bands, rows) = (within("bands", bands, 1, LONGEST), within("rows", rows, 1, LONGEST));
    match minhash::bands(&numbers("a signature", signature), bands, rows) {
        Ok(keys) => to_bigints(keys),
        Err(error) => raise_invalid(
            error.to_string(),
            "bands times rows is at most the k that the signature was made with.",
        ),
    }
}

#[pg_extern(sql = "")]
fn minhash_band_recall(similarity: f64, bands: i32, rows: i32) -> f64 {
    let (bands, rows) = (within("bands", bands, 1, LONGEST), within("rows", rows, 1, LONGEST));
    minhash::band_recall(share("similarity", similarity), bands, rows)
}

#[pg_extern(sql = "")]
fn combined_similarity(hamming: i32, jaccard: f64, mu: f64) -> f64 {
    let hamming = within("hamming", hamming, 0, 64) as u32;
    combined::similarity(hamming, share("jaccard", jaccard), share("mu", mu)).unwrap_or_default()
}

#[pg_extern(sql = "")]
fn combined_similarity_radius(threshold: f64, mu: f64) -> i32 {
    combined::radius(share("threshold", threshold), share("mu", mu)).unwrap_or(-1)
}

#[pg_extern(sql = "")]
fn length_weight(term: &str) -> f64 {
    let characters = dedup_core::text::normalize(term).chars().filter(|&c| c != ' ').count();
    if characters == 0 { 0.0 } else { features::length_weight(characters) }
}
