//! Values in a text form that does not depend on the session: `DateStyle`, `TimeZone` and the like
//! must not change a fingerprint.

use super::catalog::check_type;
use super::rows::{Values, text};
use dedup_core::memory::{self, OrRaise};
use pgrx::pg_sys;
use std::ffi::CStr;

unsafe extern "C-unwind" {
    /// `utils/bytea.h`: how `bytea` is written; 1 is hexadecimal.
    static mut bytea_output: std::ffi::c_int;
}
const BYTEA_OUTPUT_HEX: std::ffi::c_int = 1;

/// The session's values of the settings that output functions read. While this lives, the settings
/// have their defaults (in UTC); dropping it, also after an error, restores them.
struct Portable {
    date_style: std::ffi::c_int,
    interval_style: std::ffi::c_int,
    float_digits: std::ffi::c_int,
    bytea: std::ffi::c_int,
    time_zone: *mut pg_sys::pg_tz,
}

impl Portable {
    fn settings() -> Portable {
        // SAFETY: plain variables of a process that has one thread. The output
        // functions read nothing else of the settings behind them.
        unsafe {
            let utc = pg_sys::pg_tzset(c"UTC".as_ptr());
            let before = Portable {
                date_style: pg_sys::DateStyle,
                interval_style: pg_sys::IntervalStyle,
                float_digits: pg_sys::extra_float_digits,
                bytea: bytea_output,
                time_zone: pg_sys::session_timezone,
            };
            pg_sys::DateStyle = pg_sys::USE_ISO_DATES as std::ffi::c_int;
            pg_sys::IntervalStyle = pg_sys::INTSTYLE_POSTGRES as std::ffi::c_int;
            pg_sys::extra_float_digits = 1;
            bytea_output = BYTEA_OUTPUT_HEX;
            if !utc.is_null() {
                pg_sys::session_timezone = utc;
            }
            before
        }
    }
}

impl Drop for Portable {
    fn drop(&mut self) {
        // SAFETY: as in `settings`.
        unsafe {
            pg_sys::DateStyle = self.date_style;
            pg_sys::IntervalStyle = self.interval_style;
            pg_sys::extra_float_digits = self.float_digits;
            bytea_output = self.bytea;
            pg_sys::session_timezone = self.time_zone;
        }
    }
}

/// `datum` as the output function of its type writes it under the default
/// settings. (`money` still follows `lc_monetary`, and names of relations and
/// types follow `search_path`.)
///
/// # Safety
/// `datum` is a value of the type `typoid`.
pub(super) unsafe fn portable_text(datum: pg_sys::Datum, typoid: pg_sys::Oid) -> String {
    let _settings = Portable::settings();
    // SAFETY: the caller's promise.
    unsafe { written(datum, typoid) }
}

/// `datum` as the output function of its type writes it.
///
/// # Safety
/// `datum` is a value of the type `typoid`.
unsafe fn written(datum: pg_sys::Datum, typoid: pg_sys::Oid) -> String {
    check_type(typoid, None);
    let (mut output, mut varlena) = (pg_sys::InvalidOid, false);
    // SAFETY: the function is that of the value's own type; the string is terminated, and ours to free.
    unsafe {
        pg_sys::getTypeOutputInfo(typoid, &mut output, &mut varlena);
        let written = pg_sys::OidOutputFunctionCall(output, datum);
        let copy = memory::copy(CStr::from_ptr(written).to_bytes());
        pg_sys::pfree(written.cast());
        text(copy.or_raise())
    }
}

impl Values<'_> {
    /// The value of a column of any type, in its text form.
    pub(crate) fn written(&self, column: usize) -> Option<String> {
        // SAFETY: a column's values are of its type.
        self.get(column).map(|value| unsafe { written(value, self.columns[column].typoid) })
    }
}
