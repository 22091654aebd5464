//! The options of `dedup_setup`: what was asked for, now and before.

use crate::pg::raise;
use crate::table::{Settings, check_keep, check_particulars};
use dedup_core::dedup::Method;
use pgrx::PgSqlErrorCode;
use serde_json::{Map, Value};

const KEYS: [&str; 10] =
    ["columns", "weights", "method", "distance", "similarity", "n", "particulars", "keep", "fp", "id"];

const HINT: &str = "Options are columns (a name, an array of names, or an object of names and weights), weights (the recipe of \
                    running text), method (fingerprint, text), distance (0 to 64), similarity (0 to 1), n (1 to 8), particulars (an array of name, date, \
                    number), keep (first, last, longest, or a column as in dedup), fp (the column of the fingerprint), id (the \
                    column of the ids). A null one is chosen again. {\"drop\": true} alone takes the settings away.";

pub(super) fn refuse(what: impl std::fmt::Display) -> ! {
    let message = format!("invalid options of dedup_setup: {what}");
    raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, message, HINT)
}

/// What is asked for.
pub(super) struct Asked {
    /// As it is kept with the settings.
    pub options: Map<String, Value>,
    /// What is asked for now changes what the fingerprint is made of.
    pub anew: bool,
    /// What is to be chosen again.
    again: Vec<String>,
}

impl Asked {
    /// Adds what is asked for now to what was asked for before: a null takes
    /// something back.
    pub fn read(now: Option<Value>, before: Option<&Settings>) -> Asked {
        let now = match now.unwrap_or_else(|| Value::Object(Map::new())) {
            Value::Object(now) => now,
            _ => refuse("they are not an object"),
        };
        if now.contains_key("contained") {
            refuse("contained is of dedup and dedup_report, which see all rows at once")
        }
        if let Some(unknown) = now.keys().find(|key| !KEYS.contains(&key.as_str())) {
            refuse(format!("unknown option \"{unknown}\""))
        }
        if let Some(before) = before {
            ["id", "keep"]
                .into_iter()
                .filter(|key| !now.contains_key(*key))
                .for_each(|key| before.check_column_of(key));
        }
        let mut options = before.map(|before| before.asked()).unwrap_or_default();
        let is_new = |key: &str| now.get(key).is_some_and(|value| options.get(key) != Some(value));
        let anew = is_new("columns") || is_new("weights") || before.is_some_and(|before| !before.fit);
        let mut again = Vec::new();
        for (key, value) in now {
            if value.is_null() {
                options.remove(&key);
                again.push(key);
            } else {
                options.insert(key, value);
            }
        }
        Asked { options, anew, again }
    }

    /// Whether an option is to be chosen again.
    pub fn is_again(&self, key: &str) -> bool {
        self.again.iter().any(|it| it == key)
    }

    fn get(&self, key: &str) -> Option<&Value> {
        self.options.get(key)
    }

    /// A whole number of a range.
    pub fn whole(&self, key: &str, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let number = |value: &Value| {
            let number = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0)?;
            Some(number as u32).filter(|number| range.contains(number))
        };
        self.get(key).map(|value| {
            number(value).unwrap_or_else(|| {
                refuse(format!("{key} is not a whole number from {} to {}", range.start(), range.end()))
            })
        })
    }

    /// Whether a distance is asked for and no method: it is one of fingerprints.
    pub fn implies_fingerprint(&self) -> bool {
        self.get("distance").is_some() && self.get("method").is_none()
    }

    /// How near rows are found.
    pub fn method(&self) -> Option<Method> {
        self.get("method").map(|method| match method.as_str() {
            Some("fingerprint") => Method::Fingerprint,
            Some("text") => Method::Text,
            Some("records") => {
                refuse("by records weights are learned from all rows at once, by dedup and dedup_report")
            }
            _ => refuse("method is neither fingerprint nor text"),
        })
    }

    pub fn similarity(&self) -> Option<f64> {
        self.get("similarity").map(|value| {
            let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share));
            share.unwrap_or_else(|| refuse("similarity is not a number between 0 and 1"))
        })
    }

    /// A name.
    pub fn name(&self, key: &str) -> Option<&str> {
        self.get(key).map(|value| match value.as_str() {
            Some(name) if !name.is_empty() && name.len() < 64 => name,
            _ => refuse(format!("{key} is not the name of a column")),
        })
    }

    /// The recipe of running text.
    pub fn recipe(&self) -> Option<Value> {
        self.get("weights").map(|recipe| match recipe {
            Value::Object(_) => recipe.clone(),
            _ => refuse(
                "weights is not an object: it is the recipe of running text, and columns names columns",
            ),
        })
    }

    /// The columns that count, each with its weight as in the row form of
    /// `simhash`: null is running text.
    pub fn columns(&self) -> Option<Vec<(String, Value)>> {
        let running = |name: &Value| match name {
            Value::String(name) => (name.clone(), Value::Null),
            _ => refuse("columns is an array of something else than names"),
        };
        let columns = match self.get("columns")? {
            name @ Value::String(_) => vec![running(name)],
            Value::Array(names) => names.iter().map(running).collect(),
            Value::Object(weights) => {
                weights.iter().map(|(name, weight)| (name.clone(), weight.clone())).collect()
            }
            _ => refuse("columns is neither a name, an array of names nor an object"),
        };
        if columns.is_empty() {
            refuse("columns names no column")
        }
        Some(columns)
    }

    /// Kinds of particulars that near-duplicates must have in common.
    pub fn particulars(&self) -> Option<&Value> {
        let kinds = self.get("particulars");
        check_particulars(kinds).unwrap_or_else(|error| refuse(error));
        kinds
    }

    /// Which row of a group is kept, as `dedup` has it.
    pub fn keep(&self) -> Option<&Value> {
        let keep = self.get("keep");
        check_keep(keep).unwrap_or_else(|error| refuse(error));
        keep
    }
}
