//! The host of algorithms over whole tables: temporary files, interrupts, progress, and signals kept off their threads.

use super::memory::system_has;
use super::progress::Progress;
use super::raise_internal;
use super::spill::TempFile;
use dedup_core::external::{Error, Host, Result};

/// The host within a running query.
pub(crate) struct QueryHost<'p> {
    /// The signals that were blocked before threads were started.
    blocked: Option<libc::sigset_t>,
    progress: Option<&'p Progress>,
}

impl QueryHost<'_> {
    /// A host for work whose progress PostgreSQL shows.
    pub(crate) fn quiet() -> QueryHost<'static> {
        QueryHost { blocked: None, progress: None }
    }

    pub(crate) fn reporting(progress: &Progress) -> QueryHost<'_> {
        QueryHost { blocked: None, progress: Some(progress) }
    }
}

impl Host for QueryHost<'_> {
    type File = TempFile;

    fn file(&mut self) -> TempFile {
        TempFile::new()
    }

    fn stage(&mut self, name: &'static str, unit: &'static str, total: Option<u64>) {
        self.progress.inspect(|progress| progress.stage(name, unit, total));
    }

    fn step(&mut self) {
        self.progress.inspect(|progress| progress.step());
    }

    fn progress(&mut self, share: f64) {
        self.progress.inspect(|progress| progress.share(share));
    }

    fn end(&mut self, counts: &str) {
        self.progress.inspect(|progress| progress.end(counts));
    }

    /// New threads inherit the blocked signals. PostgreSQL's handlers must run on its own thread only.
    fn block_signals(&mut self, block: bool) {
        // SAFETY: the sets are initialised by sigfillset or by the call that returned the old one.
        unsafe {
            if block {
                let mut all: libc::sigset_t = std::mem::zeroed();
                let mut before: libc::sigset_t = std::mem::zeroed();
                libc::sigfillset(&mut all);
                libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
                self.blocked = Some(before);
            } else if let Some(before) = self.blocked.take() {
                libc::pthread_sigmask(libc::SIG_SETMASK, &before, std::ptr::null_mut());
            }
        }
    }

    fn has_room(&mut self, bytes: usize) -> bool {
        system_has(bytes)
    }
}

/// The value of a result of `dedup_core`; raises its error as PostgreSQL's.
pub(crate) fn unwrap_or_raise<T>(result: Result<T>) -> T {
    result.unwrap_or_else(|error| match error {
        Error::OutOfMemory(error) => super::memory::raise_out_of_memory(error),
        Error::Storage(what) => raise_internal(what, ""),
    })
}
