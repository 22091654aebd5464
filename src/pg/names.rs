//! Schemas that SQL text names. A lock of a table keeps its name but not that of its schema: whoever owns the schema may rename
//! it at any time and put another one in its place, with tables and functions that would run code as the caller.

use super::raise;
use super::rows::string;
use pgrx::{PgSqlErrorCode, pg_sys};
use std::borrow::Borrow;
use std::cell::RefCell;
use std::ffi::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Of schemas.
static CHANGES: Changes = Changes::of(&[pg_sys::SysCacheIdentifier::NAMESPACEOID]);

thread_local! {
    static NAMED: RefCell<Vec<Named>> = const { RefCell::new(Vec::new()) };
}

/// A schema and the name that it had when text was made.
type Named = (pg_sys::Oid, String);

/// Schemas of which there is text: while it lives, no statement is prepared once one of them has another name.
pub(crate) struct Schemas(Vec<Named>);

impl Schemas {
    pub(crate) fn of(schemas: impl Iterator<Item = pg_sys::Oid>) -> Schemas {
        let kept = Schemas(schemas.map(|schema| (schema, name(schema))).collect());
        NAMED.with_borrow_mut(|named| named.extend_from_slice(&kept.0));
        kept
    }
}

impl Drop for Schemas {
    fn drop(&mut self) {
        NAMED.with_borrow_mut(|named| {
            for it in &self.0 {
                named.iter().position(|other| other == it).map(|at| named.swap_remove(at));
            }
        });
    }
}

/// What `work` gives if meanwhile no schema has changed for this session: else it is done again.
pub(super) fn steady<R>(mut work: impl FnMut() -> R) -> R {
    loop {
        let before = CHANGES.count();
        let result = work();
        if CHANGES.count() == before {
            return result;
        }
    }
}

/// Refuses to go on if a schema is renamed of which there is text. Raises 40001.
pub(super) fn check() {
    let renamed = NAMED.with_borrow(|named| named.iter().find(|it| name(it.0) != it.1).cloned());
    if let Some((_, then)) = renamed {
        raise(
            PgSqlErrorCode::ERRCODE_T_R_SERIALIZATION_FAILURE,
            format!("schema \"{then}\" was renamed while it was read"),
            "Call again.",
        )
    }
}

/// Parts of SQL with commas between them.
pub(crate) fn commas<S: Borrow<str>>(parts: impl IntoIterator<Item = S>) -> String {
    parts.into_iter().collect::<Vec<_>>().join(", ")
}

/// Its name now; none if it is dropped.
fn name(schema: pg_sys::Oid) -> String {
    // SAFETY: any oid is answered, by a string or null.
    unsafe { string(pg_sys::get_namespace_name(schema)) }
}

/// Messages that something of the catalogue has changed, counted: what a session sees of it changes only with them.
pub(super) struct Changes {
    count: AtomicU64,
    watched: Once,
    caches: &'static [pg_sys::SysCacheIdentifier::Type],
}

impl Changes {
    /// Those of these caches.
    pub(super) const fn of(caches: &'static [pg_sys::SysCacheIdentifier::Type]) -> Changes {
        Changes { count: AtomicU64::new(0), watched: Once::new(), caches }
    }

    pub(super) fn count(&'static self) -> u64 {
        self.watched.call_once(|| {
            for &cache in self.caches {
                let count = pg_sys::Datum::from(&raw const self.count);
                // SAFETY: the function stays in memory as long as the process, and so does the number.
                unsafe { pg_sys::CacheRegisterSyscacheCallback(cache as c_int, Some(changed), count) }
            }
        });
        self.count.load(Relaxed)
    }
}

/// Called while PostgreSQL handles messages: it must not look anything up.
unsafe extern "C-unwind" fn changed(count: pg_sys::Datum, _: c_int, _: u32) {
    // SAFETY: the number that was registered with it.
    unsafe { (*count.cast_mut_ptr::<AtomicU64>()).fetch_add(1, Relaxed) };
}
