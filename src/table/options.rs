//! What a function is asked to do: `dedup_core::dedup::Options` with the recipe of the fingerprints.

use super::source::{Source, Wanted};
use crate::corpus::{Database, raise_recipe};
use crate::pg::{Json, quote_literal, raise_invalid};
pub(crate) use dedup_core::dedup::Written;
use dedup_core::dedup::{Keep, Method, Options as Core, Sink, Wrong};
use dedup_core::details::Statistics;
use dedup_core::features::TextRecipe;
use serde_json::Value;
use std::ops::Deref;
use std::sync::Arc;

pub(crate) struct Options {
    core: Core,
    pub recipe: TextRecipe,
    /// Columns that are read besides and not compared.
    pub beside: Vec<String>,
    /// More of them; those of a query are compared by records.
    pub others: Vec<String>,
    /// The fingerprints are those of a table's settings, by which more counts than the text.
    pub of_rows: bool,
}

impl Deref for Options {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

/// Refuses a value of an option, with its line of the manual. Raises 22023.
pub(crate) fn refuse_option(name: &str, what: impl Into<String>) -> ! {
    raise_wrong(Wrong::of(name, what))
}

pub(crate) fn raise_wrong(wrong: Wrong) -> ! {
    raise_invalid(wrong.what, wrong.hint)
}

pub(crate) fn read_options(function: Sink, options: Option<Json>) -> Written {
    parse_options(function, options.map(|json| json.0))
}

pub(crate) fn parse_options(function: Sink, json: Option<Value>) -> Written {
    Written::new(function, json).unwrap_or_else(|wrong| raise_wrong(wrong))
}

impl Options {
    /// What is written, with the defaults of the rest.
    pub(crate) fn of(written: &Written) -> Options {
        let mut core = written.read().unwrap_or_else(|wrong| raise_wrong(wrong));
        let recipe = core.recipe.as_ref().map(|recipe| TextRecipe::resolved(recipe, &Database));
        let recipe =
            recipe.unwrap_or_else(|| Ok(TextRecipe::default())).unwrap_or_else(|error| raise_recipe(error));
        core.alike.normal = recipe.normal;
        Options { core, recipe, beside: Vec::new(), others: Vec::new(), of_rows: false }
    }

    /// Takes what the rows of a table have in common.
    pub fn know(&mut self, statistics: Option<Arc<Statistics>>) {
        let by_records = self.method == Method::Records;
        let mut statistics = statistics.filter(|it| it.records.is_some() == by_records);
        // Most have them, and are shared.
        if let Some(statistics) = statistics.as_mut().filter(|it| !self.core.names_slots_of(it)) {
            self.core.name_slots(Arc::make_mut(statistics));
        }
        self.core.alike.statistics = statistics;
    }

    /// Whether rows of equal text are told apart by fingerprints of more than that.
    pub fn compares_rows(&self) -> bool {
        self.of_rows && self.distance.is_some() && self.method == Method::Fingerprint
    }

    /// The column whose value decides which row is kept.
    pub(crate) fn kept_by(&self) -> Option<&String> {
        if let Keep::Column { name, .. } = &self.keep { Some(name) } else { None }
    }

    /// The query that reads of the source what the options name.
    pub(crate) fn query(&self, source: &Source) -> String {
        let others: Vec<&str> = self
            .fp
            .iter()
            .chain(self.kept_by())
            .chain(&self.beside)
            .chain(&self.others)
            .chain(&self.side)
            .map(String::as_str)
            .collect();
        let (id, texts, method) = (self.id.as_deref(), &self.columns[..], self.method);
        source.texts(&Wanted { id, texts, method, others: &others })
    }
}

pub(crate) fn literal(json: &Value) -> String {
    quote_literal(as_jsonb(json))
}

/// JSON as PostgreSQL writes it: a blank after colons and commas.
pub(crate) fn as_jsonb(json: &Value) -> String {
    match json {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(as_jsonb).collect::<Vec<_>>().join(", "))
        }
        Value::Object(values) => {
            let pair = |(name, value): (&String, &Value)| {
                format!("{}: {}", Value::from(name.as_str()), as_jsonb(value))
            };
            format!("{{{}}}", values.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}
