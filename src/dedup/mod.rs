//! `dedup`: the whole pipeline over the rows of a source. It finds equal contents (P1's exact
//! stage), then near fingerprints (P1, P2), verifies those on the text, groups the rows (P4), and
//! keeps one row of each group.

mod input;
mod into;
mod near;
mod options;
mod shape;
mod suggest;

use crate::pg::Output;
use crate::pg::host::unwrap_or_raise;
use crate::pg::progress::Progress;
use crate::pg::raise;
use crate::pg::spi::for_each_of_query;
use crate::pg::spill::TempFile;
use crate::pg::values::ValueType;
use crate::settings::{progress_interval, work_memory};
use crate::setup::Settings;
use crate::source::Source;
use dedup_core::dedup::{Keep, Member, Stage, Standing};
use dedup_core::exact::EqualTexts;
use dedup_core::fingerprint::hamming;
use dedup_core::groups::UnionFind;
use dedup_core::memory::{OrRaise, Room, collect, filled};
use dedup_core::similarity::jaccard;
use input::{Input, Kind};
use options::{DEDUP, Options};
use pgrx::prelude::*;
use pgrx::{JsonB, PgTupleDesc};
use shape::Shape;
use std::borrow::Cow;
use suggest::Sampler;

/// Returns a row for each input row, in order: the id, the id of the kept row of its group, and the
/// stage that decided: `kept` (it is that row), `exact` (its content equals the kept row's),
/// `near`, or `empty` (its content is NULL). Distance and similarity are to the kept row.
#[pg_extern(sql = "")]
fn dedup(source: Option<&str>, options: Option<JsonB>, fcinfo: pg_sys::FunctionCallInfo) {
    let output = Output::begin(fcinfo);
    let source = Source::new(source);
    let mut written = DEDUP.written(options.map(|json| json.0));
    Settings::complete(source.oid(), &mut written);
    let mut options = DEDUP.read(&written);
    let progress = Progress::new("dedup", progress_interval());
    let mut input = Input::new();
    let mut sampler = written.leaves_settings().then(Sampler::default);
    let query = options.query(&source, false);
    let (ids, hashes) = read(&query, &options, &output, sampler.as_mut(), &mut input, &progress);
    if let Some(chosen) = sampler.and_then(Sampler::suggest) {
        chosen.announce(DEDUP.name);
        chosen.write(&mut written);
        options = DEDUP.read(&written);
    }
    let first_equal = compare(hashes, &options, &mut input, &progress);
    let sets = match options.distance {
        None => UnionFind::new(input.rows()),
        Some(distance) => {
            near::fingerprint(&options, &mut input, &first_equal, &progress);
            near::group(&options, distance, &mut input, &first_equal, &progress)
        }
    };
    let groups = Groups { options: &options, first_equal: &first_equal, sets };
    groups.write(&ids, &mut input, output, &progress);
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

/// Reads all rows. Returns the type of their ids and the hashes of their contents.
fn read(
    query: &str,
    options: &Options,
    output: &Output,
    mut sampler: Option<&mut Sampler>,
    input: &mut Input,
    progress: &Progress,
) -> (ValueType, EqualTexts<TempFile>) {
    let mut hashes = EqualTexts::new(work_memory(), TempFile::new());
    let mut ids = None;
    progress.stage("reading", "rows", None);
    for_each_of_query(query, |columns| {
        let shape = Shape::of(columns, options);
        let of = ValueType::of_result(&columns[0], output.type_of(0), "dedup(source, options");
        let of = &*ids.insert(of);
        let (hashes, input) = (&mut hashes, &mut *input);
        let mut bytes = Vec::new();
        move |row| {
            progress.step();
            bytes.clear();
            // SAFETY: the column is of the type that the query said.
            unsafe { of.write(shape.id(row), &mut bytes) };
            let content = shape.content(row);
            if let (Some(sampler), Some(content)) = (&mut sampler, &content) {
                sampler.add(content);
            }
            let (kind, fp) = match (&content, shape.fp(row).flatten()) {
                (None, _) => (Kind::Empty, 0),
                (Some(_), None) => (Kind::Plain, 0),
                (Some(_), Some(fp)) => (Kind::Near, fp),
            };
            let content = content.as_deref();
            let number = input.rows() as i64;
            if !options.keep.is_by_number() {
                input.ranks.room(1).or_raise();
                input.ranks.push(shape.rank(row, &options.keep, number, content));
            }
            let number = input.add(&bytes, content.unwrap_or(""), kind, fp);
            if let Some(form) = content.and_then(|content| options.exact.form(content)) {
                unwrap_or_raise(hashes.add(number, form.as_bytes()));
            }
        }
    });
    progress.end(&format!("{} rows", input.rows()));
    // A query that returns rows has columns.
    (ids.unwrap_or_else(|| unreachable!("the columns are told before the rows")), hashes)
}

/// The first row of equal content, for each row.
fn compare(
    hashes: EqualTexts<TempFile>,
    options: &Options,
    input: &mut Input,
    progress: &Progress,
) -> Vec<u32> {
    progress.stage("comparing exactly", "equal hashes", None);
    let mut first_equal = collect(0..input.rows() as u32).or_raise();
    let content = |input: &mut Input, row: u32| {
        let content = input.content(row as usize);
        options.exact.form(&content).map(Cow::into_owned).unwrap_or(content)
    };
    let mut copies = 0u64;
    // A text with many copies is read once.
    let mut last: Option<(u32, String)> = None;
    let equal = |first: u32, other: u32| {
        progress.step();
        if last.as_ref().is_none_or(|last| last.0 != first) {
            last = Some((first, content(input, first)));
        }
        let theirs = content(input, other);
        Ok(last.as_ref().is_some_and(|(_, text)| *text == theirs))
    };
    let found = hashes.finish(equal, |first, copy| {
        copies += 1;
        first_equal[copy as usize] = first;
        Ok(())
    });
    unwrap_or_raise(found);
    progress.end(&format!("{copies} exact copies"));
    first_equal
}

/// The result of the stages.
struct Groups<'r> {
    options: &'r Options,
    first_equal: &'r [u32],
    sets: UnionFind,
}

impl Groups<'_> {
    /// The number of a row's group.
    fn of(&mut self, row: usize) -> usize {
        self.sets.find(self.first_equal[row]) as usize
    }

    fn standing(&self, input: &Input, row: usize) -> Standing {
        let number = row as i64;
        let rank = match self.options.keep {
            Keep::First | Keep::Last => self.options.keep.rank(number, 0),
            Keep::Longest | Keep::Column { .. } => input.ranks.get(row).copied(),
        };
        (rank.unwrap_or(0), number)
    }

    /// The kept row of each group, at the group's number.
    fn keepers(&mut self, input: &Input) -> Vec<u32> {
        let mut kept = filled(u32::MAX, input.rows()).or_raise();
        for row in 0..input.rows() {
            let group = self.of(row);
            let keeper = kept[group];
            if keeper == u32::MAX || self.standing(input, row) < self.standing(input, keeper as usize) {
                kept[group] = row as u32;
            }
        }
        kept
    }

    fn member(&self, input: &Input, row: usize) -> Member {
        let class = i64::from(self.first_equal[row]);
        Member { number: row as i64, class, empty: input.kinds[row] == Kind::Empty }
    }

    /// Writes the result.
    fn write(mut self, ids: &ValueType, input: &mut Input, mut output: Output, progress: &Progress) {
        let rows = input.rows();
        progress.stage("writing the result", "rows", Some(rows as u64));
        let kept = self.keepers(input);
        let mut counts = [0; Stage::COUNT];
        for row in 0..rows {
            let keeper = kept[self.of(row)] as usize;
            let stage = Stage::of(self.member(input, row), self.member(input, keeper));
            let (distance, similarity) = stage.known().unwrap_or_else(|| {
                let texts = [row, keeper].map(|row| input.content(row));
                let similarity = jaccard(&texts[0], &texts[1], self.options.alike.n);
                (Some(hamming(input.fps[row], input.fps[keeper])), Some(similarity))
            });
            counts[stage as usize] += 1;
            // SAFETY: `read` has written the ids; declared as two of their type, text,
            // integer, double precision.
            unsafe {
                output.add([
                    Some(ids.make(&input.id(row))),
                    Some(ids.make(&input.id(keeper))),
                    stage.name().into_datum(),
                    distance.map(|bits| bits as i32).into_datum(),
                    similarity.into_datum(),
                ]);
            }
            progress.step();
        }
        let [kept, exact, near, empty] = counts;
        progress.end(&format!(
            "{rows} rows: {kept} kept, {exact} exact and {near} near duplicates, {empty} empty"
        ));
    }
}
