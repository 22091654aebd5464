//! PostgreSQL's interfaces as safe Rust, for any extension: errors, queries, rows,
//! arguments, memory, files.

pub(crate) mod aggregate;
mod error;
pub(crate) mod hold;
pub(crate) mod host;
pub(crate) mod interrupt;
pub(crate) mod memory;
mod message;
mod output;
mod parse;
mod pointer;
mod query;
mod record;
pub(crate) mod rows;
pub(crate) mod spill;
pub(crate) mod statement;
mod texts;
pub(crate) mod trigger;
pub(crate) mod window;

pub(crate) use error::{raise, raise_with_detail};
pub(crate) use message::Message;
pub(crate) use parse::check_query;
pub(crate) use pointer::Pointer;
pub(crate) use query::{quoted, read, schema, text};
pub(crate) use record::{Record, Row};
pub(crate) use texts::Texts;

/// Whether the postmaster is loading `shared_preload_libraries`.
pub(crate) fn preloading() -> bool {
    // SAFETY: a plain read of a variable that only the main thread writes.
    unsafe { pgrx::pg_sys::process_shared_preload_libraries_in_progress }
}
