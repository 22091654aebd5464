//! Pairs of more rows than fit in memory.
//!
//! For each block of the cut the rows are spread over partitions by the top
//! bits of the block. A pair whose first block it is lies in two partitions
//! whose numbers differ in no more bits than the block's radius; such
//! partitions are loaded, a chunk of each at a time, and joined in memory. A
//! partition that a hot bucket has made too large is many chunks, and they
//! are joined each with each.

use super::cut::{BLOCKS, Cut};
use super::pairs::{BYTES_A_ROW, Host, Phase, Settings, Sink, Span, all_of, equal_pairs};
use super::parallel::Task;
use super::rows::{ROW_BYTES, Row, Rows};
use crate::banding::{Result, Spill};
use crate::memory::{self, Room};

/// All rows in a file, in the order in which they came.
pub(super) struct Files<F> {
    all: F,
    count: u64,
    /// The first fingerprint and the bits in which others differ from it.
    first: Option<u64>,
    varying: u64,
}

/// Rows that are copied from file to file at a time.
const COPIED: usize = 1024;

impl<F: Spill> Files<F> {
    pub fn new(all: F) -> Files<F> {
        Files { all, count: 0, first: None, varying: 0 }
    }

    pub fn append(&mut self, rows: &[Row]) -> Result<()> {
        let mut bytes = Vec::with_capacity(COPIED * ROW_BYTES);
        for part in rows.chunks(COPIED) {
            bytes.clear();
            for row in part {
                self.varying |= row.fp ^ *self.first.get_or_insert(row.fp);
                bytes.extend_from_slice(&row.to_bytes());
            }
            self.all.append(&bytes)?;
            self.count += part.len() as u64;
        }
        Ok(())
    }

    /// Calls `each` with all rows.
    fn scan<H: Host>(&mut self, host: &mut H, mut each: impl FnMut(Row) -> Result<()>) -> Result<()> {
        let mut bytes = vec![0; COPIED * ROW_BYTES];
        let mut at = 0;
        while at < self.count {
            let rows = (self.count - at).min(COPIED as u64) as usize;
            let part = &mut bytes[..rows * ROW_BYTES];
            self.all.read(at * ROW_BYTES as u64, part)?;
            part.as_chunks().0.iter().try_for_each(|bytes| each(Row::from_bytes(*bytes)))?;
            at += rows as u64;
            host.check()?;
        }
        Ok(())
    }

    /// Finds all pairs.
    pub fn join<H: Host<File = F>>(
        &mut self,
        settings: &Settings,
        host: &mut H,
        sink: Sink<'_>,
    ) -> Result<bool> {
        let n = self.count as usize;
        let Some(cut) = Cut::choose(self.varying, settings.distance, n, n) else {
            let everything = self.spread(None, 0, settings, host)?;
            return everything.join(Place { cut: None, span: Span::ALL }, settings, host, sink);
        };
        for block in (0..BLOCKS).filter(|block| cut.radii[*block] >= 0) {
            // Half of the chunks' memory is one side of a join.
            let rows = settings.memory / BYTES_A_ROW / 2;
            let wanted = (n / rows.max(1)).max(1).ilog2() + 1;
            // A partition has a buffer of 1 KiB at least.
            let possible = (settings.memory / 2 / LEAST_BUFFER).ilog2();
            let bits = wanted.min(possible).min(cut.width);
            let partitions = self.spread(Some((&cut, block)), bits, settings, host)?;
            let place = Place { cut: Some((&cut, block)), span: cut.spans()[block] };
            if !partitions.join(place, settings, host, sink)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Spreads the rows over 2 to the power of `bits` partitions.
    fn spread<H: Host<File = F>>(
        &mut self,
        cut: Option<(&Cut, usize)>,
        bits: u32,
        settings: &Settings,
        host: &mut H,
    ) -> Result<Partitions<F>> {
        let buffer = ((settings.memory / 2) >> bits).clamp(LEAST_BUFFER, MOST_BUFFER);
        let mut partitions = Partitions {
            file: host.file(),
            end: 0,
            bits,
            rows_a_buffer: (buffer - LINK) / ROW_BYTES,
            each: memory::collect((0..1usize << bits).map(|_| Partition::default()))?,
        };
        self.scan(host, |row| {
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
/// Before a buffer in the file stands where the previous one of its partition
/// is, and how many rows that has.
const LINK: usize = 16;

#[derive(Default)]
struct Partition {
    buffer: Vec<Row>,
    last: Link,
    rows: u64,
}

/// A written buffer; of no rows: there is none.
#[derive(Clone, Copy, Default)]
struct Link {
    at: u64,
    rows: u64,
}

/// Where in the whole work a join is: in a block of a cut, or in none, and the
/// stretch that it stands for.
#[derive(Clone, Copy)]
struct Place<'c> {
    cut: Option<(&'c Cut, usize)>,
    span: Span,
}

struct Partitions<F> {
    file: F,
    end: u64,
    bits: u32,
    rows_a_buffer: usize,
    each: Vec<Partition>,
}

impl<F: Spill> Partitions<F> {
    fn add(&mut self, number: usize, row: Row) -> Result<()> {
        let partition = &mut self.each[number];
        partition.buffer.room(1)?;
        partition.buffer.push(row);
        partition.rows += 1;
        if partition.buffer.len() == self.rows_a_buffer { self.flush(number) } else { Ok(()) }
    }

    fn flush(&mut self, number: usize) -> Result<()> {
        let partition = &mut self.each[number];
        if partition.buffer.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(LINK + partition.buffer.len() * ROW_BYTES);
        bytes.extend_from_slice(&partition.last.at.to_le_bytes());
        bytes.extend_from_slice(&partition.last.rows.to_le_bytes());
        partition.buffer.iter().for_each(|row| bytes.extend_from_slice(&row.to_bytes()));
        self.file.append(&bytes)?;
        partition.last = Link { at: self.end, rows: partition.buffer.len() as u64 };
        partition.buffer = Vec::new();
        self.end += bytes.len() as u64;
        Ok(())
    }

    /// Loads the rows of some buffers from `link` on, about `wanted`; what is
    /// left is in `link`.
    fn load(&mut self, link: &mut Link, wanted: usize) -> Result<Vec<Row>> {
        let mut rows = memory::with_capacity(wanted.min(link.rows.max(1) as usize))?;
        let mut bytes = Vec::new();
        while link.rows > 0 && (rows.is_empty() || rows.len() + link.rows as usize <= wanted) {
            bytes.resize(LINK + link.rows as usize * ROW_BYTES, 0);
            self.file.read(link.at, &mut bytes)?;
            let (head, body) = bytes.split_at(LINK);
            let number = |at: usize| head[at..].first_chunk().map_or(0, |b| u64::from_le_bytes(*b));
            *link = Link { at: number(0), rows: number(8) };
            rows.room(body.len() / ROW_BYTES)?;
            rows.extend(body.as_chunks().0.iter().map(|bytes| Row::from_bytes(*bytes)));
        }
        Ok(rows)
    }

    /// Joins partitions that can hold pairs with each other.
    fn join<H: Host<File = F>>(
        mut self,
        place: Place<'_>,
        settings: &Settings,
        host: &mut H,
        sink: Sink<'_>,
    ) -> Result<bool> {
        let all: u64 = self.each.iter().map(|partition| partition.rows).sum();
        let mut done = 0;
        let radius = place.cut.map_or(0, |(cut, block)| cut.radii[block]);
        let wanted = settings.memory / BYTES_A_ROW / 2;
        for one in 0..self.each.len() {
            let mut rest = self.each[one].last;
            while rest.rows > 0 {
                let rows = self.load(&mut rest, wanted)?;
                // How many joins a chunk takes is not foreseen: it counts when it is done.
                let share = place.span.at(done as f64 / all as f64);
                let place = Place { span: Span { from: share, to: share }, ..place };
                host.progress(Phase::Search, share);
                done += rows.len() as u64;
                let left = Rows::new(rows, settings.threads, host)?;
                if !self.join_with(&left, None, place, settings, host, sink)? {
                    return Ok(false);
                }
                for other in one..self.each.len() {
                    if ((one ^ other) as u32).count_ones() as i32 > radius {
                        continue;
                    }
                    let mut others = if other == one { rest } else { self.each[other].last };
                    while others.rows > 0 {
                        let right = Rows::new(self.load(&mut others, wanted)?, settings.threads, host)?;
                        if !self.join_with(&left, Some(&right), place, settings, host, sink)? {
                            return Ok(false);
                        }
                    }
                }
            }
        }
        debug_assert!(self.each.len() == 1 << self.bits);
        Ok(true)
    }

    fn join_with<H: Host<File = F>>(
        &self,
        left: &Rows,
        right: Option<&Rows>,
        place: Place<'_>,
        settings: &Settings,
        host: &mut H,
        sink: Sink<'_>,
    ) -> Result<bool> {
        let Place { cut, span } = place;
        // Equal rows are near in every block that is looked at, the first one first.
        if right.is_none() && cut.is_none_or(|(_, block)| block == 0) && !equal_pairs(left, host, sink)? {
            return Ok(false);
        }
        let Settings { distance, threads, .. } = *settings;
        let task =
            Task { left: &left.fps, right: right.map(|right| &right.fps[..]), distance, threads, span };
        let take = &mut |host: &mut H, hits: &[_]| all_of(left, right.unwrap_or(left), hits, host, sink);
        match cut {
            Some((cut, block)) => task.run_block(cut, block, host, take),
            None => task.run(host, take),
        }
    }
}
