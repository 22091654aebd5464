//! All pairs of rows within a Hamming distance (P2, 3.2: "index classification" of a whole table, here exact at
//! any distance).

use super::connected::{Connected, Sparing};
use super::join::Hit;
use super::parallel::Task;
use super::partitioned::Files;
use super::rows::{Row, Rows};
use super::shared_sets::SharedSets;
use crate::external::{Host, Result, is_full};
use crate::fingerprint::hamming;
use crate::interrupt::{Meter, checked};

/// Two rows whose fingerprints are near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller id.
    pub a: i64,
    /// The larger id; equal to `a` for two rows of the same id.
    pub b: i64,
    /// Their Hamming distance, 0 to 64.
    pub distance: u32,
}

impl Pair {
    pub(super) fn new(one: i64, other: i64, distance: u32) -> Pair {
        Pair { a: one.min(other), b: one.max(other), distance }
    }
}

/// A part of the whole work, from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Span {
    pub from: f64,
    pub to: f64,
}

impl Span {
    pub const ALL: Span = Span { from: 0.0, to: 1.0 };

    /// The share of the whole when `share` of the part is done.
    pub fn at(&self, share: f64) -> f64 {
        self.from + share * (self.to - self.from)
    }
}

/// Parameters of the search for pairs. Neither memory nor threads change the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The largest Hamming distance of a pair, 0 to 64.
    pub distance: u32,
    /// Bytes of working memory, beyond which rows go to files; at least 64 KiB are used.
    pub memory: usize,
    /// Threads to compute on; 0 and 1: the caller's own.
    pub threads: usize,
}

/// The least working memory, in bytes.
const LEAST_MEMORY: usize = 1 << 16;
/// Bytes of working memory per row: the row, its distinct fingerprint and run, its place in one or two
/// sorts by a block, its number among sets.
pub(super) const BYTES_PER_ROW: usize = 60;

/// Collects rows, then finds their near pairs.
///
/// In memory it takes about 40 bytes per row. What does not fit goes to files: 16 bytes per row, and the same
/// again for the current block.
pub struct Pairs<H: Host> {
    settings: Settings,
    rows: Vec<Row>,
    /// The most rows in memory.
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

    /// Adds a row. Ids may repeat: rows with the same id are different rows.
    ///
    /// # Errors
    /// Writing to a file fails, or there is no memory.
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
    ///
    /// # Errors
    /// A file or `take` fails, or there is no memory.
    pub fn finish(self, host: &mut H, take: impl FnMut(Pair, &mut H) -> Result<()>) -> Result<()> {
        self.run(None, host, &mut Each(take))
    }

    /// Finds pairs that connect rows as all pairs do: those of rows that are in one of `sets` already are left out, and a
    /// few come twice. All are decided on in the end.
    ///
    /// # Errors
    /// A file or `connect` fails, or there is no memory.
    pub fn connect(self, sets: &SharedSets, host: &mut H, connect: Sink<'_, H>) -> Result<()> {
        let mut sparing = Sparing::new(sets, connect);
        self.run(Some(sets), host, &mut sparing)?;
        sparing.settle(host)
    }

    fn run(mut self, sets: Option<&SharedSets>, host: &mut H, sink: Sink<'_, H>) -> Result<()> {
        if let Some(mut files) = self.files.take() {
            files.append(&self.rows)?;
            self.rows = Vec::new();
            return files.join(&self.settings, sets, host, sink);
        }
        let rows = Rows::new(std::mem::take(&mut self.rows), self.settings.threads, host)?;
        equal_pairs(&rows, sets, host, sink)?;
        let Settings { distance, threads, .. } = self.settings;
        let numbers = sets.map(|sets| rows.numbers(sets)).transpose()?;
        let connected = sets.zip(numbers.as_deref()).map(|(sets, numbers)| Connected {
            sets,
            left: numbers,
            right: numbers,
        });
        let task = Task { left: &rows.fps, right: None, distance, threads, span: Span::ALL, connected };
        task.run(host, &mut |host, hits| all_of([&rows, &rows], connected, hits, host, sink))
    }
}

/// The consumer of pairs that connect rows.
pub trait Connect<H> {
    /// Takes a pair, and decides then or later whether it joins the sets of its rows.
    ///
    /// # Errors
    /// The pair cannot be looked at.
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()>;

    /// Decides on all pairs that it has.
    ///
    /// # Errors
    /// They cannot be looked at.
    fn settle(&mut self, host: &mut H) -> Result<()>;
}

/// A consumer of all pairs.
pub(super) struct Each<F>(pub F);

impl<H, F: FnMut(Pair, &mut H) -> Result<()>> Connect<H> for Each<F> {
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()> {
        (self.0)(pair, host)
    }

    fn settle(&mut self, _: &mut H) -> Result<()> {
        Ok(())
    }
}

/// Who gets pairs.
pub(super) type Sink<'s, H> = &'s mut dyn Connect<H>;

/// Rows of one fingerprint that are connected one to the next first.
const MANY: usize = 1 << 6;

/// The pairs of rows with equal fingerprints.
pub(super) fn equal_pairs<H>(
    rows: &Rows,
    sets: Option<&SharedSets>,
    host: &mut H,
    sink: Sink<'_, H>,
) -> Result<()> {
    let mut meter = Meter::new();
    for number in 0..rows.fps.len() {
        let run = rows.run(number);
        let sets = sets.filter(|_| run.len() >= MANY);
        let are_known = |one: &Row, other: &Row| {
            sets.is_some_and(|sets| sets.find(sets.number(one.id)) == sets.find(sets.number(other.id)))
        };
        if sets.is_some() {
            for two in run.windows(2) {
                meter.work(1);
                sink.take(Pair::new(two[0].id, two[1].id, 0), host)?;
            }
            sink.settle(host)?;
            if checked(run).all(|row| are_known(row, &run[0])) {
                continue;
            }
        }
        for (i, one) in run.iter().enumerate() {
            meter.work(1);
            for other in &run[i + 1..] {
                meter.work(1);
                if !are_known(one, other) {
                    sink.take(Pair::new(one.id, other.id, 0), host)?;
                }
            }
        }
    }
    if sets.is_some() { sink.settle(host) } else { Ok(()) }
}

/// The pairs of rows that hits of distinct fingerprints stand for.
pub(super) fn all_of<H>(
    [left, right]: [&Rows; 2],
    connected: Option<Connected<'_>>,
    hits: &[Hit],
    host: &mut H,
    sink: Sink<'_, H>,
) -> Result<()> {
    let mut meter = Meter::new();
    for &(l, r) in hits {
        let distance = hamming(left.fps[l as usize], right.fps[r as usize]);
        for one in left.run(l as usize) {
            if connected.is_some_and(|connected| connected.is_known((l, r))) {
                break;
            }
            for other in right.run(r as usize) {
                meter.work(1);
                sink.take(Pair::new(one.id, other.id, distance), host)?;
            }
        }
    }
    Ok(())
}
