//! Evaluation: precision and recall (here), calibration of the distance.

mod calibrate;

use crate::pg::spi::for_each_of_query;
use crate::pg::values::{ValueType, WrittenIds};
use crate::pg::{Column, Output, Values, raise};
use crate::settings::within_memory_limit;
use crate::setup::groups_of;
use crate::table::Source;
use dedup_core::evaluate::{Labels, PairSet};
use dedup_core::interrupt::checked;
use pgrx::prelude::*;

/// An id in a form that can be compared across types: numbers by value (2 equals 2.0), anything
/// else by its text, without the blanks that pad it.
pub(crate) fn key(row: &Values<'_>, column: usize, typoid: pg_sys::Oid) -> Option<String> {
    let written = row.written(column)?;
    let plain = |number: &str| if number == "-0" { "0".to_owned() } else { number.to_owned() };
    Some(match typoid {
        pg_sys::NUMERICOID if written.contains('.') => {
            plain(written.trim_end_matches('0').trim_end_matches('.'))
        }
        pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => {
            written.parse::<f64>().map_or(written, |number| plain(&number.to_string()))
        }
        pg_sys::BPCHAROID => written.trim_end_matches(' ').to_owned(),
        _ => written,
    })
}

/// Calls `each` with the pairs of ids in the first two columns of a query, which `check` is shown.
pub(crate) fn each_pair(query: &str, check: impl Fn(&[Column; 2]), mut each: impl FnMut(String, String)) {
    for_each_of_query(query, |columns| {
        let Some(ids) = columns.first_chunk() else {
            let what = format!("the query returns {} columns, not 2", columns.len());
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                what,
                "The query returns pairs: the ids of two rows.",
            )
        };
        check(ids);
        let ([a, b], each) = (ids.each_ref().map(|id| id.typoid), &mut each);
        move |row: &Values<'_>| {
            if let (Some(one), Some(other)) = (key(row, 0, a), key(row, 1, b)) {
                each(one, other);
            }
        }
    });
}

/// The pairs of a source whose rows are `are`: pairs of ids, or ids with their groups; of a table with
/// settings the groups that `dedup` finds.
fn pair_set(source: Option<&str>, name: &str, are: &str, check: impl Fn(&Column)) -> PairSet {
    let source = Source::new(source);
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
    let ids = if are == "groups" { 1 } else { 2 };
    let check = |columns: &[Column; 2]| columns[..ids].iter().for_each(&check);
    each_pair(&groups.unwrap_or_else(|| source.all()), check, |a, b| {
        set.add(a, b).unwrap_or_else(|error| {
            raise(
                PgSqlErrorCode::ERRCODE_CARDINALITY_VIOLATION,
                error.to_string(),
                "Where rows can be in several groups, give the pairs of rows that share one.",
            )
        });
    });
    set
}

/// Both sides; `check` is shown the columns of their ids.
fn labels(
    found: Option<&str>,
    truth: Option<&str>,
    found_are: &str,
    truth_are: &str,
    check: impl Fn(&Column),
) -> Labels {
    let found = pair_set(found, "found_are", found_are, &check);
    Labels { found, truth: pair_set(truth, "truth_are", truth_are, &check) }
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
    let score = labels(Some(found), Some(truth), found_are, truth_are, |_| ()).score();
    let (found, truth, correct) = (score.found as i64, score.truth as i64, score.correct as i64);
    let (missed, wrong) = (truth - correct, found - correct);
    let row = (score.precision(), score.recall(), score.f1(), found, truth, correct, missed, wrong);
    TableIterator::once(row)
}

/// What rows of a side are that does not say so.
const ARE: &str = "pairs";

/// The missed and the wrong pairs, or all pairs, the lesser id of a pair first.
#[pg_extern(sql = "")]
fn dedup_evaluate_pairs(
    found: Option<&str>,
    truth: Option<&str>,
    found_are: Option<&str>,
    truth_are: Option<&str>,
    correct_too: Option<bool>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let mut output = Output::begin(fcinfo);
    let shown = output.type_of(0);
    let check = |id: &Column| check_shown_as(id, shown);
    let labels = labels(found, truth, found_are.unwrap_or(ARE), truth_are.unwrap_or(ARE), check);
    let verdicts = labels.verdicts(correct_too.unwrap_or(false), within_memory_limit);
    let mut ids = WrittenIds::new(shown);
    for (a, b, verdict) in checked(verdicts) {
        let [a, b] = ids.pair(a, b);
        // SAFETY: declared as two ids of the type that they are made of, text.
        unsafe { output.add([Some(a), Some(b), verdict.name().into_datum()]) };
    }
}

/// Sees to it that ids can be given back as a type: their own, one that has all their numbers, or text.
fn check_shown_as(id: &Column, shown: pg_sys::Oid) {
    const NUMBERS: [pg_sys::Oid; 6] = [
        pg_sys::INT2OID,
        pg_sys::INT4OID,
        pg_sys::INT8OID,
        pg_sys::NUMERICOID,
        pg_sys::FLOAT4OID,
        pg_sys::FLOAT8OID,
    ];
    let any_number = shown == pg_sys::NUMERICOID && NUMBERS.contains(&id.typoid);
    if !any_number && shown != pg_sys::TEXTOID {
        let call = "dedup_evaluate_pairs(found, truth, found_are, truth_are, correct_too";
        ValueType::of_result(id, shown, call);
    }
}
