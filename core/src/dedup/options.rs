//! Options as they were written, completed by what they are if they are not given.

use super::keys::{self, BY_TEXTS, KEYS, LINK, OptionKey, Sink, Wrong, brief, whole};
use super::{Alike, Keep};
use crate::details::{Kinds, Statistics};
use crate::records::{LIKELY, SURE};
use crate::text::Normal;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// What makes two texts equal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Equal {
    /// The same characters.
    Text,
    /// The same normal form.
    Normal,
    /// Nothing: the stage is left out.
    None,
}

impl Equal {
    /// The form of a text used for comparison, `normal` as the recipe has it; `None`: it equals nothing.
    pub fn form(self, text: &str, normal: Normal) -> Option<Cow<'_, str>> {
        match self {
            Equal::None => None,
            Equal::Text => Some(Cow::Borrowed(text)),
            Equal::Normal => {
                let normal = normal.of(text);
                // A text of symbols alone has nothing else by which it differs.
                Some(if normal.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(normal) })
            }
        }
    }
}

/// How near rows become groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The first row by `keep` is kept, and each row near to one that is kept repeats the nearest of these: every row
    /// is verified against the row that is kept for it, and no chain leads anywhere.
    Star,
    /// Connected components: whatever verified pairs lead to.
    Components,
    /// P4's Single-Pass: a row joins the nearest earlier center, the oldest if several are as near.
    SinglePass,
}

/// How near rows are found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// By fingerprints within a distance, whose texts are compared then.
    #[default]
    Fingerprint,
    /// By the texts themselves: every pair that is similar enough, whatever their fingerprints.
    Text,
    /// By the columns of a record, with weights that are learned from the table.
    Records,
    /// By what is compared itself, which is a hash of something else.
    Hash,
    /// Not at all: equal texts alone are duplicates.
    Exact,
}

impl Method {
    /// As options have it.
    pub fn name(self) -> &'static str {
        ["fingerprint", "text", "records", "hash", "exact"][self as usize]
    }
}

/// The options, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// What makes texts equal.
    pub equal: Equal,
    /// How near rows are found.
    pub method: Method,
    /// The largest Hamming distance of a candidate, 0 to 64, of hashes to 256; none of [`Method::Exact`]. By text any will do.
    pub distance: Option<u32>,
    /// Slots of templates by their names, and whether they tell texts apart; `None`: as the statistics have them.
    pub slots: Option<Vec<(String, bool)>>,
    /// What makes candidates near-duplicates. How texts are read is said by the recipe, once that is resolved.
    pub alike: Alike,
    /// The share of a text's words, by their weight, from which one that has them repeats it though it is longer.
    pub contained: Option<f64>,
    /// The recipe of the fingerprints, if it is not the default one.
    pub recipe: Option<Value>,
    /// The column that has the fingerprints, if they are not to be made.
    pub fp: Option<String>,
    /// How near rows become groups.
    pub group: Group,
    /// No group holds two rows farther apart than this many bits, 0 to 64.
    pub diameter: Option<u32>,
    /// Which row of a group is kept.
    pub keep: Keep,
    /// The column of a table that has the ids, if it is not its primary key.
    pub id: Option<String>,
    /// The columns of a table that are compared; empty: the only one of a text type.
    pub columns: Vec<String>,
    /// The table in which people have decided of pairs of rows.
    pub decisions: Option<String>,
    /// The column that tells the side of a row.
    pub side: Option<String>,
    /// Whether rows are of two sides, and a group has at most one of each.
    pub sides: bool,
    /// Whether it may have several of the second one.
    pub many: bool,
}

impl Method {
    /// The options of texts that it does not have, and why; none if it compares texts.
    fn lacks(self) -> (&'static [&'static str], &'static str) {
        match self {
            Method::Records => (
                &["distance", "n", "recipe", "fp", "details", "slots", "contained", "diameter"],
                "it is learned from the table",
            ),
            Method::Hash => (
                &["equal", "similarity", "n", "recipe", "fp", "details", "slots", "contained", "diameter"],
                "hashes are compared by their bits",
            ),
            _ => (&[], ""),
        }
    }
}

/// Options as they were written. One option replaces one option: those of the call stand over those that are kept with a
/// table, these over what the texts suggest, and all over the defaults ([`Written::over`]).
#[derive(Debug, Clone, PartialEq)]
pub struct Written {
    sink: Sink,
    map: Map<String, Value>,
    /// Those that are null: not asked for.
    nulls: Vec<String>,
    /// The option for which fingerprints are compared where texts would have been.
    pub implied: Option<&'static str>,
}

impl Written {
    /// Options out of JSON, or what is wrong: an unknown option, a value that it cannot have.
    pub fn new(sink: Sink, json: Option<Value>) -> Result<Written, Wrong> {
        match json.unwrap_or_else(|| Map::new().into()) {
            Value::Object(map) => Written::of_map(sink, map),
            other => Err(Wrong {
                what: format!("options must be an object, not {}", brief(&other.to_string())),
                hint: "For example: {\"similarity\": 0.8}.".into(),
            }),
        }
    }

    /// Options out of the arguments `key=value` of a trigger.
    pub fn of_arguments(sink: Sink, arguments: &[String]) -> Result<Written, Wrong> {
        Written::of_map(sink, keys::of_arguments(sink, arguments)?)
    }

    fn of_map(sink: Sink, mut map: Map<String, Value>) -> Result<Written, Wrong> {
        keys::check(sink, &map)?;
        let nulls = map.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.clone()).collect();
        map.retain(|_, value| !value.is_null());
        let mut written = Written { sink, map, nulls, implied: None };
        if written.is_by(Method::Hash)
            && !written.has("columns")
            && let Some(column) = written.take("fp")
        {
            // It is what is compared.
            written.add("columns", column);
        }
        Ok(written)
    }

    /// Takes an option out.
    pub fn take(&mut self, name: &str) -> Option<Value> {
        self.map.remove(name)
    }

    /// Writes an option that was not written.
    pub fn add(&mut self, name: &str, value: Value) {
        self.map.entry(name).or_insert(value);
    }

    /// Whether an option is written.
    pub fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Whether there is such an option.
    pub fn takes(&self, name: &str) -> bool {
        self.sink.keys().any(|key| key.name == name)
    }

    /// Whether an option is written as null.
    pub fn is_null(&self, name: &str) -> bool {
        self.nulls.iter().any(|null| null == name)
    }

    /// Takes the options of `under` that are not written; returns them.
    pub fn over(&mut self, under: &Map<String, Value>) -> Map<String, Value> {
        if let (Some(method), Some(name)) = (under.get("method"), self.implies_fingerprints()) {
            let fingerprint = Method::Fingerprint.name();
            if method != fingerprint {
                self.implied = Some(name);
            }
            self.add("method", fingerprint.into());
        }
        let open = |name: &str| self.takes(name) && !self.has(name);
        let open = under.iter().filter(|(name, value)| open(name) && !value.is_null());
        let taken: Map<_, _> = open.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.map.extend(taken.clone());
        taken
    }

    /// The option that asks for fingerprints where no method is written: a distance is one of them, and who compares no
    /// texts has nothing else.
    fn implies_fingerprints(&self) -> Option<&'static str> {
        let no_texts = self.share("similarity") == Some(0.0);
        let named = ["distance", "diameter"].into_iter().find(|name| self.has(name));
        named.or(no_texts.then_some("similarity")).filter(|_| !self.has("method"))
    }

    /// Whether an option of `other` is written, and another value.
    pub fn differs(&self, name: &str, other: &Value) -> bool {
        self.map.get(name).is_some_and(|value| value != other)
    }

    /// Whether something is left to be chosen by the texts.
    pub fn lets_texts_choose(&self) -> bool {
        let open = |name: &str| match name {
            "recipe" => !self.has("fp"),
            "method" => !self.has("fp") && self.implies_fingerprints().is_none(),
            _ => true,
        };
        let whole = matches!(self.text("method"), Some("records" | "hash" | "exact"));
        !whole && BY_TEXTS.iter().any(|name| !self.has(name) && open(name))
    }

    /// An option.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// An option that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.get(name)?.as_str()
    }

    /// An option that is a whole number.
    pub fn whole(&self, name: &str) -> Option<u32> {
        self.get(name).and_then(whole).map(|number| number as u32)
    }

    /// Whether an option is true.
    pub fn truth(&self, name: &str) -> bool {
        self.get(name) == Some(&Value::Bool(true))
    }

    /// An option that is a number from 0 to 1.
    pub fn share(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// The names of columns that an option has.
    pub fn names(&self, name: &str) -> Vec<String> {
        match self.get(name) {
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(all)) => all.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::Object(columns)) => columns.keys().cloned().collect(),
            _ => Vec::new(),
        }
    }

    /// Whether they ask for a method.
    pub fn is_by(&self, method: Method) -> bool {
        self.text("method") == Some(method.name())
    }

    /// Whether they ask for records.
    pub fn by_records(&self) -> bool {
        self.is_by(Method::Records)
    }

    /// What the method that they ask for does not have, and why.
    fn lacks(&self) -> (&'static [&'static str], &'static str) {
        let one = [Method::Records, Method::Hash].into_iter().find(|it| self.is_by(*it));
        one.map_or_else(Default::default, Method::lacks)
    }

    /// Whether rows are of two sides.
    pub fn has_sides(&self) -> bool {
        self.has("side") || self.sink == LINK
    }

    /// Whether an option is written that a method does not have.
    pub fn excludes(&self, method: Method) -> bool {
        method.lacks().0.iter().any(|name| self.has(name))
    }

    /// All that are written.
    pub fn map(&self) -> &Map<String, Value> {
        &self.map
    }

    /// As JSON, as they were written.
    pub fn json(&self) -> Value {
        Value::Object(self.map.clone())
    }

    /// As JSON, with the defaults of all others that there are.
    pub fn complete(&self) -> Value {
        let lacks = self.lacks().0;
        let mut all = self.over_defaults(self.sink.keys().filter(|key| !lacks.contains(&key.name)));
        all.retain(|name, _| self.takes(name));
        Value::Object(all)
    }

    fn over_defaults<'k>(&self, keys: impl Iterator<Item = &'k OptionKey>) -> Map<String, Value> {
        let mut all = self.map.clone();
        if self.has("diameter") || self.has_sides() {
            all.entry("group").or_insert("components".into());
        }
        if self.by_records() {
            all.entry("similarity").or_insert((if self.has_sides() { LIKELY } else { SURE }).into());
        }
        for key in keys.filter(|key| !key.default.is_empty()) {
            all.entry(key.name).or_insert_with(|| key.default_value());
        }
        all
    }

    /// The options with their defaults, or what is wrong with those that exclude each other.
    pub fn read(&self) -> Result<Options, Wrong> {
        let (lacks, why) = self.lacks();
        if let Some(name) = lacks.iter().find(|name| self.has(name)) {
            let method = self.text("method").unwrap_or_default();
            return Err(Wrong::of(name, format!("method \"{method}\" has no {name}: {why}")));
        }
        let map = self.over_defaults(KEYS.iter());
        let all = Written { map, ..self.clone() };
        let method = all.parsed("method")?;
        let options = Options {
            equal: all.parsed("equal")?,
            method,
            distance: all.whole("distance").filter(|_| method != Method::Exact),
            alike: Alike {
                similarity: all.share("similarity").filter(|_| method != Method::Hash).unwrap_or_default(),
                n: all.whole("n").unwrap_or_default() as usize,
                details: all.kinds().filter(|_| method.lacks().0.is_empty()),
                normal: Normal::default(),
                statistics: None,
                weighed: method == Method::Text,
            },
            slots: self.takes("slots").then(|| all.slots()),
            contained: all.share("contained").filter(|&share| share > 0.0),
            recipe: all.get("recipe").cloned(),
            fp: all.text("fp").map(str::to_owned),
            group: all.parsed("group")?,
            diameter: all.whole("diameter"),
            keep: all.keep(),
            id: all.text("id").map(str::to_owned),
            columns: all.names("columns"),
            decisions: all.text("decisions").map(str::to_owned),
            side: all.text("side").map(str::to_owned),
            sides: self.has_sides(),
            many: all.truth("many"),
        };
        let (by_text, by_records) = (method == Method::Text, method == Method::Records);
        let by_hash = method == Method::Hash;
        let (any_text, is_star) = (options.alike.similarity == 0.0, options.group == Group::Star);
        let is_chained = options.group == Group::Components;
        let has_diameter = options.diameter.is_some();
        // These are told by the column itself whether it has hashes.
        let told = [keys::PAIRS, keys::GUARD].contains(&self.sink);
        let by_length = options.keep == Keep::Longest;
        let is_far = options.distance.is_some_and(|bits| bits > u64::BITS) && !told;
        let wrong = [
            (by_hash && options.columns.len() > 1, "columns", "must be one column with method \"hash\""),
            (by_hash && by_length, "keep", "must not be \"longest\" with method \"hash\""),
            (is_far && !by_hash, "distance", "must be at most 64 but with method \"hash\""),
            (by_text && any_text, "similarity", "must be greater than 0 with method \"text\""),
            (by_records && any_text, "similarity", "must be greater than 0 with method \"records\""),
            (options.contained.is_some() && !is_star, "contained", "requires group \"star\""),
            (has_diameter && !is_chained, "diameter", "requires group \"components\""),
            (options.sides && !is_chained, "side", "requires group \"components\""),
            (has_diameter && by_text, "diameter", "requires method \"fingerprint\""),
        ];
        match wrong.into_iter().find(|(is_wrong, ..)| *is_wrong) {
            Some((_, name, what)) => Err(Wrong::of(name, format!("{name} {what}"))),
            None => Ok(options),
        }
    }

    /// An option that is one of several words.
    fn parsed<T: DeserializeOwned>(&self, name: &str) -> Result<T, Wrong> {
        let value = self.get(name).cloned().unwrap_or_default();
        serde_json::from_value(value).map_err(|error| Wrong::of(name, format!("{name}: {error}")))
    }

    /// The kinds of details that count, if any does.
    fn kinds(&self) -> Option<Kinds> {
        let names = self.names("details");
        Kinds::parse(names.iter().map(String::as_str)).ok().filter(|_| !names.is_empty())
    }

    fn slots(&self) -> Vec<(String, bool)> {
        let slots = self.get("slots").and_then(Value::as_object).into_iter().flatten();
        slots.filter_map(|(name, tells)| Some((name.clone(), tells.as_bool()?))).collect()
    }

    fn keep(&self) -> Keep {
        match self.get("keep") {
            Some(Value::Object(rule)) => Keep::Column {
                name: rule["column"].as_str().unwrap_or_default().to_owned(),
                descending: rule.get("order").is_some_and(|order| order == "desc"),
            },
            rule => match rule.and_then(Value::as_str) {
                Some("last") => Keep::Last,
                Some("longest") => Keep::Longest,
                _ => Keep::First,
            },
        }
    }
}

impl Options {
    /// Has the slots of templates tell what is said of them; returns the names of those that there are not.
    pub fn name_slots(&self, statistics: &mut Statistics) -> Vec<&str> {
        self.slots.as_ref().map_or_else(Vec::new, |slots| statistics.name_slots(slots, self.alike.normal))
    }

    /// Whether that is said of them already.
    pub fn names_slots_of(&self, statistics: &Statistics) -> bool {
        self.slots.as_ref().is_none_or(|slots| statistics.is_named(slots, self.alike.normal))
    }

    /// The form of a text by which it equals others; `None`: it equals nothing.
    pub fn form<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        self.equal.form(text, self.alike.normal)
    }
}
