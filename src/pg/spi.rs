//! The server programming interface (SPI): the one way to run SQL.
//!
//! Names in SQL text are the caller's affair: statements of this extension
//! qualify every function, operator and type with its schema.
//!
//! Rows are passed on one at a time, in the caller's memory context and under its resource owner; nothing of
//! a row stays in memory that the caller does not copy. Every row is a check for interrupts. What a caller
//! does with a row may run statements of its own.

use super::names::{Schemas, steady};
use super::parse::prepare;
use super::rows::{Column, Values, columns};
use super::{raise_internal, raise_invalid, version};
use dedup_core::interrupt;
use dedup_core::memory::{Grow, OrRaise};
use pgrx::{FromDatum, IntoDatum, pg_guard, pg_sys};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString};

thread_local! {
    /// Plans of constant statements, by their types of arguments.
    static KEPT: RefCell<HashMap<(&'static str, Vec<pg_sys::Oid>), pg_sys::SPIPlanPtr>> = RefCell::default();
}

/// An argument of a statement, with its type.
#[derive(Clone, Copy)]
pub(crate) struct Argument {
    typoid: pg_sys::Oid,
    /// `None` is NULL.
    value: Option<pg_sys::Datum>,
}

impl Argument {
    /// Any value; a vector is an array, `None` is NULL.
    pub(crate) fn of<T: IntoDatum>(value: T) -> Argument {
        Argument { typoid: T::type_oid(), value: value.into_datum() }
    }

    /// A value of a type; it is not copied.
    ///
    /// # Safety
    /// `value` is of the type `typoid`.
    pub(crate) unsafe fn of_type(value: pg_sys::Datum, typoid: pg_sys::Oid) -> Argument {
        Argument { typoid, value: Some(value) }
    }
}

impl Values<'_> {
    /// A copy of the array in a column; it lives as long as the caller's memory context.
    pub(crate) fn array(&self, column: usize) -> Option<Argument> {
        let typoid = self.columns[column].typoid;
        // SAFETY: an array is a varlena, as nearly all that is passed by reference.
        let copy = |value: pg_sys::Datum| unsafe { pg_sys::pg_detoast_datum_copy(value.cast_mut_ptr()) };
        assert!(!self.columns[column].is_scalar(), "an array");
        self.get(column).map(|value| Argument { typoid, value: Some(copy(value).into()) })
    }

    /// The members of the array of `bigint` in a column, none of which is NULL; none of NULL.
    pub(crate) fn bigints(&self, column: usize) -> Vec<i64> {
        assert_eq!(self.columns[column].typoid, pg_sys::INT8ARRAYOID);
        // SAFETY: the value is of this type.
        self.get(column).and_then(|array| unsafe { Vec::from_datum(array, false) }).unwrap_or_default()
    }
}

/// Arguments as SPI takes them: types, values, and for each value `n` if it is NULL, else a blank.
type Arguments = (Vec<pg_sys::Oid>, Vec<pg_sys::Datum>, Vec<std::ffi::c_char>);

fn split(arguments: &[Argument]) -> Arguments {
    let types = arguments.iter().map(|argument| argument.typoid).collect();
    let values = arguments.iter().map(|argument| argument.value.unwrap_or(pg_sys::Datum::null())).collect();
    let nulls = arguments.iter().map(|argument| if argument.value.is_none() { b'n' } else { b' ' });
    (types, values, nulls.map(|mark| mark as std::ffi::c_char).collect())
}

fn terminated(sql: &str) -> CString {
    CString::new(sql).unwrap_or_else(|_| refuse("the query contains a zero byte"))
}

/// Reports that a user's text is not a query whose rows can be read.
fn refuse(what: &str) -> ! {
    raise_invalid(what, "Give one SELECT, for example 'SELECT id, fp FROM petition'.")
}

/// Runs a statement of any kind and says how many rows it touched. It sees, and
/// later statements see of it, whatever was written before.
pub(crate) fn execute(sql: &str, arguments: &[Argument]) -> u64 {
    let (mut types, mut values, nulls) = split(arguments);
    let text = terminated(sql);
    // SAFETY: connect, execute and finish in their order; after an error the end
    // of the transaction tidies up. The arguments are of their types.
    unsafe {
        pg_sys::SPI_connect();
        let plan = prepare(&text, &mut types, 0);
        let status = pg_sys::SPI_execute_plan(plan, values.as_mut_ptr(), nulls.as_ptr(), false, 0);
        if status < 0 {
            let name = CStr::from_ptr(pg_sys::SPI_result_code_string(status)).to_string_lossy();
            raise_internal(format!("statement failed: {name}"), "")
        }
        let rows = pg_sys::SPI_processed;
        pg_sys::SPI_finish();
        rows
    }
}

/// Runs a query, or a statement with RETURNING, that sees whatever was written
/// before, and passes its rows on. It is planned for these very arguments.
pub(crate) fn for_each(sql: &str, arguments: &[Argument], each: impl FnMut(&Values<'_>)) {
    // SAFETY: the portal is open while its rows are taken.
    unsafe { in_portal(sql, arguments, false, |portal| pass_rows(portal, |_| each)) }
}

/// Runs a query that a user wrote, which must only read, and passes its rows to
/// what `start` returns for its columns. An error in it says where in its text.
pub(crate) fn for_each_of_query<E: FnMut(&Values<'_>)>(
    query: &str,
    arguments: &[Argument],
    start: impl FnOnce(&[Column]) -> E,
) {
    // SAFETY: the portal is open while its rows are taken.
    unsafe { in_portal(query, arguments, true, |portal| pass_rows(portal, start)) }
}

/// What `read` makes of each row of a query: all of it is in memory. The query sees what the statement that
/// calls sees, and an immutable function may run it.
pub(crate) fn query_all<T>(sql: &str, arguments: &[Argument], read: impl FnMut(&Values<'_>) -> T) -> Vec<T> {
    // SAFETY: the portal is open while its rows are taken.
    collected(read, |each| unsafe { in_portal(sql, arguments, true, |portal| pass_rows(portal, |_| each)) })
}

/// What `read` makes of each row that `run` passes on.
fn collected<T>(
    mut read: impl FnMut(&Values<'_>) -> T,
    run: impl FnOnce(&mut dyn FnMut(&Values<'_>)),
) -> Vec<T> {
    let mut rows = Vec::new();
    run(&mut |row| rows.grow(read(row)).or_raise());
    rows
}

/// The text in the first column of the first row of a query; `None` if there is no row, or NULL in it. As [`query_all`].
pub(crate) fn scalar(sql: &str, arguments: &[Argument]) -> Option<String> {
    query_all(sql, arguments, |row| row.text(0)).into_iter().next().flatten()
}

/// Whether a query gives a row. As [`query_all`].
pub(crate) fn exists(sql: &str, arguments: &[Argument]) -> bool {
    !query_all(sql, arguments, |_| ()).is_empty()
}

/// The number in the first column of the first row of a query. As [`query_all`].
pub(crate) fn oid(sql: &str, arguments: &[Argument]) -> Option<pg_sys::Oid> {
    query_all(sql, arguments, |row| row.oid(0)).into_iter().next().flatten()
}

/// Does `work` under a snapshot.
///
/// # Safety
/// The snapshot is valid.
unsafe fn under<R>(snapshot: pg_sys::Snapshot, work: impl FnOnce() -> R) -> R {
    // SAFETY: the snapshot is popped again; after an error the end of the transaction does that.
    unsafe {
        pg_sys::PushActiveSnapshot(snapshot);
        let result = work();
        pg_sys::PopActiveSnapshot();
        result
    }
}

/// Does `work`, whose queries read all that is committed now, at any level of isolation.
pub(crate) fn with_latest_snapshot<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: the snapshot was just taken.
    unsafe { under(pg_sys::GetLatestSnapshot(), work) }
}

/// What `read` makes of each row of a query of the catalogue as it is now, as PostgreSQL itself reads it, and not as it was
/// when the statement began: a lock may have been waited for since. The plan of a constant is kept for the session: to plan
/// takes longer than to run.
pub(crate) fn query_catalogue<T>(
    sql: impl Into<Cow<'static, str>>,
    arguments: &[Argument],
    read: impl FnMut(&Values<'_>) -> T,
) -> Vec<T> {
    let sql = sql.into();
    // SAFETY: called while the interface is connected.
    let plan = |types: &mut [pg_sys::Oid]| unsafe {
        match sql {
            Cow::Borrowed(sql) => kept(sql, types),
            Cow::Owned(sql) => cursor_plan(&sql, types, 0),
        }
    };
    // SAFETY: the snapshot was just taken; the portal is open while its rows are taken.
    unsafe {
        under(pg_sys::GetCatalogSnapshot(pg_sys::InvalidOid), || {
            collected(read, |each| with_plan(plan, arguments, true, |portal| pass_rows(portal, |_| each)))
        })
    }
}

/// The plan of a constant statement that names nothing but what is in `pg_catalog`, whose name nobody changes.
///
/// # Safety
/// The server programming interface is connected.
unsafe fn kept(sql: &'static str, types: &mut [pg_sys::Oid]) -> pg_sys::SPIPlanPtr {
    let key = (sql, types.to_vec());
    let found = KEPT.with_borrow(|kept| kept.get(&key).copied());
    // SAFETY: the caller's promise.
    found.unwrap_or_else(|| unsafe {
        let plan = cursor_plan(sql, types, pg_sys::CURSOR_OPT_GENERIC_PLAN);
        pg_sys::SPI_keepplan(plan);
        KEPT.with_borrow_mut(|kept| kept.insert(key, plan));
        plan
    })
}

/// # Safety
/// The server programming interface is connected.
unsafe fn cursor_plan(sql: &str, types: &mut [pg_sys::Oid], options: u32) -> pg_sys::SPIPlanPtr {
    let options = (pg_sys::CURSOR_OPT_NO_SCROLL | options) as i32;
    // SAFETY: the caller's promise.
    let plan = unsafe { prepare(&terminated(sql), types, options) };
    if plan.is_null() {
        refuse("the query cannot be prepared");
    }
    // SAFETY: the plan was just made.
    if !unsafe { pg_sys::SPI_is_cursor_plan(plan) } {
        refuse("the query is not one that returns rows");
    }
    plan
}

/// Does `work` with other values of settings of the session.
pub(crate) fn with_settings<R>(settings: &[(&str, &str)], work: impl FnOnce() -> R) -> R {
    // SAFETY: the values are set back; after an error the end of the (sub)transaction does that. The strings are terminated.
    unsafe {
        let level = pg_sys::NewGUCNestLevel();
        for (name, value) in settings {
            version::set_to_end_of_level(&terminated(name), &terminated(value));
        }
        let result = work();
        pg_sys::AtEOXact_GUC(false, level);
        result
    }
}

/// Does `work`, which needs a snapshot, under that of the statement that calls.
pub(crate) fn with_snapshot<R>(work: impl FnOnce() -> R) -> R {
    // SAFETY: the snapshot was just taken.
    unsafe {
        match pg_sys::ActiveSnapshotSet() {
            true => work(),
            false => under(pg_sys::GetTransactionSnapshot(), work),
        }
    }
}

/// The columns of a query, without running it, and the schemas of what it reads: as long as those are kept, it reads the same.
/// What would keep it from running is an error: syntax, names, rights.
pub(crate) fn describe(query: &str) -> (Vec<Column>, Schemas) {
    let whole = format!("SELECT * FROM ({query}\n) AS q");
    let read = |portal: pg_sys::Portal| {
        // SAFETY: an open portal has a descriptor and a plan, which has a list of the tables and views that it depends on.
        unsafe {
            let plan = pgrx::PgList::<pg_sys::PlannedStmt>::from_pg((*portal).stmts).get_ptr(0);
            let tables = plan.map(|plan| pgrx::PgList::<pg_sys::Oid>::from_pg((*plan).relationOids));
            let tables = tables.iter().flat_map(|tables| tables.iter_oid());
            (columns((*portal).tupDesc), Schemas::of(tables.map(|table| pg_sys::get_rel_namespace(table))))
        }
    };
    // SAFETY: the portal is open while it is looked at.
    steady(|| unsafe { in_portal(&whole, &[], false, read) })
}

/// Parses a user's query for the sake of its errors, which say where in its text, before it becomes part of another one.
pub(crate) fn check_query(query: &str) {
    let text = terminated(query);
    // SAFETY: connect, prepare and finish in their order.
    unsafe {
        pg_sys::SPI_connect();
        prepare(&text, &mut [], 0);
        pg_sys::SPI_finish();
    }
}

/// Opens a query as a cursor and works with it. `read_only`: it sees the database as the statement that calls, without a
/// trace: neither is the command counter advanced nor a snapshot taken. A function that is declared immutable or stable may do
/// no more. (pgrx's own interface does both once the transaction has written.) Else it sees the latest: all that this
/// transaction has written so far and, under READ COMMITTED, all that others have committed.
///
/// # Safety
/// `work` uses the portal only while it runs.
unsafe fn in_portal<R>(
    sql: &str,
    arguments: &[Argument],
    read_only: bool,
    work: impl FnOnce(pg_sys::Portal) -> R,
) -> R {
    // SAFETY: called while the interface is connected; the caller's promise.
    unsafe { with_plan(|types| cursor_plan(sql, types, 0), arguments, read_only, work) }
}

/// As [`in_portal`], of the plan that `plan` gives for these types of arguments.
///
/// # Safety
/// As [`in_portal`]; `plan` is called while the interface is connected, and the plan lives as long as that.
unsafe fn with_plan<R>(
    plan: impl FnOnce(&mut [pg_sys::Oid]) -> pg_sys::SPIPlanPtr,
    arguments: &[Argument],
    read_only: bool,
    work: impl FnOnce(pg_sys::Portal) -> R,
) -> R {
    let (mut types, mut values, nulls) = split(arguments);
    // SAFETY: connect, prepare, open, close and finish in their order; after an error the end of the transaction tidies up. The
    // arguments are of their types. The work is done in the caller's memory context, so that what it keeps outlives the query.
    with_snapshot(|| unsafe {
        let context = pg_sys::CurrentMemoryContext;
        pg_sys::SPI_connect();
        let plan = plan(&mut types);
        let portal =
            pg_sys::SPI_cursor_open(std::ptr::null(), plan, values.as_mut_ptr(), nulls.as_ptr(), read_only);
        let spi = pg_sys::MemoryContextSwitchTo(context);
        let result = work(portal);
        pg_sys::MemoryContextSwitchTo(spi);
        pg_sys::SPI_cursor_close(portal);
        pg_sys::SPI_finish();
        pg_sys::MemoryContextSwitchTo(context);
        result
    })
}

/// Passes all rows of a portal on.
///
/// # Safety
/// The portal is open, and the memory context the one to work in.
unsafe fn pass_rows<E: FnMut(&Values<'_>)>(portal: pg_sys::Portal, start: impl FnOnce(&[Column]) -> E) {
    const ALL: std::ffi::c_long = std::ffi::c_long::MAX;
    // SAFETY: the caller's promise; the receiver outlives the run.
    unsafe {
        let columns = columns((*portal).tupDesc);
        let mut each = start(&columns);
        let mut receiver = Receiver::new(&columns, &mut each);
        let forward = pg_sys::FetchDirection::FETCH_FORWARD;
        pg_sys::PortalRunFetch(portal, forward, ALL, (&raw mut receiver).cast());
    }
}

/// Where the executor sends rows.
#[repr(C)]
struct Receiver<'r> {
    functions: pg_sys::DestReceiver,
    columns: &'r [Column],
    each: &'r mut dyn FnMut(&Values<'_>),
    /// What is kept of rows outlives the query: its memory and its files are those of the caller.
    context: pg_sys::MemoryContext,
    owner: pg_sys::ResourceOwner,
}

impl<'r> Receiver<'r> {
    fn new(columns: &'r [Column], each: &'r mut dyn FnMut(&Values<'_>)) -> Receiver<'r> {
        let functions = pg_sys::DestReceiver {
            receiveSlot: Some(receive),
            rStartup: Some(start_up),
            rShutdown: Some(nothing),
            rDestroy: Some(nothing),
            mydest: pg_sys::CommandDest::DestNone,
        };
        // SAFETY: plain reads of variables of this process.
        let (context, owner) = unsafe { (pg_sys::CurrentMemoryContext, pg_sys::CurrentResourceOwner) };
        Receiver { functions, columns, each, context, owner }
    }
}

unsafe extern "C-unwind" fn start_up(_: *mut pg_sys::DestReceiver, _: std::ffi::c_int, _: pg_sys::TupleDesc) {
}

unsafe extern "C-unwind" fn nothing(_: *mut pg_sys::DestReceiver) {}

#[pg_guard]
unsafe extern "C-unwind" fn receive(
    slot: *mut pg_sys::TupleTableSlot,
    receiver: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: the executor calls it with a slot that holds a row of the query's columns, and with the receiver that it was
    // given, which is the first field of ours. If a row is refused, the error's way out sets owner and context right.
    unsafe {
        let receiver = &mut *receiver.cast::<Receiver<'_>>();
        pg_sys::slot_getallattrs(slot);
        let columns = receiver.columns;
        let row = Values {
            columns,
            values: std::slice::from_raw_parts((*slot).tts_values, columns.len()),
            nulls: std::slice::from_raw_parts((*slot).tts_isnull, columns.len()),
        };
        let context = pg_sys::MemoryContextSwitchTo(receiver.context);
        let owner = pg_sys::CurrentResourceOwner;
        pg_sys::CurrentResourceOwner = receiver.owner;
        interrupt::check();
        (receiver.each)(&row);
        pg_sys::CurrentResourceOwner = owner;
        pg_sys::MemoryContextSwitchTo(context);
    }
    true
}
