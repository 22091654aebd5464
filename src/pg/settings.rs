//! The settings `pg_dedup.*`.

use super::raise;
use dedup_core::memory::{limit_files, taken};
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::{PgSqlErrorCode, pg_sys};
use std::sync::OnceLock;
use std::time::Duration;

static THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);

const MOST_THREADS: i32 = 64;

static PROGRESS: GucSetting<i32> = GucSetting::<i32>::new(10_000);
static MEMORY_LIMIT: GucSetting<i32> = GucSetting::<i32>::new(0);
static GENERIC_WAL: GucSetting<bool> = GucSetting::<bool>::new(false);

/// Gives back what is only kept to be faster.
static FORGET: OnceLock<fn()> = OnceLock::new();

/// Defines the settings; `forget` is called where memory is beyond its limit.
pub(crate) fn define_settings(forget: fn()) {
    FORGET.get_or_init(|| forget);
    // SAFETY: nobody else reads the setting before it is known; the value is its default.
    unsafe { *MEMORY_LIMIT.as_ptr() = default_memory_limit() };
    GucRegistry::define_int_guc(
        c"pg_dedup.progress",
        c"Time between notices of a long call on how far it is.",
        c"A call that is over sooner says nothing. 0 turns the notices off.",
        &PROGRESS,
        0,
        i32::MAX,
        GucContext::Userset,
        GucFlags::UNIT_MS,
    );
    GucRegistry::define_int_guc(
        c"pg_dedup.memory_limit",
        c"Memory that all calls of a process may take together.",
        c"Beyond it there is an error. All that pg_dedup allocates is counted; what work_mem bounds takes a quarter of it at most. 0 takes the limit away.",
        &MEMORY_LIMIT,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_int_guc(
        c"pg_dedup.threads",
        c"Threads that compute pairs and components, and sort while an index is built.",
        c"They only compute: results are the same whatever their number. 0 takes one and as many as max_parallel_workers_per_gather, for an index max_parallel_maintenance_workers. There are never more than processors, max_worker_processes, or one and max_parallel_workers.",
        &THREADS,
        0,
        MOST_THREADS,
        GucContext::Suset,
        GucFlags::default(),
    );
    GucRegistry::define_bool_guc(
        c"pg_dedup.generic_wal",
        c"Lets PostgreSQL find out what an insert into a banding index has changed.",
        c"For tests: the record that is written otherwise must do the same.",
        &GENERIC_WAL,
        GucContext::Suset,
        GucFlags::NO_SHOW_ALL,
    );
    // SAFETY: all settings of the prefix are defined by now.
    unsafe { pg_sys::MarkGUCPrefixReserved(c"pg_dedup".as_ptr()) };
}

/// A quarter of the memory available to the server, in kB: that of the machine, or less if the
/// control group or the limit of address space allows less.
fn default_memory_limit() -> i32 {
    // SAFETY: asks for two constants of the system.
    let pages = unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) * libc::sysconf(libc::_SC_PAGESIZE) };
    let machine = u64::try_from(pages).ok().filter(|&bytes| bytes > 0);
    let mut space = libc::rlimit { rlim_cur: libc::RLIM_INFINITY, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: fills in what it is given.
    unsafe { libc::getrlimit(libc::RLIMIT_AS, &mut space) };
    // Unlimited is the word "max" in version 2 of control groups, and a number beyond any memory in version 1.
    let files = limit_files(&std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default());
    let groups = files.iter().filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok());
    let bytes = groups.chain(machine).chain([space.rlim_cur]).min().unwrap_or(u64::MAX);
    i32::try_from(bytes / 4 / 1024).unwrap_or(i32::MAX)
}

pub(crate) fn threads() -> usize {
    // SAFETY: a plain read of a setting.
    threads_or(unsafe { pg_sys::max_parallel_workers_per_gather })
}

/// How many threads may sort while an index is built.
pub(crate) fn building_threads() -> usize {
    // SAFETY: as above.
    threads_or(unsafe { pg_sys::max_parallel_maintenance_workers })
}

/// What is set, or this process and as many as PostgreSQL would take workers. A session may set the workers, so that the
/// server and the machine bound them.
fn threads_or(workers: i32) -> usize {
    static PROCESSORS: OnceLock<i32> = OnceLock::new();
    let processors = || std::thread::available_parallelism().map_or(1, |of| of.get().min(64) as i32);
    // SAFETY: plain reads of settings.
    let (all, server) = unsafe { (pg_sys::max_parallel_workers, pg_sys::max_worker_processes) };
    let threads = match THREADS.get() {
        0 => workers.saturating_add(1),
        threads => threads,
    };
    let most = MOST_THREADS.min(server).min(*PROCESSORS.get_or_init(processors));
    threads.min(all.saturating_add(1)).min(most).max(1) as usize
}

/// Bytes of `work_mem`.
pub(crate) fn work_memory() -> usize {
    // SAFETY: a plain read of a setting.
    within_share(unsafe { pg_sys::work_mem })
}

/// Bytes that sketches of sets of n-grams may take, whatever `work_mem` is: a million letters of 200 characters have so many.
pub(crate) fn sketch_memory() -> usize {
    within_share(128 << 10)
}

/// Bytes of `maintenance_work_mem`.
pub(crate) fn maintenance_memory() -> usize {
    // SAFETY: as above.
    within_share(unsafe { pg_sys::maintenance_work_mem })
}

/// Of what is in memory only as long as there is room, a call has several: each takes a quarter of what the process may.
fn within_share(kilobytes: i32) -> usize {
    (kilobytes as usize * 1024).min(memory_limit().map_or(usize::MAX, |limit| (limit / 4).max(1 << 16)))
}

/// The time between notices on how far a call is; `None`: there are none.
pub(crate) fn progress_interval() -> Option<Duration> {
    u64::try_from(PROGRESS.get()).ok().filter(|&every| every > 0).map(Duration::from_millis)
}

/// Bytes that the process may take; `None`: any number.
#[inline]
pub(crate) fn memory_limit() -> Option<usize> {
    usize::try_from(MEMORY_LIMIT.get()).ok().filter(|&limit| limit > 0).map(|limit| limit * 1024)
}

/// Whether all records of the index are to be written by `GenericXLogFinish`.
pub(crate) fn generic_wal() -> bool {
    GENERIC_WAL.get()
}

/// Whether what the process has taken, and `more` bytes, exceed `pg_dedup.memory_limit`.
#[inline]
pub(crate) fn exceeds_memory_limit(more: usize) -> bool {
    memory_limit().is_some_and(|limit| taken().saturating_add(more) >= limit + 1024)
}

/// Raises an error if what the process has taken, and `more` bytes, exceed `pg_dedup.memory_limit`. Every check for
/// interrupts does, with no more: to be called before much is taken at once, and where nothing checks for interrupts.
#[inline]
pub(crate) fn within_memory_limit(more: usize) {
    if exceeds_memory_limit(more) {
        // Or what is kept would fail whatever comes next.
        FORGET.get().into_iter().for_each(|forget| forget());
        let limit = MEMORY_LIMIT.get();
        raise(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!("memory exceeds pg_dedup.memory_limit ({limit} kB)"),
            "Raise the limit if the machine has the memory, or take the rows in parts.",
        )
    }
}
