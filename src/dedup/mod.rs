//! `dedup`: the whole pipeline over the rows of a source.

mod ahead;
mod archive;
mod batches;
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

use crate::pg::{Json, Output, Progress, ValueType, notice, raise_mismatch, unwrap_or_raise};
use crate::table::{Source, read_options};
pub(crate) use clean::groups_of;
use dedup_core::dedup::{Alike, DEDUP, Finding, Method, Options, Stage};
use dedup_core::details::Kinds;
use dedup_core::fingerprint::parts_of_written;
use pgrx::PgTupleDesc;
use pgrx::prelude::*;
pub(crate) use pipeline::{Found, find, limits, name_of};
use pipeline::{told, writes};
pub(crate) use shape::check_kept_by;

#[pg_extern(sql = "")]
fn dedup(source: Option<&str>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let output = Output::begin(fcinfo);
    let source = Source::new(source);
    let written = read_options(DEDUP, options);
    let progress = Progress::new(DEDUP.name);
    let mut ids = None;
    let begin = writes(&mut ids, output.type_of(0), "dedup(source, options");
    let (_, mut found) = find(DEDUP, &source, written, Default::default(), &progress, begin);
    write(&mut found, &told(ids), output, &progress);
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
fn counted([kept, exact, near, decided, empty]: [u64; Stage::COUNT]) -> String {
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
        // SAFETY: the ids are written as their type has it; declared as two of that type, text, integer, double precision.
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
    progress.end(&format!("{rows} rows: {}", counted(counts)));
    if let Some((similarity, pair)) = doubtful
        && is_due(near, rows as u64)
    {
        let texts = pair.map(|row| unwrap_or_raise(found.rows.texts.content(row)));
        warn_of((near, rows as u64), similarity, &texts, &found.options);
    }
}

/// Near rows below which nothing is said.
const FEW: u64 = 20;
/// One row in so many is many.
const SHARE: u64 = 5;
/// Characters of a text that are shown.
const SHOWN: usize = 60;

/// Whether so many near rows are a reason for it.
fn is_due(near: u64, rows: u64) -> bool {
    near >= FEW && near * SHARE >= rows
}

/// Emits a notice that so many of all rows are near, with the pair that is least alike: the row, and the one that is kept for
/// it.
fn warn_of((near, rows): (u64, u64), similarity: f64, texts: &[String; 2], options: &Options) {
    let by_hash = options.method == Method::Hash;
    let [row, kept] = texts.each_ref().map(|text| if by_hash { in_hex(text) } else { shown(text) });
    let hint = match options.method {
        Method::Records => "dedup_explain(source, pairs, options) says what each column told. Rows of one series may be taken for one."
            .to_owned(),
        Method::Hash => "dedup_explain(source, pairs, options) says how far apart they are. A lesser distance tells more apart."
            .to_owned(),
        _ => format!(
            "dedup_explain says what two texts share and in what they differ. {} tells more apart.",
            tells(&options.alike)
        ),
    };
    notice(
        format!("dedup: {near} of {rows} rows are near another row, not equal to it"),
        format!("The least alike, at similarity {similarity:.3}: {row} would go, {kept} stays."),
        format!("Look at such pairs before you delete: {hint}"),
    );
}

/// The options that tell more apart than these.
fn tells(alike: &Alike) -> String {
    let kinds = alike.details.unwrap_or(Kinds { names: false, dates: false, numbers: false, slots: false });
    let known =
        [(kinds.names, "name"), (kinds.dates, "date"), (kinds.numbers, "number"), (kinds.slots, "slot")];
    let missing: Vec<_> = known.iter().filter(|(has, _)| !has).map(|(_, name)| *name).collect();
    match &missing[..] {
        [] => "A greater similarity".to_owned(),
        some => format!("A greater similarity, or {} among the details,", some.join(" or ")),
    }
}

/// A hash as SQL has it: its bits would be too many to be shown whole.
fn in_hex(hash: &str) -> String {
    let parts = parts_of_written(hash).unwrap_or_default();
    format!("x'{}'", parts.iter().map(|part| format!("{part:016x}")).collect::<String>())
}

/// The beginning of a text, on one line.
fn shown(text: &str) -> String {
    let mut line = String::new();
    for (at, c) in text.chars().enumerate() {
        if at == SHOWN {
            line.push('…');
            break;
        }
        line.push(if c.is_control() { ' ' } else { c });
    }
    format!("\"{line}\"")
}
