//! The SQL type `internal`: as a bare pointer, and as a message.

use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::Datum;
use pgrx::{Internal, pg_sys};

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

/// A message in binary form, for receive functions: the bytes of a value, read from the start; reading beyond the end is an error.
pub(crate) struct Message(pg_sys::StringInfo);

impl Message {
    pub(crate) fn of(argument: Internal) -> Message {
        Message(argument.unwrap().map_or(std::ptr::null_mut(), |datum| datum.cast_mut_ptr()))
    }

    pub(crate) fn bigint(&mut self) -> i64 {
        // SAFETY: PostgreSQL gives a receive function a message.
        unsafe { pg_sys::pq_getmsgint64(self.0) }
    }

    pub(crate) fn integer(&mut self) -> i32 {
        // SAFETY: as above.
        unsafe { pg_sys::pq_getmsgint(self.0, 4) as i32 }
    }

    pub(crate) fn rest(&mut self) -> &[u8] {
        // SAFETY: as above; the length is what the message has left, and the bytes live as long as it.
        unsafe {
            let length = (*self.0).len - (*self.0).cursor;
            let bytes = pg_sys::pq_getmsgbytes(self.0, length);
            std::slice::from_raw_parts(bytes.cast(), length as usize)
        }
    }
}
