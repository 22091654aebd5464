//! The state of an aggregate, a Rust value in the aggregate's own memory
//! context: dropped with it, whether the query ends or fails.

use super::raise_unsupported;
use pgrx::{Internal, PgMemoryContexts, pg_sys};

/// The value in `state`, if there is one yet.
///
/// # Safety
/// `state` was made by [`state_or_else`] or [`new_state`] with the same `T`.
pub(crate) unsafe fn state<T>(state: &Internal) -> Option<&T> {
    // SAFETY: the caller's promise.
    unsafe { state.get::<T>() }
}

/// The value in `state`, made now by `make` if there is none.
///
/// # Safety
/// As [`state`].
pub(crate) unsafe fn state_or_else<T>(
    state: &mut Internal,
    fcinfo: pg_sys::FunctionCallInfo,
    make: impl FnOnce() -> T,
) -> &mut T {
    if !state.initialized() {
        *state = new_state(make(), fcinfo);
    }
    // SAFETY: the caller's promise, or it was just made.
    unsafe { state.get_mut::<T>().expect("a state that was just made") }
}

/// `value` as the state of the aggregate that calls.
pub(crate) fn new_state<T>(value: T, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    let mut context = std::ptr::null_mut();
    // SAFETY: `fcinfo` is that of the running call.
    if unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) } == 0 {
        raise_unsupported("function called outside an aggregate", "Call the aggregate itself.")
    }
    let pointer = PgMemoryContexts::For(context).leak_and_drop_on_delete(value);
    Internal::from(Some(pg_sys::Datum::from(pointer)))
}
