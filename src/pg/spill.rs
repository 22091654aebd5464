//! PostgreSQL's temporary files for work that does not fit in memory. They count against
//! `temp_file_limit`, lie in `temp_tablespaces` and are removed with the query.
//!
//! Not its buffered files: these read 8 KiB for every text that is wanted.

use super::{raise, version};
use dedup_core::external::{Error, Result, Spill};
use dedup_core::interrupt;
use dedup_core::memory::Room;
use pgrx::{PgSqlErrorCode, pg_sys};

/// Bytes that are written at a time. What has fewer needs no file.
const BUFFER: usize = 1 << 16;
/// No call of the system writes or reads more.
const MOST: usize = 1 << 30;

/// A temporary file, created when there is more than a buffer of it.
pub(crate) struct TempFile {
    file: Option<pg_sys::File>,
    written: u64,
    /// Those that follow.
    buffer: Vec<u8>,
}

impl TempFile {
    pub(crate) fn new() -> TempFile {
        TempFile { file: None, written: 0, buffer: Vec::new() }
    }

    fn write(&mut self, bytes: &[u8]) {
        let file = *self.file.get_or_insert_with(|| {
            // SAFETY: the file belongs to the current resource owner, which removes it if an error comes in between.
            unsafe {
                pg_sys::PrepareTempTablespaces();
                pg_sys::OpenTemporaryFile(false)
            }
        });
        for part in bytes.chunks(MOST) {
            // SAFETY: the file is open.
            if unsafe { version::write_file(file, part, self.written) } != part.len() as isize {
                refuse("write to")
            }
            self.written += part.len() as u64;
        }
    }
}

/// Reports what the system said last.
fn refuse(what: &str) -> ! {
    let error = std::io::Error::last_os_error();
    let code = match error.raw_os_error() {
        Some(libc::ENOSPC) => PgSqlErrorCode::ERRCODE_DISK_FULL,
        _ => PgSqlErrorCode::ERRCODE_IO_ERROR,
    };
    raise(code, format!("could not {what} a temporary file: {error}"), "")
}

impl Spill for TempFile {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        interrupt::check();
        if self.buffer.len() + bytes.len() > BUFFER {
            let mut buffer = std::mem::take(&mut self.buffer);
            self.write(&buffer);
            buffer.clear();
            self.buffer = buffer;
        }
        if bytes.len() > BUFFER {
            self.write(bytes);
        } else {
            self.buffer.room(bytes.len())?;
            self.buffer.extend_from_slice(bytes);
        }
        Ok(())
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<()> {
        interrupt::check();
        let written = self.written.saturating_sub(at).min(into.len() as u64) as usize;
        let (mut from_file, from_buffer) = into.split_at_mut(written);
        let start = at.saturating_sub(self.written) as usize;
        let Some(kept) = self.buffer.get(start..start + from_buffer.len()) else {
            return Err(Error::Storage("read beyond the end of a temporary file".into()));
        };
        from_buffer.copy_from_slice(kept);
        let mut at = at;
        while let Some(file) = self.file.filter(|_| !from_file.is_empty()) {
            let wanted = from_file.len().min(MOST);
            // SAFETY: the file is open.
            match unsafe { version::read_file(file, &mut from_file[..wanted], at) } {
                0 => return Err(Error::Storage("a temporary file has become shorter".into())),
                ..0 => refuse("read"),
                read => {
                    at += read as u64;
                    from_file = &mut from_file[read as usize..];
                }
            }
        }
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        if let Some(file) = self.file.filter(|_| !std::thread::panicking()) {
            // SAFETY: the file is open; after an error its resource owner closes it instead.
            unsafe { pg_sys::FileClose(file) }
        }
    }
}
