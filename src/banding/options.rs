//! Options of an index: `WITH (fillfactor = 90, mu = 2)`. They are frozen in
//! the metapage at build; ALTER INDEX … SET takes effect at the next REINDEX.

use super::IndexRelation;
use crate::pg::version::reloption;
use dedup_core::banding::Options;
use pgrx::{pg_guard, pg_sys};
use std::ffi::{CStr, c_int};
use std::mem::offset_of;
use std::sync::OnceLock;

/// What `relation->rd_options` points to.
#[repr(C)]
struct Parsed {
    vl_len: i32,
    fillfactor: c_int,
    mu: f64,
    max_bucket: c_int,
}

fn kind() -> pg_sys::relopt_kind::Type {
    static KIND: OnceLock<pg_sys::relopt_kind::Type> = OnceLock::new();
    *KIND.get_or_init(|| {
        let default = Options::default();
        // SAFETY: registers options of this access method, once a process; names and descriptions are copied.
        unsafe {
            let kind = pg_sys::add_reloption_kind();
            let lock = pg_sys::AccessExclusiveLock as i32;
            let integer = |name: &CStr, what: &CStr, default, least, most| {
                pg_sys::add_int_reloption(kind, name.as_ptr(), what.as_ptr(), default, least, most, lock);
            };
            let filled = c"How full leaves are packed when the index is built, in percent";
            integer(c"fillfactor", filled, c_int::from(default.fillfactor), 10, 100);
            let most = c"A bucket of more rows than this gets a second level; 0: however many";
            integer(c"max_bucket", most, 0, 0, c_int::MAX);
            let above = c"A bucket above (1 + mu) times the average one gets a second level";
            pg_sys::add_real_reloption(kind, c"mu".as_ptr(), above.as_ptr(), default.mu, 0.0, 1e6, lock);
            kind
        }
    })
}

#[pg_guard]
pub(super) unsafe extern "C-unwind" fn amoptions(
    options: pg_sys::Datum,
    validate: bool,
) -> *mut pg_sys::bytea {
    let elements = [
        reloption(c"fillfactor", pg_sys::relopt_type::RELOPT_TYPE_INT, offset_of!(Parsed, fillfactor)),
        reloption(c"mu", pg_sys::relopt_type::RELOPT_TYPE_REAL, offset_of!(Parsed, mu)),
        reloption(c"max_bucket", pg_sys::relopt_type::RELOPT_TYPE_INT, offset_of!(Parsed, max_bucket)),
    ];
    // SAFETY: the elements describe `Parsed`, whose size is given.
    unsafe {
        let (size, elements, count) = (size_of::<Parsed>(), elements.as_ptr(), elements.len() as c_int);
        pg_sys::build_reloptions(options, validate, kind(), size, elements, count).cast()
    }
}

/// The options of an index that is about to be built.
///
/// # Safety
/// It is of this access method.
pub(super) unsafe fn options_of(index: IndexRelation) -> Options {
    // SAFETY: `rd_options` is null or what `amoptions` made.
    unsafe {
        match index.rd_options.cast::<Parsed>().as_ref() {
            Some(parsed) => Options {
                mu: parsed.mu,
                fillfactor: parsed.fillfactor as u8,
                max_bucket: parsed.max_bucket as u32,
            },
            None => Options::default(),
        }
    }
}
