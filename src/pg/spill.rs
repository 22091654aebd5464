//! PostgreSQL's temporary files for work that does not fit in memory. They count against
//! `temp_file_limit`, lie in `temp_tablespaces` and are removed with the query.

use super::version;
use dedup_core::external::{Error, Result, Spill};
use dedup_core::interrupt;
use pgrx::pg_sys;

/// A temporary file, created at the first write.
pub(crate) struct TempFile {
    file: *mut pg_sys::BufFile,
    length: u64,
    position: u64,
}

impl TempFile {
    /// A file that is not created yet.
    pub(crate) fn new() -> TempFile {
        TempFile { file: std::ptr::null_mut(), length: 0, position: 0 }
    }

    fn seek(&mut self, to: u64) -> Result<()> {
        if self.position == to {
            return Ok(());
        }
        // A file is cut into segments of 1 GiB (MAX_PHYSICAL_FILESIZE).
        const SEGMENT: u64 = 1 << 30;
        // SAFETY: the file is open.
        let failed =
            unsafe { pg_sys::BufFileSeek(self.file, (to / SEGMENT) as i32, (to % SEGMENT) as i64, 0) };
        if failed != 0 {
            return Err(Error::Storage("could not seek in a temporary file".into()));
        }
        self.position = to;
        Ok(())
    }
}

impl Spill for TempFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        interrupt::check();
        if self.file.is_null() {
            // SAFETY: the file belongs to the current resource owner, which
            // removes it if an error comes in between.
            self.file = unsafe { pg_sys::BufFileCreateTemp(false) };
        }
        self.seek(self.length)?;
        // SAFETY: the file is open.
        unsafe { version::write_file(self.file, bytes) };
        self.length += bytes.len() as u64;
        self.position = self.length;
        Ok(())
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<()> {
        interrupt::check();
        if self.file.is_null() || at + into.len() as u64 > self.length {
            return Err(Error::Storage("read beyond the end of a temporary file".into()));
        }
        self.seek(at)?;
        // SAFETY: the file is open and `into` has the length given.
        let read = unsafe { pg_sys::BufFileRead(self.file, into.as_mut_ptr().cast(), into.len()) };
        if read != into.len() {
            return Err(Error::Storage("could not read from a temporary file".into()));
        }
        self.position = at + into.len() as u64;
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if !self.file.is_null() && !std::thread::panicking() {
            // SAFETY: the file is open; after an error its resource owner
            // closes it instead.
            unsafe { pg_sys::BufFileClose(self.file) }
        }
    }
}
