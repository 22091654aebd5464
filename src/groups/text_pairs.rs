//! `near_dup_text_pairs`: all pairs of similar texts of a query, found exactly.

use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{for_each_of_query, refuse_row_without_id};
use crate::pg::{Output, raise, required};
use crate::settings::{progress_interval, work_memory};
use dedup_core::evaluate::SimilarPairs;
use pgrx::prelude::*;

/// The longest text, in bytes: its n-grams are sorted in one pass.
const LONGEST: usize = 16 << 20;

/// The default threshold and length of n-grams.
const THRESHOLD: f64 = 0.5;
const N: i32 = 2;

/// Returns every pair of the rows (id, text) of `query` whose texts have a Jaccard coefficient of
/// at least `threshold`, each once, the lesser id first. Rows without a text are skipped; a row
/// without an id is an error.
#[pg_extern(sql = "")]
fn near_dup_text_pairs(
    query: Option<&str>,
    threshold: Option<f64>,
    n: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let query = required(query, "query");
    let (threshold, n) = (threshold.unwrap_or(THRESHOLD), n.unwrap_or(N));
    if !(threshold > 0.0 && threshold <= 1.0) {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("threshold {threshold} is out of range"),
            "It is a Jaccard coefficient above 0, at most 1.",
        )
    }
    let n = usize::try_from(n).ok().filter(|n| (1..=64).contains(n)).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("n {n} is out of range"),
            "n is 1 to 64.",
        )
    });
    let progress = Progress::new("near_dup_text_pairs", progress_interval());
    let mut host = QueryHost::reporting(&progress);
    progress.stage("reading", "rows", None);
    let mut pairs = SimilarPairs::new(n, threshold, work_memory());
    let query = query.trim().trim_end_matches(';');
    let typed =
        format!("SELECT id::pg_catalog.int8, content::pg_catalog.text FROM ({query}\n) AS q(id, content)");
    for_each_of_query(&typed, |_| {
        let (pairs, host, progress) = (&mut pairs, &mut host, &progress);
        move |row| {
            progress.step();
            let Some(content) = row.text(1) else { return };
            let id = row.bigint(0).unwrap_or_else(|| refuse_row_without_id());
            if content.len() > LONGEST {
                raise_too_long(id, content.len())
            }
            unwrap_or_raise(pairs.add(id, &content, host));
        }
    });
    let mut output = Output::begin(fcinfo);
    progress.stage("finding pairs", "pairs", None);
    let mut count = 0u64;
    let found = pairs.finish(&mut host, |pair| {
        count += 1;
        progress.step();
        let (a, b) = (pair.a.into_datum(), pair.b.into_datum());
        // SAFETY: declared as bigint, bigint, double precision.
        unsafe { output.add([a, b, pair.similarity.into_datum()]) };
        Ok(true)
    });
    unwrap_or_raise(found);
    progress.end(&format!("{count} pairs"));
}

fn raise_too_long(id: i64, bytes: usize) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        format!("the text of row {id} has {bytes} bytes, more than {LONGEST}"),
        "Leave such rows out, or compare the beginning of their texts: left(content, 1000000).",
    )
}
