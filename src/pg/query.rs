//! Queries by the server programming interface: reading without a trace.

use super::raise;
use dedup_core::memory::{self, OrRaise};
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CString;

/// A row of strings or bytes.
pub(crate) type Cells = Vec<Option<Vec<u8>>>;

/// Runs a query that only reads, with text arguments and columns of type
/// `text` or `bytea`.
///
/// It is what an immutable function may do while a statement runs: it takes
/// the statement's snapshot and does not advance the command counter (pgrx's
/// own interface does both differently once the transaction has written).
pub(crate) fn read(query: &str, arguments: &[&str]) -> Vec<Cells> {
    let query = CString::new(query).unwrap_or_default();
    let mut types = vec![pg_sys::TEXTOID; arguments.len()];
    let mut values: Vec<pg_sys::Datum> =
        arguments.iter().map(|argument| argument.into_datum().unwrap_or(pg_sys::Datum::null())).collect();
    // SAFETY: connect, execute and finish are called in their order; the
    // arguments live until the call ends; a failing query leaves by an error,
    // after which the transaction's end tidies the interface up.
    unsafe {
        let pushed = !pg_sys::ActiveSnapshotSet();
        if pushed {
            pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        }
        pg_sys::SPI_connect();
        let status = pg_sys::SPI_execute_with_args(
            query.as_ptr(),
            arguments.len() as i32,
            types.as_mut_ptr(),
            values.as_mut_ptr(),
            std::ptr::null(),
            true,
            0,
        );
        let rows = if status == pg_sys::SPI_OK_SELECT as i32 { copy_rows() } else { Vec::new() };
        pg_sys::SPI_finish();
        if pushed {
            pg_sys::PopActiveSnapshot();
        }
        rows
    }
}

/// Copies the last result.
///
/// # Safety
/// A query has just been executed; its columns are `text` or `bytea`.
unsafe fn copy_rows() -> Vec<Cells> {
    // SAFETY: the table is the interface's own, and holds as many rows and
    // columns as it says; a value that is not NULL is a varlena.
    unsafe {
        let table = &*pg_sys::SPI_tuptable;
        let columns = (*table.tupdesc).natts;
        let cell = |tuple, column| {
            let mut null = false;
            let datum = pg_sys::SPI_getbinval(tuple, table.tupdesc, column, &mut null);
            let bytes = || pgrx::varlena_to_byte_slice(pg_sys::pg_detoast_datum_packed(datum.cast_mut_ptr()));
            (!null).then(|| memory::copy(bytes()).or_raise())
        };
        let rows = std::slice::from_raw_parts(table.vals, pg_sys::SPI_processed as usize);
        memory::collect(rows.iter().map(|&tuple| (1..=columns).map(|column| cell(tuple, column)).collect()))
            .or_raise()
    }
}

/// The extension's schema, quoted for SQL.
pub(crate) fn schema() -> String {
    let rows = read(
        "SELECT pg_catalog.quote_ident(n.nspname)::pg_catalog.text FROM pg_catalog.pg_extension e \
         JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace \
         WHERE e.extname OPERATOR(pg_catalog.=) 'pg_dedup'",
        &[],
    );
    let name = rows.into_iter().flatten().flatten().next();
    name.and_then(|name| String::from_utf8(name).ok()).unwrap_or_else(|| {
        raise(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            "extension pg_dedup is not installed in this database",
            "CREATE EXTENSION pg_dedup;",
        )
    })
}

/// Bytes of a text column.
pub(crate) fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// A name as SQL writes it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
