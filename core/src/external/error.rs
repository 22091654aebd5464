//! Failures of work over files and threads.

use crate::memory::OutOfMemory;
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
