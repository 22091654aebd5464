//! `dedup`: the whole pipeline over the rows of a source: they are read here, and the result is written. What is between is
//! [`dedup_core::dedup`].

mod ahead;
mod explain;
mod into;
mod shape;
mod warning;

use crate::groups::check_length;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{Argument, for_each_of_query_with, refuse_row_without_id};
use crate::pg::spill::TempFile;
use crate::pg::values::{UniqueIds, ValueType};
use crate::pg::{Column, Json, Output, Values, raise};
use crate::settings::{progress_interval, threads, within_memory_limit, work_memory};
use crate::table::{DEDUP, Function, Options, SAMPLE, Sampler, Settings, Source, Written, announce_implied};
use ahead::{Ahead, Guess};
use dedup_core::dedup::{self, EqualTexts, Finding, Kind, Limits, Method, Stage, making};
use dedup_core::evaluate::emptying;
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room};
use dedup_core::records::{Field, Records};
use pgrx::PgTupleDesc;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use shape::Shape;
use std::f64::consts::LN_2;
use warning::Warning;

/// The rows of a source.
type Rows = dedup::Rows<TempFile>;
/// What is found of them.
pub(crate) type Found = dedup::Found<TempFile>;

/// Returns a row for each input row, in order: the id, the id of the kept row of its group, and the
/// stage that decided: `kept` (it is that row), `exact` (its content equals the kept row's),
/// `near`, or `empty` (nothing to compare). Distance and similarity are to the kept row.
#[pg_extern(sql = "")]
fn dedup(source: Option<&str>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let output = Output::begin(fcinfo);
    let source = Source::new(source);
    let written = DEDUP.written(options.map(|json| json.0));
    let progress = Progress::new(DEDUP.name, progress_interval());
    let mut ids = None;
    let (_, mut found) = find(DEDUP, &source, written, None, &progress, |columns| {
        let of = ValueType::of_result(&columns[0], output.type_of(0), "dedup(source, options");
        let of = &*ids.insert(of);
        // SAFETY: the column is of the type that the query said.
        move |row, bytes| unsafe { of.write(id(row), bytes) }
    });
    // A query that returns rows has columns.
    let ids = ids.unwrap_or_else(|| unreachable!("the columns are told before the rows"));
    write(&mut found, &ids, output, &progress);
}

/// The value of a row's id.
fn id(row: &Values<'_>) -> pg_sys::Datum {
    row.get(0).unwrap_or_else(|| refuse_row_without_id())
}

/// All stages. `begin` gets the columns of the query, and what it returns writes a row's id; `labels` is one more column
/// that is read. Returns the options too, with those that the table's settings or the texts decided.
pub(crate) fn find<E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    function: Function,
    source: &Source,
    mut written: Written,
    labels: Option<String>,
    progress: &Progress,
    begin: impl FnOnce(&[Column]) -> E,
) -> (Written, Found) {
    Settings::complete(source.oid(), &mut written);
    let mut options = function.read(&written);
    options.labels = labels;
    let query = options.query(source);
    find_in(function, (&query, source), (written, options, true), None, progress, begin)
}

/// As [`find`], of rows that a query reads of the source, with these options: those that are open are chosen, if they may
/// be.
fn find_in<E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    function: Function,
    (query, source): (&str, &Source),
    (mut written, mut options, may_choose): (Written, Options, bool),
    hashed: Option<&mut Vec<i64>>,
    progress: &Progress,
    begin: impl FnOnce(&[Column]) -> E,
) -> (Written, Found) {
    let mut sampler = (may_choose && written.asks_texts()).then(Sampler::default);
    let guess = (sampler.is_some() && !written.has("recipe") && !written.has("fp")).then(Guess::default);
    let proven = source.has_unique_ids(options.id.as_deref());
    let sampling = (sampler.as_mut(), guess.as_ref());
    let (mut rows, hashes) = read((query, &[], proven), &options, sampling, hashed, progress, begin);
    if let Some(sampler) = sampler {
        let near = |row: &usize| rows.has_fp(*row);
        let prints = || (0..rows.count()).filter(near).map(|row| rows.fps[row]).take(SAMPLE).collect();
        let chosen = sampler.suggest(written.get("recipe"), options.fp.as_ref().map(|_| prints()));
        if guess.is_some_and(|guess| !guess.is(chosen.as_ref().map(|chosen| &chosen.recipe))) {
            checked(&mut rows.kinds).filter(|kind| **kind == Kind::Near).for_each(|kind| *kind = Kind::Plain);
        }
        if let Some(chosen) = chosen {
            chosen.complete(&mut written, function.name);
            options = function.read(&written);
        }
        // What some recipe leaves nothing of counts as empty until one is chosen.
        for row in checked(0..rows.count()).filter(|&row| rows.kinds[row] == Kind::Empty).collect::<Vec<_>>()
        {
            if Kind::of(&unwrap_or_raise(rows.texts.content(row)), &options.recipe) != Kind::Empty {
                rows.kinds[row] = Kind::Plain;
            }
        }
    }
    announce_implied(function.name, written.implied());
    options.of_rows = Settings::count_more(source.oid(), options.fp.as_deref());
    let found = stages(&options, rows, hashes, progress);
    if let Some(records) = &found.groups.records {
        announce(function.name, records, &found.rows.columns);
    }
    (written, found)
}

/// The stages after reading.
fn stages(options: &Options, rows: Rows, hashes: EqualTexts<TempFile>, progress: &Progress) -> Found {
    if options.method == Method::Text
        && let Some(row) = (0..rows.count()).max_by_key(|&row| rows.texts.bytes(row))
    {
        check_length(&row.to_string(), rows.texts.bytes(row));
    }
    if options.method == Method::Fingerprint && options.distance.is_some() {
        within_memory_limit(rows.bytes_to_compare(&options.alike));
    }
    let limits = Limits { memory: work_memory(), threads: threads() };
    let equal = (hashes, options.compares_rows());
    let mut host = QueryHost::reporting(progress);
    unwrap_or_raise(dedup::find((**options).clone(), &options.recipe, rows, equal, limits, &mut host))
}

/// Emits a notice of what agreement tells.
fn announce(function: &str, records: &Records, columns: &[String]) {
    let told: Vec<String> = records
        .weights()
        .map(|(field, none, full)| {
            let what = match field {
                Field::Words(column) | Field::Number(column) => format!("\"{}\"", columns[column]),
                Field::Identifiers => "identifiers".to_owned(),
                Field::Rank => "nearest row".to_owned(),
            };
            format!("{what} {:.1} to {:.1}", none / LN_2, full / LN_2)
        })
        .collect();
    let what = format!("{function} compared {} pairs and learned what agreement tells", records.compared());
    ErrorReport::new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, what, "pg_dedup")
        .set_detail(format!("Weights in bits, from no agreement to a full one: {}.", told.join(", ")))
        .report(PgLogLevel::NOTICE);
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
        raise(
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            "_dedup returns an id, a keeper, a stage, a distance and a similarity",
            "Call dedup.",
        )
    }
    dedup(source, None, fcinfo);
}

/// Reads all rows, and makes fingerprints meanwhile. Returns the hashes of their contents too, which `hashed` gets as well: 0
/// of one that equals nothing. `sampler` sees the contents if options are to be chosen by them, `guess` stands for a recipe
/// that is one of these. Ids that are not `proven` to differ are compared.
fn read<E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    (query, arguments, proven): (&str, &[Argument], bool),
    options: &Options,
    (mut sampler, guess): (Option<&mut Sampler>, Option<&Guess>),
    mut hashed: Option<&mut Vec<i64>>,
    progress: &Progress,
    begin: impl FnOnce(&[Column]) -> E,
) -> (Rows, EqualTexts<TempFile>) {
    let mut rows = Rows::new(TempFile::new(), options.keep.clone());
    let mut hashes = EqualTexts::new(work_memory(), TempFile::new());
    let mut unique = None;
    progress.stage("reading", "rows", None);
    let recipe = || guess.map_or(&options.recipe, Guess::recipe);
    let emptying = guess.map(|_| emptying());
    let kind = |content: &str| match (&emptying, content.chars().next()) {
        // No recipe that may be chosen has such stop words or markup that begins so: most texts of Chinese.
        (Some(_), Some('\u{4E00}'..='\u{9FFF}')) => Kind::Near,
        (emptying, _) => Kind::of(content, emptying.as_ref().unwrap_or(&options.recipe)),
    };
    let makes = options.fp.is_none() && options.distance.is_some() && options.method != Method::Records;
    let reading = making(&recipe, threads(), &mut QueryHost::reporting(progress), |making| {
        let mut ahead = Ahead::new(making, guess);
        for_each_of_query_with(query, arguments, |columns| {
            let shape = Shape::of(columns, options);
            let mut write_id = begin(columns);
            unique = (!proven).then(|| UniqueIds::new(&columns[0]));
            let unique = &mut unique;
            let (hashes, rows, ahead) = (&mut hashes, &mut rows, &mut ahead);
            rows.columns = shape.names(columns);
            let mut bytes = Vec::new();
            move |row| {
                progress.step();
                bytes.clear();
                write_id(row, &mut bytes);
                unique.iter_mut().for_each(|unique| unique.add(row));
                let content = shape.content(row);
                if let (Some(sampler), Some(content)) = (&mut sampler, &content) {
                    sampler.add(content);
                }
                let kind = content.as_deref().map_or(Kind::Empty, &kind);
                let (kind, fp) = match (kind, shape.fp(row).flatten()) {
                    (Kind::Near, Some(fp)) => (Kind::Near, fp),
                    (Kind::Near, None) => (Kind::Plain, 0),
                    (kind, _) => (kind, 0),
                };
                let number = rows.count();
                if number == u32::MAX as usize {
                    refuse_more()
                }
                if !options.keep.is_by_number() {
                    let rank = shape.rank(row, &options.keep, number as i64, content.as_deref());
                    rows.order.ranks.room(1).or_raise();
                    rows.order.ranks.push(rank);
                }
                let number = unwrap_or_raise(rows.add(&bytes, content.as_deref().unwrap_or(""), kind, fp));
                let form = content.as_deref().and_then(|content| options.form(content));
                let hash = form.map(|form| unwrap_or_raise(hashes.add(number, form.as_bytes())));
                if let Some(hashed) = &mut hashed {
                    hashed.room(1).or_raise();
                    hashed.push(hash.unwrap_or_default() as i64);
                }
                if let Some(content) = content.filter(|_| makes && kind != Kind::Empty) {
                    unwrap_or_raise(ahead.add(number as usize, content, hash, rows));
                }
            }
        });
        ahead.finish(&mut rows)
    });
    unwrap_or_raise(reading);
    if let Some(unique) = unique {
        unique.check();
    }
    progress.end(&format!("{} rows", rows.count()));
    (rows, hashes)
}

fn refuse_more() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
        "dedup of more than 4294967295 rows",
        "Take the rows in parts.",
    )
}

/// Writes the result.
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
    let [kept, exact, near, empty] = counts;
    progress
        .end(&format!("{rows} rows: {kept} kept, {exact} exact and {near} near duplicates, {empty} empty"));
    if let Some((similarity, pair)) = doubtful
        && Warning::is_due(near, rows as u64)
    {
        let texts = pair.map(|row| unwrap_or_raise(found.rows.texts.content(row)));
        let tells = found.groups.records.is_none().then(|| Warning::tells(&found.options.alike));
        Warning { function: DEDUP.name, near, rows: rows as u64, similarity, tells }.emit(&texts);
    }
}
