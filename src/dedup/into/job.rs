//! The arguments of `dedup_into`.

use super::super::shape::Shape;
use super::table::{Saved, State, Table};
use crate::pg::{
    Argument, Column, Json, Schemas, ValueType, array_type, as_text, base_type_name, check_query, check_type,
    describe, equality, quoted, raise_duplicate_column, raise_mismatch, required, schemas_of_types, user,
};
use crate::table::{
    DecisionTable, Options, Settings, Source, Written, choose_columns, parse_options, read_options,
};
use dedup_core::dedup::{Group, INTO, Keep, Method};
use dedup_core::details::Statistics;
use pgrx::prelude::*;
use serde_json::Value;
use std::sync::Arc;

/// The arguments, before anything is looked up.
pub(super) struct Given<'a> {
    pub result: &'a str,
    source: &'a str,
    written: Written,
    /// Whether a trigger is to tell what changes at the source.
    pub follow: Option<bool>,
}

impl Given<'_> {
    /// Errors in the options come before all others.
    pub(super) fn read<'a>(
        result: Option<&'a str>,
        source: Option<&'a str>,
        options: Option<Json>,
    ) -> Given<'a> {
        let given = result.zip(source);
        let (what, hint) =
            ("the name of the result and the source", "CALL dedup_into('petition_groups', 'petition');");
        let (result, source) = required(given, what, hint);
        let mut written = read_options(INTO, options);
        let follow = written.take("follow").and_then(|follow| follow.as_bool());
        Options::of(&written);
        Given { result, source, written, follow }
    }
}

pub(super) struct Job<'t> {
    pub table: &'t Table,
    pub source: Source,
    pub options: Options,
    /// The options as they were written, or are saved with the result.
    pub written: Written,
    /// Whether rows were taken in before, so that the options are known.
    pub is_begun: bool,
    /// How many have ever arrived.
    pub arrivals: i64,
    pub query: String,
    /// The column of the ids, quoted.
    pub id: String,
    /// The type of ids or the one that its domain is over, as SQL writes it. Ids are compared as its values: an operator
    /// that somebody else made for the domain would be taken before the type's own.
    pub base: String,
    /// The type of arrays of that type.
    pub ids_type: pg_sys::Oid,
    /// The equality operator of that type, with its schema.
    pub equals: String,
    /// An expression for a number that changes with whatever decides about a row `q` of the query.
    pub digest: String,
    /// What people have decided since the last call is told by this one being another.
    pub decisions: Option<String>,
    /// Whether the settings of the table have other options than the last call went by.
    pub resettled: bool,
    /// What the rows of the source have in common, as the last call knew it.
    pub statistics: Option<Arc<Statistics>>,
    /// The same, as the settings of the table have it now.
    pub told: Option<Arc<Statistics>>,
    /// The source as it was written, the search path, and the options that somebody asked for, as JSON.
    saved: [String; 3],
    /// As long as the query runs.
    _schemas: [Schemas; 2],
}

impl<'t> Job<'t> {
    /// Looks up what the arguments name. A result that was begun has its own options, which need not be given again.
    pub(super) fn of(given: &Given<'_>, table: &'t Table, saved: Option<&Saved>, path: &str) -> Job<'t> {
        let source = Source::new(Some(given.source));
        let mut written = given.written.clone();
        let is_source = |saved: &str| {
            let is_same = |table| Source::new(Some(saved)).oid() == Some(table);
            saved == unended(given.source) || source.oid().is_some_and(is_same)
        };
        let begun = saved.filter(|saved| saved.arrivals > 0);
        if let Some(saved) = begun {
            table.check(saved, path, is_source, &written.json().to_string());
            written = parse_options(INTO, serde_json::from_str(&saved.options).ok());
        } else if let Some(saved) = saved.filter(|saved| is_source(&saved.source)) {
            written.over(&saved.asked);
        }
        let asked_for = begun.map_or_else(|| written.map().clone(), |saved| saved.asked.clone());
        let mut resettled = false;
        // Without settings what the first call chose stays: a column that is added later must not change what is meant.
        if let Source::Table(table) = &source
            && (begun.is_none() || Settings::of(table.oid).is_some())
        {
            let mut now = parse_options(INTO, Some(asked_for.clone().into()));
            written.get("id").into_iter().for_each(|id| now.add("id", id.clone()));
            choose_columns(INTO.name, table, &mut now);
            let settings = Settings::complete(source.oid(), &mut now);
            let options = Options::of(&now);
            let id = table.id(options.id.as_deref());
            now.add("id", id.into());
            now.add("columns", table.texts(Some(id), &options.columns).into());
            let settled = settings.filter(|_| begun.is_some() && !now.lets_texts_choose());
            resettled = settled.is_some_and(|settings| !is_as_before(&settings, &written, &now));
            if begun.is_none() || resettled {
                written = now;
            }
        } else if let Source::Table(table) = &source
            && !asked_for.contains_key("fp")
            && written.text("fp").is_some_and(|fp| table.find(fp).is_none())
        {
            // It has gone with the settings.
            written.take("fp");
        }
        let asked = Value::Object(asked_for).to_string();
        let mut options = Options::of(&written);
        options.of_rows = Settings::count_more(source.oid(), options.fp.as_deref());
        let settings = source.oid().and_then(Settings::of);
        let told = settings.and_then(|it| it.statistics(&options.columns, options.alike.normal));
        options.know(told);
        let told = options.alike.statistics.clone();
        let statistics = match begun.and_then(|saved| saved.statistics.as_ref()) {
            Some(hex) => Some(Arc::new(Statistics::read(hex).unwrap_or_else(|| table.refuse_foreign()))),
            None => told.clone(),
        };
        let decisions = options.decisions.as_deref().and_then(|name| DecisionTable::named(name).digest());
        let query = options.query(&source);
        check_query(&query);
        let (columns, schemas) = describe(&query);
        let schemas = [schemas, schemas_of_types(columns.iter().map(|it| it.typoid))];
        Shape::of(&columns, &options);
        for column in &columns[..2] {
            if columns.iter().filter(|other| other.name == column.name).count() > 1 {
                raise_duplicate_column(
                    format!("the query returns more than one column \"{}\"", column.name),
                    "The id and the content are read by name: give them names of their own.",
                )
            }
        }
        let (typoid, id_type) = (columns[0].typoid, columns[0].base_type());
        check_type(id_type, Some(user()));
        let ids_type = array_type(id_type).filter(|_| columns[0].is_scalar());
        let (Some(equals), Some(ids_type)) = (equality(typoid), ids_type) else {
            raise_mismatch(
                format!("column \"{}\" of type {} cannot be a key", columns[0].name, columns[0].type_name()),
                "Cast it to bigint, text, uuid or another type whose values can be compared.",
            )
        };
        if let Some(saved) = begun {
            table.check_ids(saved, id_type);
        }
        Job {
            table,
            source,
            is_begun: begun.is_some(),
            arrivals: begun.map_or(0, |saved| saved.arrivals),
            id: format!("q.{}::{}", quoted(&columns[0].name), base_type_name(typoid)),
            base: base_type_name(typoid),
            digest: digest(&columns, &options),
            saved: [unended(given.source).to_owned(), path.to_owned(), asked],
            options,
            written,
            query,
            ids_type,
            equals,
            decisions,
            resettled,
            statistics,
            told,
            _schemas: schemas,
        }
    }

    pub(super) fn make(&self) {
        self.table.make(&self.base, &self.state());
    }

    /// Has a result without rows take on this source and these options.
    pub(super) fn adopt(&self, saved: &Saved) {
        let other = (array_type(saved.ids) != Some(self.ids_type)).then_some(self.base.as_str());
        self.table.adopt(other, &self.state());
    }

    pub(super) fn state(&self) -> State<'_> {
        let [source, path, asked] = &self.saved;
        State { source, path, asked, options: self.written.complete().to_string() }
    }

    /// The options as they were read, for one who takes them, with the column of the digest as one that is not compared.
    pub(super) fn options(&self) -> Options {
        let mut options = Options::of(&self.written);
        options.of_rows = self.options.of_rows;
        options.know(self.statistics.clone());
        options.beside = vec![DIGEST.to_owned()];
        options
    }

    pub(super) fn no_ids(&self) -> Argument {
        // SAFETY: the array is of this type.
        unsafe {
            let empty = pg_sys::construct_empty_array(pg_sys::get_element_type(self.ids_type));
            Argument::of_type(pg_sys::Datum::from(empty), self.ids_type)
        }
    }

    /// Whether what is new can be judged against kept rows alone; else all groups are formed anew.
    pub(super) fn can_add(&self) -> bool {
        let it = &self.options;
        self.decisions.is_none()
            && it.group != Group::Components
            && it.keep == Keep::First
            && it.contained.is_none()
            && matches!(it.method, Method::Fingerprint | Method::Exact)
    }
}

/// Whether options are those that the last call went by. That the distance narrows as the table grows is no reason to form all groups anew.
fn is_as_before(settings: &Settings, before: &Written, now: &Written) -> bool {
    let (before, mut now) = (before.complete(), now.complete());
    let distances = [&before, &now].map(|it| it.get("distance").and_then(Value::as_u64));
    if let ([Some(then), Some(narrow)], Some(by_rows)) = (distances, &settings.distances)
        && (narrow..=by_rows.distance(0).unwrap_or_default().into()).contains(&then)
    {
        now["distance"] = before["distance"].clone();
    }
    before == now
}

/// How the ids of the query are saved: as the type that a domain is over.
pub(super) fn ids_of(columns: &[Column]) -> ValueType {
    let of = ValueType::new(&columns[0], columns[0].base_type());
    of.unwrap_or_else(|| unreachable!("a type is what it is over"))
}

/// The column with the digest of a row.
pub(super) const DIGEST: &str = "_dedup_digest";

/// Of columns that are compared or decide which row is kept.
fn digest(columns: &[Column], options: &Options) -> String {
    let by_records = options.method == Method::Records;
    let mut values = Vec::new();
    for (at, column) in columns.iter().enumerate().skip(1) {
        let name = format!("q.{}", quoted(&column.name));
        if at == 1 && !by_records {
            values.push(format!("{name}::pg_catalog.text COLLATE pg_catalog.\"C\""));
        } else if [options.fp.as_ref(), options.kept_by()].contains(&Some(&column.name)) {
            values.push(format!("{name}::{}", base_type_name(column.typoid)));
        } else if by_records {
            values.push(format!("({}) COLLATE pg_catalog.\"C\"", as_text(&name, column.typoid)));
        }
    }
    format!("pg_catalog.hash_record_extended(ROW({}), 0)", values.join(", "))
}

/// A source without blanks around it and the semicolon after it.
fn unended(source: &str) -> &str {
    source.trim().trim_end_matches(';')
}
