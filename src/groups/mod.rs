//! Near-duplicates of a whole table, as pairs and as groups.

mod clusters;
mod pairs;
mod text_pairs;

use crate::pg::raise;
use pgrx::PgSqlErrorCode;

/// A Hamming distance given by a user. Raises an error if it is NULL or not 0 to 64.
fn checked_distance(given: Option<i32>, name: &str) -> u32 {
    match given {
        Some(distance @ 0..=64) => distance as u32,
        given => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            given.map_or_else(
                || format!("{name} must not be null"),
                |distance| format!("{name} {distance} is out of range"),
            ),
            "A Hamming distance of fingerprints is 0 to 64.",
        ),
    }
}
