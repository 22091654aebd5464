//! The settings `pg_dedup.*`.

use crate::pg::raise;
use pgrx::guc::{GucContext, GucFlags, GucRegistry, GucSetting};
use pgrx::{PgSqlErrorCode, pg_sys};

static THREADS: GucSetting<i32> = GucSetting::<i32>::new(0);

static PROGRESS: GucSetting<i32> = GucSetting::<i32>::new(0);
static MEMORY_LIMIT: GucSetting<i32> = GucSetting::<i32>::new(0);

/// Defines the settings.
pub(crate) fn define_settings() {
    // SAFETY: nobody else reads the setting before it is known; the value is its default.
    unsafe { *MEMORY_LIMIT.as_ptr() = default_memory_limit() };
    GucRegistry::define_int_guc(
        c"pg_dedup.progress",
        c"Time between notices of near_dup_pairs, near_dup_text_pairs and near_dup_component on how far they are.",
        c"0 turns them off. dedup has an option of this name.",
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
        c"Threads that compute pairs and components.",
        c"They only compute: results are the same whatever their number. 0 takes one and as many as max_parallel_workers_per_gather.",
        &THREADS,
        0,
        64,
        GucContext::Suset,
        GucFlags::default(),
    );
    let prefix = c"pg_dedup".as_ptr();
    // SAFETY: a terminated string; all settings of the prefix are known by now.
    #[cfg(feature = "pg14")]
    unsafe {
        pg_sys::EmitWarningsOnPlaceholders(prefix)
    };
    // SAFETY: as above.
    #[cfg(not(feature = "pg14"))]
    unsafe {
        pg_sys::MarkGUCPrefixReserved(prefix)
    };
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
    match THREADS.get() {
        // SAFETY: a plain read of a setting.
        0 => 1 + unsafe { pg_sys::max_parallel_workers_per_gather }.max(0) as usize,
        threads => threads as usize,
    }
}

/// Bytes of `work_mem`.
pub(crate) fn work_memory() -> usize {
    // SAFETY: a plain read of a setting.
    unsafe { pg_sys::work_mem as usize * 1024 }
}

/// Seconds between notices; 0: none.
pub(crate) fn progress_interval() -> f64 {
    f64::from(PROGRESS.get()) / 1000.0
}

/// Raises an error if `bytes` exceed `pg_dedup.memory_limit`.
#[inline]
pub(crate) fn within_memory_limit(bytes: usize) {
    let limit = MEMORY_LIMIT.get() as usize;
    if limit > 0 && bytes / 1024 > limit {
        raise(
            PgSqlErrorCode::ERRCODE_CONFIGURATION_LIMIT_EXCEEDED,
            format!("memory exceeds pg_dedup.memory_limit ({limit} kB)"),
            "Raise the limit if the machine has the memory, or take the rows in parts.",
        )
    }
}
