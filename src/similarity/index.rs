//! Similar texts by a GIN index of their n-grams: `ngrams(content, n) @% ngram_query(new, n, 0.5)`.
//!
//! A text of a Jaccard coefficient of at least `t` has at least `t` times the n-grams of the one that is searched
//! (`least_shared`), and GIN reads the lists of the rarest of these only, as many as one of which it must have. So every
//! similar text is found; `ngram_jaccard` decides which candidates are similar.

use super::length;
use crate::pg::{Pointer, raise_invalid};
use crate::table::join_texts;
use dedup_core::interrupt;
use dedup_core::memory::{OrRaise, Room, collect};
use dedup_core::records::Keys;
use dedup_core::similarity::{Overlap, least_shared, numbers};
use pgrx::prelude::*;

/// The strategy of `@%` in `ngram_ops`.
pub(crate) const ENOUGH: u16 = 1;

#[pg_extern(sql = "")]
fn ngrams_text(content: &str, n: i32) -> Vec<i64> {
    numbers(content, length(n))
}

#[pg_extern(sql = "")]
fn ngrams_texts(contents: Array<'_, &str>, n: i32) -> Option<Vec<i64>> {
    join_texts(contents.iter().map(|text| text.map(str::to_owned))).map(|text| numbers(&text, length(n)))
}

/// The keys by which a record is found, as numbers; `kinds` has a letter for each column.
#[pg_extern(sql = "")]
fn record_keys(columns: Array<'_, &str>, kinds: &str) -> Vec<i64> {
    let keys = Keys::parse(kinds).unwrap_or_else(|| {
        raise_invalid(
            format!("kinds of columns must be letters, not \"{kinds}\""),
            "n name, t text, c code, q quantity, d day, - no key; a capital letter: its values count together with others.",
        )
    });
    keys.of_row(columns.iter())
}

/// What texts similar to this one share with it: how many n-grams at least, then those that it has.
#[pg_extern(sql = "")]
fn ngram_query(content: &str, n: i32, similarity: f64) -> Vec<i64> {
    if !(similarity > 0.0 && similarity <= 1.0) {
        raise_invalid(
            format!("similarity {similarity} is not above 0 and at most 1"),
            "Texts that share nothing are not searched for.",
        )
    }
    let grams = numbers(content, length(n));
    query(least_shared(similarity, grams.len()), grams)
}

/// What texts are asked for that have so many of these n-grams at least.
pub(crate) fn query(least: usize, mut grams: Vec<i64>) -> Vec<i64> {
    grams.room(1).or_raise();
    grams.insert(0, least as i64);
    grams
}

/// The least number that is to be shared, and the n-grams.
fn parts(query: &Array<'_, i64>) -> (i64, Vec<i64>) {
    let mut members = query.iter().flatten();
    let least = members.next().unwrap_or(1).max(1);
    let mut grams: Vec<i64> = collect(members).or_raise();
    interrupt::sort_and_dedup(&mut grams);
    (least, grams)
}

#[pg_extern(sql = "")]
fn ngrams_enough(ngrams: Array<'_, i64>, query: Array<'_, i64>) -> bool {
    let (least, grams) = parts(&query);
    Overlap::of_sets(collect(ngrams.iter().flatten()).or_raise(), grams).shared as i64 >= least
}

/// GIN's extractQuery: the n-grams, and with the first of them the least number.
#[pg_extern(sql = "")]
fn ngrams_extract_query(
    query: Array<'_, i64>,
    count: Pointer,
    _strategy: i16,
    _partial: Pointer,
    extra: Pointer,
    _nulls: Pointer,
    _mode: Pointer,
) -> Pointer {
    let (least, grams) = parts(&query);
    // SAFETY: GIN passes pointers to where the results belong, and reads as many keys as are counted.
    unsafe {
        *count.0.cast_mut_ptr::<i32>() = grams.len() as i32;
        if grams.is_empty() {
            return Pointer(pg_sys::Datum::from(0usize));
        }
        let keys = pg_sys::palloc(grams.len() * size_of::<pg_sys::Datum>()).cast::<pg_sys::Datum>();
        let with = pg_sys::palloc0(grams.len() * size_of::<usize>()).cast::<usize>();
        for (at, gram) in grams.into_iter().enumerate() {
            keys.add(at).write(pg_sys::Datum::from(gram));
        }
        with.write(least as usize);
        *extra.0.cast_mut_ptr::<*mut usize>() = with;
        Pointer(pg_sys::Datum::from(keys))
    }
}

/// GIN's triConsistent: what is known to be shared is enough, or may be with what is not known, or cannot be.
#[pg_extern(sql = "")]
fn ngrams_consistent(
    checks: Pointer,
    _strategy: i16,
    _query: Pointer,
    count: i32,
    extra: Pointer,
    _keys: Pointer,
    _nulls: Pointer,
) -> i8 {
    // Before GIN reads anything it asks once for each key.
    interrupt::check();
    // SAFETY: GIN passes one answer for each key, and what `ngrams_extract_query` left.
    let (checks, least) = unsafe {
        let checks = std::slice::from_raw_parts(checks.0.cast_mut_ptr::<i8>(), count.max(0) as usize);
        (checks, *extra.0.cast_mut_ptr::<usize>())
    };
    let number = |answer: u32| checks.iter().filter(|&&check| check == answer as i8).count();
    let known = number(pg_sys::GIN_TRUE);
    match (known >= least, known + number(pg_sys::GIN_MAYBE) >= least) {
        (true, _) => pg_sys::GIN_TRUE as i8,
        (false, true) => pg_sys::GIN_MAYBE as i8,
        (false, false) => pg_sys::GIN_FALSE as i8,
    }
}
