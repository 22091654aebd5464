//! What algorithms over more rows than fit in memory share: temporary files, an external sort, threads, and
//! the host that provides them.

mod error;
mod host;
mod sort;
mod sorter;
mod threads;

pub use error::{Error, Result};
pub use host::{Host, MemoryHost, MemorySpill, Spill};
pub use sort::Record;
pub use sorter::Sorter;
pub use threads::on_threads;

pub(crate) use sort::sort_on_threads;
pub(crate) use sorter::{Reader, Run, Runs, is_full};
pub(crate) use threads::{Gate, run, start};
