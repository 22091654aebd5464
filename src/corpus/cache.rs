//! The caches of corpora, dictionaries and recipes. A version never changes, so it is cached until any version is dropped.
//! Dropping sends PostgreSQL's invalidation message for the table of versions, and every process that caches versions empties
//! its caches when the message arrives, at the latest when its next statement begins. Until then a fingerprint costs no more
//! than reading a flag.

use super::versions::{check_shown, stored_row};
use crate::pg::{own_table, raise_corrupted};
use dedup_core::features::{Corpus, Dictionary, RecipeError, Resolver, TextRecipe};
use pgrx::{PgSubXactCallbackEvent, PgXactCallbackEvent, pg_sys};
use serde_json::Value;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Once};

/// Recipes cached per backend; a statement rarely uses more than two.
const CAPACITY: usize = 8;

/// A recipe with its kind and the bytes of the argument.
type Kept = (TypeId, Box<[u8]>, Rc<dyn Any>);

thread_local! {
    static CORPORA: RefCell<HashMap<String, Arc<Corpus>>> = RefCell::default();
    static DICTIONARIES: RefCell<HashMap<String, Arc<Dictionary>>> = RefCell::default();
    /// The recipes used last, the latest first.
    static RECIPES: RefCell<Vec<Kept>> = const { RefCell::new(Vec::new()) };
}

/// The tables of which this process caches rows; 0 is none.
static WATCHED: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
static STALE: AtomicBool = AtomicBool::new(false);

/// Called while PostgreSQL handles messages: it must not access the catalogue, nor free what a running call may use.
unsafe extern "C-unwind" fn table_changed(_: pg_sys::Datum, table: pg_sys::Oid) {
    let table = table.to_u32();
    // 0 stands for all tables.
    if table == 0 || WATCHED.iter().any(|watched| watched.load(Relaxed) == table) {
        STALE.store(true, Relaxed);
    }
}

/// The cached recipe of these bytes, else the one that `make` returns.
pub(super) fn cached_recipe<T: Any>(bytes: &[u8], make: impl FnOnce() -> T) -> Rc<T> {
    forget_dropped();
    let kind = TypeId::of::<T>();
    let found = RECIPES.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(of, written, _)| *of == kind && **written == *bytes)?;
        kept[..=at].rotate_right(1);
        Rc::clone(&kept[0].2).downcast().ok()
    });
    found.unwrap_or_else(|| {
        let recipe = Rc::new(make());
        RECIPES.with_borrow_mut(|kept| {
            kept.truncate(CAPACITY - 1);
            kept.insert(0, (kind, bytes.into(), Rc::<T>::clone(&recipe)));
        });
        recipe
    })
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
    static REGISTERED: Once = Once::new();
    for (watched, table) in WATCHED.iter().zip(tables()) {
        watched.store(table.to_u32(), Relaxed);
    }
    // SAFETY: the callback stays in memory as long as the process.
    REGISTERED.call_once(|| unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(table_changed), pg_sys::Datum::null());
    });
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
    raise_corrupted(format!("{kind} \"{name}\" cannot be read"), "Its row was not written by pg_dedup.")
}

/// To be called before a version is written: if the (sub)transaction is rolled back, the number will be given to other
/// content, so the caches are emptied.
pub(super) fn forget_if_rolled_back() {
    pgrx::register_xact_callback(PgXactCallbackEvent::Abort, forget);
    pgrx::register_subxact_callback(PgSubXactCallbackEvent::AbortSub, |_, _| forget());
}

fn tables() -> [pg_sys::Oid; 2] {
    ["_dedup_corpus", "_dedup_dictionary"].map(|name| own_table(name).unwrap_or(pg_sys::InvalidOid))
}

/// Tells all sessions, when this transaction commits, that a version was dropped.
pub(super) fn tell_dropped() {
    // SAFETY: the tables exist; they were just looked up.
    tables().into_iter().for_each(|table| unsafe { pg_sys::CacheInvalidateRelcacheByRelid(table) });
}

/// Empties the caches if a version has been dropped since.
fn forget_dropped() {
    if STALE.load(Relaxed) && STALE.swap(false, Relaxed) {
        forget();
    }
}

pub(crate) fn forget() {
    CORPORA.with_borrow_mut(HashMap::clear);
    DICTIONARIES.with_borrow_mut(HashMap::clear);
    RECIPES.with_borrow_mut(Vec::clear);
}
