//! Cancels and timeouts: what a check of `dedup_core::interrupt` does in a backend.

use super::memory;
use pgrx::pg_sys;

pub(crate) fn answer_checks() {
    dedup_core::interrupt::set_hook(answer);
}

/// Raises the error of an interrupt that is pending or of memory that is short: it unwinds, as every error of
/// PostgreSQL under pgrx. On a thread of our own it does nothing, for PostgreSQL may not be called there.
fn answer() {
    // SAFETY: a read of a flag that signal handlers set.
    let pending = unsafe { (&raw const pg_sys::InterruptPending).read_volatile() } != 0;
    if memory::on_main_thread() && (pending || memory::is_short()) {
        pgrx::check_for_interrupts!();
        memory::check();
    }
}
