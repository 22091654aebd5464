//! `dedup_series`: the rows of a source whose texts say the same but for names, dates and numbers.

use super::id;
use super::input::{Input, Kind};
use super::options::SERIES;
use super::shape::Shape;
use crate::groups::check_length;
use crate::pg::progress::Progress;
use crate::pg::spi::for_each_of_query;
use crate::pg::values::ValueType;
use crate::pg::{Json, Output};
use crate::settings::progress_interval;
use crate::source::Source;
use dedup_core::evaluate::Profile;
use dedup_core::hash::murmur3_128;
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::{OrRaise, Room};
use dedup_core::similarity::{Kinds, Series, SeriesFinder, SeriesSettings};
use pgrx::PgMemoryContexts;
use pgrx::prelude::*;
use serde_json::json;

/// The least similarity of a text and the first one of its series: that of two short questions about two matches.
const SIMILARITY: f64 = 0.3;

/// The options.
const KNOWN: [&str; 5] = ["id", "text", "similarity", "n", "particulars"];

/// Returns a row for each row of a series: the number of the series, the id, the text that all of
/// them have in common with a mark for each gap, and what the row says in the gaps.
#[pg_extern(sql = "")]
fn dedup_series(source: Option<&str>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let mut output = Output::begin(fcinfo);
    let source = Source::new(source);
    let mut written = SERIES.written(options.map(|json| json.0));
    let all = written.json();
    let mut names = all.as_object().into_iter().flat_map(|all| all.keys());
    if let Some(name) = names.find(|name| !KNOWN.contains(&name.as_str())) {
        SERIES.refuse(format!("unknown option \"{name}\""))
    }
    let n_is_given = written.has("n");
    written.add("similarity", json!(SIMILARITY));
    let options = SERIES.read(&written);
    if options.alike.similarity == 0.0 {
        SERIES.refuse("similarity is above 0")
    }
    let progress = Progress::new(SERIES.name, progress_interval());
    let (mut input, mut profile, mut ids) = (Input::new(), Profile::default(), None);
    let mut order: Vec<(u128, u32)> = Vec::new();
    progress.stage("reading", "rows", None);
    for_each_of_query(&options.query(&source, false), |columns| {
        let shape = Shape::of(columns, &options);
        let of = ValueType::of_result(&columns[0], output.type_of(1), "dedup_series(source, options");
        let (of, input, profile, order) = (&*ids.insert(of), &mut input, &mut profile, &mut order);
        let (mut bytes, progress) = (Vec::new(), &progress);
        move |row| {
            progress.step();
            let Some(content) = shape.content(row) else { return };
            check_length(&row.written(0).unwrap_or_default(), content.len());
            bytes.clear();
            // SAFETY: the column is of the type that the query said.
            unsafe { of.write(id(row), &mut bytes) };
            let number = input.add(&bytes, &content, Kind::Plain, 0);
            profile.add(&content);
            let [high, low] = murmur3_128(content.as_bytes(), 0).map(u128::from);
            order.room(1).or_raise();
            order.push((high << 64 | low, number));
        }
    });
    // A query that returns rows has columns.
    let ids = ids.unwrap_or_else(|| unreachable!("the columns are told before the rows"));
    progress.end(&format!("{} rows", input.rows()));
    let n = match n_is_given {
        true => options.alike.n,
        false if profile.is_spaceless() => 2,
        false => 3,
    };
    let kinds = options.alike.particulars.unwrap_or(Kinds::ALL);
    let settings = SeriesSettings { similarity: options.alike.similarity, n, kinds };
    sort_unstable_by(&mut order, Ord::cmp);
    let series = found(settings, &order, &mut input, &progress);
    progress.stage("writing the result", "series", Some(series.len() as u64));
    for (number, one) in (1i64..).zip(&series) {
        progress.step();
        let mut first = (u32::MAX, String::new());
        for &(row, of) in checked(&one.rows) {
            let (first_row, template) = &one.firsts[of as usize];
            if first.0 != of {
                first = (of, input.content(*first_row as usize));
            }
            let (id, text) = (input.id(row as usize), input.content(row as usize));
            let gaps = template.gaps(&first.1, &text);
            // SAFETY: what is made in this memory is not used afterwards; the ids are written as their type has it;
            // declared as bigint, that type, text, text[].
            unsafe {
                PgMemoryContexts::new("dedup_series").switch_to(|_| {
                    output.pass([
                        number.into_datum(),
                        Some(ids.make(&id)),
                        one.template.as_str().into_datum(),
                        gaps.into_datum(),
                    ]);
                });
            }
        }
    }
    progress.end(&format!("{} series", series.len()));
}

/// The series of the rows, taken in the order of their hashes.
fn found(
    settings: SeriesSettings,
    order: &[(u128, u32)],
    input: &mut Input,
    progress: &Progress,
) -> Vec<Series> {
    let rows = input.rows();
    let mut finder = SeriesFinder::new(settings);
    progress.stage("counting n-grams", "rows", Some(rows as u64));
    for row in 0..rows {
        progress.step();
        finder.count(&input.content(row));
    }
    progress.stage("finding series", "rows", Some(rows as u64));
    for &(_, row) in order {
        progress.step();
        let text = input.content(row as usize);
        finder.take(row, &text, &mut |row| input.content(row as usize)).or_raise();
    }
    finder.finish(&mut |row| input.content(row as usize)).or_raise()
}
