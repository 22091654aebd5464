//! Versions of corpora and dictionaries in the extension's tables, and the caches of these and of recipes. A version never
//! changes, so it is cached until any version is dropped. Dropping sends PostgreSQL's invalidation message for the table of
//! versions, and every process that caches versions empties its caches when the message arrives, at the latest when its next
//! statement begins. Until then a fingerprint costs no more than reading a flag.

use crate::pg::{
    Argument, Recent, Record, Row, own_function, own_table, query_all, raise_corrupted, raise_denied, recent,
    schema, with_snapshot,
};
use dedup_core::features::{Corpus, Dictionary, RecipeError, Resolver, TextRecipe, missing};
use pgrx::{FromDatum, IntoDatum, PgSubXactCallbackEvent, PgXactCallbackEvent, pg_sys};
use serde_json::Value;
use std::any::{Any, TypeId};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Once};

/// Recipes cached per backend; a statement rarely uses more than two.
const CAPACITY: usize = 8;

/// The kind of a recipe, and the bytes of the argument.
type Written = (TypeId, Box<[u8]>);

thread_local! {
    static CORPORA: RefCell<HashMap<String, Arc<Corpus>>> = RefCell::default();
    static DICTIONARIES: RefCell<HashMap<String, Arc<Dictionary>>> = RefCell::default();
    static RECIPES: Recent<Written, Rc<dyn Any>> = const { RefCell::new(Vec::new()) };
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
    let is = |(of, written): &Written| *of == kind && **written == *bytes;
    let found = recent(&RECIPES, CAPACITY, is, || ((kind, bytes.into()), Rc::new(make())));
    found.downcast().unwrap_or_else(|_| unreachable!("a recipe of this kind"))
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

/// The parts of `petitions@1`.
pub(super) fn split_name(name: &str) -> Option<(&str, &str)> {
    let (base, version) = name.split_once('@')?;
    let plain =
        !version.is_empty() && !version.starts_with('0') && version.bytes().all(|b| b.is_ascii_digit());
    (plain && !base.is_empty() && version.len() < 10).then_some((base, version))
}

/// Reads the version called `name`: its row or, while a restore has not loaded the row, what carries it through a dump. The
/// error names the versions that exist.
pub(super) fn stored_row<T>(kind: &str, name: &str, read: impl Fn(&Row<'_>) -> T) -> Result<T, RecipeError> {
    let found = split_name(name).and_then(|(base, version)| {
        let function = own_function(&format!("_dedup_{kind}_stored"), &[pg_sys::TEXTOID, pg_sys::INT4OID]);
        let (base, version) = (base.into_datum()?, version.parse::<i32>().ok()?.into_datum()?);
        // SAFETY: the function is of a text and a number; its row is one of NULLs if there is no such version.
        let row = with_snapshot(|| unsafe {
            Record::from_datum(
                pg_sys::OidFunctionCall2Coll(function, pg_sys::InvalidOid, base, version),
                false,
            )
        })?;
        row.row().text("name").map(|_| read(&row.row()))
    });
    found.ok_or_else(|| {
        let catalogue = if kind == "corpus" { "dedup_corpora" } else { "dedup_dictionaries" };
        let query = format!(
            "SELECT v.{kind} FROM {}.{catalogue} AS v ORDER BY pg_catalog.split_part(v.{kind}, '@', 1) COLLATE pg_catalog.\"C\", \
                 pg_catalog.split_part(v.{kind}, '@', 2)::pg_catalog.int4 DESC LIMIT 20",
            schema()
        );
        missing(kind, name, &query_all(&query, &[], |row| row.text(0).unwrap_or_default()))
    })
}

/// Refuses whoever may compute with a version but is not to see its words and weights.
/// Raises 42501 unless the user may use its server or read its table.
pub(super) fn check_shown(kind: &str, name: &str) {
    let Some((base, version)) = split_name(name) else { return };
    let schema = schema();
    let query = format!(
        "SELECT {schema}._dedup_carrier_name($1, $2, $3::pg_catalog.int4), (\
             pg_catalog.has_table_privilege($4::pg_catalog.regclass, 'SELECT') \
             OR EXISTS (SELECT FROM {schema}._dedup_carrier($1, $2, $3::pg_catalog.int4) AS c \
                 WHERE pg_catalog.has_server_privilege(c.server, 'USAGE')))"
    );
    let table = format!("{schema}._dedup_{kind}");
    let arguments = [kind, base, version, &table].map(Argument::of);
    let found = query_all(&query, &arguments, |row| (row.text(0).unwrap_or_default(), row.is(1)));
    if let Some((server, false)) = found.into_iter().next() {
        raise_denied(
            format!("permission denied to see words or weights of {kind} \"{name}\""),
            format!(
                "Who built it may GRANT USAGE ON FOREIGN SERVER {server} to the role that does. Fingerprints need no grant."
            ),
        )
    }
}
