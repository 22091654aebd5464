//! `dedup_find`: which rows of a table a new text or row repeats, and why.

use crate::banding::{bits_of, raise_lengths};
use crate::fingerprint::bag_of_values;
use crate::pg::{
    Argument, Json, Output, Record, Values, base_type, base_type_name, equality, query_all, quote_identifier,
    raise_mismatch, required, schema, with_settings,
};
use crate::similarity::query;
use crate::table::{
    DecisionTable, Settings, Table, as_key, joined, key, read_options, refuse_hash, refuse_option,
};
use dedup_core::dedup::{Alike, Comparable, FIND, Method};
use dedup_core::features::{Bag, RowRecipe, Shared, shared};
use dedup_core::fingerprint::parts_of_written;
use pgrx::AnyElement;
use pgrx::prelude::*;
use std::collections::HashMap;
use std::rc::Rc;

/// Features in each list of a row found.
const SHOWN: usize = 5;

/// Rows at a time of which the nearest by text are chosen, and a similarity that is as good as none.
const LOOKED_AT: usize = 10_000;
const FAR: f64 = 0.01;

/// How many rows are asked for where none is repeated.
///
/// # Safety
/// The call is one whose last argument is declared as `jsonb`.
unsafe fn nearest(fcinfo: pg_sys::FunctionCallInfo) -> usize {
    // SAFETY: the caller's promise.
    let options = unsafe { pgrx::pg_getarg::<Json>(fcinfo, (*fcinfo).nargs as usize - 1) };
    read_options(FIND, options).whole("nearest").unwrap_or(0) as usize
}

#[pg_extern(sql = "")]
fn dedup_find_text(
    tbl: Option<&str>,
    content: Option<&str>,
    distance: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    find_text(&needed(tbl), content.map(str::to_owned), distance, fcinfo);
}

/// The parts of a hash as PostgreSQL writes bits.
fn in_bits(parts: &[u64]) -> String {
    parts.iter().map(|part| format!("{part:064b}")).collect()
}

fn needed(tbl: Option<&str>) -> Rc<Settings> {
    Settings::needed(Table::named("tbl", required(tbl, "the table", "Name a table: 'ticket'.")).oid)
}

/// Finds what stands for one column.
fn find_text(
    settings: &Settings,
    content: Option<String>,
    distance: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    // SAFETY: declared so in sql/setup.sql.
    let nearest = unsafe { nearest(fcinfo) };
    let mut output = Output::begin(fcinfo);
    let mut values = vec![None; settings.columns.len()];
    values[settings.main_column()] = content;
    let text = settings.content(&values);
    let new = New { is_row: false, text, values, own: None, decided: HashMap::new(), nearest };
    let table = Table::of(settings.table);
    iso(|| new.find(settings, &table, distance, &mut output, "dedup_find(tbl, content, distance"));
}

#[pg_extern(sql = "")]
fn dedup_find_hash(
    tbl: Option<&str>,
    hash: Option<AnyElement>,
    distance: Option<i32>,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let settings = needed(tbl);
    if settings.method != Method::Hash {
        raise_mismatch(
            format!("table {} has no hashes by its settings", settings.table_name()),
            "dedup_find(tbl, content) looks for a text; dedup_setup with fp and \"method\": \"hash\" makes them settings of hashes.",
        )
    }
    let written = hash.map(|hash| {
        if hash.oid() == pg_sys::INT8OID {
            return (hash.datum().value() as i64).to_string();
        }
        // SAFETY: declared as bigint or bit in sql/setup.sql.
        let (bits, parts) = unsafe { bits_of(hash.datum()) };
        let mut written = in_bits(&parts);
        written.truncate(bits as usize);
        if !matches!(bits, 64 | 128 | 256) {
            refuse_hash(&written)
        }
        written
    });
    find_text(&settings, written, distance, fcinfo);
}

#[pg_extern(sql = "")]
fn dedup_find_row(row: Option<Record>, distance: Option<i32>, fcinfo: pg_sys::FunctionCallInfo) {
    // SAFETY: declared so in sql/setup.sql.
    let nearest = unsafe { nearest(fcinfo) };
    let Some(row) = row else {
        Output::begin(fcinfo);
        return;
    };
    let settings = Settings::of_row(&row);
    let mut output = Output::begin(fcinfo);
    let values = iso(|| settings.values_of(&row));
    let text = settings.content(&values);
    let table = Table::of(settings.table);
    let id = table.id(None);
    let written = row.row().column(id).and_then(|(_, typoid)| Some(as_key(row.row().text(id)?, typoid)));
    let decisions = settings.decisions().map(DecisionTable::named);
    let decided = decisions.zip(written).map(|(table, own)| table.of_row(&own)).unwrap_or_default();
    // SAFETY: the row is one of the table, which has the column.
    let own = unsafe { row.row().value(id) }.and_then(|(value, typoid)| {
        // Of the base type: somebody else may have made an operator for a domain.
        let equals = format!("::{} {}", base_type_name(typoid), equality(typoid)?);
        // SAFETY: the value is of the column's type, and so of the one that it is a domain over.
        Some((equals, unsafe { Argument::of_type(value, base_type(typoid)) }))
    });
    let new = New { is_row: true, values, text, own, decided, nearest };
    iso(|| new.find(&settings, &table, distance, &mut output, "dedup_find(row, distance"));
}

/// Days are written alike in all sessions.
fn iso<R>(work: impl FnOnce() -> R) -> R {
    with_settings(&[("datestyle", "ISO")], work)
}

enum By {
    /// Fingerprints within a distance.
    Distance(i32),
    /// The texts.
    Text,
    /// Nothing that could be near: a text without features repeats only equal ones.
    Equality,
    /// What people have decided.
    Decision,
    /// The order of the fingerprints.
    Order,
}

struct Candidate {
    /// As its type writes it.
    id: Option<Vec<u8>>,
    distance: Option<i32>,
    values: Vec<Option<String>>,
    text: Option<String>,
    /// Whether it is decided to be the same.
    decided: Option<bool>,
}

/// What is looked for.
struct New {
    /// A row, and not a text that stands for one column.
    is_row: bool,
    /// The values of the columns that count.
    values: Vec<Option<String>>,
    /// What is compared.
    text: Option<String>,
    /// The key of the row itself, and the cast and the operator that find it.
    own: Option<(String, Argument)>,
    /// Rows that are the same or not by what people have decided, by their ids.
    decided: HashMap<String, bool>,
    /// How many of the nearest rows are given where none is repeated.
    nearest: usize,
}

impl New {
    fn find(
        &self,
        settings: &Settings,
        table: &Table,
        distance: Option<i32>,
        output: &mut Output,
        call: &str,
    ) {
        settings.tell_age();
        let by_hash = settings.method == Method::Hash;
        let by_text = distance.is_none() && !by_hash && settings.method != Method::Fingerprint;
        if settings.method == Method::Records && distance.is_some() {
            refuse_option("distance", "method \"records\" has no distance: it is learned from the table")
        }
        let hash = self.text.as_deref().filter(|_| by_hash);
        let hash = hash.map(|it| parts_of_written(it).unwrap_or_else(|| refuse_hash(it)));
        let most = 64 * hash.as_ref().map_or(1, Vec::len) as i32;
        let fp_type = table.column(&settings.fp).base_type();
        if by_hash && fp_type == pg_sys::INT8OID && most > 64 {
            raise_lengths(64, most)
        }
        // The column may have become one of shorter hashes.
        let distance = distance.unwrap_or((settings.distance() as i32).min(most));
        if !(0..=most).contains(&distance) {
            refuse_option(
                "distance",
                format!("distance must be a whole number from 0 to {most}, not {distance}"),
            )
        }
        let (recipe, bag) = (settings.text_recipe(), bag_of_values(&self.values, &settings.recipe()));
        let kind = |text: Option<&str>| text.map_or(Comparable::Empty, |text| Comparable::of(text, &recipe));
        let same = |(id, same): (&String, &bool)| same.then(|| id.clone());
        let decided: Vec<String> = self.decided.iter().filter_map(same).collect();
        let by = match (kind(self.text.as_deref()), bag.simhash()) {
            (Comparable::Empty, _) if decided.len() > 1 => By::Decision,
            (Comparable::Empty, _) => {
                let what = if by_hash { "there is no hash" } else { "the text has no word that counts" };
                notice!("there is nothing to compare: {what}");
                return;
            }
            (Comparable::Near, _) if by_text => By::Text,
            (Comparable::Near, Some(_)) => By::Distance(distance),
            _ if by_hash => By::Distance(distance),
            _ => By::Equality,
        };
        let ids = table.ids(output.type_of(0), call);
        // A hash is its own fingerprint.
        let fp = hash.as_ref().map_or_else(|| bag.simhash(), |it| it.first().copied()).map(u64::cast_signed);
        let bits = hash.as_deref().map(in_bits);
        let alike = settings.alike();
        let grams = self.text.as_deref().filter(|_| matches!(by, By::Text)).map(|text| alike.query(text));
        let grams = grams.map(|(least, grams)| query(least, grams));
        // Its own id is among those.
        let is_decided = decided.len() > 1;
        let [text, decided] = [Argument::of(bits.or_else(|| self.text.clone())), Argument::of(decided)];
        let mut arguments = vec![Argument::of(fp), text, Argument::of(grams), decided];
        arguments.extend(self.own.as_ref().map(|(_, id)| *id));
        let why = Why::new(settings, &self.values);
        let id_type = table.column(table.id(None)).base_type();
        let read = |row: &Values<'_>| {
            let values: Vec<_> = (0..settings.columns.len()).map(|at| row.text(2 + at)).collect();
            let text = settings.content(&values);
            let decided = key(row, 0, id_type).and_then(|id| self.decided.get(&id)).copied();
            let id = row.get(0).map(|_| {
                let mut bytes = Vec::new();
                ids.write_id(row, &mut bytes);
                bytes
            });
            let distance = row.get(1).map(|bits| bits.value() as i32);
            Candidate { id, distance, values, text, decided }
        };
        let sql = |by: &By, end: &str| {
            let sql = self.statement(settings, (by, fp.is_some(), fp_type), table, end);
            debug1!("dedup_find runs: {sql}");
            sql
        };
        let run = |by: &By, end: &str| query_all(&sql(by, end), &arguments, read);
        let new = self.text.as_deref().unwrap_or("");
        let is_near = |it: &Candidate| kind(it.text.as_deref()) == Comparable::Near;
        let likeness = |it: &Candidate| match it.distance {
            // The share of bits that are equal.
            Some(distance) if by_hash => Some(1.0 - f64::from(distance) / f64::from(most)),
            _ => it.text.as_deref().map(|text| alike.likeness(new, text)),
        };
        let mut found = Vec::new();
        if !matches!(by, By::Decision) {
            let mut near = run(&by, " ORDER BY 1");
            let equals = matches!(by, By::Equality);
            let counts = |it: &Candidate| if equals { it.text == self.text } else { is_near(it) };
            near.retain(|it| it.decided.is_none() && counts(it));
            let texts: Vec<&str> = near.iter().filter_map(|it| it.text.as_deref()).collect();
            let similar = match () {
                () if equals => vec![Some(1.0); near.len()],
                () if by_hash => near.iter().map(likeness).collect(),
                () => alike.many(new, &texts),
            };
            let alike = near.into_iter().zip(similar).filter(|(_, similarity)| similarity.is_some());
            found.extend(alike);
        }
        if is_decided {
            let decided = run(&By::Decision, " ORDER BY 1").into_iter();
            found.extend(decided.map(|it| (likeness(&it), it)).map(|(of, it)| (it, of)));
        }
        let repeats = !found.is_empty();
        if !repeats && self.nearest > 0 {
            match by {
                By::Text => {
                    let (_, grams) = Alike { similarity: FAR, ..alike.clone() }.query(new);
                    let sql = sql(&by, &format!(" LIMIT {LOOKED_AT}"));
                    // Those first that share most. Of records the keys say nothing of how probable it is.
                    let is_of_records = settings.method == Method::Records;
                    let (mut least, mut rows) = (if is_of_records { 2 } else { grams.len() + 1 }, 0);
                    while least > 1 && rows < LOOKED_AT {
                        (least, rows) = (least / 2, 0);
                        let mut arguments = arguments.clone();
                        arguments[2] = Argument::of(query(least, grams.clone()));
                        query_all(&sql, &arguments, |row| {
                            rows += 1;
                            let it = read(row);
                            let of = likeness(&it);
                            let at = found.partition_point(|(_, other)| *other >= of);
                            let is_new = !found.iter().any(|(other, _)| other.id == it.id);
                            if at < self.nearest && is_near(&it) && is_new {
                                found.truncate(self.nearest - 1);
                                found.insert(at, (it, of));
                            }
                        });
                    }
                }
                By::Distance(_) => {
                    let mut most = self.nearest;
                    let mut near = loop {
                        let mut all = run(&By::Order, &format!(" ORDER BY 2 LIMIT {most}"));
                        let is_all = all.len() < most || most >= LOOKED_AT;
                        all.retain(is_near);
                        if is_all || all.len() >= self.nearest {
                            break all;
                        }
                        most = LOOKED_AT.min(8 * most);
                    };
                    near.truncate(self.nearest);
                    found.extend(near.into_iter().map(|it| (likeness(&it), it)).map(|(of, it)| (it, of)));
                }
                _ => {}
            }
        }
        // Equals stay in the order of their ids.
        found.sort_by(|a, b| {
            let far = |it: &Candidate| (it.distance.is_none(), it.distance);
            let nearest = far(&a.0).cmp(&far(&b.0));
            let most_similar = b.1.unwrap_or(0.0).total_cmp(&a.1.unwrap_or(0.0));
            if by_text { most_similar.then(nearest) } else { nearest.then(most_similar) }
        });
        for (Candidate { id, distance, values, decided, .. }, similarity) in found {
            let Shared { both, only_a, only_b } = why.of(&values);
            let [shared, only_new, only_row] = [both, only_a, only_b].map(|list| list.into_datum());
            // SAFETY: the ids are written as their type has it; the others are as declared.
            unsafe {
                let id = id.map(|id| ids.make(&id));
                let [distance, similarity] = [distance.into_datum(), similarity.into_datum()];
                let [decided, repeats] = [decided, Some(repeats)].map(IntoDatum::into_datum);
                output.add([id, distance, similarity, shared, only_new, only_row, decided, repeats]);
            }
        }
    }

    /// The search for rows that the judge looks at: $1 is the fingerprint, $2 the text, $3 what the index of n-grams is asked for, $4 ids of
    /// decisions, $5 the row's own id. `end` says in which order they come, and how many.
    fn statement(
        &self,
        settings: &Settings,
        (by, has_fp, fp_type): (&By, bool, pg_sys::Oid),
        table: &Table,
        end: &str,
    ) -> String {
        let tools = schema();
        let (new, apart) = match fp_type {
            pg_sys::BITOID => ("$2::pg_catalog.\"bit\"", "<->"),
            _ => ("$1", "<~>"),
        };
        let (fp, text) = (quote_identifier(&settings.fp), joined(&settings.texts()));
        let candidates = match by {
            By::Distance(distance) => format!("{tools}.near_dup(t.{fp}, {new}, {distance})"),
            By::Text => {
                let searched = settings.searched().call(&tools, table, &settings.texts());
                format!("{searched} OPERATOR({tools}.@%) $3")
            }
            // What the fingerprint is of beside the text must be equal too, if it is known.
            By::Equality => {
                let is_whole = self.is_row || settings.columns.len() == settings.texts().len();
                let same = match has_fp {
                    true => Some(format!("t.{fp} OPERATOR(pg_catalog.=) $1")),
                    false => is_whole.then(|| format!("t.{fp} IS NULL")),
                };
                // Records are compared as they are joined.
                let by_text = settings.method != Method::Records;
                let text = by_text.then(|| format!("{text} OPERATOR(pg_catalog.=) $2"));
                same.into_iter().chain(text).collect::<Vec<_>>().join(" AND ")
            }
            By::Order => format!("t.{fp} IS NOT NULL"),
            By::Decision => {
                let (column, id) = (quote_identifier(table.id(None)), table.column(table.id(None)).typoid);
                let (base, equals) = (base_type_name(id), equality(id).unwrap_or_default());
                format!("t.{column}::{base} {equals} ANY ($4::pg_catalog.text[]::{base}[])")
            }
        };
        let id = quote_identifier(table.id(None));
        let own = self.own.as_ref().map(|(equals, _)| format!(" AND NOT (t.{id}{equals} $5)"));
        let value = |name: &String| format!(", t.{}::pg_catalog.text", quote_identifier(name));
        let values: String = settings.columns.iter().map(value).collect();
        format!(
            "SELECT t.{id}, t.{fp} OPERATOR({tools}.{apart}) {new}{values} FROM {} AS t WHERE {candidates}{}{end}",
            table.name,
            own.unwrap_or_default(),
        )
    }
}

/// What a row has in common with the new one, in words where there are words.
struct Why {
    recipe: RowRecipe,
    new: Bag,
}

impl Why {
    fn new(settings: &Settings, values: &[Option<String>]) -> Why {
        let mut recipe = settings.recipe();
        for ((number, _), name) in recipe.columns.iter_mut().zip(&settings.columns) {
            number.clone_from(name);
        }
        let in_words = recipe.clone().in_words();
        let new = bag_of_values(values, &in_words);
        match new.features().is_empty() {
            true => Why { new: bag_of_values(values, &recipe), recipe },
            false => Why { new, recipe: in_words },
        }
    }

    fn of(&self, row: &[Option<String>]) -> Shared {
        shared(&self.new, &bag_of_values(row, &self.recipe), SHOWN)
    }
}
