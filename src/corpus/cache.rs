//! The cache of corpora and dictionaries. A version never changes, so it is cached until any
//! version is dropped.

use super::invalidate;
use super::versions::{check_shown, stored_row};
use crate::pg::catalog::schema;
use crate::pg::raise;
use crate::pg::spi::{Argument, scalar};
use dedup_core::features::{Corpus, Dictionary, RecipeError, Resolver, TextRecipe};
use pgrx::{PgSqlErrorCode, PgSubXactCallbackEvent, PgXactCallbackEvent, pg_sys};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

thread_local! {
    static CORPORA: RefCell<HashMap<String, Arc<Corpus>>> = RefCell::default();
    static DICTIONARIES: RefCell<HashMap<String, Arc<Dictionary>>> = RefCell::default();
    /// Called when the caches are emptied.
    static ALSO: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Sets a function that is called whenever the caches are emptied.
pub(super) fn on_forget(also: fn()) {
    ALSO.set(Some(also));
}

/// Finds corpora and dictionaries in the database.
pub(crate) struct Database;

impl Resolver for Database {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        cached(&CORPORA, name, || load_corpus(name))
    }

    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        cached(&DICTIONARIES, name, || load_dictionary(name))
    }
}

/// Finds those of which the user may see words and weights; others are an error, 42501.
pub(super) struct Shown;

impl Resolver for Shown {
    fn corpus(&self, name: &str) -> Result<Arc<Corpus>, RecipeError> {
        check_shown("corpus", name);
        Database.corpus(name)
    }

    fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
        check_shown("dictionary", name);
        Database.dictionary(name)
    }
}

type Cache<T> = std::thread::LocalKey<RefCell<HashMap<String, Arc<T>>>>;

fn cached<T>(
    cache: &'static Cache<T>,
    name: &str,
    load: impl FnOnce() -> Result<T, RecipeError>,
) -> Result<Arc<T>, RecipeError> {
    forget_dropped();
    if let Some(found) = cache.with_borrow(|kept| kept.get(name).map(Arc::clone)) {
        return Ok(found);
    }
    invalidate::watch(tables());
    let loaded = Arc::new(load()?);
    cache.with_borrow_mut(|kept| kept.insert(name.to_owned(), Arc::clone(&loaded)));
    Ok(loaded)
}

fn load_corpus(name: &str) -> Result<Corpus, RecipeError> {
    let row = stored_row("corpus", name, |row| {
        Some((row.bigint("documents")?, row.text("recipe")?, row.bytes("common")?))
    })?;
    let (documents, recipe, common) = row.unwrap_or_else(|| damaged("corpus", name));
    let json: Value = serde_json::from_str(&recipe).unwrap_or_default();
    let shape = TextRecipe::resolved(&json, &Database)?.shape();
    let corpus =
        u64::try_from(documents).ok().and_then(|documents| Corpus::new(name, shape, documents, &common));
    Ok(corpus.unwrap_or_else(|| damaged("corpus", name)))
}

fn load_dictionary(name: &str) -> Result<Dictionary, RecipeError> {
    let row = stored_row("dictionary", name, |row| row.text("words").zip(row.text("stop_words")))?;
    let (words, stop) = row.unwrap_or_else(|| damaged("dictionary", name));
    Ok(Dictionary::new(name, words, stop.lines()))
}

fn damaged(kind: &str, name: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_DATA_CORRUPTED,
        format!("{kind} \"{name}\" cannot be read"),
        "Its row was not written by pg_dedup.",
    )
}

/// To be called before a version is written: if the transaction or subtransaction is rolled back,
/// the number will be given to other content, so the caches are emptied.
pub(crate) fn forget_if_rolled_back() {
    pgrx::register_xact_callback(PgXactCallbackEvent::Abort, forget);
    pgrx::register_subxact_callback(PgSubXactCallbackEvent::AbortSub, |_, _| forget());
}

/// The tables of corpora and dictionaries.
fn tables() -> [pg_sys::Oid; 2] {
    let schema = schema();
    ["corpus", "dictionary"].map(|kind| {
        let query = "SELECT $1::pg_catalog.regclass::pg_catalog.oid::pg_catalog.text";
        let oid = scalar(query, &[Argument::of(format!("{schema}._dedup_{kind}"))]);
        pg_sys::Oid::from(oid.and_then(|oid| oid.parse::<u32>().ok()).unwrap_or(0))
    })
}

/// Tells all sessions, when this transaction commits, that a version was dropped.
pub(crate) fn tell_dropped() {
    invalidate::tell(tables());
}

/// Empties the caches if a version has been dropped since.
pub(super) fn forget_dropped() {
    if invalidate::is_stale() {
        forget();
    }
}

/// Empties the caches.
pub(crate) fn forget() {
    CORPORA.with_borrow_mut(HashMap::clear);
    DICTIONARIES.with_borrow_mut(HashMap::clear);
    if let Some(also) = ALSO.get() {
        also();
    }
}
