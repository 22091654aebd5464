//! What `dedup` and `dedup_into` are asked to do: `dedup_core::dedup::Options` with
//! the recipe of the fingerprints.

use super::source::{Source, Wanted};
use crate::corpus::{Database, raise_recipe};
use crate::pg::raise;
pub(crate) use dedup_core::dedup::Written;
use dedup_core::dedup::{Keep, Method, Options as Core};
use dedup_core::features::TextRecipe;
use pgrx::prelude::*;
use serde_json::Value;
use std::ops::Deref;

/// The options of a call.
pub(crate) struct Options {
    core: Core,
    pub recipe: TextRecipe,
    /// One more column that is read.
    pub labels: Option<String>,
    /// The fingerprints are those of a table's settings, by which more counts than the text.
    pub of_rows: bool,
}

impl Deref for Options {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

/// A function that has options.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub name: &'static str,
    /// Which options it has.
    pub hint: &'static str,
}

macro_rules! options_hint {
    ($methods:literal, $others:literal) => {
        concat!(
            "Options are exact (text, normal, none), method (",
            $methods,
            "), distance (0 to 64, or null for no near stage), similarity (0 to 1), n (1 to 8), particulars (an array of name, \
             date, number), weights (a recipe), fp (a column), group (star, components, single_pass), keep (first, last, longest, or {\"column\": …, \"order\": \"asc\" or \
             \"desc\"}), id and text (columns of a table), ",
            $others
        )
    };
}

pub(crate) const DEDUP: Function = Function {
    name: "dedup",
    hint: options_hint!(
        "fingerprint, text, records",
        "contained (0 to 1, with star) and diameter (0 to 64, with components)."
    ),
};
pub(crate) const REPORT: Function = Function {
    name: "dedup_report",
    hint: options_hint!(
        "fingerprint, text, records",
        "contained (0 to 1, with star), diameter (0 to 64, with components), title, language (en, zh), and labels (a column: rows with the same value \
         are duplicates)."
    ),
};
pub(crate) const DEDUP_INTO: Function = Function {
    name: "dedup_into",
    hint: options_hint!(
        "fingerprint, text, records",
        "contained (0 to 1, with star), diameter (0 to 64, with components), and follow (true, false)."
    ),
};

pub(crate) const EXPLAIN: Function = Function {
    name: "dedup_explain",
    hint: "Options are {\"method\": \"records\"}, and exact, keep, id and text as of dedup. Two texts alone: dedup_explain(a, b); two rows of \
           a table with settings: simhash_explain(a, b).",
};

impl Function {
    /// Raises 22023.
    pub(crate) fn refuse(self, what: impl std::fmt::Display) -> ! {
        let what = format!("invalid options of {}: {what}", self.name);
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, what, self.hint)
    }

    /// The options as they were written.
    pub(crate) fn written(self, json: Option<Value>) -> Written {
        Written::new(json).unwrap_or_else(|error| self.refuse(error))
    }

    /// The options with their defaults.
    pub(crate) fn read(self, written: &Written) -> Options {
        let mut core = written.read().unwrap_or_else(|error| self.refuse(error));
        let recipe = match &core.weights {
            Some(weights) => {
                TextRecipe::resolved(weights, &Database).unwrap_or_else(|error| raise_recipe(error))
            }
            None => TextRecipe::default(),
        };
        core.alike.normal = recipe.normal;
        Options { core, recipe, labels: None, of_rows: false }
    }
}

impl Options {
    /// Whether rows of equal text are told apart by fingerprints of more than that.
    pub fn compares_rows(&self) -> bool {
        self.of_rows && self.distance.is_some() && self.method == Method::Fingerprint
    }

    /// The query that reads of the source what the options name.
    pub(crate) fn query(&self, source: &Source) -> String {
        let key = match &self.keep {
            Keep::Column { name, .. } => Some(name),
            _ => None,
        };
        let others: Vec<&str> = self.fp.iter().chain(key).chain(&self.labels).map(String::as_str).collect();
        let apart = self.method == Method::Records;
        source.texts(&Wanted { id: self.id.as_deref(), texts: &self.texts, apart, others: &others })
    }
}
