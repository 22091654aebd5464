//! Parsing of queries with error positions: pgrx passes errors on without the query and the position in it.

use super::names;
use pgrx::pg_sys;
use std::cell::UnsafeCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};

// Linked without the guard that pgrx puts around every call: they are called while an error is on its way.
unsafe extern "C-unwind" {
    #[link_name = "getinternalerrposition"]
    fn position_so_far() -> c_int;
    #[link_name = "internalerrposition"]
    fn set_position(position: c_int) -> c_int;
    #[link_name = "internalerrquery"]
    fn set_query(query: *const c_char) -> c_int;
}

struct Parsing {
    callback: pg_sys::ErrorContextCallback,
    text: CString,
    /// Where PostgreSQL found the error.
    position: c_int,
}

thread_local! {
    static PARSING: UnsafeCell<Parsing> = UnsafeCell::new(Parsing {
        callback: pg_sys::ErrorContextCallback::default(),
        text: CString::default(),
        position: 0,
    });
}

/// Called twice for one error: when PostgreSQL reports it, with its position, and
/// when pgrx reports it again at the end of the function, without.
unsafe extern "C-unwind" fn say_where(parsing: *mut c_void) {
    // SAFETY: the argument that `prepare` gives; an error is being reported.
    unsafe {
        let parsing = parsing.cast::<Parsing>();
        let position = position_so_far();
        if position > 0 {
            (*parsing).position = position;
        } else if (*parsing).position > 0 {
            set_position((*parsing).position);
            set_query((*parsing).text.as_ptr());
        }
    }
}

/// As `SPI_prepare_cursor`, with arguments of these types. The names in the text are those of the schemas that it was made for,
/// and what it is planned for next is what they stand for now. Raises as [`names::check`].
///
/// # Safety
/// The server programming interface is connected.
pub(super) unsafe fn prepare(text: &CStr, types: &mut [pg_sys::Oid], options: c_int) -> pg_sys::SPIPlanPtr {
    names::steady(|| {
        names::check();
        // SAFETY: the caller's promise.
        unsafe { parse(text, types, options) }
    })
}

/// # Safety
/// As [`prepare`].
unsafe fn parse(text: &CStr, types: &mut [pg_sys::Oid], options: c_int) -> pg_sys::SPIPlanPtr {
    let parsing = PARSING.with(UnsafeCell::get);
    // SAFETY: the callback's memory outlives every error. After one it stays in the list until the error has left this
    // function's caller for good, as it is wanted then; PostgreSQL sets the list back where it goes on.
    unsafe {
        let previous = pg_sys::error_context_stack;
        (*parsing).callback =
            pg_sys::ErrorContextCallback { previous, callback: Some(say_where), arg: parsing.cast() };
        (*parsing).text = text.to_owned();
        (*parsing).position = 0;
        pg_sys::error_context_stack = &raw mut (*parsing).callback;
        let plan =
            pg_sys::SPI_prepare_cursor(text.as_ptr(), types.len() as c_int, types.as_mut_ptr(), options);
        pg_sys::error_context_stack = previous;
        plan
    }
}
