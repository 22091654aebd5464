//! Arguments of type `text[]`, cached by their bytes: a statement over a million rows decodes a
//! list of ten thousand words once.

use super::recent::{Recent, recent};
use dedup_core::interrupt::checked;
use pgrx::{Array, FromDatum, pg_sys};
use std::cell::RefCell;
use std::rc::Rc;

/// The elements of a `text[]` without NULLs. Two are equal if they are the same cached list.
#[derive(Clone)]
pub(crate) struct Texts(Rc<Vec<String>>);

/// Lists cached per backend; a statement uses one or two.
const CAPACITY: usize = 4;

thread_local! {
    /// The lists used last, by the bytes of the array.
    static READ: Recent<Box<[u8]>, Texts> = const { RefCell::new(Vec::new()) };
}

impl Texts {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl PartialEq for Texts {
    fn eq(&self, other: &Texts) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl Texts {
    unsafe fn read(varlena: *mut pg_sys::varlena) -> Texts {
        // SAFETY: a detoasted text[].
        let (bytes, array) = unsafe {
            let array = || Array::<&str>::from_datum(pg_sys::Datum::from(varlena), false);
            (pgrx::varlena_to_byte_slice(varlena), array)
        };
        let make = || {
            let array = array();
            let elements = array.iter().flat_map(|array| array.iter()).flatten();
            (bytes.into(), Texts(Rc::new(checked(elements).map(str::to_owned).collect())))
        };
        recent(&READ, CAPACITY, |read| **read == *bytes, make)
    }
}

argument!(Texts, Texts::read);
