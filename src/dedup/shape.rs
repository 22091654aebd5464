//! The columns of the query of `dedup`.

use super::options::{Keep, Options};
use crate::pg::spi::refuse_row_without_id;
use crate::pg::{Column, Values, raise};
use pgrx::prelude::*;

/// Positions and types of the columns.
pub(super) struct Shape {
    /// The content is of a type that is padded with blanks.
    padded: bool,
    fp: Option<usize>,
    key: Option<(usize, pg_sys::Oid)>,
}

const HINT: &str = "The query returns the row's id, its content (text), and the columns that options name.";

fn refuse(what: String, hint: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, what, hint)
}

/// Types that a row may be kept by.
const ORDERED: [pg_sys::Oid; 7] = [
    pg_sys::INT2OID,
    pg_sys::INT4OID,
    pg_sys::INT8OID,
    pg_sys::FLOAT8OID,
    pg_sys::DATEOID,
    pg_sys::TIMESTAMPOID,
    pg_sys::TIMESTAMPTZOID,
];

impl Shape {
    pub(super) fn of(columns: &[Column], options: &Options) -> Shape {
        let [_, content, ..] = columns else {
            refuse(format!("the query returns {} columns, not 2 or more", columns.len()), HINT)
        };
        let padded = content.is_padded_text();
        if !padded && !content.is_text() {
            let type_name = content.type_name();
            let what = format!("column \"{}\" of the query is {type_name}, not text", content.name);
            refuse(what, &format!("{HINT} Cast the content to text."))
        }
        let fp = options.fp.as_deref().map(|name| {
            let at = find(columns, name);
            if columns[at].base_type() != pg_sys::INT8OID {
                refuse(format!("column \"{name}\" is {}, not bigint", columns[at].type_name()), HINT)
            }
            at
        });
        let key = match &options.keep {
            Keep::Column(name, _) => Some(key(columns, name)),
            _ => None,
        };
        Shape { padded, fp, key }
    }

    /// The row's content.
    pub(super) fn content(&self, row: &Values<'_>) -> Option<String> {
        let mut content = row.text(1)?;
        if self.padded {
            content.truncate(content.trim_end_matches(' ').len());
        }
        Some(content)
    }

    /// The fingerprint of the row, if the query returns fingerprints.
    pub(super) fn fp(&self, row: &Values<'_>) -> Option<Option<u64>> {
        self.fp.map(|column| row.get(column).map(|fp| fp.value() as u64))
    }

    /// The row's id as text.
    pub(super) fn id(&self, row: &Values<'_>) -> String {
        row.written(0).unwrap_or_else(|| refuse_row_without_id())
    }

    /// A number that orders rows as the column does; less is better. NULL ranks last: the greatest
    /// number is reserved for it, so the two greatest values of a bigint rank equally.
    pub(super) fn key(&self, row: &Values<'_>, descending: bool) -> i64 {
        let Some((column, typoid)) = self.key else { return 0 };
        let Some(value) = row.get(column) else { return i64::MAX };
        let bits = value.value() as i64;
        let ordered = match typoid {
            pg_sys::INT2OID => i64::from(bits as i16),
            pg_sys::INT4OID | pg_sys::DATEOID => i64::from(bits as i32),
            pg_sys::FLOAT8OID => order_of_float(f64::from_bits(bits.cast_unsigned())),
            _ => bits,
        };
        if descending { !ordered } else { ordered }.min(i64::MAX - 1)
    }
}

/// The order of PostgreSQL: zeros are equal, and NaN is greater than everything, whatever its sign.
fn order_of_float(value: f64) -> i64 {
    let value = if value.is_nan() { f64::NAN.abs() } else { value + 0.0 };
    let bits = value.to_bits().cast_signed();
    // As integers, the bits of positive floats are in order, and those of negative ones in reverse.
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

fn find(columns: &[Column], name: &str) -> usize {
    columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
            format!("the query has no column \"{name}\" that the options name"),
            HINT,
        )
    })
}

fn key(columns: &[Column], name: &str) -> (usize, pg_sys::Oid) {
    let at = find(columns, name);
    let typoid = columns[at].base_type();
    if !ORDERED.contains(&typoid) {
        refuse(
            format!("rows cannot be kept by column \"{name}\" of type {}", columns[at].type_name()),
            "Cast it to bigint, double precision, date or timestamp.",
        )
    }
    (at, typoid)
}
