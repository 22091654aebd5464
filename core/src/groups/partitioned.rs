//! Near pairs of more rows than fit in memory.
//!
//! For each block the rows are distributed over partitions by the top bits of the block. A pair whose first
//! block it is lies in two partitions whose numbers differ in at most the block's radius of bits; such
//! partitions are loaded, a chunk of each at a time, and joined in memory. A partition that a hot bucket has
//! made too large is loaded as many chunks, each joined with each.

use super::blocking::{BLOCKS, Blocking, Span};
use super::connected::Connected;
use super::pair::{PairSearch, Sink};
use super::parallel::Task;
use super::rows::{BYTES_PER_ROW, Row, Rows};
use super::runs::{all_of, equal_pairs};
use super::union_find::UnionFind;
use crate::external::{Host, Reader, Record, Result, Run, Runs, Spill};
use crate::interrupt::Meter;
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

    fn scan(&mut self, mut each: impl FnMut(Row) -> Result<()>) -> Result<()> {
        let mut meter = Meter::new();
        for &part in &self.parts {
            let mut reader = Reader::new(part, READ);
            while let Some(row) = reader.next(&mut self.all)? {
                meter.work(1);
                each(row)?;
            }
        }
        Ok(())
    }

    pub fn join<H: Host<File = F>>(
        &mut self,
        settings: &PairSearch,
        sets: Option<&UnionFind>,
        host: &mut H,
        sink: Sink<'_, H>,
    ) -> Result<()> {
        let n = self.count as usize;
        let Some(cut) = Blocking::choose(self.varying, settings.distance, n, n) else {
            let everything = self.spread(None, 0, settings, host)?;
            return everything.join(Place { cut: None, span: Span::ALL, sets }, settings, host, sink);
        };
        for block in (0..BLOCKS).filter(|block| cut.radii[*block] >= 0) {
            // Half of the chunks' memory is one side of a join.
            let rows = settings.memory / BYTES_PER_ROW / 2;
            let wanted = (n / rows.max(1)).max(1).ilog2() + 1;
            // A partition has a buffer of 1 KiB at least.
            let possible = (settings.memory / 2 / LEAST_BUFFER).ilog2();
            let bits = wanted.min(possible).min(cut.width);
            let partitions = self.spread(Some((&cut, block)), bits, settings, host)?;
            let place = Place { cut: Some((&cut, block)), span: cut.spans()[block], sets };
            partitions.join(place, settings, host, sink)?;
        }
        Ok(())
    }

    /// Distributes the rows over 2 to the power of `bits` partitions.
    fn spread<H: Host<File = F>>(
        &mut self,
        cut: Option<(&Blocking, usize)>,
        bits: u32,
        settings: &PairSearch,
        host: &mut H,
    ) -> Result<Partitions<F>> {
        let buffer = ((settings.memory / 2) >> bits).clamp(LEAST_BUFFER, MOST_BUFFER);
        let mut partitions = Partitions {
            file: Runs::new(host.file()),
            rows_per_buffer: buffer / Row::BYTES,
            each: memory::collect((0..1usize << bits).map(|_| Partition::default()))?,
        };
        self.scan(|row| {
            let number = cut.map_or(0, |(cut, block)| cut.blocks[block].value(row.fp) >> (cut.width - bits));
            partitions.add(number, row)
        })?;
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

/// The place of a join in the whole work: a block of a blocking, or none, its span, and what is connected already.
#[derive(Clone, Copy)]
struct Place<'c> {
    cut: Option<(&'c Blocking, usize)>,
    span: Span,
    sets: Option<&'c UnionFind>,
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
            let mut reader = Reader::new(run, READ);
            while let Some(row) = reader.next(&mut self.file)? {
                rows.grow(row)?;
            }
            *next += 1;
        }
        Ok(rows)
    }

    /// Joins partitions that can hold pairs with each other.
    fn join<H: Host<File = F>>(
        mut self,
        place: Place<'_>,
        settings: &PairSearch,
        host: &mut H,
        sink: Sink<'_, H>,
    ) -> Result<()> {
        let all: u64 = self.each.iter().map(|partition| partition.rows).sum();
        let mut done = 0;
        let radius = place.cut.map_or(0, |(cut, block)| cut.radii[block]);
        let wanted = settings.memory / BYTES_PER_ROW / 2;
        for one in 0..self.each.len() {
            let mut rest = 0;
            while rest < self.each[one].runs.len() {
                let rows = self.load(one, &mut rest, wanted)?;
                // The number of joins of a chunk is not known beforehand: it counts when it is done.
                let share = place.span.at(done as f64 / all as f64);
                let place = Place { span: Span { from: share, to: share }, ..place };
                host.progress(share);
                done += rows.len() as u64;
                let left = Rows::new(rows, settings.threads, host)?;
                self.join_with(&left, None, place, settings, host, sink)?;
                for other in one..self.each.len() {
                    if ((one ^ other) as u32).count_ones() as i32 > radius {
                        continue;
                    }
                    let mut others = if other == one { rest } else { 0 };
                    while others < self.each[other].runs.len() {
                        let rows = self.load(other, &mut others, wanted)?;
                        let right = Rows::new(rows, settings.threads, host)?;
                        self.join_with(&left, Some(&right), place, settings, host, sink)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn join_with<H: Host<File = F>>(
        &self,
        left: &Rows,
        right: Option<&Rows>,
        place: Place<'_>,
        settings: &PairSearch,
        host: &mut H,
        sink: Sink<'_, H>,
    ) -> Result<()> {
        let Place { cut, span, sets } = place;
        // Equal rows are near in every block that is used, and found in the first.
        if right.is_none() && cut.is_none_or(|(_, block)| block == 0) {
            equal_pairs(left, sets, host, sink)?;
        }
        let PairSearch { distance, threads, .. } = *settings;
        let others = right.unwrap_or(left);
        let numbers = |rows: &Rows| sets.map(|sets| rows.numbers(sets)).transpose();
        let (mine, theirs) = (numbers(left)?, right.map(numbers).transpose()?.flatten());
        let connected = sets.zip(mine.as_deref()).map(|(sets, mine)| Connected {
            sets,
            left: mine,
            right: theirs.as_deref().unwrap_or(mine),
        });
        let right = right.map(|right| &right.fps[..]);
        let task = Task { left: &left.fps, right, distance, threads, span, connected };
        let take = &mut |host: &mut H, hits: &[_]| all_of([left, others], connected, hits, host, sink);
        match cut {
            Some((cut, block)) => task.run_block(cut, block, host, take),
            None => task.run(host, take),
        }
    }
}
