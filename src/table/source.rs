//! The argument `source` of functions that read rows: a query, or the name of a table.

use super::relation::Table;
use super::settings::Settings;
use super::texts::concatenated;
use crate::pg::{
    Argument, Column, ValueType, as_text, check_type, exists, quoted, raise, raise_invalid, raise_mismatch,
    raise_no_column, required,
};
use dedup_core::dedup::Method;
use pgrx::pg_sys::panic::CaughtError;
use pgrx::prelude::*;
use std::ffi::CString;

/// What a call reads. A table is read as an ordinary SELECT of the caller's is:
/// with the caller's privileges and under row-level security.
pub(crate) enum Source {
    Query(String),
    Table(Table),
}

/// What is to be read of a table; of a query its columns are read as they come.
#[derive(Default)]
pub(crate) struct Wanted<'a> {
    /// The column of the ids, if it is not the primary key.
    pub id: Option<&'a str>,
    /// The columns of the text, if it is not the only one of a text type.
    pub texts: &'a [String],
    /// By records they are read one by one; hashes may be digits.
    pub method: Method,
    pub others: &'a [&'a str],
}

/// What a query for fingerprints returns.
pub(crate) const FINGERPRINTS: &str =
    "The query returns two columns: the row's id and its fingerprint (bigint, in near_dup_pairs also bit).";

impl Source {
    /// Reads the argument. Raises 22004 for NULL, 42601 for what is neither a query nor a name, 42P01 if there is no such
    /// table, 42809 if it is something else than a table.
    pub(crate) fn new(written: Option<&str>) -> Source {
        Source::argument("source", written)
    }

    /// Reads an argument of that name.
    pub(crate) fn argument(argument: &str, written: Option<&str>) -> Source {
        let written = required(written, argument, &format!("{argument} is the name of a table or a query."));
        match query(written) {
            Ok(query) => Source::Query(query),
            Err(_) if is_name(written) => Source::Table(Table::named(argument, written)),
            Err(error) => raise(
                PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
                format!("{argument} is neither a query that reads nor the name of a table: {error}"),
                "A query begins with SELECT, WITH, VALUES or TABLE; a name that is not plain is quoted: '\"My table\"'.",
            ),
        }
    }

    /// The query that reads ids, texts and other columns, in this order.
    pub(crate) fn texts(&self, wanted: &Wanted) -> String {
        match self {
            Source::Query(query) if wanted.id.is_none() && wanted.texts.is_empty() => query.clone(),
            Source::Query(_) => raise_invalid(
                "the options id and columns name columns of a table, and source is a query",
                "A query's first column is the id, its second the text.",
            ),
            Source::Table(table) => table.select_texts(wanted),
        }
    }

    fn read(&self, select: impl FnOnce(&Table) -> String) -> String {
        match self {
            Source::Query(query) => query.clone(),
            Source::Table(table) => select(table),
        }
    }

    /// The query that reads the texts, or what a query reads. A table's are in the order of its primary key, if it has one.
    pub(crate) fn contents(&self) -> String {
        self.read(Table::select_contents)
    }

    /// The query that reads everything.
    pub(crate) fn all(&self) -> String {
        self.read(|table| format!("SELECT t.* FROM {} AS t", table.name))
    }

    /// The query that reads ids and fingerprints, in this order. A table's are in the column of its settings,
    /// else in the one that a `banding` index searches, else in the column `fp`.
    pub(crate) fn fingerprints(&self) -> String {
        self.read(Table::select_fingerprints)
    }

    /// Whether an index sees to it that no two rows have one id, by the equality of its column; `named`: the option.
    pub(crate) fn has_unique_ids(&self, named: Option<&str>) -> bool {
        // An index of a table has no rows of the tables that inherit from it, but is there for all partitions.
        const SQL: &str = "SELECT FROM pg_catalog.pg_index i \
            JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indrelid \
            JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid \
                AND a.attnum OPERATOR(pg_catalog.=) i.indkey[0] \
            JOIN pg_catalog.pg_opclass o ON o.oid OPERATOR(pg_catalog.=) i.indclass[0] AND o.opcdefault \
            WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
              AND i.indnkeyatts OPERATOR(pg_catalog.=) 1 AND i.indcollation[0] OPERATOR(pg_catalog.=) a.attcollation \
              AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL \
              AND (c.relkind OPERATOR(pg_catalog.=) 'p' OR NOT c.relhassubclass) LIMIT 1";
        let Source::Table(table) = self else { return false };
        exists(SQL, &[Argument::of(table.oid), Argument::of(table.id(named))])
    }

    pub(crate) fn oid(&self) -> Option<pg_sys::Oid> {
        if let Source::Table(table) = self { Some(table.oid) } else { None }
    }
}

impl Table {
    /// The column of the ids: the option's, else that of the table's settings, else the primary key. Raises 42703 if there is
    /// no such column, 42P16 if nothing is named and the table has no primary key of one column.
    pub(crate) fn id(&self, named: Option<&str>) -> &str {
        let settings = Settings::of(self.oid).filter(|_| named.is_none());
        let named = named.or_else(|| settings.as_deref().and_then(Settings::id));
        named.map_or_else(|| self.key_column(), |name| &self.column(name).name)
    }

    /// How the ids are returned as the type `result`; `call` is how to call a function that returns theirs.
    /// Raises 42804 if they are of another type.
    pub(crate) fn ids(&self, result: pg_sys::Oid, call: &str) -> ValueType {
        let id = self.id(None);
        let named = format!("{}.{id}", self.name);
        let column = Column::new(&named, self.column(id).typoid, pg_sys::InvalidOid);
        ValueType::of_result(&column, result, call)
    }

    /// The columns of the text: the option's, else those of the table's settings, else the only one of a text type beside `id`
    /// and the key. Raises 42703 if there is no such column, 42P16 if nothing is named and there is not exactly one.
    pub(crate) fn texts<'a>(&'a self, id: Option<&str>, named: &[String]) -> Vec<&'a str> {
        let settings = Settings::of(self.oid).filter(|_| named.is_empty());
        match &settings {
            Some(settings) => settings.texts().iter().map(|name| self.column(name).name.as_str()).collect(),
            None if named.is_empty() => vec![self.text_column(id)],
            None => named.iter().map(|name| self.column(name).name.as_str()).collect(),
        }
    }

    /// A column as text; one that is text as it is, whatever its type is called.
    fn as_text(&self, name: &str) -> String {
        let column = format!("t.{}", quoted(name));
        if self.column(name).is_text() {
            return column;
        }
        format!("{} AS {}", as_text(&column, self.column(name).typoid), quoted(name))
    }

    fn select_texts(&self, wanted: &Wanted) -> String {
        let id = self.id(wanted.id);
        let texts = self.texts(Some(id), wanted.texts);
        let (apart, hashes) = (wanted.method == Method::Records, wanted.method == Method::Hash);
        let compares_digits = texts.iter().all(|name| self.column(name).is_digits());
        if compares_digits && !apart && !hashes && !wanted.texts.is_empty() {
            self.column(texts[0]).check_no_digits()
        }
        let column = |name: &str| format!("t.{}", quoted(name));
        let content = match texts[..] {
            _ if apart => texts.iter().map(|name| self.as_text(name)).collect::<Vec<_>>().join(", "),
            [one] if hashes => column(one),
            [one] => self.as_text(one),
            _ => {
                let written = texts.iter().map(|name| as_text(&column(name), self.column(name).typoid));
                // A name that no column has.
                let mut name = "text".to_owned();
                while self.find(&name).is_some() {
                    name.push('_');
                }
                format!("{} AS {}", concatenated(&written.collect::<Vec<_>>()), quoted(&name))
            }
        };
        let mut listed = vec![column(id), content];
        let mut names = vec![id];
        if apart || texts.len() == 1 {
            names.extend(&texts);
        }
        for name in wanted.others.iter().map(|name| self.column(name).name.as_str()) {
            if !names.contains(&name) {
                names.push(name);
                listed.push(column(name));
            }
        }
        self.select(&listed.join(", "), Some(id))
    }

    fn select_contents(&self) -> String {
        let settings = Settings::of(self.oid);
        let named = settings.as_deref().and_then(Settings::id);
        let id = named.map(|name| &self.column(name).name).or(self.key.first()).map(String::as_str);
        if let Some(settings) = settings.as_deref().filter(|it| it.method == Method::Hash) {
            self.column(&settings.fp).check_no_digits();
        }
        let texts: Vec<String> = self.texts(id, &[]).iter().map(|name| self.as_text(name)).collect();
        self.select(&texts.join(", "), id)
    }

    fn select_fingerprints(&self) -> String {
        let settings = Settings::of(self.oid);
        let id = self.id(None);
        let fingerprints = || self.columns.iter().filter(|column| column.is_fingerprint());
        let mut searched: Vec<_> = fingerprints().filter(|column| column.is_searched).collect();
        if searched.len() > 1 {
            searched.retain(|column| column.base_type() == pg_sys::INT8OID);
        }
        let fp = match (&settings, &searched[..]) {
            (Some(settings), _) => Some(self.column(&settings.fp)),
            (None, [one]) => Some(*one),
            _ => fingerprints().find(|column| column.name == "fp"),
        };
        let Some(fp) = fp else {
            raise_no_column(
                format!("{} has no column of fingerprints that can be told", self.name),
                format!(
                    "It is the one bigint or bit column with an index of the access method banding, or the one called fp; else \
                     give a query: 'SELECT {}, … FROM {}'.",
                    quoted(id),
                    self.name
                ),
            )
        };
        self.select(&format!("t.{}, t.{}", quoted(id), quoted(&fp.name)), Some(id))
    }

    fn select(&self, list: &str, order: Option<&str>) -> String {
        let order = order.map_or(String::new(), |name| {
            check_type(self.column(name).typoid, None);
            self.column(name).check_id();
            format!(" ORDER BY t.{}", quoted(name))
        });
        format!("SELECT {list} FROM {} AS t{order}", self.name)
    }
}

/// Sees to it that a query's columns are an id and one more that `fits`.
/// Raises 42804, with `hint`, if they are not; `wanted` is the type of what fits.
pub(crate) fn two_columns<'c>(
    columns: &'c [Column],
    fits: impl Fn(&Column) -> bool,
    wanted: &str,
    hint: &str,
) -> &'c Column {
    let what = match columns {
        [id, other] if fits(other) => return id,
        [_, other] => {
            format!("column \"{}\" of the query is {}, not {wanted}", other.name, other.type_name())
        }
        _ => format!("the query returns {} columns, not 2", columns.len()),
    };
    raise_mismatch(what, hint)
}

/// The one statement of a text, if PostgreSQL reads it as a query; else why it is none.
fn query(written: &str) -> Result<String, String> {
    let text = CString::new(written).map_err(|error| error.to_string())?;
    let parse = || {
        // SAFETY: a string that ends; what is parsed is a list of statements, each of the kind that its tag says.
        unsafe {
            let mode = pg_sys::RawParseMode::RAW_PARSE_DEFAULT;
            let list = pgrx::PgList::<pg_sys::RawStmt>::from_pg(pg_sys::raw_parser(text.as_ptr(), mode));
            let one = list.get_ptr(0).filter(|_| list.len() == 1).map(|one| &*one);
            let one = one.filter(|one| pgrx::is_a(one.stmt, pg_sys::NodeTag::T_SelectStmt));
            one.map(|one| (one.stmt_location as usize, one.stmt_len as usize))
        }
    };
    // Parsing holds nothing that an error would have to give back.
    let parsed = PgTryBuilder::new(move || Ok(parse())).catch_others(|error| match error {
        CaughtError::PostgresError(report) | CaughtError::ErrorReport(report) => {
            Err(report.message().to_owned())
        }
        panic => panic.rethrow(),
    });
    let (begin, length) = parsed.execute()?.ok_or("it is not one statement that reads")?;
    let statement = &written[begin..];
    Ok(if length == 0 { statement } else { &statement[..length] }.trim().to_owned())
}

/// Whether a text is a name, with or without a schema, as SQL writes it.
fn is_name(written: &str) -> bool {
    let Ok(text) = CString::new(written) else { return false };
    let mut names = std::ptr::null_mut();
    // SAFETY: the copy may be written to; the names point into it.
    unsafe {
        let copy = pg_sys::pstrdup(text.as_ptr());
        pg_sys::SplitIdentifierString(copy, b'.' as _, &mut names) && !names.is_null()
    }
}
