//! `dedup`: the whole pipeline over the rows of a source.

mod ahead;
mod archive;
mod batches;
mod call;
mod clean;
mod explain;
mod fill;
mod into;
mod link;
mod pipeline;
mod references;
mod review;
mod shape;
mod undo;
mod warning;

use crate::pg::{Json, Output, Progress, ValueType, raise_mismatch, unwrap_or_raise};
use crate::table::{Source, read_options};
pub(crate) use clean::groups_of;
use dedup_core::dedup::{DEDUP, Finding, Stage};
use pgrx::PgTupleDesc;
use pgrx::prelude::*;
use pipeline::id;
pub(crate) use pipeline::{Found, find, limits};
pub(crate) use shape::check_kept_by;

#[pg_extern(sql = "")]
fn dedup(source: Option<&str>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let output = Output::begin(fcinfo);
    let source = Source::new(source);
    let written = read_options(DEDUP, options);
    let progress = Progress::new(DEDUP.name);
    let mut ids = None;
    let (_, mut found) = find(DEDUP, &source, written, Default::default(), &progress, |columns| {
        let of = ValueType::of_result(&columns[0], output.type_of(0), "dedup(source, options");
        let of = &*ids.insert(of);
        // SAFETY: the column is of the type that the query said.
        move |row, bytes| unsafe { of.write(id(row), bytes) }
    });
    // A query that returns rows has columns.
    let ids = ids.unwrap_or_else(|| unreachable!("the columns are told before the rows"));
    write(&mut found, &ids, output, &progress);
}

/// `dedup` without options, for statements that this extension writes.
#[pg_extern(sql = "")]
fn _dedup(source: Option<&str>, fcinfo: pg_sys::FunctionCallInfo) {
    // SAFETY: a call's information is what its tag says; the list of columns lives as long as the query.
    let columns: Vec<pg_sys::Oid> = unsafe {
        let info = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
        let has_columns = !info.is_null()
            && (*info).type_ == pg_sys::NodeTag::T_ReturnSetInfo
            && !(*info).expectedDesc.is_null();
        let columns = has_columns.then(|| PgTupleDesc::from_pg_copy((*info).expectedDesc));
        columns.iter().flat_map(|columns| columns.iter()).map(|column| column.atttypid).collect()
    };
    let right = |id| [id, id, pg_sys::TEXTOID, pg_sys::INT4OID, pg_sys::FLOAT8OID];
    if !columns.first().is_some_and(|id| columns == right(*id)) {
        raise_mismatch("_dedup returns an id, a keeper, a stage, a distance and a similarity", "Call dedup.")
    }
    dedup(source, None, fcinfo);
}

/// How many rows each stage has.
fn told([kept, exact, near, decided, empty]: [u64; Stage::COUNT]) -> String {
    let decided = if decided > 0 { format!(", {decided} decided") } else { String::new() };
    format!("{kept} kept, {exact} exact and {near} near duplicates{decided}, {empty} empty")
}

fn write(found: &mut Found, ids: &ValueType, mut output: Output, progress: &Progress) {
    let rows = found.rows.count();
    progress.stage("writing the result", "rows", Some(rows as u64));
    let mut counts = [0u64; Stage::COUNT];
    // The least alike of the near rows.
    let mut doubtful: Option<(f64, [usize; 2])> = None;
    for row in 0..rows {
        let Finding { keeper, stage, distance, similarity } = unwrap_or_raise(found.finding(row));
        let own = unwrap_or_raise(found.rows.texts.id(row));
        let kept = (keeper != row).then(|| unwrap_or_raise(found.rows.texts.id(keeper)));
        counts[stage as usize] += 1;
        if stage == Stage::Near
            && let Some(similarity) = similarity
            && doubtful.is_none_or(|(least, _)| similarity < least)
        {
            doubtful = Some((similarity, [row, keeper]));
        }
        // SAFETY: the ids are written as their type has it; declared as two of that type, text,
        // integer, double precision.
        unsafe {
            output.add([
                Some(ids.make(&own)),
                Some(ids.make(kept.as_ref().unwrap_or(&own))),
                stage.name().into_datum(),
                distance.map(|bits| bits as i32).into_datum(),
                similarity.into_datum(),
            ]);
        }
        progress.step();
    }
    let [_, _, near, ..] = counts;
    progress.end(&format!("{rows} rows: {}", told(counts)));
    if let Some((similarity, pair)) = doubtful
        && warning::is_due(near, rows as u64)
    {
        let texts = pair.map(|row| unwrap_or_raise(found.rows.texts.content(row)));
        warning::warn((near, rows as u64), similarity, &texts, &found.options);
    }
}
