//! Rows sorted by fingerprint, equal fingerprints together.

use super::union_find::UnionFind;
use crate::external::{Host, Record, Result, sort_on_threads};
use crate::interrupt::{self, checked};
use crate::memory;

/// Bytes of working memory per row: the row, its distinct fingerprint and run, its place in one or two
/// sorts by a block, its number among sets.
pub(super) const BYTES_PER_ROW: usize = 60;

/// The rows of a fingerprint are not in one set.
pub(super) const MIXED: u32 = u32::MAX;

/// A pair: the numbers of its rows on the left and on the right.
pub(super) type Hit = (u32, u32);

#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    pub fps: &'a [u64],
    pub at: &'a [u32],
}

impl<'a> Side<'a> {
    pub fn part(self, from: usize, to: usize) -> Side<'a> {
        Side { fps: &self.fps[from..to], at: &self.at[from..to] }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub fp: u64,
    pub id: i64,
}

/// Rows between two checks for interrupts.
pub(super) const ROWS_PER_CHECK: usize = 1 << 18;

impl Record for Row {
    const BYTES: usize = 16;

    #[inline]
    fn to_parts(self) -> (u32, u64, u64) {
        (0, self.fp, self.id.cast_unsigned())
    }

    #[inline]
    fn from_parts(_: u32, fp: u64, id: u64) -> Row {
        Row { fp, id: id.cast_signed() }
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
        sort_on_threads(&mut rows, threads, host)?;
        // Counted first: a vector that grows would take twice the memory.
        let distinct = rows.chunk_by(|a, b| a.fp == b.fp).count();
        let (mut fps, mut starts) = (memory::with_capacity(distinct)?, memory::with_capacity(distinct + 1)?);
        interrupt::check();
        for (i, row) in checked(&rows).enumerate() {
            if fps.last() != Some(&row.fp) {
                fps.push(row.fp);
                starts.push(i as u32);
            }
        }
        starts.push(rows.len() as u32);
        Ok(Rows { rows, fps, starts })
    }

    /// For each distinct fingerprint the number of one of its rows, if all of them are in one set, else [`MIXED`].
    pub fn numbers(&self, sets: &UnionFind) -> Result<Vec<u32>> {
        let number = |run: &[Row]| {
            let root = |row: &Row| sets.find(row.id as u32);
            // Most runs are of one row, whose set need not be looked up.
            let one = run[1..].iter().all(|row| root(row) == root(&run[0]));
            if one { run[0].id as u32 } else { MIXED }
        };
        Ok(memory::collect((0..self.fps.len()).map(|distinct| number(self.run(distinct))))?)
    }

    pub fn run(&self, number: usize) -> &[Row] {
        &self.rows[self.starts[number] as usize..self.starts[number + 1] as usize]
    }
}
