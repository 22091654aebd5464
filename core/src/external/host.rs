//! What long work needs of its surroundings: temporary files, and somebody who hears how it goes on; why it fails.

use crate::memory::{OutOfMemory, Room};
use std::borrow::Cow;

/// Why the work failed. An interrupt is no error: it unwinds, see [`crate::interrupt`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error("{0}")]
    Storage(Cow<'static, str>),
    /// There is no memory for what the data need.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// A result with this module's [`Error`]: it fails where a file does, and for lack of memory.
pub type Result<T> = std::result::Result<T, Error>;

/// The environment of a long computation. Called on the caller's thread only; interrupts are not its
/// business but that of [`crate::interrupt::check`].
pub trait Host {
    /// A temporary file.
    type File: Spill;

    /// Creates a temporary file, which is deleted when it is dropped.
    fn file(&mut self) -> Self::File;

    /// A stage of the work begins, of `_total` steps if their number is known; `_unit` is what they are called.
    fn stage(&mut self, _name: &'static str, _unit: &'static str, _total: Option<u64>) {}

    /// Counts a step of the stage.
    fn step(&mut self) {}

    /// Reports that `_share`, from 0 to 1, of the stage is done. Called every few milliseconds where the work can be
    /// foreseen; a bucket that holds far more rows than others takes longer.
    fn progress(&mut self, _share: f64) {}

    /// The stage ends with these counts.
    fn end(&mut self, _counts: &str) {}

    /// Called with true before threads are started and with false afterwards, for hosts whose signals
    /// must be handled on the caller's thread.
    fn block_signals(&mut self, _block: bool) {}

    /// Whether the system has so many bytes for a new thread, whose C library need not have those that the
    /// allocator holds.
    fn has_room(&mut self, _bytes: usize) -> bool {
        true
    }
}

/// A host whose files are in memory and that reports nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct MemoryHost;

impl Host for MemoryHost {
    type File = MemorySpill;

    fn file(&mut self) -> MemorySpill {
        MemorySpill::default()
    }
}

/// A temporary file: appended to, and read at any position.
pub trait Spill {
    /// Appends bytes.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Fills `into` with the bytes from position `at` on.
    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<()>;
}

/// A temporary file in memory, for tests and for work that is known to fit.
#[derive(Debug, Default)]
pub struct MemorySpill(Vec<u8>);

impl Spill for MemorySpill {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.room(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<()> {
        let from = self.0.get(at as usize..at as usize + into.len());
        let from = from.ok_or(Error::Storage("read beyond the end of the spill".into()))?;
        into.copy_from_slice(from);
        Ok(())
    }
}
