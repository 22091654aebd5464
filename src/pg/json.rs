//! Arguments of type `jsonb`.
//!
//! pgrx's own conversion answers with an internal error what PostgreSQL's JSON allows and Rust's does not: a number of
//! more than 308 digits, nesting of more than 127 levels.

use super::raise;
use pgrx::callconv::{Arg, ArgAbi};
use pgrx::datum::FromDatum;
use pgrx::{PgSqlErrorCode, pg_sys};
use serde_json::Value;
use std::ffi::{CStr, c_int};

/// A `jsonb` that is given to a function.
pub(crate) struct Json(pub(crate) Value);

/// A `jsonb` as PostgreSQL writes it.
///
/// # Safety
/// `varlena` is a `jsonb`, not toasted.
pub(crate) unsafe fn text(varlena: *const pg_sys::varlena) -> String {
    // SAFETY: the root container follows the header; what is made of it is a C string.
    unsafe {
        let root = pgrx::vardata_any(varlena).cast_mut().cast::<pg_sys::JsonbContainer>();
        let length = pgrx::varsize_any_exhdr(varlena) as c_int;
        CStr::from_ptr(pg_sys::JsonbToCString(std::ptr::null_mut(), root, length))
            .to_string_lossy()
            .into_owned()
    }
}

impl FromDatum for Json {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Self> {
        if is_null {
            return None;
        }
        // SAFETY: the function is declared with a jsonb here, so the datum is a varlena.
        let text = unsafe { text(pg_sys::pg_detoast_datum(datum.cast_mut_ptr())) };
        Some(Json(serde_json::from_str(&text).unwrap_or_else(|error| {
            raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("cannot read the JSON: {error}"),
                "Numbers are those of double precision, and objects and arrays at most 127 deep.",
            )
        })))
    }
}

// SAFETY: the value is made by `FromDatum`, which reads the declared type.
unsafe impl<'fcx> ArgAbi<'fcx> for Json {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: the caller vouches for the argument's type and presence.
        unsafe { arg.unbox_arg_using_from_datum().expect("an argument that is not null") }
    }
}
