//! The SQL type `internal`, as a bare pointer.

use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::pg_sys;

/// A pointer that PostgreSQL passes as `internal`. A result may be a null pointer, which is not SQL's NULL.
pub(crate) struct Pointer(pub(crate) pg_sys::Datum);

// SAFETY: an `internal` is taken as the pointer that it is.
unsafe impl<'fcx> ArgAbi<'fcx> for Pointer {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Self {
        // SAFETY: the function is strict, so the argument is present.
        unsafe { Pointer(arg.unbox_arg_using_from_datum().expect("a pointer that is not NULL")) }
    }
}

// SAFETY: a pointer is passed by value.
unsafe impl BoxRet for Pointer {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: as above.
        unsafe { fcinfo.return_raw_datum(self.0) }
    }
}
