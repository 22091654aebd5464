//! Near pairs of more rows than fit in memory.
//!
//! For each block the rows are distributed over partitions by the top bits of the block. A pair whose first
//! block it is lies in two partitions whose numbers differ in at most the block's radius of bits; such
//! partitions are loaded, a chunk of each at a time, and joined in memory. A partition that a hot bucket has
//! made too large is loaded as many chunks, each joined with each.

use super::blocking::{BLOCKS, Blocking, Span};
use super::pair::Sink;
use super::rows::{BYTES_PER_ROW, Row, Rows};
use super::runs::Place;
use crate::external::{Error, Host, Record, Result, Run, Runs, Spill};
use crate::memory::{self, Grow};

/// All rows in a file, in the order in which they came.
pub(super) struct Files<F> {
    all: Runs<F>,
    parts: Vec<Run>,
    count: u64,
    /// The first fingerprint and the bits in which others differ from it.
    first: Option<u64>,
    varying: u64,
}

const READ: usize = 1 << 14;

impl<F: Spill> Files<F> {
    pub fn new(all: F) -> Files<F> {
        Files { all: Runs::new(all), parts: Vec::new(), count: 0, first: None, varying: 0 }
    }

    pub fn append(&mut self, rows: &[Row]) -> Result<()> {
        for row in rows {
            self.varying |= row.fp ^ *self.first.get_or_insert(row.fp);
        }
        self.parts.grow(self.all.write(rows)?)?;
        self.count += rows.len() as u64;
        Ok(())
    }

    pub fn join<H: Host<File = F>>(
        &mut self,
        whole: Place<'_>,
        host: &mut H,
        sink: Sink<'_, H>,
    ) -> Result<()> {
        let (n, memory) = (self.count as usize, whole.search.memory);
        let Some(cut) = Blocking::choose(self.varying, whole.search.distance, n, n) else {
            return self.spread(whole, 0, host)?.join(whole, host, sink);
        };
        for block in (0..BLOCKS).filter(|block| cut.radii[*block] >= 0) {
            // Half of the chunks' memory is one side of a join.
            let rows = memory / BYTES_PER_ROW / 2;
            let wanted = (n / rows.max(1)).max(1).ilog2() + 1;
            // A partition has a buffer of 1 KiB at least.
            let possible = (memory / 2 / LEAST_BUFFER).ilog2();
            let bits = wanted.min(possible).min(cut.width);
            let place = Place { cut: Some((&cut, block)), span: cut.spans()[block], ..whole };
            self.spread(place, bits, host)?.join(place, host, sink)?;
        }
        Ok(())
    }

    /// Distributes the rows over 2 to the power of `bits` partitions.
    fn spread<H: Host<File = F>>(
        &mut self,
        place: Place<'_>,
        bits: u32,
        host: &mut H,
    ) -> Result<Partitions<F>> {
        let buffer = ((place.search.memory / 2) >> bits).clamp(LEAST_BUFFER, MOST_BUFFER);
        let mut partitions = Partitions {
            file: Runs::new(host.file()),
            rows_per_buffer: buffer / Row::BYTES,
            each: memory::collect((0..1usize << bits).map(|_| Partition::default()))?,
        };
        let number =
            |fp: u64| place.cut.map_or(0, |(cut, block)| cut.blocks[block].value(fp) >> (cut.width - bits));
        for &part in &self.parts {
            self.all.for_each(&[part], READ, |_, row: Row| partitions.add(number(row.fp), row))?;
        }
        for number in 0..partitions.each.len() {
            partitions.flush(number)?;
        }
        Ok(partitions)
    }
}

const LEAST_BUFFER: usize = 1024;
const MOST_BUFFER: usize = 1 << 16;

#[derive(Default)]
struct Partition {
    buffer: Vec<Row>,
    runs: Vec<Run>,
    rows: u64,
}

struct Partitions<F> {
    file: Runs<F>,
    rows_per_buffer: usize,
    each: Vec<Partition>,
}

impl<F: Spill> Partitions<F> {
    fn add(&mut self, number: usize, row: Row) -> Result<()> {
        let partition = &mut self.each[number];
        partition.buffer.grow(row)?;
        partition.rows += 1;
        if partition.buffer.len() == self.rows_per_buffer { self.flush(number) } else { Ok(()) }
    }

    fn flush(&mut self, number: usize) -> Result<()> {
        let Partition { buffer, runs, .. } = &mut self.each[number];
        if !buffer.is_empty() {
            runs.grow(self.file.write(&std::mem::take(buffer))?)?;
        }
        Ok(())
    }

    /// Loads the rows of some buffers of a partition, about `wanted` rows, and advances `next`, the first of them.
    fn load(&mut self, number: usize, next: &mut usize, wanted: usize) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        while let Some(&run) = self.each[number].runs.get(*next)
            && (rows.is_empty() || rows.len() + self.rows_per_buffer <= wanted)
        {
            self.file.for_each(&[run], READ, |_, row| rows.grow(row).map_err(Error::from))?;
            *next += 1;
        }
        Ok(rows)
    }

    /// Joins partitions that can hold pairs with each other.
    fn join<H: Host<File = F>>(mut self, place: Place<'_>, host: &mut H, sink: Sink<'_, H>) -> Result<()> {
        let all: u64 = self.each.iter().map(|partition| partition.rows).sum();
        let mut done = 0;
        let radius = place.cut.map_or(0, |(cut, block)| cut.radii[block]);
        let wanted = place.search.memory / BYTES_PER_ROW / 2;
        for one in 0..self.each.len() {
            let mut rest = 0;
            while rest < self.each[one].runs.len() {
                let rows = self.load(one, &mut rest, wanted)?;
                // The number of joins of a chunk is not known beforehand: it counts when it is done.
                let share = place.span.at(done as f64 / all as f64);
                let place = Place { span: Span { from: share, to: share }, ..place };
                host.progress(share);
                done += rows.len() as u64;
                let left = Rows::new(rows, place.search.threads, host)?;
                place.join(&left, None, host, sink)?;
                for other in one..self.each.len() {
                    if ((one ^ other) as u32).count_ones() as i32 > radius {
                        continue;
                    }
                    let mut others = if other == one { rest } else { 0 };
                    while others < self.each[other].runs.len() {
                        let rows = self.load(other, &mut others, wanted)?;
                        let right = Rows::new(rows, place.search.threads, host)?;
                        place.join(&left, Some(&right), host, sink)?;
                    }
                }
            }
        }
        Ok(())
    }
}
