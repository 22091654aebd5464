//! All pairs of rows within a Hamming distance (P2's "index classification"
//! of a whole table, 3.2, made exact at any distance).

use super::join::Hit;
use super::parallel::Task;
use super::partitioned::Files;
use super::rows::{Row, Rows};
use crate::external::{Host, Result, is_full};
use crate::fingerprint::hamming;
use crate::interrupt::Meter;

/// Two rows whose fingerprints are near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The lesser of the two names.
    pub a: i64,
    /// The greater; the same if two rows have one name.
    pub b: i64,
    /// Their Hamming distance, 0 to 64.
    pub distance: u32,
}

impl Pair {
    pub(super) fn new(one: i64, other: i64, distance: u32) -> Pair {
        Pair { a: one.min(other), b: one.max(other), distance }
    }
}

/// A stretch of the whole work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub from: f64,
    pub to: f64,
}

impl Span {
    pub const ALL: Span = Span { from: 0.0, to: 1.0 };

    /// The share of the whole when `share` of the stretch is done.
    pub fn at(&self, share: f64) -> f64 {
        self.from + share * (self.to - self.from)
    }
}

/// How to look for pairs. Neither memory nor threads change what is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The largest Hamming distance of a pair, 0 to 64.
    pub distance: u32,
    /// Bytes to work in, beyond which rows go to files; at least 64 KiB are used.
    pub memory: usize,
    /// Threads to compute on; 1 or less: the caller's own.
    pub threads: usize,
}

/// The least memory that is worked in.
const LEAST_MEMORY: usize = 1 << 16;
/// Bytes a row needs while it is worked on: itself, its distinct fingerprint
/// and run, and its place in one or two sorts by a block.
pub(super) const BYTES_PER_ROW: usize = 56;

/// Collects rows, then finds their near pairs.
///
/// In memory it takes about 40 bytes a row. What does not fit goes to files:
/// 16 bytes a row, and again so many for the block that is being worked on.
pub struct Pairs<H: Host> {
    settings: Settings,
    rows: Vec<Row>,
    /// Rows in memory at most.
    limit: usize,
    files: Option<Files<H::File>>,
}

impl<H: Host> Pairs<H> {
    /// No rows yet.
    pub fn new(settings: Settings) -> Pairs<H> {
        let memory = settings.memory.max(LEAST_MEMORY);
        let limit = memory / BYTES_PER_ROW;
        Pairs { settings: Settings { memory, ..settings }, rows: Vec::new(), limit, files: None }
    }

    /// Adds a row. Names may repeat: rows of one name are different rows.
    ///
    /// # Errors
    /// What writing to a file fails with.
    pub fn add(&mut self, id: i64, fp: u64, host: &mut H) -> Result<()> {
        if is_full(&mut self.rows, &mut self.limit)? {
            let files = self.files.get_or_insert_with(|| Files::new(host.file()));
            files.append(&self.rows)?;
            self.rows.clear();
        }
        self.rows.push(Row { fp, id });
        Ok(())
    }

    /// Finds every pair, each once, in no particular order; `sink` says whether
    /// it wants more. True if there is no more.
    ///
    /// # Errors
    /// What a file, the host or the sink fails with.
    pub fn finish(mut self, host: &mut H, mut sink: impl FnMut(Pair) -> Result<bool>) -> Result<bool> {
        if let Some(mut files) = self.files.take() {
            files.append(&self.rows)?;
            self.rows = Vec::new();
            return files.join(&self.settings, host, &mut sink);
        }
        let rows = Rows::new(std::mem::take(&mut self.rows), self.settings.threads, host)?;
        if !equal_pairs(&rows, &mut sink)? {
            return Ok(false);
        }
        let Settings { distance, threads, .. } = self.settings;
        let task = Task { left: &rows.fps, right: None, distance, threads, span: Span::ALL };
        task.run(host, &mut |_, hits| all_of(&rows, &rows, hits, &mut sink))
    }
}

/// Takes one pair after the other.
pub(super) type Sink<'s> = &'s mut dyn FnMut(Pair) -> Result<bool>;

/// The pairs of rows with equal fingerprints.
pub(super) fn equal_pairs(rows: &Rows, sink: Sink<'_>) -> Result<bool> {
    let mut meter = Meter::new();
    for number in 0..rows.fps.len() {
        let run = rows.run(number);
        for (i, one) in run.iter().enumerate() {
            meter.work(1);
            for other in &run[i + 1..] {
                meter.work(1);
                if !sink(Pair::new(one.id, other.id, 0))? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

/// The pairs of rows that hits of distinct fingerprints stand for.
pub(super) fn all_of(left: &Rows, right: &Rows, hits: &[Hit], sink: Sink<'_>) -> Result<bool> {
    let mut meter = Meter::new();
    for &(l, r) in hits {
        let distance = hamming(left.fps[l as usize], right.fps[r as usize]);
        for one in left.run(l as usize) {
            for other in right.run(r as usize) {
                meter.work(1);
                if !sink(Pair::new(one.id, other.id, distance))? {
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}
