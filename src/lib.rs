//! pg_dedup: near-duplicate rows in PostgreSQL.
//!
//! The algorithms are in the crate `dedup_core`; here is what PostgreSQL sees of them, one module for each feature, and in `pg`
//! what any extension needs of PostgreSQL. The SQL itself is written by hand under `sql/`: pgrx contributes the calling
//! convention and the guard that turns a Rust panic into an error, not the declarations.

use pg::settings;
use pgrx::prelude::*;

mod banding;
mod corpus;
mod dedup;
mod evaluate;
mod fingerprint;
mod groups;
mod guard;
mod papers;
mod pg;
mod report;
mod setup;
mod similarity;
mod table;

pgrx::pg_module_magic!(name, version);

/// Called when the library is loaded.
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    quiet_backtraces();
    pg::memory::init();
    settings::define_settings(corpus::forget_versions);
}

/// With `RUST_BACKTRACE` in the server's environment, pgrx would put a stack into
/// the DETAIL of every error that passes through it. Panics still print theirs.
fn quiet_backtraces() {
    const SWITCH: &str = "RUST_LIB_BACKTRACE";
    if std::env::var_os(SWITCH).is_none() {
        // SAFETY: a process has one thread while it loads libraries.
        unsafe { std::env::set_var(SWITCH, "0") };
    }
}
