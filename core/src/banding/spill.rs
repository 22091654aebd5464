//! Sorted runs outside memory, and their merge.
//!
//! No locking and no WAL here: a build is one process with a temporary file of its own. A run is a
//! stretch of that file: records of 14 bytes (key 8, tid 6, little-endian) in order. Merging k
//! runs reads each through a buffer of an equal share of the memory; more runs than buffers of a useful
//! size are first merged into fewer.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::error::Result;
use super::key::Position;
use super::page::{get_position, position_bytes};
use super::sort::sort;
use crate::memory::{self, Room};

/// A temporary file: written at its end, read anywhere.
pub trait Spill {
    /// Appends bytes.
    ///
    /// # Errors
    /// Out of space, or an interrupt.
    fn append(&mut self, bytes: &[u8]) -> Result<()>;

    /// Fills `into` with what was appended from byte `at` on; never asked for more than there is.
    ///
    /// # Errors
    /// What reading fails with.
    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<()>;

    /// Gives the environment a chance to cancel.
    ///
    /// # Errors
    /// The build is to stop.
    fn check_interrupts(&mut self) -> Result<()> {
        Ok(())
    }
}

impl<S: Spill> Spill for &mut S {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        (**self).append(bytes)
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<()> {
        (**self).read(at, into)
    }

    fn check_interrupts(&mut self) -> Result<()> {
        (**self).check_interrupts()
    }
}

/// A spill in memory, for tests and for builds that are known to fit.
#[derive(Debug, Default)]
pub struct MemorySpill(Vec<u8>);

impl Spill for MemorySpill {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.0.room(bytes.len())?;
        self.0.extend_from_slice(bytes);
        Ok(())
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<()> {
        let at = at as usize;
        match self.0.get(at..at + into.len()) {
            Some(from) => into.copy_from_slice(from),
            None => return Err(super::error::Error::Storage("read beyond the end of the spill".into())),
        }
        Ok(())
    }
}

pub(crate) const RECORD: usize = 14;
/// The least useful read buffer, in bytes.
const LEAST_BUFFER: usize = 16 * 1024;

/// A sorted stretch of the spill.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    at: u64,
    records: u64,
}

/// The spill and how much of it is written.
pub(crate) struct Runs<S: Spill> {
    spill: S,
    end: u64,
}

impl<S: Spill> Runs<S> {
    pub(crate) fn new(spill: S) -> Self {
        Runs { spill, end: 0 }
    }

    pub(crate) fn check_interrupts(&mut self) -> Result<()> {
        self.spill.check_interrupts()
    }

    /// Writes records that are in order as a run.
    pub(crate) fn write(&mut self, sorted: impl Iterator<Item = Result<Position>>) -> Result<Run> {
        let mut run = Run { at: self.end, records: 0 };
        let mut buffer = Vec::with_capacity(LEAST_BUFFER + RECORD);
        for record in sorted {
            buffer.extend_from_slice(&position_bytes(record?));
            run.records += 1;
            if buffer.len() >= LEAST_BUFFER {
                self.append(&mut buffer)?;
            }
        }
        self.append(&mut buffer)?;
        Ok(run)
    }

    fn append(&mut self, buffer: &mut Vec<u8>) -> Result<()> {
        self.spill.append(buffer)?;
        self.end += buffer.len() as u64;
        buffer.clear();
        Ok(())
    }

    /// Merges runs until they can be read at once within `memory` bytes.
    pub(crate) fn reduce(&mut self, mut runs: Vec<Run>, memory: usize) -> Result<Vec<Run>> {
        let at_once = (memory / LEAST_BUFFER).max(2);
        while runs.len() > at_once {
            let some: Vec<Run> = runs.drain(..at_once).collect();
            let mut merge = Merge::new(&some, memory);
            let mut merged = Run { at: self.end, records: 0 };
            let mut buffer = Vec::with_capacity(LEAST_BUFFER + RECORD);
            while let Some(record) = merge.next(&mut self.spill)? {
                buffer.extend_from_slice(&position_bytes(record));
                merged.records += 1;
                if buffer.len() >= LEAST_BUFFER {
                    self.append(&mut buffer)?;
                }
            }
            self.append(&mut buffer)?;
            runs.push(merged);
        }
        Ok(runs)
    }

    /// Reads the merge of runs, in order.
    pub(crate) fn for_each(
        &mut self,
        runs: &[Run],
        memory: usize,
        mut each: impl FnMut(&mut Self, Position) -> Result<()>,
    ) -> Result<()> {
        let mut merge = Merge::new(runs, memory);
        while let Some(record) = merge.next(&mut self.spill)? {
            each(self, record)?;
        }
        Ok(())
    }
}

/// One run being read.
struct Reader {
    run: Run,
    buffer: Vec<u8>,
    at: usize,
    capacity: usize,
}

impl Reader {
    fn next<S: Spill>(&mut self, spill: &mut S) -> Result<Option<Position>> {
        if self.at == self.buffer.len() {
            if self.run.records == 0 {
                return Ok(None);
            }
            let n = self.run.records.min((self.capacity / RECORD) as u64);
            let bytes = n as usize * RECORD;
            self.buffer.room(bytes.saturating_sub(self.buffer.len()))?;
            self.buffer.resize(bytes, 0);
            spill.read(self.run.at, &mut self.buffer)?;
            self.run.at += n * RECORD as u64;
            self.run.records -= n;
            self.at = 0;
        }
        let record = get_position(&self.buffer, self.at);
        self.at += RECORD;
        Ok(Some(record))
    }
}

/// A k-way merge.
struct Merge {
    readers: Vec<Reader>,
    heads: BinaryHeap<Reverse<(Position, usize)>>,
    started: bool,
}

impl Merge {
    fn new(runs: &[Run], memory: usize) -> Self {
        let capacity = (memory / runs.len().max(1)).max(RECORD);
        let reader = |run: &Run| Reader { run: *run, buffer: Vec::new(), at: 0, capacity };
        Merge { readers: runs.iter().map(reader).collect(), heads: BinaryHeap::new(), started: false }
    }

    fn next<S: Spill>(&mut self, spill: &mut S) -> Result<Option<Position>> {
        if !self.started {
            self.started = true;
            for (n, reader) in self.readers.iter_mut().enumerate() {
                if let Some(head) = reader.next(spill)? {
                    self.heads.push(Reverse((head, n)));
                }
            }
        }
        let Some(mut top) = self.heads.peek_mut() else {
            return Ok(None);
        };
        let Reverse((record, n)) = *top;
        match self.readers[n].next(spill)? {
            Some(next) => *top = Reverse((next, n)),
            None => drop(std::collections::binary_heap::PeekMut::pop(top)),
        }
        Ok(Some(record))
    }
}

/// Sorts any number of records within a bound of memory.
pub(crate) struct Sorter {
    records: Vec<Position>,
    limit: usize,
    runs: Vec<Run>,
}

impl Sorter {
    pub(crate) fn new(memory: usize) -> Self {
        Sorter { records: Vec::new(), limit: (memory / size_of::<Position>()).max(64), runs: Vec::new() }
    }

    pub(crate) fn add<S: Spill>(&mut self, runs: &mut Runs<S>, record: Position) -> Result<()> {
        if is_full(&mut self.records, &mut self.limit)? {
            self.dump(runs)?;
        }
        self.records.push(record);
        Ok(())
    }

    fn dump<S: Spill>(&mut self, runs: &mut Runs<S>) -> Result<()> {
        sort(&mut self.records, &mut || runs.check_interrupts())?;
        self.runs.push(runs.write(self.records.drain(..).map(Ok))?);
        Ok(())
    }

    /// Calls `each` with the records in order.
    pub(crate) fn finish<S: Spill>(
        mut self,
        runs: &mut Runs<S>,
        memory: usize,
        mut each: impl FnMut(Position) -> Result<()>,
    ) -> Result<()> {
        if self.runs.is_empty() {
            sort(&mut self.records, &mut || runs.check_interrupts())?;
            return self.records.into_iter().try_for_each(each);
        }
        self.dump(runs)?;
        self.records = Vec::new();
        let reduced = runs.reduce(self.runs, memory)?;
        runs.for_each(&reduced, memory, |_, record| each(record))
    }
}

/// Fewer elements in memory are not worth a file.
const LEAST_RECORDS: usize = 1024;

/// Makes room for one more in a vector that doubles but never allocates beyond
/// `limit` elements; whether instead it is to be emptied first. Where there is
/// less memory than allowed, `limit` becomes what there is.
pub(crate) fn is_full<T>(records: &mut Vec<T>, limit: &mut usize) -> memory::Result<bool> {
    if records.len() < records.capacity() {
        return Ok(false);
    }
    let more = records.len().max(LEAST_RECORDS).min(limit.saturating_sub(records.len()));
    if more == 0 {
        return Ok(true);
    }
    match memory::reserve_exact(records, more) {
        Err(_) if records.len() >= LEAST_RECORDS => {
            *limit = records.len();
            Ok(true)
        }
        reserved => reserved.map(|()| false),
    }
}
