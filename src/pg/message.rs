//! Messages in binary form, for receive functions.

use pgrx::{Internal, pg_sys};

/// The bytes of a value, read from the start; reading beyond the end is an error.
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
