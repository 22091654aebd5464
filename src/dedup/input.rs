//! The rows of `dedup`: contents and names wait in a temporary file, numbers
//! in memory (48 bytes a row).

use super::options::{Keep, Options};
use crate::pg::host::done;
use crate::pg::raise;
use crate::pg::rows::{Column, Values, text_of};
use crate::pg::spill::TempFile;
use dedup_core::banding::Spill;
use dedup_core::exact::Texts;
use dedup_core::text::normalize;
use pgrx::prelude::*;

/// A row.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    /// Where its id stands in the file, and its content behind it.
    at: u64,
    id_bytes: u32,
    pub content_bytes: u32,
    /// What it is kept by.
    pub key: i64,
    pub fp: u64,
    pub kind: Kind,
}

/// What can be done with a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Its content is NULL: it equals nothing.
    Empty,
    /// It has no fingerprint: it can only be equal.
    Plain,
    /// It has a fingerprint.
    Near,
}

/// The columns that are read.
pub(super) struct Shape {
    id: pg_sys::Oid,
    fp: Option<usize>,
    key: Option<(usize, pg_sys::Oid)>,
}

fn refuse(what: String, hint: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, what, hint)
}

impl Shape {
    pub(super) fn of(columns: &[Column], options: &Options) -> Shape {
        const HINT: &str =
            "The query returns the row's id, its content (text), and the columns that options name.";
        let [id, content, ..] = columns else {
            refuse(format!("the query returns {} columns, not 2 or more", columns.len()), HINT)
        };
        if ![pg_sys::TEXTOID, pg_sys::VARCHAROID].contains(&content.typoid) {
            let type_name = content.type_name();
            refuse(format!("column \"{}\" of the query is {type_name}, not text", content.name), HINT)
        }
        let find = |name: &str| {
            columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
                raise(
                    PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                    format!("the query has no column \"{name}\" that the options name"),
                    HINT,
                )
            })
        };
        let fp = options.fp.as_deref().map(|name| {
            let at = find(name);
            if columns[at].typoid != pg_sys::INT8OID {
                refuse(format!("column \"{name}\" is {}, not bigint", columns[at].type_name()), HINT)
            }
            at
        });
        let key = match &options.keep {
            Keep::Column(name, _) => {
                let at = find(name);
                let known = [
                    pg_sys::INT2OID,
                    pg_sys::INT4OID,
                    pg_sys::INT8OID,
                    pg_sys::FLOAT8OID,
                    pg_sys::DATEOID,
                    pg_sys::TIMESTAMPOID,
                    pg_sys::TIMESTAMPTZOID,
                ];
                if !known.contains(&columns[at].typoid) {
                    refuse(
                        format!(
                            "rows cannot be kept by column \"{name}\" of type {}",
                            columns[at].type_name()
                        ),
                        "Cast it to bigint, double precision, date or timestamp.",
                    )
                }
                Some((at, columns[at].typoid))
            }
            _ => None,
        };
        Shape { id: id.typoid, fp, key }
    }

    /// The fingerprint that the row brings.
    pub(super) fn fp(&self, row: &Values<'_>) -> Option<Option<u64>> {
        self.fp.map(|column| row.get(column).map(|fp| fp.value() as u64))
    }

    /// The row's id as text.
    pub(super) fn id(&self, row: &Values<'_>) -> Vec<u8> {
        let Some(id) = row.get(0) else {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "the query returned a row without an id",
                "Leave such rows out: WHERE id IS NOT NULL.",
            )
        };
        // SAFETY: the column is of the type that the query said.
        unsafe { text_of(id, self.id) }
    }

    /// A number that orders rows as the column does; less is better, NULL is worst.
    pub(super) fn key(&self, row: &Values<'_>, descending: bool) -> i64 {
        let Some((column, typoid)) = self.key else { return 0 };
        let Some(value) = row.get(column) else { return i64::MAX };
        let bits = value.value() as i64;
        let ordered = match typoid {
            pg_sys::INT2OID => i64::from(bits as i16),
            pg_sys::INT4OID | pg_sys::DATEOID => i64::from(bits as i32),
            // Floats order as their bits do, the negative ones backwards.
            pg_sys::FLOAT8OID => bits ^ ((bits >> 63) as u64 >> 1) as i64,
            _ => bits,
        };
        if descending { !ordered } else { ordered }
    }
}

/// All rows read so far.
pub(super) struct Input {
    file: TempFile,
    length: u64,
    pub entries: Vec<Entry>,
    /// Contents are equal if their normal forms are.
    pub by_normal_form: bool,
}

impl Input {
    pub(super) fn new(by_normal_form: bool) -> Input {
        Input { file: TempFile::new(), length: 0, entries: Vec::new(), by_normal_form }
    }

    /// Keeps a row.
    pub(super) fn add(&mut self, id: &[u8], content: &str, key: i64, fp: u64, kind: Kind) {
        done(self.file.append(id));
        done(self.file.append(content.as_bytes()));
        if self.entries.len() == u32::MAX as usize {
            raise(PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED, "dedup of more than 4294967295 rows", "")
        }
        let (id_bytes, content_bytes) = (id.len() as u32, content.len() as u32);
        self.entries.push(Entry { at: self.length, id_bytes, content_bytes, key, fp, kind });
        self.length += (id.len() + content.len()) as u64;
    }

    fn read(&mut self, at: u64, bytes: u32) -> String {
        let mut read = vec![0; bytes as usize];
        if bytes > 0 {
            done(self.file.read(at, &mut read));
        }
        String::from_utf8(read).unwrap_or_default()
    }

    /// A row's id.
    pub(super) fn id(&mut self, row: usize) -> String {
        let entry = self.entries[row];
        self.read(entry.at, entry.id_bytes)
    }

    /// A row's content.
    pub(super) fn content(&mut self, row: usize) -> String {
        let entry = self.entries[row];
        self.read(entry.at + u64::from(entry.id_bytes), entry.content_bytes)
    }
}

impl Texts for Input {
    type Error = std::convert::Infallible;

    fn is(&mut self, number: u32, content: &[u8]) -> Result<bool, Self::Error> {
        let earlier = self.content(number as usize);
        Ok(if self.by_normal_form {
            normalize(&earlier).as_bytes() == content
        } else {
            earlier.as_bytes() == content
        })
    }
}
