//! Invalidation of caches when another session drops a version. Dropping sends PostgreSQL's
//! invalidation message for the table of versions, and every process that caches versions empties
//! its caches when the message arrives, at the latest when its next statement begins. Until then a
//! fingerprint costs no more than reading a flag.

use pgrx::pg_sys;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// The tables of which this process caches rows; 0 is none.
static WATCHED: [AtomicU32; 2] = [AtomicU32::new(0), AtomicU32::new(0)];
static STALE: AtomicBool = AtomicBool::new(false);

/// To be called before rows of the tables are cached.
pub(super) fn watch(tables: [pg_sys::Oid; 2]) {
    static REGISTERED: Once = Once::new();
    for (watched, table) in WATCHED.iter().zip(tables) {
        watched.store(table.to_u32(), Relaxed);
    }
    // SAFETY: the callback stays in memory as long as the process.
    REGISTERED.call_once(|| unsafe {
        pg_sys::CacheRegisterRelcacheCallback(Some(table_changed), pg_sys::Datum::null());
    });
}

/// Called while PostgreSQL handles invalidation messages: it must not access the catalogue, nor
/// free what a running call may use.
unsafe extern "C-unwind" fn table_changed(_: pg_sys::Datum, table: pg_sys::Oid) {
    let table = table.to_u32();
    // 0 stands for all tables.
    if table == 0 || WATCHED.iter().any(|watched| watched.load(Relaxed) == table) {
        STALE.store(true, Relaxed);
    }
}

/// Whether caches are stale; clears the flag.
pub(super) fn is_stale() -> bool {
    STALE.load(Relaxed) && STALE.swap(false, Relaxed)
}

/// Sends the message to all sessions, this one too, when the transaction commits.
pub(super) fn tell(tables: [pg_sys::Oid; 2]) {
    for table in tables {
        // SAFETY: the table exists; it was just looked up.
        unsafe { pg_sys::CacheInvalidateRelcacheByRelid(table) }
    }
}
