//! Pairs of ids that a query returns.

use crate::pg::{Column, Values, for_each_of_query, raise_mismatch};
use pgrx::pg_sys;

/// An id in a form that can be compared across types: numbers by value (2 equals 2.0), anything
/// else by its text, without the blanks that pad it.
pub(crate) fn key(row: &Values<'_>, column: usize, typoid: pg_sys::Oid) -> Option<String> {
    Some(as_key(row.written(column)?, typoid))
}

/// The same of an id as its type writes it.
pub(crate) fn as_key(written: String, typoid: pg_sys::Oid) -> String {
    let plain = |number: &str| if number == "-0" { "0".to_owned() } else { number.to_owned() };
    match typoid {
        pg_sys::NUMERICOID if written.contains('.') => {
            plain(written.trim_end_matches('0').trim_end_matches('.'))
        }
        pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => {
            written.parse::<f64>().map_or(written, |number| plain(&number.to_string()))
        }
        pg_sys::BPCHAROID => written.trim_end_matches(' ').to_owned(),
        _ => written,
    }
}

pub(crate) fn two_ids(columns: &[Column]) -> &[Column; 2] {
    columns.first_chunk().unwrap_or_else(|| {
        raise_mismatch(
            format!("the query returns {} columns, not 2", columns.len()),
            "The query returns pairs: the ids of two rows.",
        )
    })
}

/// Calls `each` with the pairs of ids in the first two columns of a query.
pub(crate) fn each_pair(query: &str, mut each: impl FnMut(String, String)) {
    for_each_of_query(query, &[], |columns| {
        let [a, b] = two_ids(columns).each_ref().map(|id| id.typoid);
        move |row: &Values<'_>| {
            if let (Some(one), Some(other)) = (key(row, 0, a), key(row, 1, b)) {
                each(one, other);
            }
        }
    });
}
