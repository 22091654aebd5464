//! P1's exact stage over a stream of rows: `bloom_seen`, `trie_seen`, `exact_seen`.

use super::bloom::{empty, hashing, rule};
use crate::pg::{Window, raise_invalid, within_memory_limit};
use dedup_detectors::exact::{Bloom, DigitTrie, ExactSet, Shape, seen_in_passes};
use pgrx::PgMemoryContexts;
use pgrx::prelude::*;

/// The state of `bloom_seen` for a partition.
enum Filter {
    /// Filled as rows come.
    Streaming(Bloom, dedup_detectors::exact::Rule),
    /// The results of all rows, from several passes.
    Verdicts(Vec<bool>),
}

/// Whether the content occurred before in its partition, with false positives at the error rate;
/// NULL for NULL. Arguments: content, bits, hashes, error, hash, rule, passes.
#[pg_extern(sql = "")]
fn bloom_seen(fcinfo: pg_sys::FunctionCallInfo) -> Option<bool> {
    let window = Window::of(fcinfo);
    // SAFETY: this function keeps a `Filter`; the argument is text.
    let (filter, content) = unsafe { (window.state(|| filter(&window)), window.argument::<&str>(0)) };
    let content = content?;
    match filter {
        Filter::Streaming(bloom, rule) => {
            window.forget_earlier();
            Some(bloom.add_under(content.as_bytes(), *rule))
        }
        Filter::Verdicts(verdicts) => verdicts.get(window.position() as usize).copied(),
    }
}

fn filter(window: &Window) -> Filter {
    // SAFETY: declared as (text, bigint, integer, double precision, text, text, integer).
    let (bits, hashes, error, hash, by, passes) = unsafe {
        (
            window.argument::<i64>(1),
            window.argument::<i32>(2),
            window.argument::<f64>(3),
            window.argument::<&str>(4),
            window.argument::<&str>(5),
            window.argument::<i32>(6),
        )
    };
    let (hash, by) = (hashing(hash.unwrap_or("city64")), rule(by.unwrap_or("all")));
    let passes = passes.unwrap_or(1);
    if !(1..=10_000).contains(&passes) {
        raise_invalid(
            format!("passes must be 1 to 10000, not {passes}"),
            "Each pass filters its share of the texts through the whole filter.",
        )
    }
    // Counting the rows reads them all, so it is done only where the number is needed.
    let items = || (window.rows() as u64).div_ceil(passes as u64);
    let (bits, hashes) = (bits.map(|bits| bits.max(0) as u64), hashes.map(|hashes| hashes.max(0) as u32));
    let shape = match bits {
        None => Shape::for_items(items(), error.unwrap_or(0.001))
            .and_then(|shape| Shape::new(shape.bits(), hashes.unwrap_or(shape.hashes()), hash)),
        Some(bits) => Shape::new(bits, hashes.unwrap_or_else(|| Shape::best_hashes(bits, items())), hash),
    };
    let bloom = empty(shape);
    if passes == 1 {
        return Filter::Streaming(bloom, by);
    }
    // P1's repeated filtering: each pass uses the same small filter for its share of the texts.
    within_memory_limit(window.rows() as usize);
    let mut context = PgMemoryContexts::new("pg_dedup texts of a pass");
    let verdicts = seen_in_passes(bloom, by, passes as u64, window.rows() as usize, |row, take| {
        // SAFETY: the argument is text; its copy lives until the next reset.
        unsafe {
            context.switch_to(|_| {
                if let Some(content) = window.argument_at::<&str>(0, row as i64) {
                    take(content.as_bytes());
                }
            });
            if row % 4096 == 0 {
                context.reset();
            }
        }
    });
    Filter::Verdicts(verdicts)
}

/// Whether the content occurred before in its partition; NULL for NULL. Arguments: content, recheck.
#[pg_extern(sql = "")]
fn trie_seen(fcinfo: pg_sys::FunctionCallInfo) -> Option<bool> {
    let window = Window::of(fcinfo);
    // SAFETY: declared as (text, boolean); this function keeps a `DigitTrie`.
    let (trie, content) = unsafe {
        let recheck = || window.argument::<bool>(1).unwrap_or(true);
        let trie = window.state(|| if recheck() { DigitTrie::new() } else { DigitTrie::paper() });
        (trie, window.argument::<&str>(0))
    };
    window.forget_earlier();
    Some(trie.seen(content?))
}

#[pg_extern(sql = "")]
fn exact_seen(fcinfo: pg_sys::FunctionCallInfo) -> Option<bool> {
    let window = Window::of(fcinfo);
    // SAFETY: declared as (text); this function keeps an `ExactSet`.
    let (set, content) = unsafe { (window.state(ExactSet::new), window.argument::<&str>(0)) };
    window.forget_earlier();
    Some(set.seen(content?.as_bytes()))
}
