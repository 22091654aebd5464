//! What algorithms over more rows than fit in memory share: temporary files, an external sort, threads, and
//! the host that provides them.

mod host;
mod sort;
mod sorter;
mod threads;

pub use host::{Error, Host, MemoryHost, MemorySpill, Result, Spill};
pub use sort::Record;
pub use sorter::Sorter;
pub use threads::on_threads;

pub(crate) use sort::sort_on_threads;
pub(crate) use sorter::{Run, Runs, is_full};
pub(crate) use threads::{Gate, beside_threads, run, start};
