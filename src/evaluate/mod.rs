//! Evaluation: precision and recall (here), calibration of the distance.

mod calibrate;

use crate::dedup::source::Source;
use crate::pg::spi::for_each_of_query;
use crate::pg::{Values, raise};
use crate::settings::within_memory_limit;
use dedup_core::evaluate::{Labels, Verdict};
use dedup_core::memory::{self, OrRaise};
use pgrx::prelude::*;

/// An id in a form that can be compared across types: numbers by value (2 equals 2.0), anything
/// else by its text.
fn key(row: &Values<'_>, column: usize, typoid: pg_sys::Oid) -> Option<String> {
    let written = row.written(column)?;
    let plain = |number: &str| if number == "-0" { "0".to_owned() } else { number.to_owned() };
    Some(match typoid {
        pg_sys::NUMERICOID if written.contains('.') => {
            plain(written.trim_end_matches('0').trim_end_matches('.'))
        }
        pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => {
            written.parse::<f64>().map_or(written, |number| plain(&number.to_string()))
        }
        _ => written,
    })
}

fn refuse_columns(what: String, hint: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, what, hint)
}

/// Calls `each` with the pairs of ids in the first two columns of a source.
fn each_pair(source: &str, mut each: impl FnMut(String, String)) {
    for_each_of_query(&Source::new(Some(source)).all(), |columns| {
        let [a, b, ..] = columns else {
            let what = format!("the query returns {} columns, not 2", columns.len());
            refuse_columns(what, "The query returns pairs: the ids of two rows.")
        };
        let (a, b, each) = (a.typoid, b.typoid, &mut each);
        move |row: &Values<'_>| {
            if let (Some(one), Some(other)) = (key(row, 0, a), key(row, 1, b)) {
                each(one, other);
            }
        }
    });
}

fn labels(found: &str, truth: &str) -> Labels {
    let mut labels = Labels::default();
    each_pair(found, |a, b| {
        labels.found(&a, &b);
        within_memory_limit(labels.memory());
    });
    each_pair(truth, |a, b| {
        labels.truth(&a, &b);
        within_memory_limit(labels.memory());
    });
    labels
}

/// Precision, recall and counts of one query's pairs against another's.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
fn dedup_evaluate(
    found: &str,
    truth: &str,
) -> TableIterator<
    'static,
    (
        name!(precision, Option<f64>),
        name!(recall, Option<f64>),
        name!(f1, Option<f64>),
        name!(found, i64),
        name!(truth, i64),
        name!(correct, i64),
        name!(missed, i64),
        name!(wrong, i64),
    ),
> {
    let score = labels(found, truth).score();
    let (found, truth, right) = (score.found as i64, score.truth as i64, score.right as i64);
    let row =
        (score.precision(), score.recall(), score.f1(), found, truth, right, truth - right, found - right);
    TableIterator::once(row)
}

/// The missed and the wrong pairs, or all pairs.
#[pg_extern(sql = "")]
fn dedup_evaluate_pairs(
    found: &str,
    truth: &str,
    right_too: bool,
) -> TableIterator<'static, (name!(a, String), name!(b, String), name!(verdict, &'static str))> {
    let labels = labels(found, truth);
    let shown = labels.verdicts().filter(|&(_, _, verdict)| right_too || verdict != Verdict::Right);
    let shown = shown.map(|(a, b, verdict)| (a.to_owned(), b.to_owned(), verdict.name()));
    let rows = memory::collect(shown).or_raise();
    TableIterator::new(rows)
}
