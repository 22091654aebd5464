//! Evaluation: precision and recall (here), calibration of the distance.

mod calibrate;

use crate::pg::spi::for_each_of_query;
use crate::pg::{Values, raise};
use crate::settings::within_memory_limit;
use crate::setup::groups_of;
use crate::source::Source;
use dedup_core::evaluate::{Labels, PairSet};
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

/// Calls `each` with the pairs of ids in the first two columns of a query.
fn each_pair(query: &str, mut each: impl FnMut(String, String)) {
    for_each_of_query(query, |columns| {
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

/// The pairs of a source whose rows are `are`: pairs of ids, or ids with their groups; of a table with
/// settings the groups that `dedup` finds. Both sides share the limit of memory, of which `bytes` are taken.
fn pair_set(source: &str, name: &str, are: &str, bytes: &mut usize) -> PairSet {
    let source = Source::new(Some(source));
    let groups = source.oid().and_then(groups_of);
    let are = if groups.is_some() { "groups" } else { are };
    let mut set = match are {
        "pairs" => PairSet::default(),
        "groups" => PairSet::groups(),
        _ => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{name} must be pairs or groups, not \"{are}\""),
            "pairs: the rows of the query are pairs of ids. groups: they are (id, group), and all pairs within a group are meant.",
        ),
    };
    each_pair(&groups.unwrap_or_else(|| source.all()), |a, b| {
        *bytes += set.add(a, b).unwrap_or_else(|error| {
            raise(
                PgSqlErrorCode::ERRCODE_CARDINALITY_VIOLATION,
                error.to_string(),
                "Where rows can be in several groups, give the pairs of rows that share one.",
            )
        });
        within_memory_limit(*bytes);
    });
    set
}

/// Both sides, and the bytes that they take.
fn labels(found: &str, truth: &str, found_are: &str, truth_are: &str) -> (Labels, usize) {
    let mut bytes = 0;
    let found = pair_set(found, "found_are", found_are, &mut bytes);
    let truth = pair_set(truth, "truth_are", truth_are, &mut bytes);
    (Labels { found, truth }, bytes)
}

/// Precision, recall and counts of one query's pairs against another's.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
fn dedup_evaluate(
    found: &str,
    truth: &str,
    found_are: &str,
    truth_are: &str,
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
    let score = labels(found, truth, found_are, truth_are).0.score();
    let (found, truth, correct) = (score.found as i64, score.truth as i64, score.correct as i64);
    let (missed, wrong) = (truth - correct, found - correct);
    let row = (score.precision(), score.recall(), score.f1(), found, truth, correct, missed, wrong);
    TableIterator::once(row)
}

/// The missed and the wrong pairs, or all pairs.
#[pg_extern(sql = "")]
fn dedup_evaluate_pairs(
    found: &str,
    truth: &str,
    found_are: &str,
    truth_are: &str,
    correct_too: bool,
) -> TableIterator<'static, (name!(a, String), name!(b, String), name!(verdict, &'static str))> {
    let (labels, bytes) = labels(found, truth, found_are, truth_are);
    let verdicts = labels.verdicts(correct_too, |more| within_memory_limit(bytes + more));
    let shown = verdicts.into_iter().map(|(a, b, verdict)| (a.to_owned(), b.to_owned(), verdict.name()));
    let rows = memory::collect(shown).or_raise();
    TableIterator::new(rows)
}
