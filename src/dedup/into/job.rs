//! The arguments of `dedup_into`.

use super::super::shape::Shape;
use super::batch::BYTES_PER_ROW;
use super::table::{State, Table};
use crate::pg::catalog::{array_type, base_type_name, check_type, equality, quoted};
use crate::pg::scan::Scan;
use crate::pg::spi::{Argument, check_query, describe, execute, refuse_row_without_id, scalar};
use crate::pg::{Json, Record, raise};
use crate::settings::memory_limit;
use crate::table::{DEDUP_INTO, Options, Settings, Source, Written, announce_implied, sample};
use dedup_core::dedup::{Group, Keep, whole};
use pgrx::prelude::*;
use serde_json::Value;

/// The fewest and the most rows per transaction, unless option `batch` says otherwise. A batch looks at the whole result,
/// so it is as large as that where memory allows.
const BATCH: [u64; 2] = [50_000, 500_000];
/// The share of `pg_dedup.memory_limit` that it may take.
const SHARE: usize = 4;

/// The steps of a call, by what they rely on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Makes the tables; others may too.
    Make,
    /// Writers are locked out. A result without rows takes on other options.
    Start,
    /// So they are, and the options are those of the result.
    Batch,
}

/// The arguments, before anything is looked up.
pub(super) struct Given<'a> {
    pub result: &'a str,
    source: &'a str,
    written: Written,
    batch: Option<u64>,
    only: Option<String>,
}

impl Given<'_> {
    /// Errors in the options come before all others.
    pub(super) fn read<'a>(
        result: Option<&'a str>,
        source: Option<&'a str>,
        options: Option<Json>,
    ) -> Given<'a> {
        let (Some(result), Some(source)) = (result, source) else {
            raise(
                PgSqlErrorCode::ERRCODE_NULL_VALUE_NOT_ALLOWED,
                "the name of the result and the source must not be null",
                "CALL dedup_into('petition_groups', 'petition');",
            )
        };
        let mut written = DEDUP_INTO.written(options.map(|json| json.0));
        let batch = match written.take("batch").as_ref().map(whole) {
            None => None,
            Some(Some(batch @ 1..=1_000_000)) => Some(batch),
            Some(_) => DEDUP_INTO.refuse("batch is not a whole number from 1 to 1000000"),
        };
        let only = match written.take("where") {
            None => None,
            Some(Value::String(condition)) => Some(condition),
            Some(_) => DEDUP_INTO.refuse("where is not a string"),
        };
        let options = DEDUP_INTO.read(&written);
        if options.contained.is_some() {
            DEDUP_INTO.refuse("contained is of dedup and dedup_report, which see all rows at once")
        }
        if written.by_records() {
            DEDUP_INTO
                .refuse("by records weights are learned from all rows at once, by dedup and dedup_report")
        }
        Given { result, source, written, batch, only }
    }
}

pub(super) struct Job {
    pub options: Options,
    /// The options as they were written, or are kept with the result.
    written: Written,
    /// Those of them that somebody asked for, as JSON. The rest is chosen by rows, again as long as none is taken in.
    asked: String,
    /// The options that this call is given, as JSON.
    given: String,
    /// The source as it was written.
    source: String,
    /// The query that reads the source, to be put between parentheses.
    pub query: String,
    pub table: Table,
    /// The search path of the query: that of the session, with temporary tables last.
    pub path: String,
    /// The first column of the query, quoted.
    pub id: String,
    /// The second one, quoted.
    pub content: String,
    /// The type of ids or the one that its domain is over, as SQL writes it. Ids are compared as its values: an
    /// operator that somebody else made for the domain would be taken before the type's own.
    pub base: String,
    /// The type of arrays of that type.
    pub ids_type: pg_sys::Oid,
    /// The equality operator of that type, with its schema.
    pub equals: String,
    /// Whether the index of the result finds ids: those of a column with a collation of its own are compared by that one.
    pub finds: bool,
    /// That type.
    id_type: pg_sys::Oid,
    /// The type of the ids that the result has, if it exists.
    ids: Option<pg_sys::Oid>,
    batch: Option<u64>,
    /// Option `where`: a condition on the rows to take in.
    only: Option<String>,
    /// The table that the source is all rows of.
    pub scan: Option<Scan>,
}

impl Job {
    /// Looks up what the arguments name, and sets the search path of the result for the rest of the transaction. A result
    /// with rows has its own options, which need not be given again.
    pub(super) fn of(given: Given<'_>, table: Table, step: Step) -> Job {
        let Given { source: written_source, mut written, batch, only, .. } = given;
        let found = table.is_there().then(|| table.kept(step != Step::Make));
        let ids = found.as_ref().map(|found| found.ids);
        let (kept, empty) = match found {
            Some(kept) if step == Step::Batch || kept.arrivals > 0 => (Some(kept), None),
            found => (None, found),
        };
        let path = current_path();
        if let Some(kept) = kept.as_ref().filter(|kept| kept.path != path) {
            table.refuse_path(&kept.path)
        }
        execute("SELECT pg_catalog.set_config('search_path', $1, true)", &[Argument::of(path.as_str())]);
        let source = Source::new(Some(written_source));
        let given = written.json().to_string();
        let is_source = |kept: &str| kept == unended(written_source) || is_same_table(kept, &source);
        if let Some(kept) = &kept {
            if !is_source(&kept.source) {
                table.refuse_source(&kept.source)
            }
            written = DEDUP_INTO.written(Some(kept.options.clone()));
        } else if let Some(kept) = empty.filter(|kept| is_source(&kept.source)) {
            written.over(&kept.asked);
        }
        let asked = written.json().to_string();
        let mut options = DEDUP_INTO.read(&written);
        if kept.is_none()
            && let Source::Table(table) = &source
        {
            Settings::complete(source.oid(), &mut written);
            options = DEDUP_INTO.read(&written);
            // A column that is added later must not change what is meant.
            let id = table.id(options.id.as_deref());
            written.add("id", id.into());
            written.add("text", table.texts(Some(id), &options.texts).into());
            options = DEDUP_INTO.read(&written);
        }
        if options.group == Group::Star && options.keep != Keep::First {
            // Which row a star keeps depends on all rows at once. Another group is for who names it to choose: its rows need
            // not be like the one that is kept.
            DEDUP_INTO.refuse(
                "with group star, the default, the first row is kept; name group single_pass or components to keep another in a \
                 table",
            )
        }
        options.of_rows = Settings::count_more(source.oid(), options.fp.as_deref());
        let query = options.query(&source, only.is_some());
        check_query(&query);
        let (columns, scan) = describe(&query);
        Shape::of(&columns, &options);
        let (id, content) = (quoted(&columns[0].name), quoted(&columns[1].name));
        for column in &columns[..2] {
            if columns.iter().filter(|other| other.name == column.name).count() > 1 {
                raise(
                    PgSqlErrorCode::ERRCODE_DUPLICATE_COLUMN,
                    format!("the query returns more than one column \"{}\"", column.name),
                    "The id and the content are read by name: give them names of their own.",
                )
            }
        }
        let (typoid, id_type) = (columns[0].typoid, columns[0].base_type());
        let scalar = columns[0].is_scalar();
        // SAFETY: a plain read of a variable.
        check_type(id_type, Some(unsafe { pg_sys::GetUserId() }));
        let ids_type = array_type(id_type).filter(|_| scalar);
        let (Some(equals), Some(ids_type)) = (equality(typoid), ids_type) else {
            raise(
                PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
                format!("column \"{}\" of type {} cannot be a key", columns[0].name, columns[0].type_name()),
                "Cast it to bigint, text, uuid or another type whose values can be compared.",
            )
        };
        // SAFETY: any oid is answered.
        let finds = columns[0].collation == unsafe { pg_sys::get_typcollation(id_type) };
        Job {
            options,
            written,
            asked,
            given,
            source: unended(written_source).to_owned(),
            query,
            table,
            path,
            id,
            content,
            base: base_type_name(typoid),
            ids_type,
            equals,
            finds,
            id_type,
            ids,
            batch,
            scan: scan.filter(|_| only.is_none()),
            only,
        }
    }

    /// Creates the tables if they do not exist; returns whether it did.
    pub(super) fn make(&self) -> bool {
        if self.ids.is_none() {
            self.table.make(&self.base, &self.state(&self.complete()));
            if self.batch.is_some() {
                self.table.make_indexes();
            }
        }
        self.ids.is_none()
    }

    /// Whether all rows are loaded at once.
    pub(super) fn loads(&self) -> bool {
        self.batch.is_none() && self.table.arrivals() == 0
    }

    /// The query of all rows to take in.
    pub(super) fn all(&self) -> String {
        let Job { query, only, .. } = self;
        only.as_ref().map_or_else(
            || query.clone(),
            |only| format!("SELECT q.* FROM ({query}\n) AS q WHERE ({only}\n)"),
        )
    }

    /// The options, as they were written and as they were read, for one who takes them.
    pub(super) fn options(&self) -> (Written, Options) {
        let mut options = DEDUP_INTO.read(&self.written);
        options.of_rows = self.options.of_rows;
        (self.written.clone(), options)
    }

    /// Checks that the options that are given are those of the result.
    pub(super) fn check(&self) {
        self.table.check(self.id_types(), &self.given);
    }

    /// The types of the ids of the result and of the query.
    fn id_types(&self) -> (pg_sys::Oid, pg_sys::Oid) {
        (self.ids.unwrap_or(pg_sys::InvalidOid), self.id_type)
    }

    /// As [`Job::check`], but a result without rows takes on this source and these options, over those that it was asked
    /// for with this source; the texts decide the rest.
    pub(super) fn begin(&mut self) {
        if self.table.arrivals() > 0 {
            return self.check();
        }
        if self.written.asks_texts() {
            let (sampler, prints) = sample(&self.query, self.options.fp.as_deref());
            if let Some(chosen) = sampler.suggest(self.written.get("weights"), prints) {
                chosen.complete(&mut self.written, DEDUP_INTO.name);
                self.options = self.options().1;
            }
        }
        announce_implied(DEDUP_INTO.name, self.written.implied());
        let other = (self.ids != Some(self.id_type)).then_some(self.base.as_str());
        self.table.adopt(other, &self.state(&self.complete()));
    }

    /// All options, as they are kept with the result.
    fn complete(&self) -> String {
        self.written.complete().to_string()
    }

    /// The column with what chains of pairs connect. With a diameter that is more than a group, and all of it decides which
    /// groups there are.
    pub(super) fn component(&self) -> &'static str {
        if self.options.diameter.is_some() { "component" } else { "cluster" }
    }

    /// The largest distance of rows that are connected.
    pub(super) fn distance(&self) -> Option<u32> {
        self.options
            .distance
            .map(|distance| self.options.diameter.map_or(distance, |most| distance.min(most)))
    }

    fn state<'a>(&'a self, options: &'a str) -> State<'a> {
        State { source: &self.source, options, path: &self.path, asked: &self.asked }
    }

    /// The query that lists the new rows in order, one batch per row. As other queries here it joins the result with
    /// what it has read of the source, not with the source itself: on Citus that may be distributed.
    pub(super) fn listing(&self) -> String {
        let Job { query, id, base, equals, .. } = self;
        let only = self.only.as_ref().map_or(String::new(), |only| format!("WHERE ({only}\n)"));
        let all = format!(
            "_dedup_all AS MATERIALIZED (SELECT q.{id}::{base} AS id, pg_catalog.row_number() OVER () AS n \
                 FROM ({query}\n) AS q {only})"
        );
        let new = format!(
            "(SELECT l.* FROM _dedup_all AS l WHERE NOT EXISTS (SELECT FROM {} AS t WHERE t.id::{base} {equals} l.id))",
            self.table.name
        );
        self.batches(&all, &new)
    }

    /// The query of batches of the rows `new`, with their ids and numbers by which they are in order, which `with` defines.
    pub(super) fn batches(&self, with: &str, new: &str) -> String {
        format!(
            "WITH {with} SELECT pg_catalog.array_agg(b.id ORDER BY b.n) AS ids, pg_catalog.max(b.total) AS total, \
                    pg_catalog.max(b.without_id) AS without_id, {} AS batch \
             FROM (SELECT l.id, l.n, pg_catalog.count(*) OVER () AS total, \
                     pg_catalog.count(*) FILTER (WHERE l.id IS NULL) OVER () AS without_id, \
                     pg_catalog.row_number() OVER (ORDER BY l.n) OPERATOR(pg_catalog.-) 1 AS row \
                   FROM {new} AS l) AS b \
             GROUP BY 4 ORDER BY 4",
            self.batch_of("b.row")
        )
    }

    /// A listing without rows.
    pub(super) fn nothing(&self) -> String {
        "SELECT NULL AS ids, 0::pg_catalog.int8 AS total, 0::pg_catalog.int8 AS without_id WHERE false"
            .to_owned()
    }

    /// The number of the batch of a new row, whose number in the call is `row`, from 0.
    fn batch_of(&self, row: &str) -> String {
        let (mut ends, mut end, mut size) = (Vec::new(), 0, self.batch);
        let arrived = self.table.arrivals().unsigned_abs();
        let most = memory_limit().map_or(usize::MAX, |limit| limit / SHARE / BYTES_PER_ROW) as u64;
        let most = most.clamp(BATCH[0], BATCH[1]);
        while size.is_none() {
            let next = (arrived + end).clamp(BATCH[0], most);
            if next == most {
                size = Some(most);
            } else {
                end += next;
                ends.push(end.to_string());
            }
        }
        let size = size.unwrap_or(most);
        let rest = format!("({row} OPERATOR(pg_catalog.-) {end}) OPERATOR(pg_catalog./) {size}");
        if ends.is_empty() {
            return rest;
        }
        format!(
            "CASE WHEN {row} OPERATOR(pg_catalog.<) {end} \
                 THEN pg_catalog.width_bucket({row}, ARRAY[{}]::pg_catalog.int8[])::pg_catalog.int8 \
                 ELSE {rest} OPERATOR(pg_catalog.+) {} END",
            ends.join(", "),
            ends.len()
        )
    }

    /// The ids of a batch, from a row of the listing.
    pub(super) fn ids(&self, todo: &Record) -> Option<Argument> {
        if todo.row().bigint("without_id")? > 0 {
            refuse_row_without_id()
        }
        todo.row().array("ids", self.ids_type)
    }
}

/// A source without blanks around it and the semicolon after it.
fn unended(source: &str) -> &str {
    source.trim().trim_end_matches(';')
}

/// Whether a kept source names the table that is named now.
fn is_same_table(kept: &str, source: &Source) -> bool {
    source.oid().is_some_and(|table| Source::new(Some(kept)).oid() == Some(table))
}

/// The search path of the session, with temporary tables last: one created later must not hide a
/// table that the source reads.
fn current_path() -> String {
    const SQL: &str = "SELECT pg_catalog.current_setting('search_path')";
    let path = scalar(SQL, &[]).unwrap_or_default();
    match path.as_str() {
        "" => "pg_temp".to_owned(),
        path if path.contains("pg_temp") => path.to_owned(),
        path => format!("{path}, pg_temp"),
    }
}
