//! PostgreSQL's interfaces as safe Rust, of use to any extension: errors, queries, rows, arguments,
//! memory, temporary files.

pub(crate) mod aggregate;
pub(crate) mod catalog;
mod error;
pub(crate) mod hold;
pub(crate) mod host;
pub(crate) mod interrupt;
pub(crate) mod json;
pub(crate) mod marked;
pub(crate) mod memory;
mod message;
mod output;
mod parse;
mod pointer;
pub(crate) mod progress;
mod record;
mod result;
mod rows;
pub(crate) mod scan;
pub(crate) mod spi;
pub(crate) mod spill;
mod texts;
pub(crate) mod trigger;
pub(crate) mod values;
pub(crate) mod version;
pub(crate) mod window;
pub(crate) mod workers;

pub(crate) use error::{raise, raise_with_detail, required};
pub(crate) use json::Json;
pub(crate) use message::Message;
pub(crate) use output::text;
pub(crate) use pointer::Pointer;
pub(crate) use record::{Record, Row};
pub(crate) use result::Output;
pub(crate) use rows::{Column, Values};
pub(crate) use texts::Texts;
