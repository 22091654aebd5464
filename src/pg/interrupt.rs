//! Cancels and timeouts: the checks of `dedup_core`, answered by the backend.

use pgrx::pg_sys;
use std::cell::Cell;

thread_local! {
    /// Whether this is the backend's own thread, the only one on which
    /// PostgreSQL may be called. A fork keeps the mark.
    static BACKEND: Cell<bool> = const { Cell::new(false) };
}

/// Lets every check of `dedup_core` on this thread answer an interrupt.
pub(crate) fn answer_checks() {
    BACKEND.set(true);
    dedup_core::interrupt::set_hook(answer);
}

/// Raises the error of an interrupt that is pending: it unwinds, as every
/// error of PostgreSQL under pgrx.
fn answer() {
    // SAFETY: a read of a flag that signal handlers set; on another thread a
    // late value only means a late look at the mark.
    let pending = unsafe { (&raw const pg_sys::InterruptPending).read_volatile() } != 0;
    if pending && BACKEND.get() {
        pgrx::check_for_interrupts!();
    }
}
