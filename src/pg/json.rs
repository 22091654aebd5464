//! Arguments of type `jsonb`.
//!
//! pgrx's own conversion answers with an internal error what PostgreSQL's JSON allows and Rust's does not: a number of
//! more than 308 digits, nesting of more than 127 levels.

use super::raise_invalid;
use dedup_core::interrupt;
use pgrx::{direct_function_call_as_datum, pg_sys};
use serde_json::Value;
use std::borrow::Cow;
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

impl Json {
    unsafe fn read(varlena: *mut pg_sys::varlena) -> Json {
        // SAFETY: a detoasted jsonb.
        let text = unsafe { text(varlena) };
        Json(serde_json::from_str(&text).unwrap_or_else(|error| {
            raise_invalid(
                format!("cannot read the JSON: {error}"),
                "Numbers are those of double precision, and objects and arrays at most 127 deep.",
            )
        }))
    }
}

argument!(Json, Json::read);

/// A `jsonb` that is read as it is stored: of any depth, with numbers of any length, as PostgreSQL prints them.
pub(crate) struct Document(*mut pg_sys::varlena);

/// A part of a document. Of an array only the elements come.
pub(crate) enum Part<'a> {
    Begin,
    End,
    /// Whose value comes next.
    Key(&'a str),
    /// A text, a number or a truth value (`t`, `f`); null is none.
    Value(&'a str),
}

impl Document {
    pub(crate) fn each(&self, mut take: impl FnMut(Part<'_>)) {
        use pg_sys::JsonbIteratorToken as token;
        // SAFETY: the root container follows the header.
        let mut at = unsafe { pg_sys::JsonbIteratorInit(pgrx::vardata_any(self.0).cast_mut().cast()) };
        let mut value = pg_sys::JsonbValue::default();
        loop {
            interrupt::check();
            // SAFETY: the iterator stands in the document; after its last part it is not asked again.
            let token = unsafe { pg_sys::JsonbIteratorNext(&mut at, &mut value, false) };
            match token {
                token::WJB_DONE => break,
                token::WJB_BEGIN_OBJECT => take(Part::Begin),
                token::WJB_END_OBJECT => take(Part::End),
                token::WJB_KEY | token::WJB_VALUE | token::WJB_ELEM => {
                    // SAFETY: a key or scalar of the document, which outlives the call.
                    if let Some(text) = unsafe { written(&value) } {
                        take(if token == token::WJB_KEY { Part::Key(&text) } else { Part::Value(&text) });
                    }
                }
                _ => {}
            }
        }
    }
}

/// A scalar as it is printed, but for null.
///
/// # Safety
/// It is a scalar of a `jsonb` that outlives what is returned.
unsafe fn written(value: &pg_sys::JsonbValue) -> Option<Cow<'_, str>> {
    use pg_sys::jbvType as kind;
    // SAFETY: the kind says which member of the union is there; a number is printed as a C string of its own.
    unsafe {
        match value.type_ {
            kind::jbvString => {
                let string = value.val.string;
                let bytes = std::slice::from_raw_parts(string.val.cast::<u8>(), string.len as usize);
                Some(String::from_utf8_lossy(bytes))
            }
            kind::jbvNumeric => {
                let number = Some(pg_sys::Datum::from(value.val.numeric));
                let printed = direct_function_call_as_datum(pg_sys::numeric_out, &[number])?;
                let copy = CStr::from_ptr(printed.cast_mut_ptr()).to_string_lossy().into_owned();
                pg_sys::pfree(printed.cast_mut_ptr());
                Some(copy.into())
            }
            kind::jbvBool => Some(if value.val.boolean { "t" } else { "f" }.into()),
            _ => None,
        }
    }
}

argument!(Document, Document);
