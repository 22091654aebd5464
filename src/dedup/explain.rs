//! `dedup_explain` of pairs of a source's rows: what tells whether they are the same.

use super::pipeline::{Found, find, told};
use crate::pg::{Json, Output, Progress, ValueType, unwrap_or_raise};
use crate::table::{Source, each_pair, key, read_options};
use dedup_core::dedup::{Comparable, EXPLAIN, Evidence, Method};
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room};
use dedup_core::records::{Agreement, Field, columns};
use pgrx::prelude::*;
use std::collections::HashMap;
use std::f64::consts::LN_2;
use std::fmt;

/// A row of the result, but for the ids.
pub(super) struct Line {
    column: Option<String>,
    part: &'static str,
    values: [Option<String>; 2],
    value: Option<f64>,
}

impl fmt::Display for Line {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.column.iter().try_for_each(|column| write!(to, "{column} "))?;
        write!(to, "{}", self.part)?;
        if self.column.is_none()
            && let [Some(a), Some(b)] = &self.values
        {
            write!(to, " {a} / {b}")?;
        }
        self.value.iter().try_for_each(|value| write!(to, " {}", (value * 100.0).round() / 100.0))
    }
}

impl Line {
    fn new(part: &'static str, value: Option<f64>) -> Line {
        Line { column: None, part, values: [None, None], value }
    }
}

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
    let (mut pairs, mut rows) = (Vec::new(), HashMap::new());
    each_pair(&wanted, |a, b| {
        for id in [&a, &b] {
            rows.insert(id.clone(), None);
        }
        pairs.room(1).or_raise();
        pairs.push([a, b]);
    });
    let progress = Progress::new(EXPLAIN.name);
    let mut ids = None;
    let (_, mut found) = find(EXPLAIN, &source, written, Default::default(), &progress, |columns| {
        let typoid = columns[0].typoid;
        let call = "dedup_explain(source, pairs, options";
        let of = &*ids.insert(ValueType::of_result(&columns[0], output.type_of(0), call));
        let (rows, mut number) = (&mut rows, 0);
        move |row, bytes| {
            of.write_id(row, bytes);
            let id = key(row, 0, typoid);
            if let Some(place) = id.and_then(|id| rows.get_mut(&id)) {
                *place = Some(number);
            }
            number += 1;
        }
    });
    let ids = told(ids);
    for pair in checked(&pairs) {
        // What is no row of the source has no evidence.
        let [Some(a), Some(b)] = pair.each_ref().map(|id| rows[id]) else { continue };
        let shown = [a, b].map(|row| unwrap_or_raise(found.rows.texts.id(row)));
        for line in lines(&mut found, [a, b]) {
            let Line { column, part, values, value } = line;
            let [in_a, in_b] = values.map(IntoDatum::into_datum);
            let (column, part, value) = (column.into_datum(), part.into_datum(), value.into_datum());
            // SAFETY: the ids are written as their type has it; declared as two of that type, text four times, double
            // precision.
            unsafe {
                let [a, b] = shown.each_ref().map(|id| Some(ids.make(id)));
                output.add([a, b, column, part, in_a, in_b, value]);
            }
        }
    }
}

/// The evidence for two rows, and whether one row is kept for both.
fn lines(found: &mut Found, rows: [usize; 2]) -> Vec<Line> {
    let mut lines = evidence(found, rows);
    let frame = unwrap_or_raise(found.framing(rows));
    // What is equal or decided is not compared.
    if lines.len() > 1 && frame.iter().any(Option::is_some) {
        lines.push(Line { values: frame, ..Line::new("frame", None) });
    }
    let [a, b] = rows.map(|row| found.keeper(row));
    lines.push(Line::new(if a == b { "one group" } else { "two groups" }, None));
    lines
}

pub(super) fn evidence(found: &mut Found, rows: [usize; 2]) -> Vec<Line> {
    let [a, b] = rows.map(|row| found.rows.first[row]);
    if a == b {
        return vec![Line::new("equal", None)];
    }
    match found.decision(rows) {
        Some(true) => return vec![Line::new("decided the same", None)],
        Some(false) => return vec![Line::new("decided not the same", None)],
        None => {}
    }
    if rows.iter().any(|&row| found.rows.kinds[row] == Comparable::Empty) {
        return vec![Line::new("empty", None)];
    }
    if found.options.method == Method::Records { by_records(found, [a, b]) } else { by_texts(found, rows) }
}

/// Of texts: how near they are and must be, and the details in which they differ.
fn by_texts(found: &mut Found, rows: [usize; 2]) -> Vec<Line> {
    let Evidence { distance, similarity, details } = unwrap_or_raise(found.evidence(rows));
    let distance = distance.map(|(bits, most)| [("distance", bits), ("at most", Some(most))]);
    let distance = distance.map(|both| both.map(|(part, bits)| Line::new(part, bits.map(f64::from))));
    let similarity =
        similarity.map(|(of, least)| [Line::new("similarity", Some(of)), Line::new("at least", Some(least))]);
    let mut lines: Vec<Line> = distance.into_iter().chain(similarity).flatten().collect();
    lines.extend(
        details.into_iter().map(|it| Line { values: [Some(it.a), Some(it.b)], ..Line::new(it.kind, None) }),
    );
    lines
}

/// Of records: the odds of any pair, what each column adds, the sum, and what is needed, in bits.
fn by_records(found: &mut Found, rows: [u32; 2]) -> Vec<Line> {
    let contents = rows.map(|row| unwrap_or_raise(found.rows.texts.content(row as usize)));
    // Of a single row nothing is learned.
    let Some(records) = found.groups.records.as_ref() else { return Vec::new() };
    let least = found.options.alike.similarity;
    let line = |part, tells: f64| Line::new(part, Some(tells / LN_2));
    let evidence = records.evidence(rows[0], rows[1]);
    let mut lines = vec![line("any pair", evidence.prior)];
    let mut total = evidence.prior;
    for (field, agreement, tells) in evidence.told {
        total += tells;
        let (column, part, values) = match field {
            Field::Column(column) => {
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
                (None, "identifiers", rows.map(|row| Some(records.identifiers(row).join(" "))))
            }
            Field::Relatives => (None, "relatives", [None, None]),
        };
        lines.push(Line { column, values, ..line(part, tells) });
    }
    lines.extend([line("total", total), line("needed", (least / (1.0 - least)).ln())]);
    lines
}
