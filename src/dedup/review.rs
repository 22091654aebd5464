//! `dedup_review`: the pairs that people are asked about.

use super::pipeline::{find, limits, told, writes};
use crate::pg::{Json, Output, Progress, QueryHost, raise_invalid, unwrap_or_raise};
use crate::table::{Source, read_options};
use dedup_core::dedup::{MOST_ASKED, Question, REVIEW};
use dedup_core::details::passages;
use pgrx::PgMemoryContexts;
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn dedup_review(
    source: Option<&str>,
    n: Option<i32>,
    options: Option<Json>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let mut output = Output::begin(fcinfo);
    let source = Source::new(source);
    let written = read_options(REVIEW, options);
    let n = n.unwrap_or(20);
    if !(1..=MOST_ASKED as i32).contains(&n) {
        raise_invalid(
            format!("n must be a whole number from 1 to {MOST_ASKED}, not {n}"),
            "So many pairs are asked about; ask again when they are decided.",
        )
    }
    let progress = Progress::new(REVIEW.name);
    let mut ids = None;
    let begin = writes(&mut ids, output.type_of(0), "dedup_review(source, n, options");
    let (_, mut found) = find(REVIEW, &source, written, Default::default(), &progress, begin);
    let ids = told(ids);
    let mut host = QueryHost::reporting(&progress);
    let review = unwrap_or_raise(found.review(n as usize, limits(), &mut host));
    for Question { rows, same, kind, score, moves } in review.questions {
        let [a, b] = rows.map(|row| unwrap_or_raise(found.rows.texts.id(row)));
        let texts = rows.map(|row| unwrap_or_raise(found.rows.texts.content(row)));
        let [in_a, in_b] = texts.each_ref().map(|text| found.options.alike.plain(text));
        let differing = passages(&in_a, &in_b);
        let only = |side: fn(&dedup_core::details::Passage) -> Option<&String>| {
            differing.iter().filter(|it| !it.shared).filter_map(side).map(String::as_str).collect::<Vec<_>>()
        };
        let [only_a, only_b] = [only(|it| it.a.as_ref()), only(|it| it.b.as_ref())];
        // SAFETY: what is made in this memory is not used afterwards; the ids are written as their type has it; declared as two
        // of that type, boolean, text, double precision, bigint, text twice, arrays of text twice.
        unsafe {
            PgMemoryContexts::new("dedup_review").switch_to(|_| {
                output.pass([
                    Some(ids.make(&a)),
                    Some(ids.make(&b)),
                    same.into_datum(),
                    kind.into_datum(),
                    score.into_datum(),
                    (moves as i64).into_datum(),
                    in_a.as_ref().into_datum(),
                    in_b.as_ref().into_datum(),
                    only_a.into_datum(),
                    only_b.into_datum(),
                ]);
            });
        }
    }
}
