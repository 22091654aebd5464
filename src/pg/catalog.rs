//! Look-ups in the catalogue, and the state of the transaction.

use super::raise;
use super::spi::{Argument, scalar};
use pgrx::{PgSqlErrorCode, pg_sys};
use std::ffi::{CStr, CString};

/// The extension's schema, quoted for SQL.
pub(crate) fn schema() -> String {
    const SQL: &str = "SELECT pg_catalog.quote_ident(n.nspname)::pg_catalog.text FROM pg_catalog.pg_extension e \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace \
         WHERE e.extname OPERATOR(pg_catalog.=) 'pg_dedup'";
    scalar(SQL, &[]).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            "extension pg_dedup is not installed in this database",
            "CREATE EXTENSION pg_dedup;",
        )
    })
}

/// An identifier, quoted for SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The equality operator of a type, if it has one.
pub(crate) fn equality(typoid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: any oid is answered.
    let operator = unsafe { (*pg_sys::lookup_type_cache(typoid, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr };
    (operator != pg_sys::InvalidOid).then_some(operator)
}

/// An operator as SQL writes it whatever the search path.
pub(crate) fn operator(oid: pg_sys::Oid) -> Option<String> {
    const SQL: &str = "SELECT pg_catalog.format('OPERATOR(%I.%s)', n.nspname, o.oprname) FROM pg_catalog.pg_operator o \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) o.oprnamespace \
         WHERE o.oid OPERATOR(pg_catalog.=) $1";
    scalar(SQL, &[Argument::of(oid)])
}

/// The type that a domain is over, any other type itself, as SQL writes it whatever the search path, without a length.
pub(crate) fn base_type_name(typoid: pg_sys::Oid) -> String {
    // With a modifier of -1: bpchar, for "character" alone means a length of one.
    let flags = pg_sys::FORMAT_TYPE_FORCE_QUALIFY | pg_sys::FORMAT_TYPE_TYPEMOD_GIVEN;
    // SAFETY: any oid is answered by a string.
    unsafe {
        let written = pg_sys::format_type_extended(pg_sys::getBaseType(typoid), -1, flags as u16);
        CStr::from_ptr(written).to_string_lossy().into_owned()
    }
}

/// The type of arrays of a type, if there is one.
pub(crate) fn array_type(typoid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: any oid is answered.
    let array = unsafe { pg_sys::get_array_type(typoid) };
    (array != pg_sys::InvalidOid).then_some(array)
}

/// `name_label`, cut to the length of an identifier as PostgreSQL cuts the
/// names of indexes.
pub(crate) fn object_name(name: &str, label: &str) -> String {
    let (name, label) = (CString::new(name).unwrap_or_default(), CString::new(label).unwrap_or_default());
    // SAFETY: strings that end; the answer is one too.
    unsafe {
        let made = pg_sys::makeObjectName(name.as_ptr(), std::ptr::null(), label.as_ptr());
        CStr::from_ptr(made).to_string_lossy().into_owned()
    }
}

/// Whether a transaction block is open, so that nothing can be committed.
pub(crate) fn in_transaction_block() -> bool {
    // SAFETY: a plain question.
    unsafe { pg_sys::IsTransactionBlock() }
}

/// Whether each statement sees what others committed before it.
pub(crate) fn is_read_committed() -> bool {
    // SAFETY: a plain read of a variable.
    unsafe { pg_sys::XactIsoLevel <= pg_sys::XACT_READ_COMMITTED as i32 }
}
