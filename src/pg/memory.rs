//! Out of memory is an error of the statement, as in PostgreSQL, not a crash of the server.
//!
//! Structures that grow with the data allocate fallibly (`dedup_core::memory`) and raise the error
//! themselves. Other allocations are small, but Rust aborts the process when one fails, and PostgreSQL then
//! restarts all sessions. So this allocator holds a reserve. When such an allocation fails, it returns the
//! reserve to the system, tries again, and has the next check for interrupts raise the error. If even that is
//! not enough, the session ends with a FATAL error, and other sessions go on.

use super::settings::{exceeds_memory_limit, within_memory_limit};
use dedup_core::memory::{OutOfMemory, count, may_fail};
use pgrx::{PgSqlErrorCode, pg_sys};
use std::alloc::{GlobalAlloc, Layout, System};
use std::ffi::{c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Only address space: no page of it is ever written.
const RESERVE: usize = 8 << 20;

static HELD: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
/// Whether this process has ever held the reserve. The postmaster does not, because sessions inherit its memory.
static STARTED: AtomicBool = AtomicBool::new(false);
/// The size of an allocation for which the reserve was given back, or 0.
static SHORT: AtomicUsize = AtomicUsize::new(0);
/// The size of an allocation that failed on another thread for good, or 0.
static FAILED: AtomicUsize = AtomicUsize::new(0);
static DYING: AtomicBool = AtomicBool::new(false);
/// PostgreSQL's thread; the same after a fork.
static MAIN: AtomicUsize = AtomicUsize::new(0);

struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

// SAFETY: all memory is the system allocator's; what is added when it fails neither allocates by this allocator nor unwinds.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        again(0, layout.size(), || unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        again(0, layout.size(), || unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller's promise; what fails leaves the old memory alone.
        again(layout.size(), size, || unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(old, layout) }
        count(-(layout.size() as isize));
    }
}

/// Allocates `size` bytes in place of `old`.
#[inline]
fn again(old: usize, size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    if !STARTED.load(Relaxed) {
        start();
    }
    let memory = allocate();
    let memory = if memory.is_null() && !may_fail() { insist(size, allocate) } else { memory };
    if !memory.is_null() {
        count(size as isize - old as isize);
    }
    memory
}

#[cold]
fn insist(size: usize, allocate: impl Fn() -> *mut u8) -> *mut u8 {
    let held = HELD.swap(null_mut(), Relaxed);
    if !held.is_null() {
        SHORT.store(size.max(1), Relaxed);
        // SAFETY: the mapping was made by `hold`, and nobody else has it now.
        unsafe { libc::munmap(held, RESERVE) };
    }
    // Another thread may just have given the reserve back.
    let memory = allocate();
    if memory.is_null() && STARTED.load(Relaxed) && !DYING.load(Relaxed) {
        give_up(size);
    }
    memory
}

/// Ends the session, if it can. Returns if it cannot.
fn give_up(size: usize) {
    if on_main_thread() {
        end_session(size);
    }
    FAILED.store(size, Relaxed);
    // The main thread checks `FAILED` every few milliseconds and ends the session. But not while it waits for a row of the query
    // that it reads: there PostgreSQL ends the session, if it is told to. Not to be waited for without end: an error that
    // unwinds joins this thread.
    std::thread::sleep(Duration::from_secs(5));
    // SAFETY: a signal to this very process.
    unsafe { libc::kill(libc::getpid(), libc::SIGTERM) };
    std::thread::sleep(Duration::from_secs(10));
}

#[cold]
fn start() {
    // SAFETY: plain reads of variables that are set before the library is loaded.
    let session = unsafe { pg_sys::IsUnderPostmaster || !pg_sys::IsPostmasterEnvironment };
    if session && !STARTED.swap(true, Relaxed) {
        hold();
    }
}

/// Something of a thread that is destroyed at its end. The C library registers the first such thing of a thread, and ends the
/// process if it has no memory to: it may not be an error that memory is short which is the first.
struct Destroyed;

impl Drop for Destroyed {
    fn drop(&mut self) {}
}

thread_local! {
    static DESTROYED: Destroyed = const { Destroyed };
}

/// Maps the reserve, if there is memory for it.
fn hold() {
    if !HELD.load(Relaxed).is_null() {
        return;
    }
    HELD.store(map(RESERVE), Relaxed);
}

/// Memory straight from the system; null if there is none.
fn map(bytes: usize) -> *mut c_void {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a mapping of its own, at no address asked for.
    let memory = unsafe { libc::mmap(null_mut(), bytes, access, kind, -1, 0) };
    if memory == libc::MAP_FAILED { null_mut() } else { memory }
}

pub(super) fn system_has(bytes: usize) -> bool {
    let memory = map(bytes);
    // SAFETY: the mapping was just made, if it was, and nobody else has it.
    !memory.is_null() && unsafe { libc::munmap(memory, bytes) } == 0
}

unsafe extern "C-unwind" {
    // Called without pgrx's guard, which allocates; a FATAL error does not jump.
    fn errstart(level: c_int, domain: *const c_char) -> bool;
    fn errcode(code: c_int) -> c_int;
    fn errmsg(format: *const c_char, ...) -> c_int;
    fn errdetail(format: *const c_char, ...) -> c_int;
    fn errfinish(file: *const c_char, line: c_int, function: *const c_char);
}

/// Raises a FATAL error: PostgreSQL ends the process in an orderly way, without unwinding.
fn end_session(size: usize) {
    DYING.store(true, Relaxed);
    // SAFETY: called on PostgreSQL's thread, with formats that fit their arguments.
    unsafe {
        if errstart(pgrx::PgLogLevel::FATAL as c_int, std::ptr::null()) {
            errcode(PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY as c_int);
            errmsg(c"out of memory".as_ptr());
            errdetail(c"Failed on request of size %zu.".as_ptr(), size);
            errfinish(c"memory.rs".as_ptr(), line!() as c_int, c"end_session".as_ptr());
        }
    }
}

fn this_thread() -> usize {
    // SAFETY: always succeeds.
    unsafe { libc::pthread_self() as usize }
}

/// Whether this is PostgreSQL's thread, the only one that may call it.
pub(crate) fn on_main_thread() -> bool {
    MAIN.load(Relaxed) == this_thread()
}

pub(crate) fn init() {
    DESTROYED.with(|_| {});
    MAIN.store(this_thread(), Relaxed);
    dedup_core::memory::on_raise(report);
    dedup_core::interrupt::set_hook(answer);
    // SAFETY: the callbacks live as long as the library, which is never unloaded.
    unsafe {
        pg_sys::RegisterXactCallback(Some(transaction_ended), null_mut());
        pg_sys::RegisterSubXactCallback(Some(subtransaction_ended), null_mut());
    }
}

fn report(error: OutOfMemory) {
    if on_main_thread() {
        raise_out_of_memory(error)
    }
}

pub(crate) fn raise_out_of_memory(error: OutOfMemory) -> ! {
    super::raise_with_detail(
        PgSqlErrorCode::ERRCODE_OUT_OF_MEMORY,
        "out of memory",
        format!("Failed on request of size {}.", error.bytes),
        "",
    )
}

/// What a check of `dedup_core::interrupt` does in a backend: raises the error of an interrupt that is pending or of memory that is
/// short. It unwinds, as every error of PostgreSQL under pgrx. On a thread of our own it does nothing, for PostgreSQL may not be
/// called there.
fn answer() {
    // SAFETY: a read of a flag that signal handlers set.
    let pending = unsafe { (&raw const pg_sys::InterruptPending).read_volatile() } != 0;
    if on_main_thread() && (pending || is_short()) {
        pgrx::check_for_interrupts!();
        raise_if_allowed();
    }
}

/// Whether an allocation took the reserve or failed, or the process has taken more than it may.
fn is_short() -> bool {
    SHORT.load(Relaxed) > 0 || FAILED.load(Relaxed) > 0 || exceeds_memory_limit(0)
}

/// Raises the error of an allocation that took the reserve, or of memory beyond its limit.
#[cold]
fn raise_if_allowed() {
    // SAFETY: plain reads of variables of the one thread that gets here.
    let held = unsafe { pg_sys::InterruptHoldoffCount > 0 || pg_sys::CritSectionCount > 0 };
    // What an error drops on its way out is still taken.
    if held || std::thread::panicking() {
        return;
    }
    let failed = FAILED.load(Relaxed);
    if failed > 0 {
        end_session(failed);
    }
    let short = SHORT.swap(0, Relaxed);
    if short > 0 {
        raise_out_of_memory(OutOfMemory { bytes: short })
    }
    within_memory_limit(0);
}

/// Restores the reserve: the transaction that was short of memory has released what it had.
fn recover() {
    SHORT.store(0, Relaxed);
    if STARTED.load(Relaxed) {
        hold();
    }
}

unsafe extern "C-unwind" fn transaction_ended(_: pg_sys::XactEvent::Type, _: *mut c_void) {
    recover();
}

unsafe extern "C-unwind" fn subtransaction_ended(
    event: pg_sys::SubXactEvent::Type,
    _: pg_sys::SubTransactionId,
    _: pg_sys::SubTransactionId,
    _: *mut c_void,
) {
    if event == pg_sys::SubXactEvent::SUBXACT_EVENT_ABORT_SUB {
        recover();
    }
}
