//! All pairs of rows within a Hamming distance (P2, 3.2: "index classification" of a whole table, here exact at
//! any distance), and those of new rows with existing ones, which come a chunk at a time.

use super::blocking::Span;
use super::connected::Sparing;
use super::mark::Mark;
use super::pair::{Connect, Pair, PairSearch, Sink};
use super::partitioned::Files;
use super::rows::{BYTES_PER_ROW, Row, Rows};
use super::runs::Place;
use super::union_find::UnionFind;
use crate::external::{Host, Result, is_full};
use crate::memory;

/// The least working memory, in bytes.
const LEAST_MEMORY: usize = 1 << 16;

/// Collects rows, then finds their near pairs.
///
/// In memory it takes about 40 bytes per row. What does not fit goes to files: 16 bytes per row, and the same
/// again for the current block.
pub struct Pairs<H: Host> {
    settings: PairSearch,
    marks: Option<Vec<Mark>>,
    rows: Vec<Row>,
    limit: usize,
    files: Option<Files<H::File>>,
}

impl<H: Host> Pairs<H> {
    /// No rows yet.
    pub fn new(settings: PairSearch) -> Pairs<H> {
        let memory = settings.memory.max(LEAST_MEMORY);
        let limit = memory / BYTES_PER_ROW;
        let settings = PairSearch { memory, ..settings };
        Pairs { settings, marks: None, rows: Vec::new(), limit, files: None }
    }

    /// Leaves out pairs that are marked apart. The ids are from 0 on, and `marks` has one for each.
    pub fn marked(self, marks: Option<Vec<Mark>>) -> Pairs<H> {
        let marked = if marks.is_some() { 2 * size_of::<Mark>() } else { 0 };
        Pairs { marks, limit: self.settings.memory / (BYTES_PER_ROW + marked), ..self }
    }

    /// Adds a row. Ids may repeat: rows with the same id are different rows.
    pub fn add(&mut self, id: i64, fp: u64, host: &mut H) -> Result<()> {
        if is_full(&mut self.rows, &mut self.limit)? {
            let files = self.files.get_or_insert_with(|| Files::new(host.file()));
            files.append(&self.rows)?;
            self.rows.clear();
        }
        self.rows.push(Row { fp, id });
        Ok(())
    }

    /// Finds every pair, each once, in no particular order.
    pub fn finish(self, host: &mut H, mut take: impl FnMut(Pair, &mut H) -> Result<()>) -> Result<()> {
        self.run(None, host, &mut take)
    }

    /// Finds pairs that connect rows as all pairs do: those of rows that are in one of `sets` already, by their ids
    /// from 0 on, are left out, and a few come twice. All are decided on in the end.
    pub fn connect(self, sets: &UnionFind, host: &mut H, connect: Sink<'_, H>) -> Result<()> {
        let mut sparing = Sparing::new(sets, connect);
        self.run(Some(sets), host, &mut sparing)?;
        sparing.settle(host)
    }

    fn run(mut self, sets: Option<&UnionFind>, host: &mut H, sink: Sink<'_, H>) -> Result<()> {
        let marks = self.marks.take();
        let marks = marks.as_deref();
        let place = Place { search: self.settings, cut: None, span: Span::ALL, sets, marks };
        if let Some(mut files) = self.files.take() {
            files.append(&self.rows)?;
            self.rows = Vec::new();
            return files.join(place, host, sink);
        }
        let rows = Rows::new(std::mem::take(&mut self.rows), self.settings.threads, host)?;
        place.join(&rows, None, host, sink)
    }
}

/// New rows, kept sorted for the comparison with others.
pub struct CrossPairs {
    settings: PairSearch,
    rows: Rows,
}

impl CrossPairs {
    /// New rows as (id, fingerprint).
    pub fn new<H: Host>(settings: PairSearch, rows: &[(i64, u64)], host: &mut H) -> Result<CrossPairs> {
        let rows = sorted(rows, settings.threads, host)?;
        Ok(CrossPairs { settings, rows })
    }

    /// The number of other rows to pass to [`CrossPairs::with`] at a time so that the work fits in memory.
    pub fn chunk(&self) -> usize {
        const LEAST: usize = 1 << 13;
        (self.settings.memory / BYTES_PER_ROW).saturating_sub(self.rows.fps.len()).max(LEAST)
    }

    /// Finds the pairs of one of these rows with one of the others, each once, in no particular order.
    pub fn with<H: Host>(
        &self,
        others: &[(i64, u64)],
        host: &mut H,
        mut take: impl FnMut(Pair) -> Result<()>,
    ) -> Result<()> {
        let others = sorted(others, self.settings.threads, host)?;
        let place = Place { search: self.settings, cut: None, span: Span::ALL, sets: None, marks: None };
        place.join(&self.rows, Some(&others), host, &mut |pair, _: &mut H| take(pair))
    }
}

fn sorted<H: Host>(rows: &[(i64, u64)], threads: usize, host: &mut H) -> Result<Rows> {
    Rows::new(memory::collect(rows.iter().map(|&(id, fp)| Row { fp, id }))?, threads, host)
}
