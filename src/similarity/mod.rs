//! Similarity of texts: `ngram_jaccard`, `ngram_containment`, and the
//! details (names, dates, numbers) in which similar texts differ.

mod index;

use crate::pg::{Output, raise_invalid, raise_too_much};
use dedup_core::details::{Kinds, differing, passages};
use dedup_core::similarity;
pub(crate) use index::{ENOUGH, query};
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn ngram_jaccard(a: &str, b: &str, n: i32) -> f64 {
    similarity::jaccard(a, b, length(n))
}

#[pg_extern(sql = "")]
fn ngram_containment(a: &str, b: &str, n: i32) -> f64 {
    similarity::containment(a, b, length(n))
}

/// The longest text, in bytes, that is compared with all others: its n-grams are sorted in one pass.
const LONGEST: usize = 16 << 20;

pub(crate) fn check_length(id: &str, bytes: usize) {
    if bytes > LONGEST {
        raise_too_much(
            format!("the text of row {id} has {bytes} bytes, more than {LONGEST}"),
            "Leave such rows out, or compare the beginning of their texts: left(content, 1000000).",
        )
    }
}

fn length(n: i32) -> usize {
    match usize::try_from(n) {
        Ok(n @ 1..=64) => n,
        _ => raise_invalid(format!("n-grams of {n} characters are not possible"), "n is 1 to 64."),
    }
}

#[pg_extern(sql = "")]
fn same_details(a: &str, b: &str, kinds_named: Array<'_, &str>) -> bool {
    let kinds = Kinds::parse(kinds_named.iter().flatten());
    // Two texts alone have no slots.
    let kinds = kinds.and_then(|kinds| if kinds.slots { Err("slot") } else { Ok(kinds) });
    let kinds = kinds.unwrap_or_else(|name| {
        raise_invalid(format!("unknown kind of details: \"{name}\""), "Known are name, date and number.")
    });
    differing(a, b, kinds).is_empty()
}

#[pg_extern(sql = "")]
fn dedup_explain(a: &str, b: &str, fcinfo: pg_sys::FunctionCallInfo) {
    let mut output = Output::begin(fcinfo);
    for found in passages(a, b) {
        let part = match (found.shared, &found.a, &found.b) {
            (true, ..) => "shared",
            (false, Some(_), Some(_)) => "replaced",
            (false, Some(_), None) => "only a",
            (false, ..) => "only b",
        };
        let row = [part.into_datum(), found.a.into_datum(), found.b.into_datum(), found.detail.into_datum()];
        // SAFETY: declared as four texts.
        unsafe { output.add(row) };
    }
}
