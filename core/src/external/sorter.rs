//! External merge sort: any number of fixed-size records, sorted within a bound of memory.
//!
//! Records are collected until the memory is full, sorted, and appended to a temporary file as a run. Runs
//! are then merged, each read through a buffer of an equal share of the memory; more runs than there are
//! buffers of a useful size are first merged into fewer.
//!
//! PostgreSQL's tuplesort is not used: the core runs without a server (its tests, the benchmarks), an index
//! build sorts the same array four times in place, each time by another block, and nothing of PostgreSQL may
//! be called from the threads that sort.

use super::host::{Result, Spill};
use super::sort::{Record, decode, encode, sort};
use crate::interrupt::Meter;
use crate::memory::{self, Room};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Sorts records; those that do not fit in memory wait in a temporary file, [`Record::BYTES`] bytes each.
pub struct Sorter<T, S> {
    memory: usize,
    records: Vec<T>,
    limit: usize,
    file: Runs<S>,
    runs: Vec<Run>,
    count: u64,
}

impl<T: Record, S: Spill> Sorter<T, S> {
    /// No records yet; `memory`: bytes to sort in.
    pub fn new(memory: usize, file: S) -> Self {
        let limit = (memory / size_of::<T>()).max(64);
        Sorter { memory, records: Vec::new(), limit, file: Runs::new(file), runs: Vec::new(), count: 0 }
    }

    /// Adds a record.
    pub fn add(&mut self, record: T) -> Result<()> {
        if is_full(&mut self.records, &mut self.limit)? {
            self.write()?;
        }
        self.count += 1;
        self.records.push(record);
        Ok(())
    }

    /// The number of records added.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn write(&mut self) -> Result<()> {
        sort(&mut self.records);
        self.runs.push(self.file.write(&self.records)?);
        self.records.clear();
        Ok(())
    }

    /// Calls `each` with all records, in ascending order.
    pub fn finish<E: From<super::Error>>(
        mut self,
        mut each: impl FnMut(T) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if self.runs.is_empty() {
            sort(&mut self.records);
            return self.records.into_iter().try_for_each(each);
        }
        self.write()?;
        self.records = Vec::new();
        let runs = self.file.reduce::<T>(self.runs, self.memory)?;
        self.file.for_each(&runs, self.memory, |_, record| each(record))
    }
}

/// The least useful buffer, in bytes.
const LEAST_BUFFER: usize = 16 * 1024;

/// A stretch of the file that holds records, in order.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Run {
    at: u64,
    records: u64,
}

pub(crate) struct Runs<S> {
    file: S,
    /// The run that is being written, and what of it is not in the file yet.
    run: Run,
    buffer: Vec<u8>,
    end: u64,
}

impl<S: Spill> Runs<S> {
    pub(crate) fn new(file: S) -> Self {
        Runs { file, run: Run::default(), buffer: Vec::with_capacity(LEAST_BUFFER + 16), end: 0 }
    }

    /// Writes records that are in order as a run.
    pub(crate) fn write<T: Record>(&mut self, sorted: &[T]) -> Result<Run> {
        sorted.iter().try_for_each(|record| self.push(*record))?;
        self.finish()
    }

    fn push<T: Record>(&mut self, record: T) -> Result<()> {
        encode(record, &mut self.buffer);
        self.run.records += 1;
        if self.buffer.len() < LEAST_BUFFER { Ok(()) } else { self.flush() }
    }

    fn flush(&mut self) -> Result<()> {
        self.file.append(&self.buffer)?;
        self.end += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Ends a run.
    fn finish(&mut self) -> Result<Run> {
        self.flush()?;
        Ok(std::mem::replace(&mut self.run, Run { at: self.end, records: 0 }))
    }

    /// Merges runs until `memory` bytes are enough to read all of them at the same time.
    pub(crate) fn reduce<T: Record>(&mut self, mut runs: Vec<Run>, memory: usize) -> Result<Vec<Run>> {
        let at_once = (memory / LEAST_BUFFER).max(2);
        while runs.len() > at_once {
            let some: Vec<Run> = runs.drain(..at_once).collect();
            self.for_each(&some, memory, |runs, record: T| runs.push(record))?;
            runs.push(self.finish()?);
        }
        Ok(runs)
    }

    /// Calls `each` with the records of all runs, in order.
    pub(crate) fn for_each<T: Record, E: From<super::Error>>(
        &mut self,
        runs: &[Run],
        memory: usize,
        mut each: impl FnMut(&mut Self, T) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let share = memory / runs.len().max(1);
        let mut readers: Vec<Reader> = runs.iter().map(|&run| Reader::new(run, share)).collect();
        let mut heads = BinaryHeap::new();
        for (number, reader) in readers.iter_mut().enumerate() {
            heads.extend(reader.next(self)?.map(|head| Reverse((head, number))));
        }
        let mut meter = Meter::new();
        while let Some(mut top) = heads.peek_mut() {
            meter.work(1);
            let Reverse((record, number)) = *top;
            match readers[number].next(self)? {
                Some(next) => *top = Reverse((next, number)),
                None => drop(PeekMut::pop(top)),
            }
            each(self, record)?;
        }
        Ok(())
    }
}

struct Reader {
    run: Run,
    buffer: Vec<u8>,
    at: usize,
    /// Bytes read at a time.
    capacity: usize,
}

impl Reader {
    /// Reads `run` through a buffer of `memory` bytes, or of one record.
    fn new(run: Run, memory: usize) -> Self {
        Reader { run, buffer: Vec::new(), at: 0, capacity: memory }
    }

    fn next<T: Record, S: Spill>(&mut self, runs: &mut Runs<S>) -> Result<Option<T>> {
        if self.at == self.buffer.len() {
            let count = self.run.records.min((self.capacity / T::BYTES).max(1) as u64);
            if count == 0 {
                return Ok(None);
            }
            let bytes = count as usize * T::BYTES;
            self.buffer.room(bytes.saturating_sub(self.buffer.len()))?;
            self.buffer.resize(bytes, 0);
            runs.file.read(self.run.at, &mut self.buffer)?;
            self.run.at += bytes as u64;
            self.run.records -= count;
            self.at = 0;
        }
        let record = decode(&self.buffer[self.at..self.at + T::BYTES]);
        self.at += T::BYTES;
        Ok(Some(record))
    }
}

/// Fewer elements in memory are not worth a file.
const LEAST_RECORDS: usize = 1024;

/// Makes room for one more in a vector that doubles but never allocates beyond `limit` elements; true if
/// instead it has to be emptied first. Where there is less memory than allowed, `limit` becomes what there is.
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
