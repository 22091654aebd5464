//! `near_dup_pairs`: all pairs of rows of a query whose fingerprints are near.

use super::checked_distance;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{for_each_of_query, refuse_row_without_id};
use crate::pg::{Column, Output, raise, required};
use crate::settings::{progress_interval, threads, work_memory};
use dedup_core::cluster::{Pairs, Settings};
use pgrx::prelude::*;

/// The default distance.
const DISTANCE: i32 = 3;

/// Returns every pair within `distance` of the rows (id, fp) of `query`, each once, the lesser id
/// first. Rows without a fingerprint are skipped; a row without an id is an error; rows that share
/// an id are different rows.
#[pg_extern(sql = "")]
fn near_dup_pairs(query: Option<&str>, distance: Option<i32>, fcinfo: pg_sys::FunctionCallInfo) {
    let query = required(query, "query");
    let distance = checked_distance(distance.or(Some(DISTANCE)), "distance");
    let progress = Progress::new("near_dup_pairs", progress_interval());
    let mut host = QueryHost::reporting(&progress);
    progress.stage("reading", "rows", None);
    let mut pairs = Pairs::new(Settings { distance, memory: work_memory(), threads: threads() });
    for_each_of_query(query, |columns| {
        let width = id_width(columns);
        let (pairs, host, progress) = (&mut pairs, &mut host, &progress);
        move |row| {
            progress.step();
            let Some(id) = row.get(0) else { refuse_row_without_id() };
            let Some(fp) = row.get(1) else { return };
            let id = match width {
                2 => i64::from(id.value() as i16),
                4 => i64::from(id.value() as i32),
                _ => id.value() as i64,
            };
            unwrap_or_raise(pairs.add(id, fp.value() as u64, host));
        }
    });
    let mut output = Output::begin(fcinfo);
    progress.stage("finding pairs", "pairs", None);
    let mut count = 0u64;
    let found = pairs.finish(&mut host, |pair| {
        count += 1;
        progress.step();
        let (a, b) = (pair.a.into_datum(), pair.b.into_datum());
        // SAFETY: declared as bigint, bigint, integer.
        unsafe { output.add([a, b, (pair.distance as i32).into_datum()]) };
        Ok(true)
    });
    unwrap_or_raise(found);
    progress.end(&format!("{count} pairs"));
}

/// Bytes of the type of the id. Raises an error if the columns are not (id, fp).
fn id_width(columns: &[Column]) -> usize {
    let shape = |what: String| -> ! {
        raise(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            what,
            "The query returns two columns: the row's id (bigint) and its fingerprint (bigint).",
        )
    };
    let [id, fp] = columns else { shape(format!("the query returns {} columns, not 2", columns.len())) };
    if fp.typoid != pg_sys::INT8OID {
        shape(format!("column \"{}\" of the query is {}, not bigint", fp.name, fp.type_name()))
    }
    match id.typoid {
        pg_sys::INT2OID => 2,
        pg_sys::INT4OID => 4,
        pg_sys::INT8OID => 8,
        _ => shape(format!("column \"{}\" of the query is {}, not bigint", id.name, id.type_name())),
    }
}
