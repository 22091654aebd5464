//! `near_dup_pairs`: all pairs of rows of a source whose fingerprints are near.

use super::{PairRows, checked_distance};
use crate::pg::Output;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{for_each_of_query, refuse_row_without_id};
use crate::pg::values::{Ids, UniqueIds, ValueType};
use crate::settings::{progress_interval, threads, work_memory};
use crate::table::{FINGERPRINTS, Source, two_columns};
use dedup_core::groups::{Pairs, Settings};
use pgrx::prelude::*;

/// The default distance.
const DISTANCE: i32 = 3;

/// Returns every pair within `distance` of the rows (id, fp) of `source`, each once, the lesser id
/// first. Rows without a fingerprint are skipped; a row without an id is an error, and so are two rows
/// of one id.
#[pg_extern(sql = "")]
fn near_dup_pairs(source: Option<&str>, distance: Option<i32>, fcinfo: pg_sys::FunctionCallInfo) {
    let output = Output::begin(fcinfo);
    let source = Source::new(source);
    let (query, proven) = (source.fingerprints(), source.has_unique_ids(None));
    let distance = checked_distance(distance.or(Some(DISTANCE)), "distance");
    let progress = Progress::new("near_dup_pairs", progress_interval());
    let mut host = QueryHost::reporting(&progress);
    progress.stage("reading", "rows", None);
    let mut pairs = Pairs::new(Settings { distance, memory: work_memory(), threads: threads() });
    let (mut ids, mut unique) = (None, None);
    for_each_of_query(&query, |columns| {
        two_columns(columns, |fp| fp.base_type() == pg_sys::INT8OID, "bigint", FINGERPRINTS);
        let of = ValueType::of_result(&columns[0], output.type_of(0), "near_dup_pairs(source, distance");
        let (ids, pairs, host, progress) = (ids.insert(Ids::new(of)), &mut pairs, &mut host, &progress);
        unique = (!proven).then(|| UniqueIds::new(&columns[0]));
        let unique = &mut unique;
        move |row| {
            progress.step();
            let id = row.get(0).unwrap_or_else(|| refuse_row_without_id());
            let Some(fp) = row.get(1) else { return };
            unique.iter_mut().for_each(|unique| unique.add(row));
            // SAFETY: the column is of the type that the query said.
            let number = unsafe { ids.add(id) };
            unwrap_or_raise(pairs.add(number, fp.value() as u64, host));
        }
    });
    let Some(ids) = ids else { return };
    if let Some(unique) = unique {
        unique.check();
    }
    let mut rows = PairRows::new(ids, output, &progress);
    let found = pairs.finish(&mut host, |pair, _| {
        // SAFETY: declared as two ids of the type that they are made of, integer.
        unsafe { rows.add(pair.a, pair.b, (pair.distance as i32).into_datum()) };
        Ok(())
    });
    unwrap_or_raise(found);
    rows.end();
}
