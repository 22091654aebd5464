//! The papers' other detectors: MinHash, shingles, I-Match, SpotSigs, SCAM,
//! sentence blocks. One file for each kind of thing they compare.

mod minhash;
mod sentences;
mod sets;
mod words;

use crate::pg::{Recent, Texts, raise_invalid, raise_null, recent};
use dedup_core::interrupt::check;
use pgrx::prelude::*;
use std::fmt::Display;
use std::ops::RangeBounds;
use std::rc::Rc;
use std::thread::LocalKey;

fn within(name: &str, value: i32, least: i32, most: i32) -> usize {
    check_range(name, value, &(least..=most), &format!("a number from {least} to {most}."));
    value as usize
}

fn share(name: &str, value: f64) -> f64 {
    check_range(name, value, &(0.0..=1.0), "a number from 0 to 1.");
    value
}

/// Refuses a value that is out of its range, which is as `said`.
fn check_range<T: PartialOrd + Display>(name: &str, value: T, range: &impl RangeBounds<T>, said: &str) {
    if !range.contains(&value) {
        raise_invalid(format!("{name} {value} is out of range"), format!("{name} is {said}"))
    }
}

/// The numbers of an array, which must not be NULL.
fn numbers(name: &str, array: Array<'_, i64>) -> Vec<u64> {
    const HINT: &str = "Pass an array that a function of pg_dedup returned, or array_remove(…, NULL).";
    without_null(name, array.iter().map(|number| Some(number? as u64)), HINT)
}

fn without_null<T>(name: &str, array: impl Iterator<Item = Option<T>>, hint: &str) -> Vec<T> {
    array.collect::<Option<_>>().unwrap_or_else(|| {
        let message = format!("{name} must not contain NULL");
        raise_null(message, hint)
    })
}

/// Bit patterns as `bigint` stores them.
fn to_bigints(numbers: Vec<u64>) -> Vec<i64> {
    numbers.into_iter().map(|number| number as i64).collect()
}

/// An element of a `text[]` that is returned: PostgreSQL makes the array element by element, and an array can have millions.
struct Element(String);

fn elements(texts: Vec<String>) -> Vec<Element> {
    texts.into_iter().map(Element).collect()
}

impl IntoDatum for Element {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        check();
        self.0.into_datum()
    }
    fn type_oid() -> pg_sys::Oid {
        String::type_oid()
    }
}

/// What was last made of a list of words, and of which: a statement over many rows has one list.
type LastUsed<K, T> = Recent<(Option<Texts>, K), Rc<T>>;

/// The `T` made of `texts` and `key`, kept from the call before if those are the same.
fn last_of<K: PartialEq + Clone, T>(
    last: &'static LocalKey<LastUsed<K, T>>,
    texts: Option<Texts>,
    key: K,
    make: impl FnOnce(Option<&Texts>) -> T,
) -> Rc<T> {
    let is = |kept: &(Option<Texts>, K)| kept.0 == texts && kept.1 == key;
    recent(last, 1, is, || ((texts.clone(), key.clone()), Rc::new(make(texts.as_ref()))))
}
