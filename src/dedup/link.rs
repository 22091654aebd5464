//! `dedup_link`: the rows of two sources that are one thing.

use super::explain::evidence;
use super::pipeline::{find_in, writes};
use crate::pg::{Json, Output, Progress, ValueType, describe, raise_mismatch, unwrap_or_raise};
use crate::table::{Options, Source, read_options};
use dedup_core::dedup::{LINK, Method, Written};
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::{OrRaise, Room};
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn dedup_link(a: Option<&str>, b: Option<&str>, options: Option<Json>, fcinfo: pg_sys::FunctionCallInfo) {
    let mut output = Output::begin(fcinfo);
    let sources = [("a", a), ("b", b)].map(|(argument, written)| Source::argument(argument, written));
    let mut written = read_options(LINK, options);
    let method = choose(&sources, &mut written);
    written.add("method", method.name().into());
    let options = Options::of(&written);
    let queries = sources.each_ref().map(|source| options.query(source));
    let counts = queries.each_ref().map(|query| describe(query).0.len());
    if counts[0] != counts[1] {
        raise_mismatch(
            format!("beside the id a has {} and b has {} to compare", counts[0] - 1, counts[1] - 1),
            "Both are compared column by column: name those of tables, {\"columns\": [\"…\", \"…\"]}, or give queries of as many columns.",
        )
    }
    let progress = Progress::new(LINK.name);
    let (mut ids, result) = ([None, None], output.type_of(0));
    let inputs = sources.iter().zip(&queries).zip(&mut ids);
    let begin = |of| writes(of, result, "dedup_link(a, b, options");
    let inputs = inputs.map(|((source, query), of)| (query.as_str(), source, begin(of))).collect();
    let (_, mut found) = find_in(LINK, inputs, (written, options, true), None, &progress);
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    let count = found.rows.count();
    let mut of_a = vec![None; count];
    for row in checked(0..count) {
        let group = found.group_of(row);
        if !found.rows.sides[row] {
            of_a[group] = Some(row);
        }
    }
    for row in checked(0..count).filter(|&row| found.rows.sides[row]).collect::<Vec<_>>() {
        if let Some(of_a) = of_a[found.group_of(row)] {
            pairs.room(1).or_raise();
            pairs.push([of_a, row]);
        }
    }
    sort_unstable_by(&mut pairs, Ord::cmp);
    progress.stage("writing the result", "pairs", Some(pairs.len() as u64));
    for pair in checked(&pairs) {
        let score = unwrap_or_raise(found.similarity(*pair));
        let told: Vec<String> = evidence(&mut found, *pair).iter().map(ToString::to_string).collect();
        // SAFETY: the ids are written as their types have it; declared as two of the type of the result, double precision,
        // text.
        unsafe {
            let [a, b] = [0, 1].map(|side| {
                let bytes = unwrap_or_raise(found.rows.texts.id(pair[side]));
                ids[side].as_ref().map(|of: &ValueType| of.make(&bytes))
            });
            output.add([a, b, score.into_datum(), told.join(", ").into_datum()]);
        }
        progress.step();
    }
    progress.end(&format!("{} pairs", pairs.len()));
}

/// How they are compared if that is not written, and which columns of two tables: those that both have.
fn choose(sources: &[Source; 2], written: &mut Written) -> Method {
    let named = written.names("columns").len();
    let count = match sources {
        _ if named > 0 => named,
        [Source::Table(a), Source::Table(b)] => {
            let id = written.text("id");
            let ids = [a.id(id), b.id(id)];
            let of_b = b.record_columns(&ids);
            let both = |name: &&str| of_b.iter().any(|column| column.name == *name);
            let of_a = a.record_columns(&ids);
            let columns: Vec<&str> = of_a.iter().map(|column| column.name.as_str()).filter(both).collect();
            if !columns.is_empty() {
                written.add("columns", columns.clone().into());
            }
            columns.len()
        }
        [Source::Query(query), _] | [_, Source::Query(query)] => describe(query).0.len().saturating_sub(1),
    };
    if count > 1 { Method::Records } else { Method::Text }
}
