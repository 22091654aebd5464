//! Statements with arguments, for work that reads what it has just written:
//! every statement sees all that went before it.

use super::raise;
use super::rows::{Column, Values, columns};
use pgrx::{IntoDatum, PgSqlErrorCode, pg_sys};
use std::ffi::{CStr, CString};

/// Rows fetched at a time.
const ROWS: i64 = 4096;

// Linked without the guard that pgrx puts around every call: it runs once a
// row and cannot raise an error.
unsafe extern "C-unwind" {
    #[link_name = "heap_deform_tuple"]
    fn heap_deform_tuple_unguarded(
        tuple: pg_sys::HeapTuple,
        desc: pg_sys::TupleDesc,
        values: *mut pg_sys::Datum,
        nulls: *mut bool,
    );
}

/// An argument of a statement, with its type.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    typoid: pg_sys::Oid,
    value: pg_sys::Datum,
}

impl Argument {
    /// Any value; an array for a vector.
    pub(crate) fn of<T: IntoDatum>(value: T) -> Argument {
        Argument { typoid: T::type_oid(), value: value.into_datum().unwrap_or(pg_sys::Datum::null()) }
    }

    /// A copy of an array that a row holds; it lives as long as the caller's
    /// memory context.
    ///
    /// # Safety
    /// `value` is of the array type `typoid`.
    pub(crate) unsafe fn copy_of_array(value: pg_sys::Datum, typoid: pg_sys::Oid) -> Argument {
        // SAFETY: the caller's promise: a varlena.
        let copy = unsafe { pg_sys::pg_detoast_datum_copy(value.cast_mut_ptr()) };
        Argument { typoid, value: pg_sys::Datum::from(copy) }
    }
}

fn split(sql: &str, arguments: &[Argument]) -> (CString, Vec<pg_sys::Oid>, Vec<pg_sys::Datum>) {
    let text = CString::new(sql).unwrap_or_else(|_| {
        raise(PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE, "the query contains a zero byte", "")
    });
    let types = arguments.iter().map(|argument| argument.typoid).collect();
    (text, types, arguments.iter().map(|argument| argument.value).collect())
}

/// Runs a statement and says how many rows it touched.
pub(crate) fn execute(sql: &str, arguments: &[Argument]) -> u64 {
    let (text, mut types, mut values) = split(sql, arguments);
    // SAFETY: connect, execute and finish in their order; the arguments are
    // of their types, none is NULL.
    unsafe {
        pg_sys::SPI_connect();
        let status = pg_sys::SPI_execute_with_args(
            text.as_ptr(),
            types.len() as i32,
            types.as_mut_ptr(),
            values.as_mut_ptr(),
            std::ptr::null(),
            false,
            0,
        );
        if status < 0 {
            let name = CStr::from_ptr(pg_sys::SPI_result_code_string(status)).to_string_lossy();
            raise(PgSqlErrorCode::ERRCODE_INTERNAL_ERROR, format!("statement failed: {name}"), "")
        }
        let rows = pg_sys::SPI_processed;
        pg_sys::SPI_finish();
        rows
    }
}

/// Runs a query and gives its rows to what `start` returns for its columns. It
/// is planned for these very arguments.
pub(crate) fn select<E: FnMut(&Values<'_>)>(
    sql: &str,
    arguments: &[Argument],
    start: impl FnOnce(&[Column]) -> E,
) {
    // SAFETY: the portal is open while rows are taken.
    unsafe { in_portal(sql, arguments, |portal| every_row(portal, start)) }
}

/// The columns of a query, without running it.
pub(crate) fn describe(query: &str) -> Vec<Column> {
    // SAFETY: an open portal has a descriptor.
    unsafe { in_portal(query, &[], |portal| columns((*portal).tupDesc)) }
}

/// Opens a query and works with it.
///
/// # Safety
/// `work` uses the portal only while it runs.
unsafe fn in_portal<R>(sql: &str, arguments: &[Argument], work: impl FnOnce(pg_sys::Portal) -> R) -> R {
    let (text, mut types, mut values) = split(sql, arguments);
    // SAFETY: connect, open, close and finish in their order; after an error
    // the end of the transaction tidies up. The work is done in the caller's
    // memory context, so that what is kept of rows outlives the query.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        pg_sys::SPI_connect();
        let portal = pg_sys::SPI_cursor_open_with_args(
            std::ptr::null(),
            text.as_ptr(),
            types.len() as i32,
            types.as_mut_ptr(),
            values.as_mut_ptr(),
            std::ptr::null(),
            false,
            pg_sys::CURSOR_OPT_NO_SCROLL as i32,
        );
        let spi = pg_sys::MemoryContextSwitchTo(context);
        let result = work(portal);
        pg_sys::MemoryContextSwitchTo(spi);
        pg_sys::SPI_cursor_close(portal);
        pg_sys::SPI_finish();
        pg_sys::MemoryContextSwitchTo(context);
        result
    }
}

/// Takes all rows of a portal, some thousand at a time: what is done with a row
/// may run statements of its own.
///
/// # Safety
/// The portal is open.
unsafe fn every_row<E: FnMut(&Values<'_>)>(portal: pg_sys::Portal, start: impl FnOnce(&[Column]) -> E) {
    // SAFETY: the caller's promise; a row lives until its batch is freed.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        let columns = columns((*portal).tupDesc);
        let mut each = start(&columns);
        let mut values = vec![pg_sys::Datum::null(); columns.len()];
        let mut nulls = vec![true; columns.len()];
        loop {
            pg_sys::SPI_cursor_fetch(portal, true, ROWS as _);
            pg_sys::MemoryContextSwitchTo(context);
            let (table, rows) = (pg_sys::SPI_tuptable, pg_sys::SPI_processed as usize);
            if rows == 0 {
                return;
            }
            for &tuple in std::slice::from_raw_parts((*table).vals, rows) {
                let desc = (*table).tupdesc;
                heap_deform_tuple_unguarded(tuple, desc, values.as_mut_ptr(), nulls.as_mut_ptr());
                each(&Values { values: &values, nulls: &nulls });
            }
            pg_sys::SPI_freetuptable(table);
            pgrx::check_for_interrupts!();
        }
    }
}

/// As [`select`], without a look at the columns.
pub(crate) fn each(sql: &str, arguments: &[Argument], each: impl FnMut(&Values<'_>)) {
    select(sql, arguments, |_| each);
}

/// The operator by which two values of a type are equal, if they can be compared.
pub(crate) fn equality(typoid: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: any oid is answered.
    let operator = unsafe { (*pg_sys::lookup_type_cache(typoid, pg_sys::TYPECACHE_EQ_OPR as i32)).eq_opr };
    (operator != pg_sys::InvalidOid).then_some(operator)
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
