//! The columns of the query of `dedup`.

use crate::pg::{Column, Values, notice, raise_mismatch, raise_no_column, whole};
use crate::table::{Options, refuse_hash, refuse_option};
use dedup_core::dedup::{Keep, Key, Method};
use dedup_core::fingerprint::parts_of_written;
use dedup_core::records::{MOST_COLUMNS, joined};
use pgrx::prelude::*;

/// Positions and types of the columns.
pub(super) struct Shape {
    /// Those that are compared one by one, by records.
    columns: Option<Vec<usize>>,
    /// The content is of a type that is padded with blanks.
    padded: bool,
    /// It is a hash, or even of type `bit`.
    is_hash: bool,
    is_bits: bool,
    fp: Option<usize>,
    key: Option<(usize, pg_sys::Oid)>,
    side: Option<usize>,
}

/// The values of the column that tells the side, the first one first.
#[derive(Default)]
pub(super) struct Sides(Vec<String>);

impl Sides {
    /// Whether a value is the second one.
    pub(super) fn of(&mut self, value: String) -> bool {
        let place = self.0.iter().position(|it| *it == value).unwrap_or_else(|| {
            self.0.push(value);
            self.0.len() - 1
        });
        if place > 1 {
            refuse_option(
                "side",
                format!("side must be a column of two values, and there are \"{}\"", self.0.join("\", \"")),
            )
        }
        place == 1
    }
}

const HINT: &str = "A query returns the row's id, its content (text), and the columns that options name.";

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
            raise_mismatch(format!("the query returns {} columns, not 2 or more", columns.len()), HINT)
        };
        let padded = content.is_padded_text();
        let by_records = options.method == Method::Records;
        let is_hash = options.method == Method::Hash;
        let is_bits = content.base_type() == pg_sys::BITOID;
        let is_written = is_hash && (is_bits || content.base_type() == pg_sys::INT8OID);
        if !padded && !content.is_text() && !by_records && !is_written {
            if is_hash {
                raise_mismatch(
                    format!("column \"{}\" is {}, no column of hashes", content.name, content.type_name()),
                    "Hashes are bigint, bit(64), bit(128) or bit(256), or these as text.",
                )
            }
            content.check_no_digits();
            let type_name = content.type_name();
            let what = format!("column \"{}\" of the query is {type_name}, not text", content.name);
            raise_mismatch(what, format!("{HINT} Cast the content to text."))
        }
        let fp = options.fp.as_deref().map(|name| {
            let at = position(columns, name);
            if columns[at].base_type() != pg_sys::INT8OID {
                raise_mismatch(format!("column \"{name}\" is {}, not bigint", columns[at].type_name()), HINT)
            }
            at
        });
        let key = options.kept_by().map(|name| key(columns, name));
        let side = options.side.as_deref().map(|name| position(columns, name));
        let columns = by_records.then(|| compared(columns, options));
        Shape { columns, padded, is_hash, is_bits, fp, key, side }
    }

    /// Says which columns of a text type a query returns in vain.
    pub(super) fn tell_left_out(&self, columns: &[Column], options: &Options) {
        let named = [&options.fp, &options.side].into_iter().flatten().chain(options.kept_by());
        let named: Vec<&String> = named.chain(&options.beside).chain(&options.others).collect();
        let others = columns.iter().skip(2).filter(|it| it.is_text() && !named.contains(&&it.name));
        let others: Vec<String> = others.map(|it| format!("\"{}\"", it.name)).collect();
        if self.columns.is_none() && !self.is_hash && !others.is_empty() {
            notice(
                format!(
                    "column \"{}\" of the query is compared, and not {}",
                    columns[1].name,
                    others.join(", ")
                ),
                "",
                "Join the columns of a text in the query; {\"method\": \"records\"} compares each.",
            )
        }
    }

    /// The names of the columns that are compared one by one.
    pub(super) fn names(&self, columns: &[Column]) -> Vec<String> {
        self.columns.iter().flatten().map(|&at| columns[at].name.clone()).collect()
    }

    pub(super) fn content(&self, row: &Values<'_>) -> Option<String> {
        if let Some(columns) = &self.columns {
            return joined(columns.iter().map(|&column| row.written(column)));
        }
        let mut content = row.written(1)?;
        if self.is_hash {
            return Some(hash_of(content, self.is_bits));
        }
        if self.padded {
            content.truncate(content.trim_end_matches(' ').len());
        }
        Some(content)
    }

    /// The fingerprint of the row, if the query returns fingerprints.
    pub(super) fn fp(&self, row: &Values<'_>) -> Option<Option<u64>> {
        self.fp.map(|column| row.get(column).map(|fp| fp.value() as u64))
    }

    /// What tells the side of a row, if a column does.
    pub(super) fn side(&self, row: &Values<'_>) -> Option<String> {
        self.side.map(|at| {
            row.written(at)
                .unwrap_or_else(|| refuse_option("side", "side must be a column without NULL".to_owned()))
        })
    }

    /// The rank of a row by its number and what the rule looks at.
    pub(super) fn rank(&self, row: &Values<'_>, keep: &Keep, number: i64, content: Option<&str>) -> i64 {
        let descending = matches!(keep, Keep::Column { descending: true, .. });
        keep.rank(number, content.map_or(0, str::len)).unwrap_or_else(|| self.key(row).rank(descending))
    }

    fn key(&self, row: &Values<'_>) -> Key {
        let Some((value, typoid)) = self.key.and_then(|(column, typoid)| Some((row.get(column)?, typoid)))
        else {
            return Key::Null;
        };
        match typoid {
            pg_sys::FLOAT8OID => Key::Float(f64::from_bits(value.value() as u64)),
            pg_sys::DATEOID => Key::Integer(whole(value, pg_sys::INT4OID)),
            typoid => Key::Integer(whole(value, typoid)),
        }
    }
}

/// A hash as PostgreSQL writes it. Raises 22P02 for what is none.
fn hash_of(written: String, is_bits: bool) -> String {
    match parts_of_written(&written) {
        Some(parts) if written.len() == 64 * parts.len() => written,
        Some(parts) if !is_bits => parts[0].cast_signed().to_string(),
        _ => refuse_hash(&written),
    }
}

/// The columns of a record: all but the id and those that options name for something else.
fn compared(columns: &[Column], options: &Options) -> Vec<usize> {
    let others = options.kept_by().into_iter().chain(&options.beside).chain(&options.side);
    let others: Vec<&String> = others.chain(&options.others).collect();
    let named = |column: &Column| others.iter().any(|name| **name == column.name);
    let compared: Vec<usize> = (1..columns.len()).filter(|&at| !named(&columns[at])).collect();
    if compared.len() < 2 || compared.len() > MOST_COLUMNS {
        raise_mismatch(
            format!("by records 2 to {MOST_COLUMNS} columns are compared, not {}", compared.len()),
            "A query returns the row's id and the columns of the record; of a table the option columns names them, {\"columns\": [\"…\", \"…\"]}. \
             One text is compared without this method.",
        )
    }
    compared
}

fn position(columns: &[Column], name: &str) -> usize {
    columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
        raise_no_column(format!("the query has no column \"{name}\" that the options name"), HINT)
    })
}

fn key(columns: &[Column], name: &str) -> (usize, pg_sys::Oid) {
    let at = position(columns, name);
    check_kept_by(&columns[at]);
    (at, columns[at].base_type())
}

/// Refuses a column by which no row can be kept. Raises 42804.
pub(crate) fn check_kept_by(column: &Column) {
    if !ORDERED.contains(&column.base_type()) {
        raise_mismatch(
            format!("rows cannot be kept by column \"{}\" of type {}", column.name, column.type_name()),
            "Cast it to bigint, double precision, date or timestamp.",
        )
    }
}
