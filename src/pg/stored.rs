//! Corpora and dictionaries out of the extension's tables. A version never
//! changes, so it is kept by the process until one is dropped.

use super::query::{read, schema};
use super::raise;
use super::recipe::forget_recipes;
use super::stale;
use dedup_core::features::{Corpus, Dictionary, RecipeError, Resolver, Shape, TextRecipe, missing};
use pgrx::{PgSqlErrorCode, PgSubXactCallbackEvent, PgXactCallbackEvent, pg_sys};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

thread_local! {
    static CORPORA: RefCell<HashMap<String, Arc<Corpus>>> = RefCell::default();
    static DICTIONARIES: RefCell<HashMap<String, Arc<Dictionary>>> = RefCell::default();
}

/// Finds corpora and dictionaries in the database.
pub(crate) struct Database;

impl Resolver for Database {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        kept(&CORPORA, name, || load_corpus(name))
    }

    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        kept(&DICTIONARIES, name, || load_dictionary(name))
    }
}

type Kept<T> = std::thread::LocalKey<RefCell<HashMap<String, Arc<T>>>>;

fn kept<T>(
    cache: &'static Kept<T>,
    name: &str,
    load: impl FnOnce() -> Result<T, RecipeError>,
) -> Result<Arc<T>, RecipeError> {
    forget_dropped();
    if let Some(found) = cache.with_borrow(|kept| kept.get(name).map(Arc::clone)) {
        return Ok(found);
    }
    stale::watch(tables());
    let loaded = Arc::new(load()?);
    cache.with_borrow_mut(|kept| kept.insert(name.to_owned(), Arc::clone(&loaded)));
    Ok(loaded)
}

/// The parts of `petitions@1`.
pub(crate) fn split_name(name: &str) -> Option<(&str, &str)> {
    let (base, version) = name.split_once('@')?;
    let plain =
        !version.is_empty() && !version.starts_with('0') && version.bytes().all(|b| b.is_ascii_digit());
    (plain && !base.is_empty() && version.len() < 10).then_some((base, version))
}

/// The columns, as text or bytes, of the version called `name`: of its row, or
/// (while a restore has not loaded the row) of the function that carries the
/// version through a dump; or the error that names those there are.
pub(crate) fn stored_row(kind: &str, columns: &str, name: &str) -> Result<Vec<Option<Vec<u8>>>, RecipeError> {
    let table = format!("{}._dedup_{kind}", schema());
    let found = split_name(name).and_then(|(base, version)| {
        let query = format!(
            "SELECT {columns} FROM {table} WHERE name OPERATOR(pg_catalog.=) $1 \
             AND version OPERATOR(pg_catalog.=) $2::pg_catalog.int4 AND NOT dropped"
        );
        read(&query, &[base, version]).pop().or_else(|| {
            let query =
                format!("SELECT {columns} FROM {}._dedup_{kind}_carried($1, $2::pg_catalog.int4)", schema());
            read(&query, &[base, version]).pop()
        })
    });
    found.ok_or_else(|| {
        let query = format!(
            "SELECT pg_catalog.concat(name, '@', version) FROM {table} WHERE NOT dropped ORDER BY name, version DESC"
        );
        let known: Vec<String> = read(&query, &[]).into_iter().flatten().flatten().map(text).collect();
        missing(kind, name, &known[..known.len().min(20)])
    })
}

fn load_corpus(name: &str) -> Result<Corpus, RecipeError> {
    let mut row = stored_row("corpus", "documents::pg_catalog.text, recipe::pg_catalog.text, common", name)?
        .into_iter()
        .flatten();
    let (Some(documents), Some(recipe), Some(common)) =
        (row.next().map(text), row.next().map(text), row.next())
    else {
        damaged("corpus", name)
    };
    let shape = shape(&recipe)?;
    let corpus = documents.parse().ok().and_then(|documents| Corpus::new(name, shape, documents, &common));
    Ok(corpus.unwrap_or_else(|| damaged("corpus", name)))
}

/// The shape that is stored with a corpus.
fn shape(recipe: &str) -> Result<Shape, RecipeError> {
    let json: Value = serde_json::from_str(recipe).unwrap_or_default();
    Ok(Shape::of(&TextRecipe::resolved(&json, &Database)?))
}

fn load_dictionary(name: &str) -> Result<Dictionary, RecipeError> {
    let mut row = stored_row("dictionary", "words, stop_words", name)?.into_iter().flatten().map(text);
    let (Some(words), Some(stop)) = (row.next(), row.next()) else { damaged("dictionary", name) };
    Ok(Dictionary::new(name, words, stop.lines()))
}

fn damaged(kind: &str, name: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!("{kind} \"{name}\" cannot be read"),
        "Its row was not written by pg_dedup.",
    )
}

/// Bytes of a text column.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// To be called before a version is written: if the transaction or
/// subtransaction is rolled back, the number will be given to other content,
/// and what this process may have kept of it must go.
pub(crate) fn forget_if_rolled_back() {
    pgrx::register_xact_callback(PgXactCallbackEvent::Abort, forget);
    pgrx::register_subxact_callback(PgSubXactCallbackEvent::AbortSub, |_, _| forget());
}

/// The tables of corpora and dictionaries.
fn tables() -> [pg_sys::Oid; 2] {
    let schema = schema();
    ["corpus", "dictionary"].map(|kind| {
        let query = "SELECT $1::pg_catalog.regclass::pg_catalog.oid::pg_catalog.text";
        let rows = read(query, &[&format!("{schema}._dedup_{kind}")]);
        let oid = rows.into_iter().flatten().flatten().next().map(text);
        pg_sys::Oid::from(oid.and_then(|oid| oid.parse::<u32>().ok()).unwrap_or(0))
    })
}

/// Lets all sessions know, when this transaction commits, that a version is no
/// more.
pub(crate) fn tell_dropped() {
    stale::tell(tables());
}

/// Forgets what is kept if a version has been dropped since.
pub(super) fn forget_dropped() {
    if stale::is_stale() {
        forget();
    }
}

fn forget() {
    CORPORA.with_borrow_mut(HashMap::clear);
    DICTIONARIES.with_borrow_mut(HashMap::clear);
    forget_recipes();
}
