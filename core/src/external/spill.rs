//! Temporary files.

use super::error::{Error, Result};
use crate::memory::Room;

/// A temporary file: appended to, and read at any position.
pub trait Spill {
    /// Appends bytes.
    ///
    /// # Errors
    /// The file cannot be written, for example for want of space.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Fills `into` with the bytes from position `at` on.
    ///
    /// # Errors
    /// The file cannot be read, or ends before.
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
