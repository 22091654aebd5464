//! pg_dedup: near-duplicate rows in PostgreSQL.
//!
//! The algorithms are in the crate `dedup_core`; here is what PostgreSQL sees
//! of them, one file for each group of SQL functions. The SQL itself is
//! written by hand under `sql/`: pgrx contributes the calling convention and
//! the guard that turns a Rust panic into an error, not the declarations.

use pgrx::prelude::*;

mod aggregate;
mod ball;
mod banding;
mod bloom;
mod clusters;
mod corpus;
mod dedup;
mod detectors;
mod distance;
mod evaluate;
mod explain;
mod fingerprint;
mod guard;
mod inspect;
mod pairs;
mod pg;
mod planner;
mod progress;
mod seen;
mod similarity;
mod text_pairs;
mod trigger;

#[cfg(any(test, feature = "pg_test"))]
mod tests;

pgrx::pg_module_magic!(name, version);

pgrx::extension_sql_file!("../sql/fingerprint.sql", name = "fingerprint");
pgrx::extension_sql_file!("../sql/distance.sql", name = "distance", requires = ["fingerprint"]);
pgrx::extension_sql_file!("../sql/banding.sql", name = "banding", requires = ["distance"]);
pgrx::extension_sql_file!("../sql/similarity.sql", name = "similarity", requires = ["fingerprint"]);
pgrx::extension_sql_file!("../sql/guard.sql", name = "guard", requires = ["banding"]);
pgrx::extension_sql_file!("../sql/corpus.sql", name = "corpus", requires = ["fingerprint"]);
pgrx::extension_sql_file!("../sql/quality.sql", name = "quality", requires = ["corpus"]);
pgrx::extension_sql_file!("../sql/groups.sql", name = "groups", requires = ["distance"]);
pgrx::extension_sql_file!("../sql/into.sql", name = "into", requires = ["groups", "banding"]);
pgrx::extension_sql_file!("../sql/exact.sql", name = "exact", requires = ["fingerprint"]);
pgrx::extension_sql_file!("../sql/detectors.sql", name = "detectors", requires = ["similarity", "corpus"]);

/// Called when the library is loaded. In the postmaster
/// (`shared_preload_libraries`) the dictionary is loaded here, so that every
/// connection inherits it; elsewhere it waits until a text needs it.
#[allow(non_snake_case)]
#[pg_guard]
pub extern "C-unwind" fn _PG_init() {
    pg::memory::init();
    pg::host::define_settings();
    pg::interrupt::answer_checks();
    if pg::preloading() {
        dedup_core::text::Segmenter::shared();
    }
}

/// What `cargo pgrx test` asks of the crate.
#[cfg(test)]
pub mod pg_test {
    /// Nothing to set up.
    pub fn setup(_options: Vec<&str>) {}

    /// Settings of the test server.
    pub fn postgresql_conf_options() -> Vec<&'static str> {
        vec![]
    }
}
