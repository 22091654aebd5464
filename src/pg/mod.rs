//! PostgreSQL's interfaces as safe Rust, of use to any extension: errors, queries, rows, arguments,
//! memory, temporary files.

/// Makes a type that `FromDatum` reads an argument of functions.
macro_rules! argument {
    ($type:ty $(, $($generics:tt)*)?) => {
        // SAFETY: the value is made by `FromDatum`, which reads the declared type.
        unsafe impl<'fcx $(, $($generics)*)?> pgrx::callconv::ArgAbi<'fcx> for $type {
            unsafe fn unbox_arg_unchecked(argument: pgrx::callconv::Arg<'_, 'fcx>) -> Self {
                // SAFETY: the caller vouches for the argument's type and presence.
                unsafe { argument.unbox_arg_using_from_datum().expect("an argument that is not null") }
            }
        }
    };
}
pub(crate) use argument;

pub(crate) mod aggregate;
pub(crate) mod catalog;
mod error;
pub(crate) mod host;
pub(crate) mod interrupt;
pub(crate) mod json;
pub(crate) mod memory;
mod message;
pub(crate) mod names;
mod output;
mod parse;
mod pointer;
pub(crate) mod progress;
mod record;
mod result;
mod rows;
pub(crate) mod settings;
pub(crate) mod spi;
pub(crate) mod spill;
mod texts;
pub(crate) mod trigger;
pub(crate) mod values;
pub(crate) mod version;
pub(crate) mod window;
pub(crate) mod workers;

pub(crate) use error::{notice, raise, raise_invalid, raise_mismatch, raise_with_detail, required};
pub(crate) use json::Json;
pub(crate) use message::Message;
pub(crate) use pointer::Pointer;
pub(crate) use record::{Record, Row};
pub(crate) use result::Output;
pub(crate) use rows::{Column, Values};
pub(crate) use texts::Texts;
