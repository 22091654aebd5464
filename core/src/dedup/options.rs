//! The options of `dedup` and `dedup_into`, and what they are if they are not
//! given.

use super::{Alike, Exact, Keep};
use crate::details::Kinds;
use crate::text::Normal;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;

/// How near rows become groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The first row by `keep` is kept, and each row near to one that is kept repeats the nearest of these: every row
    /// is verified against the row that is kept for it, and no chain leads anywhere.
    Star,
    /// Connected components: whatever verified pairs lead to.
    Components,
    /// P4's Single-Pass: a row joins the nearest earlier centre, the oldest if several are as near.
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
}

impl Method {
    /// As options have it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Fingerprint => "fingerprint",
            Method::Text => "text",
            Method::Records => "records",
        }
    }
}

/// The options, complete.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// What makes texts equal.
    pub exact: Exact,
    /// How near rows are found.
    pub method: Method,
    /// The largest Hamming distance of a candidate, 0 to 64; `None`: no near stage. By text any will do.
    pub distance: Option<u32>,
    /// What makes candidates near-duplicates. How texts are read is said by the recipe, once that is resolved.
    pub alike: Alike,
    /// The share of a text's words, by their weight, from which one that has them repeats it though it is longer.
    pub contained: Option<f64>,
    /// The recipe of the fingerprints, if it is not the default one.
    pub weights: Option<Value>,
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
    /// The columns of a table that have the text; empty: the only one of a text type.
    pub texts: Vec<String>,
}

/// Every option with its default.
fn defaults() -> Value {
    json!({
        "exact": "text", "method": "fingerprint", "distance": 10, "similarity": 0.5, "n": 2, "particulars": null, "weights": null, "fp": null,
        "group": null, "diameter": null, "keep": "first", "id": null, "text": null,
    })
}

/// What by records the table decides.
const LEARNED: [&str; 9] =
    ["distance", "similarity", "n", "weights", "fp", "particulars", "contained", "diameter", "group"];

/// What the texts decide where nobody has said it.
const BY_TEXTS: [&str; 6] = ["method", "weights", "distance", "similarity", "n", "particulars"];

/// Options as they were written. One option replaces one option: those of the call stand over those that are kept with a
/// table, these over what the texts suggest, and all over the defaults ([`Written::over`]).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Written {
    map: Map<String, Value>,
    /// The option that took the place of a method by texts.
    implied: Option<&'static str>,
}

impl Written {
    /// Options out of JSON. An option that is null is not asked for, but for
    /// `distance`, where it says that there is no near stage.
    ///
    /// # Errors
    /// What is wrong, if it is not an object.
    pub fn new(json: Option<Value>) -> Result<Written, String> {
        match json {
            None => Ok(Written::default()),
            Some(Value::Object(mut map)) => {
                map.retain(|name, value| name == "distance" || !value.is_null());
                Ok(Written { map, implied: None })
            }
            Some(_) => Err("they are not an object".into()),
        }
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

    /// Takes the options of `under` that are not written; returns them.
    pub fn over(&mut self, under: &Map<String, Value>) -> Map<String, Value> {
        if let Some(name) = self.implies_fingerprints() {
            let fingerprint = Value::from(Method::Fingerprint.name());
            if under.get("method").is_some_and(|method| *method != fingerprint) {
                self.implied = Some(name);
            }
            self.add("method", fingerprint);
        }
        let open = under.iter().filter(|(name, value)| !self.has(name) && !value.is_null());
        let taken: Map<_, _> = open.map(|(name, value)| (name.clone(), value.clone())).collect();
        self.map.extend(taken.clone());
        taken
    }

    /// The option that asks for fingerprints where no method is written: a distance is one of them, and who compares no
    /// texts has nothing else.
    fn implies_fingerprints(&self) -> Option<&'static str> {
        let given = |name: &str| self.map.get(name).is_some_and(|value| !value.is_null());
        let no_texts = self.map.get("similarity").and_then(Value::as_f64) == Some(0.0);
        let named = ["distance", "diameter"].into_iter().find(|name| given(name));
        named.or(no_texts.then_some("similarity")).filter(|_| !self.has("method"))
    }

    /// The option for which fingerprints are compared where texts would have been.
    pub fn implied(&self) -> Option<&'static str> {
        self.implied
    }

    /// Whether an option of `other` is written, and another value.
    pub fn differs(&self, name: &str, other: &Value) -> bool {
        self.map.get(name).is_some_and(|value| value != other)
    }

    /// Whether the texts decide something.
    pub fn asks_texts(&self) -> bool {
        let exact_only = self.map.get("distance").is_some_and(Value::is_null);
        let open = |name: &str| match name {
            "weights" => !self.has("fp"),
            "method" => !self.has("fp") && self.implies_fingerprints().is_none(),
            _ => true,
        };
        !self.by_records() && !exact_only && BY_TEXTS.iter().any(|name| !self.has(name) && open(name))
    }

    /// An option.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.map.get(name)
    }

    /// Whether they ask for records.
    pub fn by_records(&self) -> bool {
        self.map.get("method").is_some_and(|method| method == Method::Records.name())
    }

    /// As JSON, as they were written.
    pub fn json(&self) -> Value {
        Value::Object(self.map.clone())
    }

    /// As JSON, with the defaults of all others.
    pub fn complete(&self) -> Value {
        let mut all = defaults();
        for (name, value) in &self.map {
            all[name] = value.clone();
        }
        if all["group"].is_null() {
            all["group"] = if all["diameter"].is_null() { "star" } else { "components" }.into();
        }
        all
    }

    /// The options with their defaults.
    ///
    /// # Errors
    /// What is wrong, in words: an unknown option, a value out of its range, options
    /// that exclude each other.
    pub fn read(&self) -> Result<Options, String> {
        if let Some(name) = LEARNED.iter().find(|name| self.by_records() && self.has(name)) {
            return Err(format!("by records there is no {name}: what is near is learned from the table"));
        }
        Options::from_complete(self.complete())
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Complete {
    exact: Exact,
    method: Method,
    distance: Option<Value>,
    similarity: f64,
    n: Value,
    contained: Option<f64>,
    particulars: Option<Vec<String>>,
    weights: Option<Value>,
    fp: Option<String>,
    group: Group,
    diameter: Option<Value>,
    keep: Value,
    id: Option<String>,
    text: Option<OneOrMore>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "text is neither a name nor an array of names")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
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

impl Options {
    /// The form of a text by which it equals others; `None`: it equals nothing.
    pub fn form<'t>(&self, text: &'t str) -> Option<Cow<'t, str>> {
        self.exact.form(text, self.alike.normal)
    }

    fn from_complete(json: Value) -> Result<Options, String> {
        let read: Complete = serde_json::from_value(json).map_err(|error| error.to_string())?;
        let bits = |name: &str, value: Option<Value>| match value.as_ref().map(whole) {
            None => Ok(None),
            Some(Some(bits @ 0..=64)) => Ok(Some(bits as u32)),
            Some(_) => Err(format!("{name} is not a whole number from 0 to 64")),
        };
        let distance = bits("distance", read.distance)?;
        let diameter = bits("diameter", read.diameter)?;
        if !(0.0..=1.0).contains(&read.similarity) {
            return Err("similarity is not between 0 and 1".into());
        }
        let n = match whole(&read.n) {
            Some(n @ 1..=8) => n as usize,
            _ => return Err("n is not a whole number from 1 to 8".into()),
        };
        if read.contained.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return Err("contained is not between 0 and 1".into());
        }
        let contained = read.contained.filter(|&share| share > 0.0);
        if contained.is_some() && read.group != Group::Star {
            return Err("contained is of star groups".into());
        }
        if diameter.is_some() && read.group != Group::Components {
            return Err(
                "diameter is of components; otherwise no row is farther than distance from its centre".into(),
            );
        }
        if read.method == Method::Text && read.similarity == 0.0 {
            return Err("by text similarity is above 0".into());
        }
        if read.method == Method::Text && diameter.is_some() {
            return Err("a diameter is of fingerprints, which do not decide by text".into());
        }
        let particulars = read.particulars.filter(|names| !names.is_empty());
        let particulars = particulars.map(|names| kinds(&names)).transpose()?;
        let texts = match read.text {
            None => Vec::new(),
            Some(OneOrMore::One(name)) => vec![name],
            Some(OneOrMore::More(names)) if names.is_empty() => return Err("text names no column".into()),
            Some(OneOrMore::More(names)) => names,
        };
        Ok(Options {
            exact: read.exact,
            method: read.method,
            distance,
            alike: Alike { similarity: read.similarity, n, particulars, normal: Normal::default() },
            contained,
            weights: read.weights,
            fp: read.fp,
            group: read.group,
            diameter,
            keep: keep(read.keep)?,
            id: read.id,
            texts,
        })
    }
}

/// A non-negative whole number, in any notation: 10, 10.0, 1e1.
pub fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    number.map(|number| number as u64)
}

fn kinds(names: &[String]) -> Result<Kinds, String> {
    Kinds::parse(names.iter().map(String::as_str))
        .map_err(|name| format!("unknown kind of particulars: \"{name}\""))
}

fn keep(written: Value) -> Result<Keep, String> {
    match written {
        Value::String(rule) => match rule.as_str() {
            "first" => Ok(Keep::First),
            "last" => Ok(Keep::Last),
            "longest" => Ok(Keep::Longest),
            _ => Err(format!("keep: unknown rule \"{rule}\"")),
        },
        Value::Object(_) => {
            let rule = ByColumn::deserialize(written).map_err(|error| format!("keep: {error}"))?;
            Ok(Keep::Column { name: rule.column, descending: rule.order == Order::Desc })
        }
        _ => Err("keep is neither a word nor an object".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: Value) -> Result<Options, String> {
        Written::new(Some(json))?.read()
    }

    /// Protects the documented defaults, and that null is the default but for distance.
    #[test]
    fn defaults_and_nulls() {
        let default = Written::default().read().unwrap();
        assert_eq!((default.distance, default.alike.similarity, default.alike.n), (Some(10), 0.5, 2));
        assert_eq!((default.exact, default.group, &default.keep), (Exact::Text, Group::Star, &Keep::First));
        assert_eq!(read(json!({"diameter": 3})).unwrap().group, Group::Components);
        assert_eq!(read(json!({"similarity": null, "keep": null, "diameter": null})).unwrap(), default);
        assert_eq!(read(json!({"distance": null})).unwrap().distance, None);
        assert_eq!(read(json!({"distance": 1e1, "n": 2.0})).unwrap(), default);
    }

    /// Protects that one option replaces one option, and that a distance is one of fingerprints.
    #[test]
    fn one_option_replaces_one() {
        let written = |json| Written::new(Some(json)).unwrap();
        let texts = json!({"method": "text", "weights": {}, "distance": 24, "similarity": 0.5, "n": 2, "particulars": ["name"]});
        let over = |json| {
            let mut call = written(json);
            let taken = call.over(texts.as_object().unwrap());
            (call.read().unwrap(), taken.keys().cloned().collect::<Vec<_>>().join(" "), call.implied())
        };
        let (all, _, _) = over(json!({}));
        for name in BY_TEXTS {
            let same = over(json!({ name: texts[name].clone(), "method": "text" }));
            assert_eq!(same.0, all, "{name}");
        }
        let (read, taken, implied) = over(json!({"similarity": 0.8, "particulars": null}));
        assert_eq!((read.method, read.distance, read.alike.similarity), (Method::Text, Some(24), 0.8));
        assert_eq!((taken.as_str(), implied), ("distance method n particulars weights", None));
        let (read, _, implied) = over(json!({"distance": 3}));
        assert_eq!((read.method, read.alike.n, implied), (Method::Fingerprint, 2, Some("distance")));
        assert_eq!(over(json!({"distance": 3, "method": "text"})).0.method, Method::Text);
        assert_eq!(over(json!({"similarity": 0})).2, Some("similarity"));
        assert_eq!(over(json!({"particulars": []})).0.alike.particulars, None);
        let asks = |json| written(json).asks_texts();
        assert!(asks(json!({})) && asks(json!({"n": 2})) && asks(json!({"distance": 3, "weights": {}})));
        assert!(
            !asks(json!({"method": "records"})) && !asks(json!({"distance": null})) && !asks(texts.clone())
        );
    }

    #[test]
    fn refuses_what_it_does_not_know() {
        for (json, what) in [
            (json!([]), "not an object"),
            (json!({"distanse": 3}), "unknown field"),
            (json!({"distance": 65}), "distance"),
            (json!({"diameter": 3, "group": "single_pass"}), "components"),
            (json!({"diameter": 3, "group": "star"}), "components"),
            (json!({"keep": {"column": "a", "oder": "desc"}}), "oder"),
            (json!({"contained": 1.5}), "between 0 and 1"),
            (json!({"contained": 0.8, "group": "components"}), "star"),
            (json!({"method": "records", "distance": null}), "learned from the table"),
            (json!({"text": []}), "no column"),
            (json!({"text": 3}), "neither a name"),
            (json!({"particulars": ["names"]}), "names"),
        ] {
            let error = read(json).unwrap_err();
            assert!(error.contains(what), "{error}");
        }
    }
}
