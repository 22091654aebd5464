//! Rows in and out: a query of the user's through a cursor, and results into a
//! tuplestore, which spills beyond `work_mem` and counts against
//! `temp_file_limit`.

use dedup_core::memory::{self, OrRaise};
use pgrx::{PgSqlErrorCode, PgTupleDesc, pg_guard, pg_sys};
use std::ffi::{CStr, CString};

/// A column of a query.
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) typoid: pg_sys::Oid,
}

impl Column {
    /// Its type as SQL names it, without a limit of length: `bpchar`, not
    /// `character`, which is of one.
    pub(crate) fn type_name(&self) -> String {
        // SAFETY: any oid is answered by a string.
        unsafe {
            CStr::from_ptr(pg_sys::format_type_with_typemod(self.typoid, -1)).to_string_lossy().into_owned()
        }
    }

    /// Its type, or the one that its domain is over.
    pub(crate) fn base_type(&self) -> pg_sys::Oid {
        // SAFETY: any oid is answered.
        unsafe { pg_sys::getBaseType(self.typoid) }
    }

    /// Whether a value is stored as `text` is: varchar, citext, a domain over these.
    pub(crate) fn is_text(&self) -> bool {
        // SAFETY: any oid is answered.
        unsafe { pg_sys::IsBinaryCoercible(self.typoid, pg_sys::TEXTOID) }
    }

    /// Whether a value is neither a row nor an array, nor of a domain over these.
    pub(crate) fn is_scalar(&self) -> bool {
        // SAFETY: any oid is answered.
        unsafe {
            let base = self.base_type();
            !pg_sys::type_is_rowtype(base) && pg_sys::get_element_type(base) == pg_sys::InvalidOid
        }
    }
}

/// The values of a row.
pub(crate) struct Values<'a> {
    pub(super) values: &'a [pg_sys::Datum],
    pub(super) nulls: &'a [bool],
}

impl Values<'_> {
    /// A column's value, `None` for NULL.
    pub(crate) fn get(&self, column: usize) -> Option<pg_sys::Datum> {
        (!self.nulls[column]).then(|| self.values[column])
    }

    /// The value of a column that is `bigint`.
    pub(crate) fn bigint(&self, column: usize) -> Option<i64> {
        self.get(column).map(|value| value.value() as i64)
    }

    /// A copy of the value of a column that is `text`.
    ///
    /// # Safety
    /// It is.
    pub(crate) unsafe fn text(&self, column: usize) -> Option<String> {
        // SAFETY: the caller's promise.
        self.get(column).map(|value| unsafe { text_argument(value) })
    }
}

/// Runs a query that only reads and gives its columns to `start`, then its rows
/// to what that returns. One row is in memory at a time.
pub(crate) fn walk<E: FnMut(&Values<'_>)>(query: &str, start: impl FnOnce(&[Column]) -> E) {
    // The name of a table is the likely mistake, and its syntax error says nothing.
    if !query.is_empty() && query.chars().all(|c| c.is_alphanumeric() || "_.$\"".contains(c)) {
        refuse(&format!("\"{}\" is not a query", query.replace('"', "")));
    }
    let text = CString::new(query).unwrap_or_else(|_| refuse("the query contains a zero byte"));
    // SAFETY: connect, prepare, open, run, close and finish in their order; after
    // an error the end of the transaction tidies up. The receiver outlives the run.
    unsafe {
        let context = pg_sys::CurrentMemoryContext;
        pg_sys::SPI_connect();
        let plan = super::parse::prepare(&text);
        if plan.is_null() {
            refuse("the query cannot be prepared");
        }
        if !pg_sys::SPI_is_cursor_plan(plan) {
            refuse("the query is not one that returns rows");
        }
        let portal =
            pg_sys::SPI_cursor_open(std::ptr::null(), plan, std::ptr::null_mut(), std::ptr::null(), true);
        let columns = columns((*portal).tupDesc);
        let spi = pg_sys::MemoryContextSwitchTo(context);
        let mut each = start(&columns);
        let mut receiver = Receiver::new(&mut each, context);
        pg_sys::MemoryContextSwitchTo(spi);
        const ALL: std::ffi::c_long = std::ffi::c_long::MAX;
        let forward = pg_sys::FetchDirection::FETCH_FORWARD;
        pg_sys::PortalRunFetch(portal, forward, ALL, (&raw mut receiver).cast());
        pg_sys::SPI_cursor_close(portal);
        pg_sys::SPI_finish();
        pg_sys::MemoryContextSwitchTo(context);
    }
}

/// Where the executor sends rows.
#[repr(C)]
struct Receiver<'r> {
    functions: pg_sys::DestReceiver,
    each: &'r mut dyn FnMut(&Values<'_>),
    /// What is kept of rows outlives the query: its memory and its files are those of the caller.
    context: pg_sys::MemoryContext,
    owner: pg_sys::ResourceOwner,
}

impl<'r> Receiver<'r> {
    fn new(each: &'r mut dyn FnMut(&Values<'_>), context: pg_sys::MemoryContext) -> Receiver<'r> {
        let functions = pg_sys::DestReceiver {
            receiveSlot: Some(receive),
            rStartup: Some(start_up),
            rShutdown: Some(nothing),
            rDestroy: Some(nothing),
            mydest: pg_sys::CommandDest::DestNone,
        };
        // SAFETY: a plain read of the running query's owner.
        let owner = unsafe { pg_sys::CurrentResourceOwner };
        Receiver { functions, each, context, owner }
    }
}

unsafe extern "C-unwind" fn start_up(_: *mut pg_sys::DestReceiver, _: std::ffi::c_int, _: pg_sys::TupleDesc) {
}

unsafe extern "C-unwind" fn nothing(_: *mut pg_sys::DestReceiver) {}

/// Takes a row.
#[pg_guard]
unsafe extern "C-unwind" fn receive(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: the executor calls it with a slot that holds a row, and with the
    // receiver that it was given, which is the first field of ours. If a row is
    // refused, the error's way out sets owner and context right.
    unsafe {
        let receiver = &mut *receiver.cast::<Receiver<'_>>();
        pg_sys::slot_getallattrs(slot);
        let columns = (*(*slot).tts_tupleDescriptor).natts as usize;
        let row = Values {
            values: std::slice::from_raw_parts((*slot).tts_values, columns),
            nulls: std::slice::from_raw_parts((*slot).tts_isnull, columns),
        };
        let context = pg_sys::MemoryContextSwitchTo(receiver.context);
        let owner = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = receiver.owner;
        super::memory::check();
        (receiver.each)(&row);
        pg_sys::CurrentResourceOwner = owner;
        pg_sys::MemoryContextSwitchTo(context);
    }
    true
}

pub(super) fn refuse(what: &str) -> ! {
    super::raise(
        PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
        what,
        "Give one SELECT, for example 'SELECT id, fp FROM petition'.",
    )
}

/// # Safety
/// `desc` is a row's descriptor.
pub(super) unsafe fn columns(desc: pg_sys::TupleDesc) -> Vec<Column> {
    // SAFETY: the caller's promise; the copy is the wrapper's own.
    let desc = unsafe { PgTupleDesc::from_pg_copy(desc) };
    let column = |attribute: &pg_sys::FormData_pg_attribute| Column {
        name: attribute.name().to_owned(),
        typoid: attribute.atttypid,
    };
    desc.iter().map(column).collect()
}

/// The rows that a function returns.
pub(crate) struct Output {
    store: *mut pg_sys::Tuplestorestate,
    desc: pg_sys::TupleDesc,
}

impl Output {
    /// Starts the result of the running call, whose SQL declaration returns a
    /// table.
    pub(crate) fn begin(fcinfo: pg_sys::FunctionCallInfo) -> Output {
        // SAFETY: `fcinfo` is that of the running call; the store and the
        // descriptor are made in the query's memory, where the executor wants them.
        unsafe {
            let info = (*fcinfo).resultinfo.cast::<pg_sys::ReturnSetInfo>();
            if info.is_null()
                || (*info).type_ != pg_sys::NodeTag::T_ReturnSetInfo
                || (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize as i32 == 0
            {
                super::raise(
                    PgSqlErrorCode::ERRCODE_FEATURE_NOT_SUPPORTED,
                    "set-valued function called where no set can be",
                    "Call it in FROM.",
                )
            }
            let before = pg_sys::MemoryContextSwitchTo((*(*info).econtext).ecxt_per_query_memory);
            let mut desc = std::ptr::null_mut();
            pg_sys::get_call_result_type(fcinfo, std::ptr::null_mut(), &mut desc);
            let random =
                (*info).allowedModes & pg_sys::SetFunctionReturnMode::SFRM_Materialize_Random as i32 != 0;
            let store = pg_sys::tuplestore_begin_heap(random, false, pg_sys::work_mem);
            (*info).returnMode = pg_sys::SetFunctionReturnMode::SFRM_Materialize;
            (*info).setResult = store;
            (*info).setDesc = desc;
            pg_sys::MemoryContextSwitchTo(before);
            Output { store, desc }
        }
    }

    /// Adds a row; `None` is NULL.
    ///
    /// # Safety
    /// The values are those of the declared columns' types.
    pub(crate) unsafe fn put<const N: usize>(&mut self, row: [Option<pg_sys::Datum>; N]) {
        let mut nulls = row.map(|value| value.is_none());
        let mut values = row.map(|value| value.unwrap_or(pg_sys::Datum::null()));
        // SAFETY: the caller's promise; the store lives as long as the query.
        unsafe {
            assert_eq!((*self.desc).natts as usize, N);
            pg_sys::tuplestore_putvalues(self.store, self.desc, values.as_mut_ptr(), nulls.as_mut_ptr());
        }
    }
}

impl Output {
    /// As [`Output::put`], and gives back the memory of values that are `text`
    /// in the first three columns: a result of millions of rows would keep it.
    ///
    /// # Safety
    /// As [`Output::put`]; the first three are `text` made for this call.
    pub(crate) unsafe fn put_and_free<const N: usize>(&mut self, row: [Option<pg_sys::Datum>; N]) {
        // SAFETY: the caller's promise; the store copies values.
        unsafe {
            self.put(row);
            for text in row.iter().take(3).flatten() {
                pg_sys::pfree(text.cast_mut_ptr());
            }
        }
    }
}

/// A value as its type's output function writes it.
///
/// # Safety
/// `value` is of type `typoid`.
pub(crate) unsafe fn text_of(value: pg_sys::Datum, typoid: pg_sys::Oid) -> Vec<u8> {
    // SAFETY: the caller's promise; the string is terminated, and ours to free.
    unsafe {
        let (mut output, mut varlena) = (pg_sys::InvalidOid, false);
        pg_sys::getTypeOutputInfo(typoid, &mut output, &mut varlena);
        let written = pg_sys::OidOutputFunctionCall(output, value);
        let copy = memory::copy(CStr::from_ptr(written).to_bytes());
        pg_sys::pfree(written.cast());
        copy.or_raise()
    }
}

/// A copy of a `text` value; leaves nothing behind in PostgreSQL's memory.
///
/// # Safety
/// `value` is a `text`.
pub(crate) unsafe fn text_argument(value: pg_sys::Datum) -> String {
    // SAFETY: the caller's promise; only a copy that was made here is freed.
    unsafe {
        let stored: *mut pg_sys::varlena = value.cast_mut_ptr();
        let plain = pg_sys::pg_detoast_datum_packed(stored);
        let copy = memory::copy(pgrx::varlena_to_byte_slice(plain));
        if plain != stored {
            pg_sys::pfree(plain.cast());
        }
        super::text(copy.or_raise())
    }
}
