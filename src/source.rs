//! The argument `source` of functions that read rows: a query, or the name of a
//! table.

use crate::pg::catalog::{as_text, check_type, quoted};
use crate::pg::spi::{Argument, query_all, scalar};
use crate::pg::{Column, Values, raise};
use crate::setup::Settings;
use pgrx::prelude::*;
use std::ops::Deref;
use std::rc::Rc;

/// What a call reads. A table is read as an ordinary SELECT of the caller's is:
/// with the caller's privileges and under row-level security.
pub(crate) enum Source {
    Query(String),
    Table(Table),
}

/// A relation that is named instead of a query.
pub(crate) struct Table {
    oid: pg_sys::Oid,
    /// With its schema, quoted.
    name: String,
    columns: Vec<TableColumn>,
    primary_key: Vec<String>,
}

struct TableColumn {
    column: Column,
    /// A fingerprint that a `banding` index searches.
    is_searched: bool,
    /// The caller may read it.
    is_readable: bool,
}

impl TableColumn {
    fn is_text(&self) -> bool {
        self.column.is_text() || self.column.is_padded_text()
    }
}

impl Deref for TableColumn {
    type Target = Column;

    fn deref(&self) -> &Column {
        &self.column
    }
}

/// What is to be read of a table; of a query its columns are read as they come.
#[derive(Default)]
pub(crate) struct Wanted<'a> {
    /// The column of the ids, if it is not the primary key.
    pub id: Option<&'a str>,
    /// The columns of the text, if it is not the only one of a text type.
    pub texts: &'a [String],
    /// They are read one by one.
    pub apart: bool,
    /// Other columns.
    pub others: &'a [&'a str],
    /// Other columns are all that the caller may read.
    pub all: bool,
}

/// What a query for fingerprints returns.
pub(crate) const FINGERPRINTS: &str =
    "The query returns two columns: the row's id and its fingerprint (bigint).";

impl Source {
    /// Reads the argument. A text whose first keyword is SELECT, WITH, VALUES or
    /// TABLE is a query.
    ///
    /// # Errors
    /// Raises 22004 for NULL, 42601 for what is neither a query nor a name, 42P01 if
    /// there is no such table, 42809 if it is something else than a table.
    pub(crate) fn new(written: Option<&str>) -> Source {
        Source::argument("source", written)
    }

    /// Reads an argument of that name.
    pub(crate) fn argument(argument: &str, written: Option<&str>) -> Source {
        let hint = format!("{argument} is the name of a table or a query.");
        let Some(written) = written else {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                format!("{argument} must not be null"),
                hint,
            )
        };
        if is_query(written) {
            return Source::Query(written.trim().trim_end_matches(';').to_owned());
        }
        if !is_name(written) {
            raise(
                PgSqlErrorCode::ERRCODE_SYNTAX_ERROR,
                format!(
                    "{argument} is neither a query that reads nor the name of a table: {}",
                    shortened(written)
                ),
                "A query begins with SELECT, WITH, VALUES or TABLE; a name that is not plain is quoted: '\"My table\"'.",
            )
        }
        Source::Table(Table::named(written, hint))
    }

    /// The query that reads ids, texts and other columns, in this order.
    pub(crate) fn texts(&self, wanted: &Wanted) -> String {
        match self {
            Source::Query(query) if wanted.id.is_none() && wanted.texts.is_empty() => query.clone(),
            Source::Query(_) => raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                "the options id and text name columns of a table, and source is a query",
                "A query's first column is the id, its second the text.",
            ),
            Source::Table(table) => table.select_texts(wanted),
        }
    }

    /// The query that reads the texts, or what a query reads. A table's are in the
    /// order of its primary key, if it has one.
    pub(crate) fn contents(&self) -> String {
        match self {
            Source::Query(query) => query.clone(),
            Source::Table(table) => {
                let settings = table.settings();
                let named = settings.as_deref().and_then(Settings::id);
                let id = named.map(|name| &table.column(name).name).or(table.primary_key.first());
                let texts = table.texts(id.map(String::as_str), &[]);
                let list: Vec<String> = texts.iter().map(|name| table.as_text(name)).collect();
                table.select(&list.join(", "), id)
            }
        }
    }

    /// The query that reads everything.
    pub(crate) fn all(&self) -> String {
        match self {
            Source::Query(query) => query.clone(),
            Source::Table(table) => table.select("t.*", None),
        }
    }

    /// The query that reads ids and fingerprints, in this order. A table's are in the
    /// column of its settings, else in the one that a `banding` index searches, else in
    /// the column `fp`.
    pub(crate) fn fingerprints(&self) -> String {
        match self {
            Source::Query(query) => query.clone(),
            Source::Table(table) => table.select_fingerprints(),
        }
    }

    /// Whether an index sees to it that no two rows have one id, by the equality of its column; `named`: the option.
    pub(crate) fn has_unique_ids(&self, named: Option<&str>) -> bool {
        // An index of a table has no rows of the tables that inherit from it, but is there for all partitions.
        const SQL: &str = "SELECT 't'::pg_catalog.text FROM pg_catalog.pg_index i \
            JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indrelid \
            JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid \
                AND a.attnum OPERATOR(pg_catalog.=) i.indkey[0] \
            JOIN pg_catalog.pg_opclass o ON o.oid OPERATOR(pg_catalog.=) i.indclass[0] AND o.opcdefault \
            WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND a.attname OPERATOR(pg_catalog.=) $2::pg_catalog.name \
              AND i.indnkeyatts OPERATOR(pg_catalog.=) 1 AND i.indcollation[0] OPERATOR(pg_catalog.=) a.attcollation \
              AND i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL \
              AND (c.relkind OPERATOR(pg_catalog.=) 'p' OR NOT c.relhassubclass) LIMIT 1";
        let Source::Table(table) = self else { return false };
        scalar(SQL, &[Argument::of(table.oid), Argument::of(table.id(named).as_str())]).is_some()
    }

    /// The object identifier of the table, if one is named.
    pub(crate) fn oid(&self) -> Option<pg_sys::Oid> {
        match self {
            Source::Query(_) => None,
            Source::Table(table) => Some(table.oid),
        }
    }
}

impl Table {
    fn named(name: &str, hint: String) -> Table {
        const RELATION: &str = "SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname), \
                 c.relkind::pg_catalog.text \
             FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace \
             WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass($1)::pg_catalog.oid";
        let relation = |row: &Values<'_>| Some((oid(row, 0)?, row.text(1)?, row.text(2)?));
        let found = query_all(RELATION, &[Argument::of(name)], relation).pop().flatten();
        let Some((oid, full_name, kind)) = found else {
            let exact = name.trim().split('.').map(quoted).collect::<Vec<_>>().join(".");
            let exists = || {
                scalar("SELECT pg_catalog.to_regclass($1)::pg_catalog.text", &[Argument::of(exact.as_str())])
            };
            let quote = !name.contains('"') && exists().is_some();
            let hint = if quote { format!("Quote a name with capitals: '{exact}'.") } else { hint };
            raise(
                PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
                format!("relation \"{}\" does not exist", name.trim().replace('"', "")),
                hint,
            )
        };
        if !["r", "p", "v", "m", "f"].contains(&kind.as_str()) {
            raise(PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE, format!("{full_name} is not a table"), hint)
        }
        Table { oid, name: full_name, columns: columns(oid), primary_key: primary_key(oid) }
    }

    /// The table's settings, if it has some.
    fn settings(&self) -> Option<Rc<Settings>> {
        Settings::of(self.oid)
    }

    /// The column of the ids: the option's, else that of the table's settings, else the primary key.
    ///
    /// # Errors
    /// Raises 42703 if there is no such column, 42P16 if nothing is named and the
    /// table has no primary key of one column.
    pub(crate) fn id(&self, named: Option<&str>) -> &String {
        let settings = self.settings();
        match (named.or_else(|| settings.as_deref().and_then(Settings::id)), &self.primary_key[..]) {
            (Some(name), _) => &self.column(name).name,
            (None, [name]) => name,
            (None, _) => raise(
                PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                format!("{} has no primary key of one column", self.name),
                "Name the column of the ids, {\"id\": \"…\"}, where there is such an option, or give a query.",
            ),
        }
    }

    /// The columns of the text: the option's, else those of the table's settings, else the only
    /// one of a text type beside the ids.
    ///
    /// # Errors
    /// Raises 42703 if there is no such column, 42P16 if nothing is named and there
    /// is not exactly one.
    pub(crate) fn texts<'a>(&'a self, id: Option<&str>, named: &'a [String]) -> Vec<&'a str> {
        if !named.is_empty() {
            return named.iter().map(|name| self.column(name).name.as_str()).collect();
        }
        if let Some(settings) = self.settings() {
            return settings.texts().into_iter().map(|name| self.column(name).name.as_str()).collect();
        }
        let other = |column: &&TableColumn| column.is_text() && Some(column.name.as_str()) != id;
        let texts = || self.columns.iter().filter(other).map(|column| column.name.as_str());
        match texts().collect::<Vec<_>>()[..] {
            [one] => vec![one],
            [] => {
                let id = id.or(self.primary_key.first().map(String::as_str)).unwrap_or("id");
                let content = self.columns.iter().find(|column| column.name != id);
                content.iter().for_each(|column| column.check_no_digits());
                let content = content.map(|column| column.name.as_str());
                raise(
                    PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                    format!("{} has no column of a text type", self.name),
                    format!(
                        "Give a query that casts what is to be compared: 'SELECT {}, {}::text FROM {}'.",
                        quoted(id),
                        quoted(content.unwrap_or("content")),
                        self.name
                    ),
                )
            }
            ref several => {
                let list: Vec<String> = several.iter().map(|name| format!("\"{name}\"")).collect();
                raise(
                    PgSqlErrorCode::ERRCODE_INVALID_TABLE_DEFINITION,
                    format!("{} has more than one column of a text type: {}", self.name, list.join(", ")),
                    format!(
                        "Name the text by the option text where there is one, {{\"text\": {}}} or for several together \
                         {{\"text\": [{}]}}, or give a query.",
                        list[several.len() - 1],
                        list.join(", ")
                    ),
                )
            }
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

    fn column(&self, name: &str) -> &TableColumn {
        self.columns.iter().find(|column| column.name == name).unwrap_or_else(|| {
            let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
            raise(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("{} has no column \"{name}\"", self.name),
                format!("Its columns are: {}.", names.join(", ")),
            )
        })
    }

    fn select_texts(&self, wanted: &Wanted) -> String {
        let id = self.id(wanted.id);
        let texts = self.texts(Some(id), wanted.texts);
        if !wanted.apart && texts.iter().all(|name| self.column(name).is_digits()) && !wanted.texts.is_empty()
        {
            self.column(texts[0]).check_no_digits()
        }
        let column = |name: &str| format!("t.{}", quoted(name));
        let content = match texts[..] {
            _ if wanted.apart => texts.iter().map(|name| self.as_text(name)).collect::<Vec<_>>().join(", "),
            [one] => self.as_text(one),
            _ => {
                let written: Vec<String> =
                    texts.iter().map(|name| as_text(&column(name), self.column(name).typoid)).collect();
                let list = written.join(", ");
                let name = self.free_name("text");
                format!(
                    "CASE WHEN pg_catalog.num_nonnulls({list}) OPERATOR(pg_catalog.>) 0 \
                         THEN pg_catalog.concat_ws(E'\\n', {list}) END AS {}",
                    quoted(&name)
                )
            }
        };
        let mut listed = vec![column(id), content];
        let mut names = vec![id.as_str()];
        if let [one] = texts[..] {
            names.push(one);
        }
        let readable = self.columns.iter().filter(|_| wanted.all).filter(|column| column.is_readable);
        let others = wanted.others.iter().map(|name| self.column(name).name.as_str());
        for name in others.chain(readable.map(|column| column.name.as_str())) {
            if !names.contains(&name) {
                names.push(name);
                listed.push(column(name));
            }
        }
        self.select(&listed.join(", "), Some(id))
    }

    fn select_fingerprints(&self) -> String {
        let settings = self.settings();
        let settings = settings.as_deref();
        let id = self.id(None);
        let bigints = || self.columns.iter().filter(|column| column.base_type() == pg_sys::INT8OID);
        let mut searched = bigints().filter(|column| column.is_searched);
        let fp = match (settings, searched.next(), searched.next()) {
            (Some(settings), ..) => Some(self.column(settings.fp())),
            (None, Some(one), None) => Some(one),
            _ => bigints().find(|column| column.name == "fp"),
        };
        let Some(fp) = fp else {
            raise(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("{} has no column of fingerprints that can be told", self.name),
                format!(
                    "It is the one bigint column with an index of the access method banding, or the one called fp; else \
                     give a query: 'SELECT {}, … FROM {}'.",
                    quoted(id),
                    self.name
                ),
            )
        };
        self.select(&format!("t.{}, t.{}", quoted(id), quoted(&fp.name)), Some(id))
    }

    fn select(&self, list: &str, order: Option<&String>) -> String {
        let order = order.map_or(String::new(), |name| {
            check_type(self.column(name).typoid, None);
            format!(" ORDER BY t.{}", quoted(name))
        });
        format!("SELECT {list} FROM {} AS t{order}", self.name)
    }

    /// A name that no column has.
    fn free_name(&self, name: &str) -> String {
        let mut name = name.to_owned();
        while self.columns.iter().any(|column| column.name == name) {
            name.push('_');
        }
        name
    }
}

/// Sees to it that a query's columns are an id and one more that `fits`.
///
/// # Errors
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
    raise(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, what, hint)
}

/// The value of a column of type `oid`.
fn oid(row: &Values<'_>, column: usize) -> Option<pg_sys::Oid> {
    row.get(column).map(|value| pg_sys::Oid::from_u32(value.value() as u32))
}

fn columns(table: pg_sys::Oid) -> Vec<TableColumn> {
    const SQL: &str = "SELECT a.attname::pg_catalog.text, a.atttypid, \
             (EXISTS (SELECT FROM pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) i.indexrelid \
                 JOIN pg_catalog.pg_am m ON m.oid OPERATOR(pg_catalog.=) c.relam \
                 WHERE i.indrelid OPERATOR(pg_catalog.=) a.attrelid AND m.amname OPERATOR(pg_catalog.=) 'banding' \
                   AND i.indkey[i.indnkeyatts OPERATOR(pg_catalog.-) 1] OPERATOR(pg_catalog.=) a.attnum))::pg_catalog.int4::pg_catalog.int8, \
             pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT')::pg_catalog.int4::pg_catalog.int8 \
         FROM pg_catalog.pg_attribute a WHERE a.attrelid OPERATOR(pg_catalog.=) $1 \
           AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped ORDER BY a.attnum";
    let column = |row: &Values<'_>| TableColumn {
        column: Column::new(
            &row.text(0).unwrap_or_default(),
            oid(row, 1).unwrap_or(pg_sys::InvalidOid),
            pg_sys::InvalidOid,
        ),
        is_searched: row.bigint(2) == Some(1),
        is_readable: row.bigint(3) == Some(1),
    };
    query_all(SQL, &[Argument::of(table)], column)
}

fn primary_key(table: pg_sys::Oid) -> Vec<String> {
    const SQL: &str = "SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_index i \
         JOIN pg_catalog.pg_attribute a ON a.attrelid OPERATOR(pg_catalog.=) i.indrelid \
             AND a.attnum OPERATOR(pg_catalog.=) ANY (i.indkey) \
         WHERE i.indrelid OPERATOR(pg_catalog.=) $1 AND i.indisprimary ORDER BY a.attnum";
    query_all(SQL, &[Argument::of(table)], |row| row.text(0)).into_iter().flatten().collect()
}

/// Whether the first keyword, after blanks, comments and opening parentheses, is
/// one that a query begins with.
fn is_query(written: &str) -> bool {
    let rest = skip_blanks(written);
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (keyword, rest) = rest.split_at(end);
    let begins = ["select", "with", "values", "table"].iter().any(|word| word.eq_ignore_ascii_case(keyword));
    // A name goes on otherwise: "selected", "with_names", "values.petition".
    let goes_on = |c: char| c.is_alphanumeric() || "_$.".contains(c) || !c.is_ascii();
    begins && rest.chars().next().is_some_and(|c| !goes_on(c))
}

/// What follows blanks, comments and opening parentheses.
fn skip_blanks(mut sql: &str) -> &str {
    loop {
        let rest = sql.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '(');
        let rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.find(['\n', '\r']).map_or("", |end| &comment[end..])
        } else if rest.starts_with("/*") {
            skip_comment(rest)
        } else {
            rest
        };
        if rest.len() == sql.len() {
            return rest;
        }
        sql = rest;
    }
}

/// What follows a comment, which may hold others.
fn skip_comment(sql: &str) -> &str {
    let (mut depth, mut at) = (0, 0);
    while let Some(two) = sql.as_bytes().get(at..at + 2) {
        let step = match two {
            b"/*" => 1,
            b"*/" => -1,
            _ => 0,
        };
        depth += step;
        at += if step == 0 { 1 } else { 2 };
        if depth == 0 {
            return &sql[at..];
        }
    }
    ""
}

/// Whether a text is a name, with or without a schema, as SQL writes it.
fn is_name(written: &str) -> bool {
    let mut rest = written.trim();
    loop {
        rest = match after_identifier(rest) {
            Some(rest) => rest.trim_start(),
            None => return false,
        };
        if rest.is_empty() {
            return true;
        }
        rest = match rest.strip_prefix('.') {
            Some(rest) => rest.trim_start(),
            None => return false,
        };
    }
}

/// What follows the identifier that a text begins with, if it does.
fn after_identifier(text: &str) -> Option<&str> {
    let Some(mut quoted) = text.strip_prefix('"') else {
        let rest =
            text.trim_start_matches(|c: char| c.is_alphanumeric() || "_$".contains(c) || !c.is_ascii());
        let begins = |c: char| c != '$' && !c.is_ascii_digit();
        return Some(rest).filter(|rest| rest.len() < text.len() && text.starts_with(begins));
    };
    loop {
        quoted = &quoted[quoted.find('"')? + 1..];
        match quoted.strip_prefix('"') {
            // A doubled quote belongs to the name.
            Some(rest) => quoted = rest,
            None => return Some(quoted),
        }
    }
}

/// The beginning of a long text.
fn shortened(written: &str) -> String {
    const CHARACTERS: usize = 60;
    let one_line = written.split_whitespace().collect::<Vec<_>>().join(" ");
    match one_line.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &one_line[..end]),
        None => one_line,
    }
}
