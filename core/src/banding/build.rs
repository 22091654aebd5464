//! Building an index from rows in any order.
//!
//! Rows are collected until memory is full. If it never is, the same array is sorted in place four times, once
//! per block. Otherwise each fill is sorted for each block and written out as a run, and the runs are merged.
//! Buckets are counted on the way; all rows are read once more for each tree of the hot ones' second level. A build
//! has its file to itself (no locks), and its caller logs the finished file once.

use super::error::Result;
use super::hot::write_hot;
use super::key::{BLOCKS, Position, Row, Tid, Tree, rotate_low};
use super::meta::{Index, METAPAGE, Options};
use super::pack::{Output, PageSink, TreeWriter};
use super::promote::{BucketCount, BucketCounter, is_worth_promoting};
use crate::external::{Host, Run, Runs, Sorter, is_full, sort_on_threads};
use crate::interrupt::checked;

/// The least memory a build works with, in bytes.
const LEAST_MEMORY: usize = 64 * 1024;

/// The result of a build.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Built {
    /// The new index.
    pub index: Index,
    /// Rows in it that have a fingerprint.
    pub rows: u64,
    /// Rows in it that have none.
    pub nulls: u64,
    /// Pages written, the metapage included.
    pub pages: u32,
    /// Runs written out and merged; 0 if everything fitted in memory.
    pub runs: usize,
}

/// Collects rows and then writes an index: without scopes, or of [`Position`]s, which have one. An index with scopes
/// has no second levels.
pub struct Builder<'h, H: Host, R: Row> {
    options: Options,
    body_len: usize,
    memory: usize,
    limit: usize,
    /// Their keys are turned from tree to tree, see [`turn`].
    records: Vec<R>,
    host: &'h mut H,
    threads: usize,
    runs: Runs<H::File>,
    by_tree: [Vec<Run>; BLOCKS],
    rows: u64,
    nulls: Sorter<R, H::File>,
}

impl<'h, H: Host, R: Row> Builder<'h, H, R> {
    /// A build of pages with bodies of `body_len` bytes that collects rows in up to `memory` bytes (64 kB
    /// at least). In addition a build takes a few pages, about twenty bytes per leaf of one tree, and where buckets are hot
    /// an eighth of that memory.
    pub fn new(options: Options, body_len: usize, memory: usize, host: &'h mut H) -> Result<Self> {
        options.validate_for(body_len)?;
        let memory = memory.max(LEAST_MEMORY);
        Ok(Builder {
            options,
            body_len,
            memory,
            limit: (memory - memory / 8) / size_of::<R>(),
            records: Vec::new(),
            runs: Runs::new(host.file()),
            nulls: Sorter::new(memory / 8, host.file()),
            host,
            threads: 1,
            by_tree: Default::default(),
            rows: 0,
        })
    }

    /// Sorts on so many threads; the index is the same.
    pub fn on_threads(self, threads: usize) -> Self {
        Builder { threads, ..self }
    }

    /// Adds a row to a scope, 0 in an index without scopes.
    #[inline]
    pub fn add(&mut self, scope: u32, fingerprint: impl Into<Option<u64>>, tid: Tid) -> Result<()> {
        let Some(key) = fingerprint.into() else {
            return Ok(self.nulls.add(R::at(Position { scope, key: 0, tid }))?);
        };
        if is_full(&mut self.records, &mut self.limit)? {
            self.dump()?;
        }
        self.rows += 1;
        self.records.push(R::at(Position { scope, key, tid }));
        Ok(())
    }

    /// Writes the rows in memory as one run per tree.
    fn dump(&mut self) -> Result<()> {
        for (i, runs) in self.by_tree.iter_mut().enumerate() {
            turn(&mut self.records, i);
            sort_on_threads(&mut self.records, self.threads, self.host)?;
            runs.push(self.runs.write(&self.records)?);
        }
        self.records.clear();
        Ok(())
    }

    /// Writes the index.
    ///
    /// # Errors
    /// The sink or the spill fails. The file is then incomplete and has no metapage.
    pub fn finish<K: PageSink>(mut self, sink: &mut K) -> Result<Built> {
        if !self.by_tree[0].is_empty() {
            self.dump()?;
            self.records = Vec::new();
        }
        let runs = self.by_tree[0].len();
        let mut out = Output::new(sink, self.body_len, self.rows * BLOCKS as u64);
        let mut index = Index::none(self.options, R::SCOPED);
        for i in 0..BLOCKS {
            self.write_block(&mut out, &mut index, i)?;
        }
        let mut writer = self.writer(Tree::NULLS);
        let mut nulls = 0;
        self.nulls.finish(|entry| {
            nulls += 1;
            writer.push(&mut out, entry.position())
        })?;
        index.nulls = writer.finish(&mut out)?;
        index.counted = out.next;
        let image = index.image(self.body_len);
        out.at(METAPAGE, &image)?;
        Ok(Built { index, rows: self.rows, nulls, pages: out.next, runs })
    }

    fn writer(&self, tree: Tree) -> TreeWriter {
        TreeWriter::new(tree, R::SCOPED, self.options.fillfactor, self.body_len)
    }

    /// The buckets of a counted block that get a second level, in order.
    fn hot_buckets(&self, counter: BucketCounter) -> Vec<u16> {
        if R::SCOPED {
            return Vec::new();
        }
        let average = counter.average();
        let worth = |count: &&BucketCount| is_worth_promoting(count, average, &self.options, self.body_len);
        counter.buckets.iter().filter(worth).map(|count| count.bucket).collect()
    }

    /// A block's trees, from memory or from runs.
    fn write_block<K: PageSink>(
        &mut self,
        out: &mut Output<'_, K>,
        index: &mut Index,
        i: usize,
    ) -> Result<()> {
        let runs = std::mem::take(&mut self.by_tree[i]);
        let runs = self.runs.reduce::<R>(runs, self.memory)?;
        turn(&mut self.records, i);
        sort_on_threads(&mut self.records, self.threads, self.host)?;
        let mut writer = self.writer(Tree::main(i));
        let mut counter = BucketCounter::new()?;
        self.each(&runs, self.memory, |row| {
            let entry = row.position();
            counter.add(entry.key);
            writer.push(out, entry)
        })?;
        index.roots[Tree::main(i).number()] = writer.finish(out)?;
        let hot = self.hot_buckets(counter);
        if hot.is_empty() {
            return Ok(());
        }
        // Reading all again costs less than keeping the entries of every candidate.
        let memory = if runs.is_empty() { self.memory / 8 } else { self.memory / 2 };
        for j in 1..4 {
            let tree = Tree::new(i, j);
            let mut sorter = Sorter::new(memory, self.host.file());
            self.each(&runs, memory, |mut row| {
                if hot.binary_search(&row.position().bucket()).is_ok() {
                    row.turn(|key| rotate_low(key, 12 * j as u32));
                    sorter.add(row)?;
                }
                Ok(())
            })?;
            let mut writer = self.writer(tree);
            sorter.finish(|row| writer.push(out, row.position()))?;
            index.roots[tree.number()] = writer.finish(out)?;
        }
        index.hot[i] = write_hot(i, &hot, self.body_len, |image| out.page(image))?;
        Ok(())
    }

    /// Calls `each` with the rows in the order of the tree: those of runs, or those in memory if there are none.
    fn each(&mut self, runs: &[Run], memory: usize, mut each: impl FnMut(R) -> Result<()>) -> Result<()> {
        checked(&self.records).try_for_each(|row| each(*row))?;
        self.runs.for_each(runs, memory, |_, row| each(row))
    }
}

/// Turns fingerprints (for i = 0) or the keys of tree i - 1 into the keys of tree i.
fn turn<R: Row>(records: &mut [R], i: usize) {
    if i > 0 {
        records.iter_mut().for_each(|r| r.turn(|key| key.rotate_left(16)));
    }
}
