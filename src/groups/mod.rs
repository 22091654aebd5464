//! Near-duplicates of a whole table, as pairs and as groups.

mod edges;
mod pairs;
mod text_pairs;

use crate::pg::progress::Progress;
use crate::pg::values::Ids;
use crate::pg::{Output, raise, required};
use pgrx::{PgSqlErrorCode, pg_sys};
pub(crate) use text_pairs::check_length;

/// The result of a function that finds pairs.
struct PairRows<'p> {
    ids: Ids,
    output: Output,
    progress: &'p Progress,
    count: u64,
}

impl<'p> PairRows<'p> {
    /// No pairs yet, of rows with these ids.
    fn new(ids: Ids, output: Output, progress: &'p Progress) -> PairRows<'p> {
        progress.stage("finding pairs", "pairs", None);
        PairRows { ids, output, progress, count: 0 }
    }

    /// Adds the pair of two ids' numbers, the lesser id first, and how near they are.
    ///
    /// # Safety
    /// The result is declared as two ids of their type, and what is `near`.
    unsafe fn add(&mut self, a: i64, b: i64, near: Option<pg_sys::Datum>) {
        self.count += 1;
        self.progress.step();
        let [a, b] = self.ids.pair(a, b);
        // SAFETY: the caller's promise.
        unsafe { self.output.add([Some(a), Some(b), near]) };
    }

    /// Says how many there are.
    fn end(self) {
        self.progress.end(&format!("{} pairs", self.count));
    }
}

/// A Hamming distance given by a user. Raises an error if it is NULL or not 0 to 64.
fn checked_distance(given: Option<i32>, name: &str) -> u32 {
    const HINT: &str = "A Hamming distance of fingerprints is 0 to 64.";
    match required(given, name, HINT) {
        distance @ 0..=64 => distance as u32,
        distance => raise(
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            format!("{name} {distance} is out of range"),
            HINT,
        ),
    }
}
