//! `dedup_explain` of pairs of a source's rows, by records: what agreement in each column told.

use super::find::{Found, find, id};
use crate::pg::host::unwrap_or_raise;
use crate::pg::progress::Progress;
use crate::pg::values::ValueType;
use crate::pg::{Json, Output};
use crate::settings::progress_interval;
use crate::table::{Options, Source, each_pair, key, read_options, refuse_option};
use dedup_core::dedup::{EXPLAIN, Kind, Method};
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room};
use dedup_core::records::{Agreement, Field, SURE, columns};
use pgrx::PgMemoryContexts;
use pgrx::prelude::*;
use std::collections::HashMap;
use std::f64::consts::LN_2;

/// A row of the result, but for the ids.
struct Line {
    column: Option<String>,
    part: &'static str,
    values: [Option<String>; 2],
    /// A logarithm of odds.
    tells: Option<f64>,
}

/// Returns the evidence for each of the pairs: the odds of any pair, what each column adds, the sum, what is needed, and
/// what `dedup` makes of them.
#[pg_extern(sql = "")]
fn dedup_explain_pairs(
    source: Option<&str>,
    pairs: Option<&str>,
    options: Option<Json>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let mut output = Output::begin(fcinfo);
    let source = Source::new(source);
    let wanted = Source::argument("pairs", pairs).all();
    let written = read_options(EXPLAIN, options);
    if Options::of(&written).method != Method::Records {
        refuse_option("method", "pairs of a source are explained by method \"records\" alone")
    }
    let (mut pairs, mut rows) = (Vec::new(), HashMap::new());
    each_pair(&wanted, |a, b| {
        for id in [&a, &b] {
            rows.insert(id.clone(), None);
        }
        pairs.room(1).or_raise();
        pairs.push([a, b]);
    });
    let progress = Progress::new(EXPLAIN.name, progress_interval());
    let mut ids = None;
    let (_, mut found) = find(EXPLAIN, &source, written, None, &progress, |columns| {
        let typoid = columns[0].typoid;
        let call = "dedup_explain(source, pairs, options";
        let of = &*ids.insert(ValueType::of_result(&columns[0], output.type_of(0), call));
        let (rows, mut number) = (&mut rows, 0);
        move |row, bytes| {
            // SAFETY: the column is of the type that the query said.
            unsafe { of.write(id(row), bytes) };
            let id = key(row, 0, typoid);
            if let Some(place) = id.and_then(|id| rows.get_mut(&id)) {
                *place = Some(number);
            }
            number += 1;
        }
    });
    // A query that returns rows has columns.
    let ids = ids.unwrap_or_else(|| unreachable!("the columns are told before the rows"));
    for pair in checked(&pairs) {
        // What is no row of the source has no evidence.
        let [Some(a), Some(b)] = pair.each_ref().map(|id| rows[id]) else { continue };
        let shown = [a, b].map(|row| unwrap_or_raise(found.rows.texts.id(row)));
        for line in lines(&mut found, [a, b]) {
            // SAFETY: what is made in this memory is not used afterwards; the ids are written as their type has it;
            // declared as two of that type, text four times, double precision.
            unsafe {
                PgMemoryContexts::new("dedup_explain").switch_to(|_| {
                    let [in_a, in_b] = line.values;
                    output.pass([
                        Some(ids.make(&shown[0])),
                        Some(ids.make(&shown[1])),
                        line.column.into_datum(),
                        line.part.into_datum(),
                        in_a.into_datum(),
                        in_b.into_datum(),
                        line.tells.map(|tells| tells / LN_2).into_datum(),
                    ]);
                });
            }
        }
    }
}

/// The evidence for two rows, and whether one row is kept for both.
fn lines(found: &mut Found, rows: [usize; 2]) -> Vec<Line> {
    let mut lines = evidence(found, rows);
    let [a, b] = rows.map(|row| found.keeper(row));
    let part = if a == b { "one group" } else { "two groups" };
    lines.push(Line { column: None, part, values: [None, None], tells: None });
    lines
}

/// The evidence for two rows.
fn evidence(found: &mut Found, rows: [usize; 2]) -> Vec<Line> {
    let line = |part, tells| Line { column: None, part, values: [None, None], tells };
    let first = rows.map(|row| found.rows.first[row]);
    if first[0] == first[1] {
        return vec![line("equal", None)];
    }
    let is_empty = rows.iter().any(|&row| found.rows.kinds[row] == Kind::Empty);
    let Some(records) = found.groups.records.as_ref().filter(|_| !is_empty) else {
        return vec![line("empty", None)];
    };
    let contents = rows.map(|row| unwrap_or_raise(found.rows.texts.content(row)));
    let evidence = records.evidence(first[0], first[1]);
    let mut lines = vec![line("any pair", Some(evidence.prior))];
    let mut total = evidence.prior;
    for (field, agreement, tells) in evidence.told {
        total += tells;
        let (column, part, values) = match field {
            Field::Words(column) | Field::Number(column) => {
                let value = |content: &String| columns(content).nth(column).flatten().map(str::to_owned);
                let values = contents.each_ref().map(value);
                let part = match (agreement, &values) {
                    (_, [None, None]) => continue,
                    (_, [Some(_), None]) => "only a",
                    (_, [None, Some(_)]) => "only b",
                    (Agreement::Full, _) => "shared",
                    (Agreement::Partial, _) => "partly",
                    (Agreement::None | Agreement::Missing, _) => "replaced",
                };
                (Some(found.rows.columns[column].clone()), part, values)
            }
            Field::Identifiers if agreement == Agreement::Missing => continue,
            Field::Identifiers => {
                (None, "identifiers", first.map(|row| Some(records.identifiers(row).join(" "))))
            }
            Field::Rank => (None, "nearest row", [None, None]),
        };
        lines.push(Line { column, part, values, tells: Some(tells) });
    }
    lines.extend([line("total", Some(total)), line("needed", Some((SURE / (1.0 - SURE)).ln()))]);
    lines
}
