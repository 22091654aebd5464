//! `dedup_suggest`: settings for the texts of a source; `dedup` and the first call of
//! `dedup_into` take them if they are given none.

use super::generated::Generated;
use super::options::as_jsonb;
use super::relation::{Table, TableColumn};
use super::settings::{Settings, chosen_by};
use super::source::Source;
use crate::corpus::{Database, raise_recipe};
use crate::fingerprint::simhash_of;
use crate::pg::{
    Output, QueryHost, for_each_of_query, memory_limit, notice, quoted, raise_mismatch, threads,
    unwrap_or_raise,
};
use dedup_core::dedup::{Method, Written};
use dedup_core::details::{Kinds, Learner, Statistics};
use dedup_core::evaluate::{Background, ByRows, Profile, RadiusRow, TextSample, weighed, without_copies};
use dedup_core::features::TextRecipe;
use dedup_core::fingerprint::Prints;
use dedup_core::records::{Look, Model, Records, Rows};
use dedup_core::text::Normal;
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Texts that are looked at, at most.
pub(crate) const SAMPLE: usize = 20_000;
/// Their bytes at most, but for a single one.
const SAMPLE_BYTES: usize = 64 << 20;

/// Kinds of details in which duplicates may not differ.
pub(crate) const DETAILS: [&str; 2] = ["name", "slot"];

/// Sees all texts and keeps some of them.
pub(crate) struct Sampler(TextSample);

impl Default for Sampler {
    fn default() -> Sampler {
        let bytes = memory_limit().map_or(SAMPLE_BYTES, |limit| SAMPLE_BYTES.min(limit / 4));
        Sampler(TextSample::new(SAMPLE, bytes))
    }
}

impl Sampler {
    pub(crate) fn add(&mut self, content: &str) {
        self.0.add(content);
    }

    /// Settings for the texts beside what is written; `None` if there is no text. The distance is that for `prints`, if there are
    /// some, else for fingerprints by the recipe that is written or suggested.
    pub(crate) fn suggest(self, written: Option<&Written>, prints: Option<Vec<u64>>) -> Option<Suggested> {
        let recipe = written.and_then(|it| it.get("recipe"));
        let seen = self.0.seen;
        let sample = self.0.texts();
        let mut profile = Profile::default();
        sample.iter().for_each(|text| profile.add(text));
        // Of a table that was seen as a whole, those without a letter are not counted.
        let texts = if sample.len() as u64 == seen { profile.texts() as u64 } else { seen };
        if profile.texts() == 0 {
            return None;
        }
        let mut suggestion = profile.suggest(&sample, texts);
        let calibrated_by = |sample: &[&str], recipe: &Value| {
            let mut background = match &prints {
                Some(prints) => Background::measure(&prints[..]),
                None => {
                    let recipe =
                        TextRecipe::resolved(recipe, &Database).unwrap_or_else(|error| raise_recipe(error));
                    let prints = sample.iter().filter_map(|content| simhash_of(content, &recipe));
                    Background::measure(&prints.collect::<Vec<u64>>()[..])
                }
            };
            background.rows = texts;
            (background.calibrate(), background)
        };
        let all: Vec<&str> = sample.iter().map(String::as_str).collect();
        let calibrated = |recipe: &Value| calibrated_by(&all, recipe);
        let (mut calibration, mut background) = calibrated(recipe.unwrap_or(&suggestion.recipe));
        let is_plain = recipe.is_none_or(|recipe| *recipe == suggestion.recipe);
        let is_open = is_plain && prints.is_none() && !suggestion.short && !suggestion.framed;
        if is_open
            && f64::from(calibration.once) < suggestion.expected_distance
            && let Some(weighed) = weighed(&suggestion.recipe, &sample)
        {
            let by_words = calibrated(&weighed);
            let unlike = || {
                let (n, least) = (suggestion.n as usize, suggestion.threshold);
                // By other details, or nearly equal texts, copies may be none.
                let details = written.and_then(|it| it.get("details")).is_none_or(|it| *it == json!(DETAILS));
                let similarity = written.and_then(|it| it.share("similarity")).is_none_or(|it| it <= least);
                let kinds = Kinds::parse(DETAILS).ok().filter(|_| details && similarity)?;
                let normal = TextRecipe::resolved(&weighed, &Database).ok()?.normal;
                without_copies(&sample, n, least, kinds, normal)
            };
            if by_words.0.once <= calibration.once {
                // They would find no more.
            } else if let Some(unlike) = unlike() {
                (calibration, background) = calibrated_by(&unlike, &suggestion.recipe);
                suggestion.reason += " Nearly all that are alike are copies of each other.";
            } else if recipe.is_none() {
                (calibration, background) = by_words;
                suggestion.recipe = weighed;
                suggestion.reason += " Most of what a text says many others say: words that many have count less (dedup_suggest lists them).";
            }
        }
        let distance = calibration.once;
        let wider = distance > calibration.verified;
        let few = if wider { "a million unrelated candidates" } else { "ten unrelated candidates per row" };
        let reason = format!(
            "{} Distance {distance} is the widest that lets in at most {few}; texts of Jaccard {} are {:.0} bits apart on \
             average. Texts that name different things are no duplicates.",
            suggestion.reason, suggestion.threshold, suggestion.expected_distance
        );
        let (n, similarity) = (suggestion.n, suggestion.threshold);
        let by_rows = background.by_rows();
        Some(Suggested {
            method: if suggestion.compares_texts(distance) { Method::Text } else { Method::Fingerprint },
            recipe: suggestion.recipe,
            distance,
            by_rows,
            n,
            similarity,
            reason,
        })
    }
}

pub(crate) struct Suggested {
    /// How near rows are found.
    pub method: Method,
    pub recipe: Value,
    pub distance: u32,
    /// The distance when the table has grown.
    pub by_rows: ByRows,
    pub n: u32,
    pub similarity: f64,
    pub reason: String,
}

impl Suggested {
    fn options(&self) -> Map<String, Value> {
        let Suggested { method, recipe, distance, n, similarity, .. } = self;
        let others = json!({"recipe": recipe, "distance": distance, "similarity": similarity, "n": n, "details": DETAILS});
        chosen_by(*method, others)
    }

    /// Adds what is not written, and emits a notice of that.
    pub(crate) fn complete(&self, written: &mut Written, function: &str) {
        let mut options = self.options();
        if written.has("fp") {
            // They are there already, and to be compared.
            options.remove("recipe");
            options.remove("method");
        }
        let chosen = written.over(&options);
        // The reason is that of all of them together.
        let reason =
            if chosen.len() == options.len() && !written.has("fp") { self.reason.as_str() } else { "" };
        announce(function, &chosen, reason);
    }
}

pub(crate) fn announce(function: &str, chosen: &Map<String, Value>, reason: &str) {
    if chosen.is_empty() {
        return;
    }
    notice(format!("{function} chose {}", listed(chosen)), reason, "");
}

/// Options in the order of the manual; of many words their number.
fn listed(chosen: &Map<String, Value>) -> String {
    const ORDER: [&str; 6] = ["method", "recipe", "distance", "similarity", "n", "details"];
    let option = |name: &&str| {
        let mut value = chosen.get(*name)?.clone();
        if let Some(terms) = value.get_mut("terms").filter(|it| it.as_object().is_some_and(|it| it.len() > 5))
        {
            *terms = format!("{} words", terms.as_object().map_or(0, Map::len)).into();
        }
        Some(format!("\"{name}\": {}", as_jsonb(&value)))
    };
    format!("{{{}}}", ORDER.iter().filter_map(option).collect::<Vec<_>>().join(", "))
}

/// The distance of hashes of which these are some, among so many rows; says what it is chosen by, and where it is not certain.
pub(crate) fn distance_of_hashes(function: &str, prints: Prints, rows: u64) -> u32 {
    let mut background = Background::measure(prints);
    background.rows = rows;
    let RadiusRow { radius, false_pairs, nearest, .. } = background.of_hashes();
    let near = (nearest * background.nearest.len() as f64).round();
    let reason = format!(
        "The hashes have {} bits. Of {rows} rows {false_pairs:.1} pairs are expected to be so near by chance, if rows that are \
         no copies are independent of each other; of {} rows that were looked at {near} have another one so near.",
        prints.bits(),
        background.nearest.len(),
    );
    announce(function, &chosen_by(Method::Hash, json!({"distance": radius})), &reason);
    radius
}

/// Emits a notice where a given option makes fingerprints decide instead of texts.
pub(crate) fn announce_implied(function: &str, implied: Option<&str>) {
    if let Some(name) = implied {
        let message = format!("{function}: {name} is given, so method is \"fingerprint\", not \"text\"");
        notice(message, "", "Give method too to have both.");
    }
}

/// Shows the texts of a query, in its second column or the only one.
fn each_text(query: &str, mut see: impl FnMut(&str)) {
    for_each_of_query(query, &[], |columns| {
        if columns.is_empty() {
            raise_mismatch(
                "the query returns no column",
                "The query returns the text, or the row's id and the text.",
            )
        }
        // The same query does for dedup: its second column is the text.
        let at = usize::from(columns.len() > 1);
        columns[at].check_no_digits();
        let see = &mut see;
        move |row| {
            if let Some(content) = row.written(at) {
                see(&content);
            }
        }
    });
}

pub(crate) fn sample(query: &str) -> Sampler {
    let mut sampler = Sampler::default();
    each_text(query, |content| sampler.add(content));
    sampler
}

/// What the texts of a query have in common that `normal` reads.
pub(crate) fn statistics(query: &str, normal: Normal, n: usize) -> Statistics {
    let mut learner = Learner::default();
    each_text(query, |content| learner.add(&normal.plain(content)));
    learner.learn(n)
}

/// The column by whose values rows are kept, if they are.
pub(crate) fn column_kept_by(written: &Written) -> Option<&str> {
    written.get("keep")?.get("column")?.as_str()
}

/// The column of hashes that `fp` names where nothing says that something else is compared. A bigint is the fingerprint of a text,
/// if there is one.
pub(crate) fn hash_column<'t>(table: &'t Table, written: &Written) -> Option<&'t TableColumn> {
    let is_open = !written.has("columns") && !written.has("method") && !written.is_null("method");
    let name = written.text("fp").filter(|_| is_open)?;
    let column = table.find(name)?;
    let text = || table.columns.iter().any(|it| it.is_any_text() && !table.key.contains(&it.name));
    let is_hash = match column.base_type() {
        pg_sys::BITOID => true,
        pg_sys::INT8OID => Generated::of(table.oid, name).is_none() && !text(),
        _ => false,
    };
    is_hash.then_some(column)
}

/// Names the columns of a table of which several are text, where nothing says what is compared, and the method if they are
/// those of records: by the rows; or that hashes are compared.
pub(crate) fn choose_columns(function: &str, table: &Table, written: &mut Written) {
    if Settings::of(table.oid).is_none()
        && let Some(column) = hash_column(table, written)
    {
        written.take("fp");
        written.add("columns", column.name.as_str().into());
        written.add("method", Method::Hash.name().into());
        return;
    }
    let open = !written.has("method") && !written.is_null("method") && !written.excludes(Method::Records);
    if written.has("columns") || !(open || written.by_records()) || Settings::of(table.oid).is_some() {
        return;
    }
    let keep = column_kept_by(written);
    let named: Vec<&str> =
        ["id", "side"].into_iter().filter_map(|name| written.text(name)).chain(keep).collect();
    let columns = table.record_columns(&named);
    let names: Vec<&str> = columns.iter().map(|column| column.name.as_str()).collect();
    if columns.iter().filter(|column| column.is_any_text()).count() < 2 {
        return;
    }
    let listed: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let of_rows = || {
        let list: Vec<String> = listed.iter().map(|name| format!("t.{name}")).collect();
        records_of(&format!("SELECT {} FROM {} AS t LIMIT {SAMPLE}", list.join(", "), table.name)).0
    };
    let look = if written.by_records() { Look::Records(Vec::new()) } else { of_rows().look() };
    let one = |at: usize, why: &str| {
        let what = format!("{function} compares column {} of {}", listed[at], table.name);
        (what, vec![names[at]], why.to_owned())
    };
    let (what, columns, why) = match &look {
        Look::Records(identify) => {
            let identify: Vec<&str> = identify.iter().map(|&at| listed[at].as_str()).collect();
            let which = if identify.is_empty() { "all together".to_owned() } else { identify.join(", ") };
            let why = format!("No column is running text, and {which} seldom agree by chance.");
            (format!("{function} takes {} for records of {}", table.name, listed.join(", ")), names, why)
        }
        Look::Text(at) => one(*at, "It is the only column of running text."),
        Look::Title(at) => one(*at, "It alone identifies, and nearly all rows have it."),
        Look::Unclear => return,
    };
    let columns = Value::from(columns);
    if !written.by_records() {
        notice(what, why, "Options that name columns or a method say otherwise.");
    }
    written.add("columns", columns);
    if matches!(look, Look::Records(_)) {
        written.add("method", Method::Records.name().into());
    }
}

/// What agreement of each column of a query tells, and how many rows it was learned from.
pub(crate) fn learn_records(query: &str) -> (Arc<Model>, usize) {
    let (rows, count) = records_of(query);
    let learned = unwrap_or_raise(Records::learn(rows.without_copies(), threads(), &mut QueryHost::quiet()));
    (Arc::clone(&learned.0.model), count)
}

/// The rows of a query, and how many there are.
fn records_of(query: &str) -> (Rows, usize) {
    let (mut rows, mut count) = (None, 0);
    for_each_of_query(query, &[], |columns| {
        let columns = columns.len();
        let rows = rows.insert(Rows::new(columns, 0));
        let count = &mut count;
        move |row| {
            *count += 1;
            let values: Vec<Option<String>> = (0..columns).map(|at| row.written(at)).collect();
            rows.add(values.iter().map(Option::as_deref));
        }
    });
    (rows.unwrap_or_default(), count)
}

#[pg_extern(sql = "")]
fn dedup_suggest(source: Option<&str>, fcinfo: pg_sys::FunctionCallInfo) {
    let mut output = Output::begin(fcinfo);
    let Some(suggested) = sample(&Source::new(source).contents()).suggest(None, None) else {
        notice!("the source has no text, so there is nothing to suggest settings for");
        return;
    };
    let by_text = suggested.method == Method::Text;
    let method = if by_text { "near_dup_pairs by text" } else { "near_dup + ngram_jaccard" };
    let options = JsonB(Value::Object(suggested.options()));
    let Suggested { recipe, distance, n, similarity, reason, .. } = suggested;
    let (distance, n) = (distance as i32, n as i32);
    let [recipe, options] = [JsonB(recipe), options].map(IntoDatum::into_datum);
    let [method, reason] = [method, &reason].map(IntoDatum::into_datum);
    // SAFETY: the columns are declared so.
    unsafe {
        let (distance, n) = (distance.into_datum(), n.into_datum());
        output.add([method, recipe, distance, n, similarity.into_datum(), options, reason])
    };
}
