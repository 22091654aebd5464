//! The options of `dedup`.

use crate::corpus::{Database, raise_recipe};
use crate::pg::raise;
use dedup_core::evaluate::{Kinds, particulars};
use dedup_core::features::TextRecipe;
use dedup_core::hash::murmur3_128;
use dedup_core::signature::jaccard;
use dedup_core::text::normalize;
use pgrx::prelude::*;
use serde::Deserialize;
use serde_json::Value;
use std::borrow::Cow;

/// What makes two contents equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Exact {
    /// The same characters.
    Text,
    /// The same normal form.
    Normal,
    /// Nothing: the exact stage is skipped.
    None,
}

impl Exact {
    /// The form of a content used for comparison; `None` if the exact stage is skipped.
    pub(super) fn form(self, content: &str) -> Option<Cow<'_, str>> {
        match self {
            Exact::None => None,
            Exact::Text => Some(Cow::Borrowed(content)),
            Exact::Normal => {
                let normal = normalize(content);
                // A text without letters and digits has an empty normal form: it is compared as it
                // is.
                Some(if normal.is_empty() { Cow::Borrowed(content) } else { Cow::Owned(normal) })
            }
        }
    }

    /// The hash of the form used for comparison; `None` if the exact stage is skipped.
    pub(super) fn hash(self, content: &str) -> Option<u128> {
        let [low, high] = murmur3_128(self.form(content)?.as_bytes(), 0);
        Some(u128::from(high) << 64 | u128::from(low))
    }
}

/// How near rows are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Group {
    /// Connected components.
    Components,
    /// P4's Single-Pass: a row joins the nearest earlier centre, the oldest if several are as near.
    SinglePass,
}

/// Which row of a group is kept.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Keep {
    First,
    Last,
    Longest,
    /// The least or, if true, the greatest value of a column.
    Column(String, bool),
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    #[default]
    Asc,
    Desc,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ByColumn {
    column: String,
    #[serde(default)]
    order: Order,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    exact: Option<Exact>,
    distance: Option<Value>,
    similarity: Option<f64>,
    n: Option<Value>,
    particulars: Option<Vec<String>>,
    weights: Option<Value>,
    fp: Option<String>,
    group: Option<Group>,
    diameter: Option<Value>,
    keep: Option<Value>,
    progress: Option<f64>,
}

/// The options, with their defaults.
pub(super) struct Options {
    pub exact: Exact,
    /// `None` skips the near stage.
    pub distance: Option<u32>,
    pub similarity: f64,
    pub n: usize,
    /// Particulars in which near rows may not differ.
    pub particulars: Option<Kinds>,
    pub recipe: TextRecipe,
    /// The column with the fingerprints, if the query returns them.
    pub fp: Option<String>,
    pub group: Group,
    /// The greatest distance of two rows of a group.
    pub diameter: Option<u32>,
    pub keep: Keep,
    /// Seconds between notices; 0 disables notices and the summary.
    pub progress: f64,
}

const HINT: &str = "Options are exact (text, normal, none), distance (0 to 64, or null for no near stage), similarity \
                    (0 to 1), n (1 to 8), particulars (an array of place, date, number), weights (a recipe), fp (a column), group (components, single_pass), diameter \
                    (0 to 64, with components), keep (first, last, longest, or {\"column\": …, \"order\": \"asc\" or \"desc\"}), progress (seconds).";

fn refuse(what: impl std::fmt::Display) -> ! {
    raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, format!("invalid options of dedup: {what}"), HINT)
}

impl Options {
    pub(super) fn read(json: Option<Value>) -> Options {
        let json = json.unwrap_or_else(|| Value::Object(Default::default()));
        if !json.is_object() {
            refuse("they are not an object")
        }
        // No distance is the default one; null skips the near stage.
        let near = json.get("distance").is_none_or(|distance| !distance.is_null());
        let written: Written = serde_json::from_value(json).unwrap_or_else(|error| refuse(error));
        let bits = |name: &str, value: &Value| match whole(value) {
            Some(bits @ 0..=64) => bits as u32,
            _ => refuse(format!("{name} is not a whole number from 0 to 64")),
        };
        let distance = near.then(|| written.distance.as_ref().map_or(10, |value| bits("distance", value)));
        let diameter = written.diameter.as_ref().map(|value| bits("diameter", value));
        let similarity = written.similarity.unwrap_or(0.5);
        if !(0.0..=1.0).contains(&similarity) {
            refuse("similarity is not between 0 and 1")
        }
        let n = match written.n.as_ref().map_or(Some(2), whole) {
            Some(n @ 1..=8) => n as usize,
            _ => refuse("n is not a whole number from 1 to 8"),
        };
        let group = written.group.unwrap_or(Group::Components);
        if diameter.is_some() && group == Group::SinglePass {
            refuse(
                "diameter is of components; with single_pass no row is farther than distance from its centre",
            )
        }
        let progress = written.progress.unwrap_or(10.0);
        if progress < 0.0 {
            refuse("progress is negative")
        }
        let recipe = match &written.weights {
            Some(weights) => {
                TextRecipe::resolved(weights, &Database).unwrap_or_else(|error| raise_recipe(error))
            }
            None => TextRecipe::default(),
        };
        Options {
            exact: written.exact.unwrap_or(Exact::Text),
            distance,
            similarity,
            n,
            particulars: written.particulars.map(|names| kinds(&names)),
            recipe,
            fp: written.fp,
            group,
            diameter,
            keep: keep(written.keep),
            progress,
        }
    }
}

impl Options {
    /// Whether candidates are verified on the text.
    pub(super) fn verifies(&self) -> bool {
        self.similarity > 0.0 || self.particulars.is_some()
    }

    /// Whether two contents are alike enough to be one.
    pub(super) fn alike(&self, a: &str, b: &str) -> bool {
        let similar = self.similarity == 0.0 || jaccard(a, b, self.n) >= self.similarity;
        similar && self.particulars.is_none_or(|kinds| particulars(a, b, kinds).is_empty())
    }
}

/// A non-negative whole number, in any notation: 10, 10.0, 1e1.
pub(super) fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    number.map(|number| number as u64)
}

fn kinds(names: &[String]) -> Kinds {
    Kinds::of_names(names.iter().map(String::as_str))
        .unwrap_or_else(|name| refuse(format!("unknown kind of particulars: \"{name}\"")))
}

fn keep(written: Option<Value>) -> Keep {
    match written {
        None => Keep::First,
        Some(Value::String(rule)) => match rule.as_str() {
            "first" => Keep::First,
            "last" => Keep::Last,
            "longest" => Keep::Longest,
            _ => refuse(format!("keep: unknown rule \"{rule}\"")),
        },
        Some(rule @ Value::Object(_)) => {
            let rule = ByColumn::deserialize(rule).unwrap_or_else(|error| refuse(format!("keep: {error}")));
            Keep::Column(rule.column, rule.order == Order::Desc)
        }
        Some(_) => refuse("keep is neither a word nor an object"),
    }
}
