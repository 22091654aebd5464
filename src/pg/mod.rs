//! PostgreSQL's raw interface: the only rooms outside `banding` that call
//! `pg_sys`. What leaves them is safe.

pub(crate) mod aggregate;
pub(crate) mod ball;
mod error;
pub(crate) mod guard;
pub(crate) mod hold;
pub(crate) mod host;
pub(crate) mod interrupt;
pub(crate) mod memory;
mod message;
mod output;
pub(crate) mod pages;
mod parse;
pub(crate) mod planner;
mod query;
mod recipe;
mod record;
pub(crate) mod rows;
pub(crate) mod spill;
mod stale;
pub(crate) mod statement;
pub(crate) mod statistics;
mod stored;
mod texts;
mod varlena;
pub(crate) mod wal;
pub(crate) mod window;

pub(crate) use error::{raise, raise_recipe, raise_with_detail};
pub(crate) use message::Message;
pub(crate) use parse::check_query;
pub(crate) use query::{read, schema};
pub(crate) use recipe::{RecipeArg, cached_from_text};
pub(crate) use record::{Record, Row};
pub(crate) use stored::{Database, forget_if_rolled_back, split_name, stored_row, tell_dropped, text};
pub(crate) use texts::Texts;
pub(crate) use varlena::TsVector;

/// Whether the postmaster is loading `shared_preload_libraries`.
pub(crate) fn preloading() -> bool {
    // SAFETY: a plain read of a variable that only the main thread writes.
    unsafe { pgrx::pg_sys::process_shared_preload_libraries_in_progress }
}
