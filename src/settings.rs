//! The settings `pg_dedup.*`.

use crate::pg::{raise, version};
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::{PgSqlErrorCode, pg_sys};
use std::time::Duration;

static THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);

static PROGRESS: GucSetting<i32> = GucSetting::<i32>::new(10_000);
static MEMORY_LIMIT: GucSetting<i32> = GucSetting::<i32>::new(0);
static GENERIC_WAL: GucSetting<bool> = GucSetting::<bool>::new(false);

/// Defines the settings.
pub(crate) fn define_settings() {
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
        c"Memory that a call may take for what cannot be kept in files.",
        c"Beyond it there is an error. What work_mem bounds is not counted. 0 takes the limit away.",
        &MEMORY_LIMIT,
        0,
        i32::MAX,
        GucContext::Suset,
        GucFlags::UNIT_KB,
    );
    GucRegistry::define_int_guc(
        c"pg_dedup.threads",
        c"Threads that compute pairs and components, and sort while an index is built.",
        c"They only compute: results are the same whatever their number. 0 takes one and as many as max_parallel_workers_per_gather, for an index max_parallel_maintenance_workers.",
        &THREADS,
        0,
        64,
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
    unsafe { version::reserve_settings(c"pg_dedup") };
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
    let group = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"]
        .iter()
        .filter_map(|file| std::fs::read_to_string(file).ok()?.trim().parse().ok());
    let bytes = group.chain(machine).chain([space.rlim_cur]).min().unwrap_or(u64::MAX);
    i32::try_from(bytes / 4 / 1024).unwrap_or(i32::MAX)
}

/// How many threads may compute.
pub(crate) fn threads() -> usize {
    // SAFETY: a plain read of a setting.
    threads_or(unsafe { pg_sys::max_parallel_workers_per_gather })
}

/// How many threads may sort while an index is built.
pub(crate) fn building_threads() -> usize {
    // SAFETY: as above.
    threads_or(unsafe { pg_sys::max_parallel_maintenance_workers })
}

/// What is set, or this process and as many as PostgreSQL would take workers.
fn threads_or(workers: i32) -> usize {
    match THREADS.get() {
        0 => 1 + workers.max(0) as usize,
        threads => threads as usize,
    }
}

/// Bytes of `work_mem`.
pub(crate) fn work_memory() -> usize {
    // SAFETY: a plain read of a setting.
    unsafe { pg_sys::work_mem as usize * 1024 }
}

/// The time between notices on how far a call is; `None`: there are none.
pub(crate) fn progress_interval() -> Option<Duration> {
    u64::try_from(PROGRESS.get()).ok().filter(|&every| every > 0).map(Duration::from_millis)
}

/// Bytes that a call may take for what cannot be kept in files; `None`: any number.
#[inline]
pub(crate) fn memory_limit() -> Option<usize> {
    usize::try_from(MEMORY_LIMIT.get()).ok().filter(|&limit| limit > 0).map(|limit| limit * 1024)
}

/// Whether all records of the index are to be written by `GenericXLogFinish`.
pub(crate) fn generic_wal() -> bool {
    GENERIC_WAL.get()
}

/// Raises an error if `bytes` exceed `pg_dedup.memory_limit`.
#[inline]
pub(crate) fn within_memory_limit(bytes: usize) {
    if let Some(limit) = memory_limit().filter(|&limit| bytes >= limit + 1024) {
        let limit = limit / 1024;
        raise(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!("memory exceeds pg_dedup.memory_limit ({limit} kB)"),
            "Raise the limit if the machine has the memory, or take the rows in parts.",
        )
    }
}
