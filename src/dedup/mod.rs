//! `dedup`: the whole pipeline over the rows of a source. It finds equal contents (P1's exact
//! stage), then near fingerprints (P1, P2), verifies those on the text, groups the rows (P4), and
//! keeps one row of each group.

mod ahead;
mod contained;
mod explain;
mod input;
mod into;
mod many;
mod near;
mod records;
mod shape;

use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{for_each_of_query, refuse_row_without_id};
use crate::pg::spill::TempFile;
use crate::pg::values::{UniqueIds, ValueType};
use crate::pg::{Column, Json, Output, Values, raise};
use crate::settings::{progress_interval, work_memory};
use crate::table::{DEDUP, Function, Options, Sampler, Settings, Source, Written, announce_implied};
use ahead::{Ahead, Guess, making};
use dedup_core::dedup::EqualTexts;
use dedup_core::dedup::{Kind, Member, Method, Stage};
use dedup_core::evaluate::emptying;
use dedup_core::groups::UnionFind;
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room, collect, filled};
use dedup_core::records::Records;
use input::{Input, standing};
use many::Many;
use near::Verifying;
use pgrx::PgTupleDesc;
use pgrx::prelude::*;
use shape::Shape;
use std::borrow::Cow;

/// Returns a row for each input row, in order: the id, the id of the kept row of its group, and the
/// stage that decided: `kept` (it is that row), `exact` (its content equals the kept row's),
/// `near`, or `empty` (its content is NULL). Distance and similarity are to the kept row.
#[pg_extern(sql = "")]
fn dedup(source: Option<&str>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let output = Output::begin(fcinfo);
    let source = Source::new(source);
    let written = DEDUP.written(options.map(|json| json.0));
    let progress = Progress::new(DEDUP.name, progress_interval());
    let mut ids = None;
    let mut found = find(DEDUP, &source, written, None, &progress, |columns| {
        let of = ValueType::of_result(&columns[0], output.type_of(0), "dedup(source, options");
        let of = &*ids.insert(of);
        // SAFETY: the column is of the type that the query said.
        move |row, bytes| unsafe { of.write(id(row), bytes) }
    });
    // A query that returns rows has columns.
    let ids = ids.unwrap_or_else(|| unreachable!("the columns are told before the rows"));
    found.write(&ids, output, &progress);
}

/// The value of a row's id.
fn id(row: &Values<'_>) -> pg_sys::Datum {
    row.get(0).unwrap_or_else(|| refuse_row_without_id())
}

/// All stages. `begin` gets the columns of the query, and what it returns writes a row's id; `labels` is one more column
/// that is read.
pub(crate) fn find<E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    function: Function,
    source: &Source,
    mut written: Written,
    labels: Option<String>,
    progress: &Progress,
    begin: impl FnOnce(&[Column]) -> E,
) -> Found {
    Settings::complete(source.oid(), &mut written);
    let mut options = function.read(&written);
    options.labels = labels;
    let mut input = Input::new();
    let mut sampler = written.asks_texts().then(Sampler::default);
    let query = options.query(source, false);
    let guess = (sampler.is_some() && !written.has("weights") && !written.has("fp")).then(Guess::default);
    let proven = source.has_unique_ids(options.id.as_deref());
    let sampling = (sampler.as_mut(), guess.as_ref());
    let hashes = read((&query, proven), &options, sampling, &mut input, progress, begin);
    if let Some(sampler) = sampler {
        let chosen =
            sampler.suggest(written.get("weights"), options.fp.as_ref().map(|_| input.some_prints()));
        if guess.is_some_and(|guess| !guess.is(chosen.as_ref().map(|chosen| &chosen.weights))) {
            input.forget_fingerprints();
        }
        if let Some(chosen) = chosen {
            chosen.complete(&mut written, function.name);
            options = function.read(&written);
        }
        // What was empty by any recipe that may be chosen is not by each.
        for row in checked(0..input.rows()) {
            if input.kinds[row] == Kind::Empty
                && Kind::of(&input.content(row), &options.recipe) != Kind::Empty
            {
                input.kinds[row] = Kind::Plain;
            }
        }
    }
    announce_implied(function.name, written.implied());
    options.of_rows = Settings::count_more(source.oid(), options.fp.as_deref());
    let found = stages(written, options, input, hashes, progress);
    if let Some(records) = &found.records {
        records::announce(function.name, records, &found.input.columns);
    }
    found
}

/// The stages after reading.
fn stages(
    written: Written,
    options: Options,
    mut input: Input,
    hashes: EqualTexts<TempFile>,
    progress: &Progress,
) -> Found {
    let first_equal = compare(hashes, &options, &mut input, progress);
    let mut records = None;
    let (sets, verifier) = match options.distance {
        _ if options.method == Method::Records => {
            let (sets, learned) = records::group(&options, &mut input, &first_equal, progress);
            records = learned;
            (sets, None)
        }
        None => (UnionFind::new(input.rows()), None),
        Some(distance) => {
            near::fingerprint(&options, &mut input, &first_equal, progress);
            let (sets, verifier) = match options.method {
                Method::Fingerprint => {
                    near::group(&options, (distance, options.diameter), &mut input, &first_equal, progress)
                }
                Method::Text | Method::Records => {
                    near::group_by_text(&options, &mut input, &first_equal, progress)
                }
            };
            (sets, Some(verifier))
        }
    };
    let mut found = Found { written, options, input, first_equal, sets, verifier, records, kept: Vec::new() };
    found.kept = found.keepers();
    if let Some(least) = found.options.contained {
        found.join_contained(least, progress);
    }
    found
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

/// Reads all rows, and makes fingerprints meanwhile. Returns the hashes of their contents. With what sees the contents by
/// which options are chosen, and a guess of the recipe if that is one of them. Ids that are not `proven` to differ are
/// compared.
fn read<E: FnMut(&Values<'_>, &mut Vec<u8>)>(
    (query, proven): (&str, bool),
    options: &Options,
    (mut sampler, guess): (Option<&mut Sampler>, Option<&Guess>),
    input: &mut Input,
    progress: &Progress,
    begin: impl FnOnce(&[Column]) -> E,
) -> EqualTexts<TempFile> {
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
    making(&recipe, &mut QueryHost::reporting(progress), |making| {
        let mut ahead = Ahead::new(making, guess);
        for_each_of_query(query, |columns| {
            let shape = Shape::of(columns, options);
            let mut write_id = begin(columns);
            unique = (!proven).then(|| UniqueIds::new(&columns[0]));
            let unique = &mut unique;
            let (hashes, input, ahead) = (&mut hashes, &mut *input, &mut ahead);
            input.columns = shape.names(columns);
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
                let number = input.rows() as i64;
                if !options.keep.is_by_number() {
                    input.ranks.room(1).or_raise();
                    input.ranks.push(shape.rank(row, &options.keep, number, content.as_deref()));
                }
                let number = input.add(&bytes, content.as_deref().unwrap_or(""), kind, fp);
                let form = content.as_deref().and_then(|content| options.form(content));
                let hash = form.map(|form| unwrap_or_raise(hashes.add(number, form.as_bytes())));
                if let Some(hashes) = &mut input.hashes {
                    hashes.room(1).or_raise();
                    hashes.push(hash.unwrap_or_default());
                }
                if let Some(content) = content.filter(|_| makes && kind != Kind::Empty) {
                    ahead.add(number, content, hash, input);
                }
            }
        });
        ahead.finish(input);
    });
    if let Some(unique) = unique {
        unique.check();
    }
    progress.end(&format!("{} rows", input.rows()));
    hashes
}

/// Whether given fingerprints tell rows of equal text apart: they may be of other columns too.
fn differ<T: PartialEq>(a: Option<T>, b: Option<T>) -> bool {
    a.is_some() && b.is_some() && a != b
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
        options.form(&content).map(Cow::into_owned).unwrap_or(content)
    };
    let mut copies = 0u64;
    // Borrowed while `input` reads contents.
    let (kinds, fps) = (std::mem::take(&mut input.kinds), std::mem::take(&mut input.fps));
    let is_empty = |row: u32| kinds[row as usize] == Kind::Empty;
    let given = options.compares_rows();
    let print = |row: u32| (given && kinds[row as usize] == Kind::Near).then(|| fps[row as usize]);
    // A text with many copies is read once.
    let mut last: Option<(u32, String)> = None;
    let equal = |first: u32, other: u32| {
        progress.step();
        if is_empty(first) || is_empty(other) {
            return Ok(is_empty(first) && is_empty(other));
        }
        if differ(print(first), print(other)) {
            return Ok(false);
        }
        if last.as_ref().is_none_or(|last| last.0 != first) {
            last = Some((first, content(input, first)));
        }
        let theirs = content(input, other);
        Ok(last.as_ref().is_some_and(|(_, text)| *text == theirs))
    };
    let found = hashes.finish(equal, |first, copy| {
        if !is_empty(copy) {
            copies += 1;
            first_equal[copy as usize] = first;
        }
        Ok(())
    });
    unwrap_or_raise(found);
    (input.kinds, input.fps) = (kinds, fps);
    progress.end(&format!("{copies} exact copies"));
    first_equal
}

/// The result of the stages.
pub(crate) struct Found {
    /// The options, with those that the table's settings or the texts decided.
    pub written: Written,
    pub options: Options,
    pub input: Input,
    first_equal: Vec<u32>,
    sets: UnionFind,
    /// Has the sets of n-grams of the rows that were compared.
    verifier: Option<Verifying>,
    /// What was learned by records.
    records: Option<Records>,
    /// The kept row of each group, at the group's number.
    kept: Vec<u32>,
}

impl Found {
    /// The number of a row's group.
    fn of(&mut self, row: usize) -> usize {
        self.sets.find(self.first_equal[row]) as usize
    }

    /// The kept row of a row's group.
    pub(crate) fn keeper(&mut self, row: usize) -> usize {
        let group = self.of(row);
        self.kept[group] as usize
    }

    fn keepers(&mut self) -> Vec<u32> {
        let mut kept = filled(u32::MAX, self.input.rows()).or_raise();
        for row in 0..self.input.rows() {
            let group = self.of(row);
            let keeper = kept[group];
            let standing = |row| standing(&self.input.ranks, row, &self.options.keep);
            if keeper == u32::MAX || standing(row) < standing(keeper as usize) {
                kept[group] = row as u32;
            }
        }
        kept
    }

    fn member(&self, row: usize) -> Member {
        let class = i64::from(self.first_equal[row]);
        Member { number: row as i64, class, empty: self.input.kinds[row] == Kind::Empty }
    }

    /// How a row was caught.
    pub(crate) fn stage(&mut self, row: usize) -> Stage {
        let keeper = self.keeper(row);
        Stage::of(self.member(row), self.member(keeper))
    }

    /// Distance and similarity of a row to the one that is kept.
    pub(crate) fn compared(&mut self, row: usize, keeper: usize, stage: Stage) -> (Option<u32>, Option<f64>) {
        stage
            .known()
            .unwrap_or_else(|| (self.input.distance(row, keeper), Some(self.similarity(row, keeper))))
    }

    /// The similarity of two rows, by their sets if they were made.
    fn similarity(&mut self, row: usize, other: usize) -> f64 {
        // A copy has the set of the first row of its content.
        let rows = [row, other].map(|row| self.first_equal[row]);
        if let Some(records) = &self.records {
            return records.probability(rows[0], rows[1]);
        }
        let known = self.verifier.as_mut().map(|verifier| unwrap_or_raise(verifier.known(rows)));
        known.flatten().unwrap_or_else(|| {
            let [a, b] = [row, other].map(|row| self.input.content(row));
            self.options.alike.jaccard(&a, &b)
        })
    }

    /// Writes the result.
    fn write(&mut self, ids: &ValueType, mut output: Output, progress: &Progress) {
        let rows = self.input.rows();
        progress.stage("writing the result", "rows", Some(rows as u64));
        let mut counts = [0u64; Stage::COUNT];
        // The least alike of the near rows.
        let mut doubtful: Option<(f64, [usize; 2])> = None;
        for row in 0..rows {
            let keeper = self.keeper(row);
            let stage = self.stage(row);
            let (distance, similarity) = self.compared(row, keeper, stage);
            let own = self.input.id(row);
            let kept = (keeper != row).then(|| self.input.id(keeper));
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
        progress.end(&format!(
            "{rows} rows: {kept} kept, {exact} exact and {near} near duplicates, {empty} empty"
        ));
        if let Some((similarity, pair)) = doubtful
            && Many::are(near, rows as u64)
        {
            let texts = pair.map(|row| self.input.content(row));
            let tells = self.records.is_none().then(|| Many::tells(&self.options.alike));
            Many { function: DEDUP.name, near, rows: rows as u64, similarity, tells }.warn(&texts);
        }
    }
}
