//! `dedup` by records: rows of several columns, with weights that are learned from the table.

use super::input::{Input, standing};
use crate::pg::host::unwrap_or_raise;
use crate::pg::progress::Progress;
use crate::table::Options;
use dedup_core::dedup::{Kind, Ranked};
use dedup_core::groups::UnionFind;
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room};
use dedup_core::records::{Field, Records, Rows};
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::{PgLogLevel, PgSqlErrorCode};
use std::f64::consts::LN_2;

/// Stands between the columns of a record, and is a blank within one.
pub(super) const BETWEEN: char = '\n';

/// The columns of a record as one text; `None` if there is none.
pub(super) fn content(columns: impl Iterator<Item = Option<String>>) -> Option<String> {
    let (mut content, mut is_there) = (String::new(), false);
    for (column, at) in columns.zip(0..) {
        let column = column.unwrap_or_default();
        content.room(column.len() + 1).or_raise();
        if at > 0 {
            content.push(BETWEEN);
        }
        is_there |= !column.is_empty();
        content.extend(checked(column.chars()).map(|c| if c == BETWEEN { ' ' } else { c }));
    }
    is_there.then_some(content)
}

/// Groups the rows, each with the row that is kept for it.
pub(super) fn group(
    options: &Options,
    input: &mut Input,
    first_equal: &[u32],
    progress: &Progress,
) -> (UnionFind, Option<Records>) {
    let count = input.rows();
    progress.stage("reading records", "rows", Some(count as u64));
    let mut rows: Option<Rows> = None;
    for (row, &first) in first_equal.iter().enumerate() {
        progress.step();
        // A copy has no columns of its own.
        let is_first = first as usize == row && input.kinds[row] != Kind::Empty;
        let content = if is_first { input.content(row) } else { String::new() };
        let columns = || content.split(BETWEEN).map(|column| (!column.is_empty()).then_some(column));
        match &mut rows {
            Some(rows) if is_first => rows.add(columns()),
            Some(rows) => rows.add_empty(),
            None if is_first => {
                let mut begun = Rows::new(columns().count());
                (0..row).for_each(|_| begun.add_empty());
                begun.add(columns());
                rows = Some(begun);
            }
            None => {}
        }
    }
    let mut sets = UnionFind::new(count);
    let Some(rows) = rows else { return (sets, None) };
    progress.stage("learning weights and comparing records", "rows", None);
    let records = Records::learn(rows.weigh());
    let standing = |row| standing(&input.ranks, row, &options.keep);
    let ranked = unwrap_or_raise(Ranked::new(first_equal, standing));
    let keepers = records.keepers(ranked.texts());
    for &row in checked(ranked.texts()) {
        sets.union(keepers[row as usize], row);
    }
    progress.end(&format!("{} pairs compared", records.compared()));
    (sets, Some(records))
}

/// Emits a notice of what agreement tells.
pub(super) fn announce(function: &str, records: &Records, columns: &[String]) {
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
