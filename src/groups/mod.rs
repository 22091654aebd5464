//! Near-duplicates of a whole table, as pairs and as groups.

mod clusters;
mod pairs;
mod text_pairs;

use crate::pg::raise;
use pgrx::PgSqlErrorCode;

/// A Hamming distance given by a user; larger values are clamped to 64. Raises an error if it is
/// NULL or negative.
fn checked_distance(given: Option<i32>, name: &str) -> u32 {
    match given.map(u32::try_from) {
        Some(Ok(distance)) => distance.min(64),
        given => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            match given {
                None => format!("{name} must not be null"),
                Some(_) => format!("{name} must not be negative"),
            },
            "A Hamming distance of fingerprints is 0 to 64.",
        ),
    }
}
