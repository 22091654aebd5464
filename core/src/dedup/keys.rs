//! The options of all functions: what each of them is, who takes it, and what a wrong value is told.

use crate::details::around;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Who takes options: a function or a trigger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sink {
    /// Its name.
    pub name: &'static str,
    bit: u16,
}

/// `dedup`.
pub const DEDUP: Sink = Sink { name: "dedup", bit: 1 };
/// `dedup_into`.
pub const INTO: Sink = Sink { name: "dedup_into", bit: 2 };
/// `dedup_report`.
pub const REPORT: Sink = Sink { name: "dedup_report", bit: 4 };
/// `dedup_explain` of pairs of rows of a source.
pub const EXPLAIN: Sink = Sink { name: "dedup_explain", bit: 8 };
/// `dedup_review`, which takes what `dedup_explain` does.
pub const REVIEW: Sink = Sink { name: "dedup_review", ..EXPLAIN };
/// `dedup_setup`.
pub const SETUP: Sink = Sink { name: "dedup_setup", bit: 16 };
/// `near_dup_guard`.
pub const GUARD: Sink = Sink { name: "near_dup_guard", bit: 32 };
/// `near_dup_pairs`.
pub const PAIRS: Sink = Sink { name: "near_dup_pairs", bit: 64 };
/// `dedup_clean`.
pub const CLEAN: Sink = Sink { name: "dedup_clean", bit: 128 };
/// `dedup_link`.
pub const LINK: Sink = Sink { name: "dedup_link", bit: 256 };
/// `dedup_find`.
pub const FIND: Sink = Sink { name: "dedup_find", bit: 512 };
/// `dedup_clean_batches`, which takes what `dedup_clean` does.
pub const BATCHES: Sink = Sink { name: "dedup_clean_batches", bit: 1024 };
/// All of them.
pub const SINKS: [Sink; 12] =
    [DEDUP, INTO, REPORT, EXPLAIN, REVIEW, SETUP, GUARD, PAIRS, CLEAN, BATCHES, LINK, FIND];

impl Sink {
    /// The options that it takes.
    pub fn keys(self) -> impl Iterator<Item = &'static OptionKey> {
        KEYS.iter().filter(move |key| key.sinks & self.bit != 0)
    }

    /// The methods that it has: settings are of near rows, and a pair of columns is of texts.
    fn methods(self) -> &'static [&'static str] {
        match self {
            DEDUP | INTO | REPORT | EXPLAIN | REVIEW => &["fingerprint", "text", "records", "hash", "exact"],
            SETUP => &["fingerprint", "text", "records", "hash"],
            GUARD | LINK => &["fingerprint", "text", "records"],
            _ => &["fingerprint", "text"],
        }
    }
}

/// An option.
#[derive(Debug)]
pub struct OptionKey {
    /// Its name.
    pub name: &'static str,
    takes: Takes,
    /// What stands for it if it is neither asked for nor chosen, as JSON; nothing is none.
    pub default: &'static str,
    sinks: u16,
    /// What it means, as the manual has it.
    pub says: &'static str,
}

/// What a value can be.
#[derive(Debug, Clone, Copy)]
enum Takes {
    /// A name or another text.
    Text(&'static str),
    /// A table; where settings are made true for one of their own.
    Table,
    /// Columns; where settings are made with the weight or recipe of each.
    Columns,
    Recipe,
    Method,
    /// One word of these.
    Word(&'static [&'static str]),
    /// An array of these.
    Words(&'static [&'static str]),
    Whole(u64, u64),
    Share,
    Keep,
    /// A table, or false for none.
    Archive,
    /// What a kept row takes, by column.
    Fill,
    /// Slots of templates, by their names.
    Slots,
    /// True, or nothing.
    True,
    Truth,
}

const WHOLE: u16 = DEDUP.bit | INTO.bit | REPORT.bit | EXPLAIN.bit;
const ALL: u16 = WHOLE | SETUP.bit | GUARD.bit;
const CLEANS: u16 = CLEAN.bit | BATCHES.bit;

/// The most pairs that people are asked about at a time.
pub const MOST_ASKED: u64 = 10_000;

const fn key(name: &'static str, takes: Takes, sinks: u16, default: &'static str) -> OptionKey {
    OptionKey { name, takes, default, sinks, says: "" }
}

impl OptionKey {
    const fn says(self, says: &'static str) -> OptionKey {
        OptionKey { says, ..self }
    }
}

/// All options, in the order of the manual.
pub const KEYS: [OptionKey; 38] = {
    use Takes::*;
    [
        key("id", Text("a column"), WHOLE | SETUP.bit | LINK.bit, "")
            .says("the column of the ids of a table; without it the primary key"),
        key("columns", Columns, ALL | LINK.bit, "")
            .says("what is compared of a table; without it the only column of a text type beside the key"),
        key("fp", Text("a column"), ALL, "")
            .says("the column that has the fingerprints, which dedup_setup makes, or hashes that stand for themselves"),
        key("recipe", Recipe, ALL | LINK.bit, "").says("the recipe of running text"),
        key("equal", Word(&["text", "normal", "none"]), WHOLE | LINK.bit, "\"text\"")
            .says("what makes texts equal: their characters, their normal form, or nothing"),
        key("method", Method, ALL | PAIRS.bit | LINK.bit, "\"fingerprint\"")
            .says("how near rows are found; exact: not at all, records: by what agreement in each column tells, learned from the table, hash: by what is compared itself, which is a hash of something else; dedup_setup has all but exact, near_dup_guard and dedup_link fingerprint, text and records, near_dup_pairs fingerprint and text"),
        key("distance", Whole(0, 256), ALL | PAIRS.bit | LINK.bit, "10")
            .says("most bits in which fingerprints of near rows differ, of hashes to 256, else to 64; near_dup_pairs, and a guard without settings, have 3"),
        key("similarity", Share, ALL | PAIRS.bit | LINK.bit, "0.5")
            .says("least share of runs of n characters that near texts have in common; 0: they are not compared; by records least probability, else 0.9, across two sides 0.3"),
        key("n", Whole(1, 64), ALL | PAIRS.bit | LINK.bit, "2")
            .says("characters of the runs that are compared"),
        key("details", Words(&["name", "date", "number", "slot"]), ALL | LINK.bit, "")
            .says("in which near texts must agree"),
        key("slots", Slots, WHOLE | SETUP.bit, "")
            .says("slots of templates, each by the words around it, as \"my name is ___\"; true: it tells rows apart wherever it stands, false: never"),
        key("contained", Share, WHOLE, "")
            .says("share of a text's words from which a longer one that has them is its duplicate"),
        key("group", Word(&["star", "components", "single_pass"]), WHOLE, "\"star\"")
            .says("how near rows become groups"),
        key("diameter", Whole(0, 64), WHOLE, "").says("most bits in which any two rows of a group differ"),
        key("keep", Keep, WHOLE | SETUP.bit, "\"first\"").says("which row of a group is kept"),
        key("scope", Columns, GUARD.bit, "").says("columns that near rows have in common"),
        key("action", Word(&["reject", "skip", "flag", "log"]), GUARD.bit, "\"reject\"")
            .says("what becomes of a near row"),
        key("flag", Text("a column"), GUARD.bit, "")
            .says("the column that is set to the key of the earlier row, with action flag"),
        key("log", Text("a table"), GUARD.bit, "")
            .says("the table that pairs are written into, with action log"),
        key("index", Word(&["required", "none"]), GUARD.bit, "\"required\"")
            .says("none: the whole table is read for each row if there is no index"),
        key("side", Text("a column"), DEDUP.bit | REPORT.bit | EXPLAIN.bit, "")
            .says("a column of two values, one for each source: a group has at most one row of each"),
        key("many", Truth, LINK.bit, "false")
            .says("whether several rows of b may be one with the same row of a; each row of b is at most once"),
        key("decisions", Table, WHOLE | SETUP.bit, "")
            .says("the table in which people have decided of pairs of rows; dedup_setup makes it"),
        key("title", Text("a text"), REPORT.bit, "").says("the title of the page"),
        key("language", Word(&["en", "zh"]), REPORT.bit, "\"en\"").says("the language of the page"),
        key("labels", Text("a column"), REPORT.bit, "")
            .says("a column: rows of the same value are duplicates"),
        key("show", Columns, REPORT.bit, "").says("columns by which people know a row, beside its id"),
        key("picture", Text("a column"), REPORT.bit, "")
            .says("a column of pictures: bytea, or addresses as text, of http or relative to the page"),
        key("review", Whole(1, MOST_ASKED), REPORT.bit, "")
            .says("how many pairs the page asks about, those of dedup_review; the answers are handed out as SQL and CSV"),
        key("follow", Truth, INTO.bit, "").says("whether a trigger tells what changes at the source"),
        key("nearest", Whole(0, 100), FIND.bit, "0")
            .says("how many of the nearest rows are given where none is repeated"),
        key("decided", Truth, CLEANS, "false")
            .says("whether rows go too that are only decided to be the same"),
        key("archive", Archive, CLEANS, "")
            .says("the table that rows go to; without it TABLE_archive beside theirs, with false none"),
        key("references", Word(&["refuse", "repoint"]), CLEANS, "\"refuse\"")
            .says("what becomes of rows whose foreign keys point at rows that go; repoint: they point at the kept rows"),
        key("fill", Fill, CLEANS, "")
            .says("what kept rows take from those that go: first, where they have nothing; the greatest or least value; all elements of arrays"),
        key("batch", Whole(1, 1_000_000), BATCHES.bit, "10000")
            .says("rows that are removed in one transaction, and those of their groups beyond"),
        key("refit", True, SETUP.bit, "").says("chooses limits anew by what is decided, of records the weights too; alone"),
        key("drop", True, SETUP.bit, "").says("takes the settings away; alone"),
    ]
};

/// What the texts decide where nobody has said it.
pub(super) const BY_TEXTS: [&str; 6] = ["method", "recipe", "distance", "similarity", "n", "details"];

/// What is wrong with options, and the line of the option that has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// What is wrong.
    pub what: String,
    /// What the option is.
    pub hint: String,
}

impl Wrong {
    /// Of an option.
    pub fn of(name: &str, what: impl Into<String>) -> Wrong {
        let key = KEYS.iter().find(|key| key.name == name);
        Wrong { what: what.into(), hint: key.map_or(String::new(), OptionKey::line) }
    }
}

impl OptionKey {
    /// What it is, in a line.
    pub fn line(&self) -> String {
        format!("{}: {}. Default: {}.", self.name, self.says, self.stands_for_it("none"))
    }

    /// Its row of the manual: name, values, default, who takes it, and what it means.
    pub fn row(&self) -> String {
        let sinks: Vec<_> = SINKS.iter().filter(|it| it.bit & self.sinks != 0).map(|it| it.name).collect();
        let value = self.takes.describe(DEDUP, self.sinks & SETUP.bit != 0);
        let default = self.stands_for_it("–");
        format!("`{}` | {value} | {default} | {} | {}", self.name, sinks.join(", "), self.says)
    }

    /// What stands for it if it is not given, in words.
    fn stands_for_it(&self, nothing: &str) -> String {
        let fixed = if self.default.is_empty() { nothing } else { self.default };
        if BY_TEXTS.contains(&self.name) { format!("by the texts, else {fixed}") } else { fixed.to_owned() }
    }

    /// What stands for it.
    pub(super) fn default_value(&self) -> Value {
        serde_json::from_str(self.default).unwrap_or_default()
    }

    fn of_argument(&self, value: &str) -> Value {
        let parts = || value.split(',').map(|part| part.trim().into()).collect();
        match self.takes {
            Takes::Columns | Takes::Words(_) => Value::Array(parts()),
            Takes::Text(_) | Takes::Word(_) | Takes::Method => value.into(),
            _ => serde_json::from_str(value).unwrap_or_else(|_| value.into()),
        }
    }
}

impl Takes {
    /// What it can be; columns have weights where settings are made.
    fn describe(self, sink: Sink, weighted: bool) -> String {
        let list = |words: &[&str]| words.iter().map(|it| format!("\"{it}\"")).collect::<Vec<_>>().join(", ");
        let fixed = match self {
            Takes::Method => return format!("one of {}", list(sink.methods())),
            Takes::Word(words) => return format!("one of {}", list(words)),
            Takes::Words(words) => return format!("an array of {}", list(words)),
            Takes::Whole(least, most) => return format!("a whole number from {least} to {most}"),
            Takes::Text(what) => what,
            Takes::Table if weighted => "a table, or true in dedup_setup for one of its own",
            Takes::Table => "a table",
            Takes::Columns if weighted => {
                "a column, an array of columns, or in dedup_setup an object of columns and their weights or recipes"
            }
            Takes::Columns => "a column or an array of columns",
            Takes::Recipe => "an object",
            Takes::Share => "a number from 0 to 1",
            Takes::Keep => {
                "\"first\", \"last\", \"longest\", or {\"column\": …, \"order\": \"asc\" or \"desc\"}"
            }
            Takes::Archive => "a table or false",
            Takes::Fill => "an object of columns, each \"first\", \"max\", \"min\" or \"union\"",
            Takes::Slots => "an object of words around one ___, each true or false",
            Takes::True => "true",
            Takes::Truth => "true or false",
        };
        fixed.to_owned()
    }

    fn fits(self, sink: Sink, value: &Value) -> bool {
        let is_name = |value: &Value| value.as_str().is_some_and(|name| !name.is_empty());
        let is_one = |words: &[&str], value: &Value| words.iter().any(|word| value == word);
        match self {
            Takes::Text(_) => is_name(value),
            Takes::Table => is_name(value) || sink == SETUP && *value == true,
            Takes::Columns => match value {
                Value::Array(all) => {
                    let names = all.iter().filter(|it| is_name(it)).filter_map(Value::as_str);
                    !all.is_empty() && names.collect::<BTreeSet<_>>().len() == all.len()
                }
                Value::Object(all) => sink == SETUP && !all.is_empty(),
                name => is_name(name),
            },
            Takes::Recipe => value.is_object(),
            Takes::Method => is_one(sink.methods(), value),
            Takes::Word(words) => is_one(words, value),
            Takes::Words(words) => value.as_array().is_some_and(|all| all.iter().all(|it| is_one(words, it))),
            Takes::Whole(least, most) => whole(value).is_some_and(|it| (least..=most).contains(&it)),
            Takes::Share => value.as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)),
            Takes::Keep => match value {
                Value::Object(rule) => {
                    let known = |(name, it): (&String, &Value)| match name.as_str() {
                        "column" => is_name(it),
                        "order" => it == "asc" || it == "desc",
                        _ => false,
                    };
                    rule.contains_key("column") && rule.iter().all(known)
                }
                word => is_one(&["first", "last", "longest"], word),
            },
            Takes::Archive => is_name(value) || *value == false,
            Takes::Fill => value.as_object().is_some_and(|all| {
                !all.is_empty() && all.values().all(|how| is_one(&["first", "max", "min", "union"], how))
            }),
            Takes::Slots => value.as_object().is_some_and(|all| {
                !all.is_empty() && all.iter().all(|(name, it)| around(name).is_some() && it.is_boolean())
            }),
            Takes::True => *value == true,
            Takes::Truth => value.is_boolean(),
        }
    }
}

/// Sees to it that these are options of the sink, each of a value that it can have; tells what is wrong with the first
/// that is not. Null is none.
pub(super) fn check(sink: Sink, options: &Map<String, Value>) -> Result<(), Wrong> {
    for (name, value) in options {
        let Some(key) = sink.keys().find(|key| key.name == name) else {
            return Err(unknown(sink, name));
        };
        if !value.is_null() && !key.takes.fits(sink, value) {
            let wanted = key.takes.describe(sink, sink == SETUP);
            let what = format!("{name} must be {wanted}, not {}", brief(&value.to_string()));
            return Err(Wrong { what, hint: key.line() });
        }
    }
    Ok(())
}

/// The options in arguments `key=value` of a trigger, or what is wrong with the first that is none of the sink.
pub(super) fn of_arguments(sink: Sink, arguments: &[String]) -> Result<Map<String, Value>, Wrong> {
    let mut options = Map::new();
    for argument in arguments {
        let Some((name, value)) = argument.split_once('=') else {
            let what = format!("argument \"{}\" is not of the form key=value", brief(argument));
            let hint = format!("near_dup_guard('fp', 'similarity=0.8') has the keys {}.", names(sink));
            return Err(Wrong { what, hint });
        };
        let (name, value) = (name.trim(), value.trim());
        let key = sink.keys().find(|key| key.name == name).ok_or_else(|| unknown(sink, name))?;
        if options.insert(name.to_owned(), key.of_argument(value)).is_some() {
            return Err(Wrong { what: format!("{name} is given twice"), hint: key.line() });
        }
    }
    Ok(options)
}

fn unknown(sink: Sink, name: &str) -> Wrong {
    let what = format!("unknown option \"{}\"; {} has: {}", brief(name), sink.name, names(sink));
    Wrong { what, hint: "docs/reference.md has a table of all options.".to_owned() }
}

fn names(sink: Sink) -> String {
    sink.keys().map(|key| key.name).collect::<Vec<_>>().join(", ")
}

/// The beginning of what was written, for a message.
pub(super) fn brief(written: &str) -> String {
    const MOST: usize = 100;
    match written.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &written[..end]),
        None => written.to_owned(),
    }
}

/// A non-negative whole number, in any notation: 10, 10.0, 1e1.
pub fn whole(value: &Value) -> Option<u64> {
    let number = value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    number.map(|number| number as u64)
}
