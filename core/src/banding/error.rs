//! Errors of the index. Every page is checked when it is read, before anything is computed from it: a
//! damaged page is [`Error::Corrupt`] and never a panic, a read out of bounds or an endless walk.

use crate::external;
use crate::memory::OutOfMemory;
use std::borrow::Cow;

/// A failure of an index operation. No page is ever left half changed by one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The page holds what no code of this module writes.
    #[error("block {block}: {what}")]
    Corrupt {
        /// The page, as a block number of the index.
        block: u32,
        /// What is wrong with it, as a clause without a full stop.
        what: Cow<'static, str>,
    },
    /// Block 0 is the metapage of another version of the format.
    #[error("index format version {found} is not supported (this build reads version {supported})")]
    Version {
        /// The version that the metapage states.
        found: u32,
        /// The version this code reads and writes.
        supported: u32,
    },
    /// The metapage states features that this code does not know.
    #[error("index format has features ({0:#x}) that this build does not know")]
    Features(u32),
    /// An option is outside its range.
    #[error("{0}")]
    Option(Cow<'static, str>),
    /// The storage failed, or there is no memory for what the data need.
    #[error(transparent)]
    External(#[from] external::Error),
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Error {
        Error::External(error.into())
    }
}

/// A result with this module's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Why a way through a tree has ended before its leaf.
#[derive(Debug)]
pub(crate) enum Astray {
    /// A link that was read before leads to a page that has another place by now: only then another way is worth trying.
    Moved { block: u32, what: Cow<'static, str> },
    /// Damage, or the storage failed.
    Failed(Error),
}

impl Astray {
    /// The error if no other way will do: a link that always leads to the wrong page is damaged.
    pub(crate) fn damage(self) -> Error {
        match self {
            Astray::Moved { block, what } => Error::Corrupt { block, what },
            Astray::Failed(error) => error,
        }
    }
}

impl From<Error> for Astray {
    fn from(error: Error) -> Astray {
        Astray::Failed(error)
    }
}

/// The result of a way, which [`retry`](super::descend::retry) turns into a [`Result`].
pub(crate) type Way<T> = std::result::Result<T, Astray>;

/// A page is not, or no more, where a link led.
pub(crate) fn moved<T>(block: u32, what: impl Into<Cow<'static, str>>) -> Way<T> {
    Err(Astray::Moved { block, what: what.into() })
}

/// Damage unless something holds of a page.
pub(crate) fn sound(holds: bool, block: u32, what: &'static str) -> Result<()> {
    if holds { Ok(()) } else { corrupt(block, what) }
}

pub(crate) fn corrupt<T>(block: u32, what: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(Error::Corrupt { block, what: what.into() })
}

pub(crate) fn failed<T>(what: impl Into<Cow<'static, str>>) -> Result<T> {
    Err(external::Error::Storage(what.into()).into())
}
