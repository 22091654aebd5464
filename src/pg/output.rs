//! Values in a text form that does not depend on the session: `DateStyle`, `TimeZone` and the like
//! must not change a fingerprint.

use super::catalog::check_type;
use super::rows::{Values, text};
use dedup_core::memory::{self, OrRaise};
use pgrx::pg_sys;
use std::ffi::{CStr, c_int};

unsafe extern "C-unwind" {
    /// `utils/bytea.h`: how `bytea` is written; 1 is hexadecimal.
    static mut bytea_output: c_int;
}
const BYTEA_OUTPUT_HEX: c_int = 1;

/// Values of the settings that output functions read: the defaults (in UTC), which stand in the place of the session's while
/// this lives; dropping it, also after an error, restores those.
struct Portable {
    date_style: c_int,
    interval_style: c_int,
    float_digits: c_int,
    bytea: c_int,
    time_zone: *mut pg_sys::pg_tz,
}

impl Portable {
    fn settings() -> Portable {
        // SAFETY: looks up a name; a plain read of a variable.
        let (utc, session) = unsafe { (pg_sys::pg_tzset(c"UTC".as_ptr()), pg_sys::session_timezone) };
        let mut settings = Portable {
            date_style: pg_sys::USE_ISO_DATES as c_int,
            interval_style: pg_sys::INTSTYLE_POSTGRES as c_int,
            float_digits: 1,
            bytea: BYTEA_OUTPUT_HEX,
            time_zone: if utc.is_null() { session } else { utc },
        };
        settings.exchange();
        settings
    }

    fn exchange(&mut self) {
        // SAFETY: plain variables of a process that has one thread. The output functions read nothing else of the settings
        // behind them.
        unsafe {
            std::ptr::swap(&raw mut pg_sys::DateStyle, &mut self.date_style);
            std::ptr::swap(&raw mut pg_sys::IntervalStyle, &mut self.interval_style);
            std::ptr::swap(&raw mut pg_sys::extra_float_digits, &mut self.float_digits);
            std::ptr::swap(&raw mut bytea_output, &mut self.bytea);
            std::ptr::swap(&raw mut pg_sys::session_timezone, &mut self.time_zone);
        }
    }
}

impl Drop for Portable {
    fn drop(&mut self) {
        self.exchange();
    }
}

/// `datum` as the output function of its type writes it under the default settings. (`money` still follows
/// `lc_monetary`, and names of relations and types follow `search_path`.)
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
