//! Messages that something of the catalogue has changed, counted: what a session sees of it changes only with them.

use pgrx::pg_sys;
use std::ffi::c_int;
use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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

    /// How many there were so far.
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
