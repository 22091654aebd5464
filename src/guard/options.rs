//! The arguments of `near_dup_guard`, completed by the settings of its table.

use crate::pg::{Recent, Row, base_type, is_built_in, recent, trigger::Call};
use crate::table::{
    DecisionTable, Options as Read, Settings, Table, Written, as_key, content, raise_wrong, refuse_option,
    way_to_text,
};
use dedup_core::dedup::{Alike, Comparable, GUARD, Method};
use dedup_core::features::TextRecipe;
use pgrx::prelude::*;
use serde_json::json;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// The distance of a guard whose table has no settings.
const DISTANCE: u32 = 3;

pub(super) struct Options {
    /// That of the fingerprint.
    pub(super) column: String,
    /// Rows within this distance are near-duplicates, unless they are found by their texts.
    pub(super) distance: u32,
    /// Whether near-duplicates are found by their texts, whatever the distance.
    pub(super) by_text: bool,
    /// The columns that near-duplicates have in common.
    pub(super) scope: Vec<String>,
    pub(super) action: Action,
    /// A condition on their texts.
    pub(super) verify: Option<Verify>,
    pub(super) without_index: bool,
    /// What people have decided, which stands over all that.
    pub(super) decisions: Option<Decided>,
}

pub(super) struct Decided {
    table: String,
    id: String,
    of: pg_sys::Oid,
}

impl Decided {
    /// Whether the new row is not the same as another one. `known` is kept for the next row.
    pub(super) fn are_apart(&self, call: &Call, row: &Row, known: &OnceCell<HashMap<String, bool>>) -> bool {
        let id = |row: &Row| {
            let (_, typoid) = row.column(&self.id)?;
            Some(as_key(row.text(&self.id)?, base_type(typoid)))
        };
        let Some((new, other)) = id(&call.row()).zip(id(row)) else { return false };
        let known =
            known.get_or_init(|| DecisionTable::of_settings(&self.table, self.of).of_row_for_all(&new));
        known.get(&other) == Some(&false)
    }
}

pub(super) enum Action {
    /// The statement fails.
    Reject,
    /// The row is left out.
    Skip,
    /// This column is set to the key of the earlier row.
    Flag(String),
    /// The pair is written into this table.
    Log(String),
}

/// A similarity of texts that near-duplicates must have.
pub(super) struct Verify {
    method: Method,
    pub(super) columns: Vec<String>,
    pub(super) alike: Alike,
    /// By which the texts are read.
    recipe: TextRecipe,
}

impl Verify {
    pub(super) fn text(&self, row: &Row) -> Option<String> {
        content(self.method, self.columns.iter().map(|column| cast(row, column)))
    }

    /// Whether a text can be near another.
    pub(super) fn has_words(&self, text: &str) -> bool {
        Comparable::of(text, &self.recipe) == Comparable::Near
    }

    /// The similarity of two texts, of which the new one has words, if they are similar enough; what is empty is similar to
    /// nothing.
    pub(super) fn of_texts(&self, new: Option<&str>, old: Option<&str>) -> Option<f64> {
        self.alike.one(new?, old.filter(|old| self.has_words(old))?)
    }
}

/// A column as the index of its table has it: a boolean is cast to *true*, and written as *t*.
fn cast(row: &Row, column: &str) -> Option<String> {
    // SAFETY: the value is used while the row lives.
    if let Some((value, typoid)) = unsafe { row.value(column) }
        && let (pg_sys::CoercionPathType::COERCION_PATH_FUNC, function) = way_to_text(base_type(typoid))
        && is_built_in(function)
    {
        // SAFETY: a function of PostgreSQL that makes text of a value of this type.
        return unsafe {
            let text = pg_sys::OidFunctionCall1Coll(function, pg_sys::DEFAULT_COLLATION_OID, value);
            String::from_datum(text, false)
        };
    }
    row.text(column)
}

/// The settings of a table, and their distance now.
type Known = Option<(Rc<Settings>, u32)>;

impl Options {
    /// Reads the arguments of CREATE TRIGGER. What they do not say is as the settings of the table have it.
    pub(super) fn of(arguments: Vec<String>, table: pg_sys::Oid) -> Rc<Options> {
        thread_local!(static LAST: Recent<(Vec<String>, Known), Rc<Options>> = const { RefCell::new(Vec::new()) });
        let known = Settings::of(table).map(|it| (Rc::clone(&it), it.distance()));
        let identity = |known: &Known| known.as_ref().map(|(it, distance)| (Rc::as_ptr(it), *distance));
        let is = |(then, by): &(Vec<String>, Known)| *then == arguments && identity(by) == identity(&known);
        let parse = || Rc::new(Options::parse(&arguments, table));
        recent(&LAST, 1, is, || ((arguments.clone(), known.clone()), parse()))
    }

    /// Whether the nearest row is to be found, and not any.
    pub(super) fn wants_nearest(&self) -> bool {
        matches!(self.action, Action::Flag(_) | Action::Log(_))
    }

    fn parse(arguments: &[String], table: pg_sys::Oid) -> Options {
        let (column, rest) = match arguments.split_first() {
            Some((column, rest)) if !column.contains('=') => (Some(column), rest),
            _ => (None, arguments),
        };
        let mut written = Written::of_arguments(GUARD, rest).unwrap_or_else(|wrong| raise_wrong(wrong));
        if let Some(column) = column {
            if written.has("fp") {
                refuse_option("fp", "fp is given twice")
            }
            written.add("fp", column.as_str().into());
        }
        let (by_name, compares) = (written.has("method"), ["similarity", "n"].map(|name| written.has(name)));
        let by_records = Settings::of(table).is_some_and(|it| it.method == Method::Records);
        if by_records && !written.has("fp") {
            written.add("method", Method::Records.name().into());
        }
        let settings = Settings::complete(Some(table), &mut written);
        if !written.by_records() {
            // Fingerprints of the settings are as far apart whatever else is compared.
            let known = settings.as_ref().filter(|it| written.text("fp").is_none_or(|fp| fp == it.fp));
            written.add("distance", json!(known.map_or(DISTANCE, |it| it.distance())));
        }
        let mut options = Read::of(&written);
        let told = settings.as_ref().and_then(|it| it.statistics(&options.columns, options.alike.normal));
        options.know(told);
        if options.alike.has_slots() && settings.is_none() {
            refuse_option("details", "\"slot\" requires a table with settings, which dedup_setup makes")
        }
        let column = written.text("fp").map_or_else(|| Settings::needed(table).fp.clone(), str::to_owned);
        let is_hash = || Table::of(table).column(&column).base_type() == pg_sys::BITOID;
        if options.distance.is_some_and(|bits| bits > u64::BITS) && !is_hash() {
            refuse_option("distance", "distance must be at most 64: so many bits fingerprints have")
        }
        let settings = settings.filter(|settings| settings.fp == column);
        let decisions = settings.as_ref().and_then(|it| Some((it.decisions()?.to_owned(), it.table)));
        let decisions = decisions.map(|(name, table)| Decided {
            table: name,
            id: Table::of(table).id(None).to_owned(),
            of: table,
        });
        let columns = match (&settings, options.columns.is_empty()) {
            // Of hashes nothing else is compared.
            _ if options.method == Method::Hash => Vec::new(),
            (Some(settings), true) => settings.texts().into_iter().map(str::to_owned).collect(),
            _ => options.columns.clone(),
        };
        let by_records = options.method == Method::Records;
        if by_records && options.alike.records().is_none() {
            refuse_option(
                "method",
                "\"records\" requires a table with such settings, which dedup_setup makes",
            )
        }
        if columns.is_empty() && (compares.contains(&true) || by_name && options.method == Method::Text) {
            refuse_option("columns", "similarity, n and method \"text\" require columns")
        }
        // The index is of the texts of the settings.
        let is_indexed = |it: &Rc<Settings>| it.n as usize == options.alike.n && it.texts() == columns;
        let by_text = by_records
            || options.method == Method::Text && (by_name || settings.as_ref().is_some_and(is_indexed));
        let named = |name: &str| written.text(name).map(str::to_owned);
        let action = match (written.text("action"), named("flag"), named("log")) {
            (None | Some("flag"), Some(column), None) => Action::Flag(column),
            (None | Some("log"), None, Some(table)) => Action::Log(table),
            (Some("skip"), None, None) => Action::Skip,
            (None | Some("reject"), None, None) => Action::Reject,
            (Some("flag"), None, _) => refuse_option("flag", "action \"flag\" requires flag"),
            (Some("log"), _, None) => refuse_option("log", "action \"log\" requires log"),
            _ => refuse_option("action", "action must be one: flag and log are of the actions of their name"),
        };
        let scope = written.names("scope");
        if let Action::Flag(flag) = &action
            && ([&column].into_iter().chain(&columns).chain(&scope)).any(|it| it == flag)
        {
            refuse_option("flag", format!("flag \"{flag}\" is a column by which rows are searched"))
        }
        let (compares, distance) = (!columns.is_empty(), options.distance.unwrap_or(DISTANCE));
        let verify =
            Verify { method: options.method, columns, alike: options.alike.clone(), recipe: options.recipe };
        Options {
            column,
            distance,
            by_text,
            scope,
            action,
            without_index: written.text("index") == Some("none"),
            decisions,
            verify: compares.then_some(verify),
        }
    }
}
