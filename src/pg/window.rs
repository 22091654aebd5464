//! Window functions. pgrx does not bind `windowapi.h`; what is needed of it is declared here.
//!
//! A window function is called once a row, in order, and may look at the arguments of any row of
//! its partition. Its state belongs to the partition: it is created by the first call and dropped
//! when the partition ends, whether by its last row, by a rescan, or by an error.

use super::{raise_too_much, within_memory_limit};
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary as guarded;
use pgrx::{FromDatum, PgMemoryContexts, PgSqlErrorCode, pg_sys};
use std::ffi::{c_int, c_void};

// Called through pgrx's guard, which turns PostgreSQL's errors into panics.

/// `WindowObject`, which is private to PostgreSQL.
#[repr(C)]
struct WindowObjectData {
    node: pg_sys::Node,
}
type WindowObject = *mut WindowObjectData;

const SEEK_HEAD: c_int = 1;

unsafe extern "C-unwind" {
    fn WinGetPartitionLocalMemory(object: WindowObject, size: usize) -> *mut c_void;
    fn WinGetCurrentPosition(object: WindowObject) -> i64;
    fn WinGetPartitionRowCount(object: WindowObject) -> i64;
    fn WinSetMarkPosition(object: WindowObject, position: i64);
    fn WinGetFuncArgInPartition(
        object: WindowObject,
        argument: c_int,
        relative: c_int,
        seek: c_int,
        set_mark: bool,
        is_null: *mut bool,
        is_out: *mut bool,
    ) -> pg_sys::Datum;
    fn WinGetFuncArgCurrent(object: WindowObject, argument: c_int, is_null: *mut bool) -> pg_sys::Datum;
}

pub(crate) struct Window {
    object: WindowObject,
}

impl Window {
    /// The window of the call, or an error if there is none.
    pub(crate) fn of(fcinfo: pg_sys::FunctionCallInfo) -> Window {
        // SAFETY: `fcinfo` is that of the running call; its context is null or a node.
        let context = unsafe { (*fcinfo).context };
        // SAFETY: as above.
        if context.is_null() || unsafe { (*context).type_ } != pg_sys::NodeTag::T_WindowObjectData {
            super::raise(
                PgSqlErrorCode::ERRCODE_WINDOWING_ERROR,
                "window function called outside a window",
                "Write it with an OVER clause.",
            )
        }
        Window { object: context.cast() }
    }

    /// The number of the current row in its partition, from 0.
    pub(crate) fn position(&self) -> i64 {
        // SAFETY: the object is that of the running call.
        unsafe { guarded(|| WinGetCurrentPosition(self.object)) }
    }

    /// How many rows the partition has: reads all of it.
    pub(crate) fn rows(&self) -> i64 {
        // SAFETY: as above.
        unsafe { guarded(|| WinGetPartitionRowCount(self.object)) }
    }

    /// Lets PostgreSQL forget the rows before the current one, where more is kept for each: within the limit of memory.
    pub(crate) fn forget_earlier(&self) {
        within_memory_limit(0);
        // SAFETY: as above; a mark may stand at the current row.
        unsafe {
            let position = self.position();
            guarded(|| WinSetMarkPosition(self.object, position))
        }
    }

    /// An argument at the current row.
    ///
    /// # Safety
    /// The argument is declared with the SQL type that `T` reads. The value lives as long as the call.
    pub(crate) unsafe fn argument<T: FromDatum>(&self, number: i32) -> Option<T> {
        let mut null = false;
        // SAFETY: the object is that of the running call, the type the caller's promise.
        unsafe {
            let datum = guarded(|| WinGetFuncArgCurrent(self.object, number, &mut null));
            T::from_datum(datum, null)
        }
    }

    /// An argument at row `row` of the partition, from 0.
    ///
    /// # Safety
    /// As [`Window::argument`]; the value lives until another row is asked for.
    pub(crate) unsafe fn argument_at<T: FromDatum>(&self, number: i32, row: i64) -> Option<T> {
        let (mut null, mut out) = (false, false);
        let row = c_int::try_from(row).unwrap_or_else(|_| {
            raise_too_much(
                "a partition of more than 2147483647 rows",
                "Partition the rows, for example by month.",
            )
        });
        // SAFETY: as above.
        unsafe {
            let datum = guarded(|| {
                WinGetFuncArgInPartition(self.object, number, row, SEEK_HEAD, false, &mut null, &mut out)
            });
            T::from_datum(datum, null || out)
        }
    }

    /// The state of the partition, created by `make` at its first row.
    ///
    /// # Safety
    /// Every call for this function keeps a `T`.
    #[expect(clippy::mut_from_ref, reason = "the state belongs to the partition, not to the window")]
    pub(crate) unsafe fn state<T>(&self, make: impl FnOnce() -> T) -> &mut T {
        // SAFETY: the memory is the partition's, zeroed when it is made, and holds a pointer to a `T` or
        // null. The value is dropped when the partition's context is reset.
        unsafe {
            let kept: *mut *mut T =
                guarded(|| WinGetPartitionLocalMemory(self.object, size_of::<*mut T>())).cast();
            if (*kept).is_null() {
                let context = pg_sys::GetMemoryChunkContext(kept.cast());
                *kept = PgMemoryContexts::For(context).leak_and_drop_on_delete(make());
            }
            &mut **kept
        }
    }
}
