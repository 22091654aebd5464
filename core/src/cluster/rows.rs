//! Rows with their fingerprints, sorted, equal fingerprints together.

use super::pairs::Host;
use super::threads;
use crate::banding::sort::{Bytes, count, permute, sort_from};
use crate::banding::{Error, Result};
use crate::memory;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A row: its fingerprint and its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub fp: u64,
    pub id: i64,
}

/// Rows that are looked at between two looks at interrupts.
pub(super) const ROWS_A_CHECK: usize = 1 << 18;

/// Bytes of a row in a file.
pub(super) const ROW_BYTES: usize = 16;

impl Row {
    pub fn to_bytes(self) -> [u8; ROW_BYTES] {
        (u128::from(self.fp) << 64 | u128::from(self.id.cast_unsigned())).to_le_bytes()
    }

    pub fn from_bytes(bytes: [u8; ROW_BYTES]) -> Row {
        let both = u128::from_le_bytes(bytes);
        Row { fp: (both >> 64) as u64, id: (both as u64).cast_signed() }
    }
}

impl Bytes for Row {
    const DIGITS: u32 = 16;

    #[inline]
    fn digit(&self, d: u32) -> usize {
        // The sign, flipped, orders negative names first.
        let name = self.id.cast_unsigned() ^ 1 << 63;
        let byte = if d < 8 { self.fp >> (56 - 8 * d) } else { name >> (120 - 8 * d) };
        (byte & 0xff) as usize
    }
}

/// Sorted rows; the rows of a fingerprint are a run.
pub(super) struct Rows {
    rows: Vec<Row>,
    /// The distinct fingerprints, ascending.
    pub fps: Vec<u64>,
    /// Where the run of each starts, and the end.
    starts: Vec<u32>,
}

impl Rows {
    pub fn new<H: Host>(mut rows: Vec<Row>, threads: usize, host: &mut H) -> Result<Rows> {
        sort_rows(&mut rows, threads, host)?;
        // Counted first: a vector that grows would take twice the memory.
        let distinct = rows.chunk_by(|a, b| a.fp == b.fp).count();
        let (mut fps, mut starts) = (memory::with_capacity(distinct)?, memory::with_capacity(distinct + 1)?);
        host.check()?;
        for (i, row) in rows.iter().enumerate() {
            if i % ROWS_A_CHECK == 0 {
                host.check()?;
            }
            if fps.last() != Some(&row.fp) {
                fps.push(row.fp);
                starts.push(i as u32);
            }
        }
        starts.push(rows.len() as u32);
        Ok(Rows { rows, fps, starts })
    }

    /// The rows of distinct fingerprint `number`.
    pub fn run(&self, number: usize) -> &[Row] {
        &self.rows[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}

/// Sorts on several threads: by the first byte here, what is then in pieces
/// wherever there is time.
fn sort_rows<H: Host>(rows: &mut [Row], threads: usize, host: &mut H) -> Result<()> {
    const WORTH_IT: usize = 1 << 18;
    if threads < 2 || rows.len() < WORTH_IT {
        return sort_from(rows, 0, &mut || host.check());
    }
    let mut ends = count(rows, 0);
    permute(rows, 0, &mut ends, &mut || host.check())?;
    let (mut pieces, mut rest, mut start) = (Vec::new(), rows, 0);
    for end in ends {
        let piece;
        (piece, rest) = rest.split_at_mut(end - start);
        pieces.push(piece);
        start = end;
    }
    let pieces = Mutex::new(pieces);
    let stop = AtomicBool::new(false);
    let stopped = || if stop.load(Relaxed) { Err(Error::Storage("stopped".into())) } else { Ok(()) };
    let work = || {
        loop {
            let piece = pieces.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(piece) = piece else { return };
            // The error is this function's own, said when the main thread returns.
            if stopped().is_err() || sort_from(piece, 1, &mut || stopped()).is_err() {
                return;
            }
        }
    };
    if threads::on((0..threads).map(|_| &work), &stop, host, threads::look_on)?.is_none() {
        work();
    }
    Ok(())
}
