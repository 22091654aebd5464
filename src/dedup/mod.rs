//! `dedup`: the whole pipeline over the rows of a query. It finds equal contents (P1's exact
//! stage), then near fingerprints (P1, P2), verifies those on the text, groups the rows (P4), and
//! keeps one row of each group.

mod input;
mod into;
mod near;
mod options;
mod shape;

use crate::pg::host::unwrap_or_raise;
use crate::pg::progress::Progress;
use crate::pg::spi::for_each_of_query;
use crate::pg::spill::TempFile;
use crate::pg::{Output, required};
use crate::settings::work_memory;
use dedup_core::cluster::UnionFind;
use dedup_core::exact::EqualTexts;
use dedup_core::memory::{OrRaise, Room, collect, filled};
use dedup_core::signature::{hamming, jaccard};
use input::{Input, Kind};
use options::{Keep, Options};
use pgrx::JsonB;
use pgrx::prelude::*;
use shape::Shape;
use std::borrow::Cow;

/// Returns a row for each input row, in order: the id, the id of the kept row of its group, and the
/// stage that decided: `kept` (it is that row), `exact` (its content equals the kept row's),
/// `near`, or `empty` (its content is NULL). Distance and similarity are to the kept row.
#[pg_extern(sql = "")]
fn dedup(query: Option<&str>, options: Option<JsonB>, fcinfo: pg_sys::FunctionCallInfo) {
    let query = required(query, "query");
    let options = Options::read(options.map(|json| json.0));
    let progress = Progress::new("dedup", options.progress);
    let mut input = Input::new();
    let hashes = read(query, &options, &mut input, &progress);
    let first_equal = compare(hashes, &options, &mut input, &progress);
    let sets = match options.distance {
        None => UnionFind::new(input.rows()),
        Some(distance) => {
            near::fingerprint(&options, &mut input, &first_equal, &progress);
            near::group(&options, distance, &mut input, &first_equal, &progress)
        }
    };
    let grouped = Grouped { options: &options, first_equal: &first_equal, sets };
    grouped.write(&mut input, Output::begin(fcinfo), &progress);
}

/// Reads all rows.
fn read(query: &str, options: &Options, input: &mut Input, progress: &Progress) -> EqualTexts<TempFile> {
    let mut hashes = EqualTexts::new(work_memory(), TempFile::new());
    let descending = matches!(options.keep, Keep::Column(_, true));
    progress.stage("reading", "rows", None);
    for_each_of_query(query, |columns| {
        let shape = Shape::of(columns, options);
        let (hashes, input) = (&mut hashes, &mut *input);
        move |row| {
            progress.step();
            let id = shape.id(row);
            let content = shape.content(row);
            let (kind, fp) = match (&content, shape.fp(row).flatten()) {
                (None, _) => (Kind::Empty, 0),
                (Some(_), None) => (Kind::Plain, 0),
                (Some(_), Some(fp)) => (Kind::Near, fp),
            };
            input.ranks.room(1).or_raise();
            match options.keep {
                Keep::First | Keep::Last => {}
                Keep::Longest => input.ranks.push(-(content.as_ref().map_or(0, String::len) as i64)),
                Keep::Column(..) => input.ranks.push(shape.key(row, descending)),
            }
            let number = input.add(id.as_bytes(), content.as_deref().unwrap_or(""), kind, fp);
            if let Some(form) = content.as_deref().and_then(|content| options.exact.form(content)) {
                unwrap_or_raise(hashes.add(number, form.as_bytes()));
            }
        }
    });
    progress.end(&format!("{} rows", input.rows()));
    hashes
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
struct Grouped<'r> {
    options: &'r Options,
    first_equal: &'r [u32],
    sets: UnionFind,
}

impl Grouped<'_> {
    /// The number of a row's group.
    fn group(&mut self, row: usize) -> usize {
        self.sets.find(self.first_equal[row]) as usize
    }

    /// The kept row of each group, at the group's number.
    fn keepers(&mut self, input: &Input) -> Vec<u32> {
        let mut kept = filled(u32::MAX, input.rows()).or_raise();
        for row in 0..input.rows() {
            let group = self.group(row);
            let keeper = kept[group] as usize;
            let better = match self.options.keep {
                Keep::First => false,
                Keep::Last => true,
                Keep::Longest | Keep::Column(..) => {
                    kept[group] != u32::MAX && input.ranks[row] < input.ranks[keeper]
                }
            };
            if kept[group] == u32::MAX || better {
                kept[group] = row as u32;
            }
        }
        kept
    }

    /// Writes the result.
    fn write(mut self, input: &mut Input, mut output: Output, progress: &Progress) {
        let rows = input.rows();
        progress.stage("writing the result", "rows", Some(rows as u64));
        let kept = self.keepers(input);
        let (mut near, mut exact, mut empty) = (0, 0, 0);
        for row in 0..rows {
            let keeper = kept[self.group(row)] as usize;
            let (stage, distance, similar) = self.verdict(input, row, keeper);
            near += usize::from(stage == "near");
            exact += usize::from(stage == "exact");
            empty += usize::from(stage == "empty");
            let id = input.id(row);
            let keeper = if keeper == row { id.clone() } else { input.id(keeper) };
            // SAFETY: declared as text, text, text, integer, double precision.
            unsafe {
                output.add([
                    id.into_datum(),
                    keeper.into_datum(),
                    stage.into_datum(),
                    distance.into_datum(),
                    similar.into_datum(),
                ]);
            }
            progress.step();
        }
        let kept = rows - exact - near - empty;
        progress.end(&format!(
            "{rows} rows: {kept} kept, {exact} exact and {near} near duplicates, {empty} empty"
        ));
    }

    /// The stage that decided about a row, and its distance and similarity to the kept one.
    fn verdict(
        &self,
        input: &mut Input,
        row: usize,
        keeper: usize,
    ) -> (&'static str, Option<i32>, Option<f64>) {
        if input.kinds[row] == Kind::Empty {
            return ("empty", None, None);
        }
        if row == keeper {
            return ("kept", None, None);
        }
        if self.first_equal[row] == self.first_equal[keeper] {
            return ("exact", Some(0), Some(1.0));
        }
        let distance = hamming(input.fps[row], input.fps[keeper]) as i32;
        let similarity = jaccard(&input.content(row), &input.content(keeper), self.options.n);
        ("near", Some(distance), Some(similarity))
    }
}
