//! Nearest-neighbour search: rows in order of distance, as many as are asked for. No lock is held between
//! batches.
//!
//! The scan increases a distance d. Going from d - 1 to d, the radius of one block grows by one (the pigeonhole
//! needs no more), and only the shell of buckets at exactly the new radius is read. A row is collected
//! by the step that first covers it: its difference in that block equals the new radius, and in
//! every other block exceeds that block's. Once d is covered, all rows at distance d have been
//! collected and are returned; those collected further away wait. Nothing is returned beyond the covered
//! distance but rows at the next one that are at hand: they are no farther than any other, and who wants one row is spared
//! the last and largest shell. So at any time exactly the rows up to d have been returned, and the *early* ones.
//!
//! Hence the scan can change its method between two distances. It reads one whole tree, for the rows beyond
//! what was returned, when the next shell would cost more pages than that. At most [`MOST_WAITING`]
//! rows wait; the furthest are dropped first, and from the distance of a dropped row on nothing that
//! waits is complete. A range search then streams that one distance, and the shells are read again for
//! those beyond. Reading whole trees, each pass takes the nearest rows that fit; a single distance too
//! large for that is streamed. If a bucket of the query is hot, distances up to 3 are first searched in its
//! second level, one by one.

use super::cost::nearest_distance;
use super::error::Result;
use super::hot::{BucketState, second_levels};
use super::key::BLOCKS;
use super::meta::Index;
use super::scan::{Hit, RangeScan};
use super::schedule::{MAX_DISTANCE, Radii, buckets_within, leaves_read};
use super::storage::Pages;
use std::collections::HashSet;

/// Rows that wait at most: 1.5 MB.
const MOST_WAITING: usize = 1 << 16;
/// The largest distance for which reading shells pays; beyond it the scan reads whole trees.
const HORIZON: u32 = 20;
/// About as many random rows does the first pass over a whole tree keep; each pass multiplies that.
const LEAST_PER_PASS: f64 = 1000.0;
const PASS_GROWTH: f64 = 30.0;

/// How often a search of the nearest among `rows` random ones reads a tree until it has given those within `limit`. The
/// shells are about one.
pub fn passes(rows: f64, limit: u32) -> u32 {
    let (mut passes, mut done, mut per_pass) = (1, HORIZON, LEAST_PER_PASS);
    while done < limit {
        let room = nearest_distance(rows, MOST_WAITING as f64, done + 1) - 1;
        done = nearest_distance(rows, per_pass, done + 1).min(room).max(done + 1);
        (passes, per_pass) = (passes + 1, per_pass * PASS_GROWTH);
    }
    passes
}

/// A nearest-neighbour search in progress. It holds no lock and no pin between calls; its memory is bounded
/// whatever is asked for. Rows at equal distance come in any order.
#[derive(Debug, Clone)]
pub struct NearestScan {
    index: Index,
    /// As that of a [`RangeScan`].
    scope: Option<u32>,
    query: u64,
    /// Rows further away are not wanted.
    limit: u32,
    /// `None`: not chosen yet.
    method: Option<Method>,
    /// A distance that is found by a scan of its own: in a second level, or for it has too many rows to wait.
    stream: Option<Box<RangeScan>>,
    /// All rows nearer than this have been returned, or are in `ready`.
    done: u32,
    ready: Vec<Hit>,
    waiting: Waiting,
    /// Rows at distance `done` that have been returned: another method would find them again.
    early: HashSet<Hit>,
    radii: Radii,
    /// An estimate of the rows in the index.
    rows: f64,
    /// Random rows that the next pass over a whole tree should keep, about.
    per_pass: f64,
    reads: u64,
}

/// How the next rows are found.
#[derive(Debug, Clone, Copy)]
enum Method {
    /// Distances up to 3 one by one, for a bucket of the query has a second level.
    Hot,
    Shells,
    Whole,
}

/// Rows by distance, thinned out from the far end.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    by_distance: Vec<Vec<Hit>>,
    len: usize,
    /// At this distance and beyond, rows may have been dropped.
    pub(super) cut: u32,
}

impl Waiting {
    pub(super) fn new(cut: u32) -> Self {
        Waiting { by_distance: Vec::new(), len: 0, cut }
    }

    fn add(&mut self, hit: Hit) {
        if hit.distance >= self.cut {
            return;
        }
        let d = hit.distance as usize;
        if self.by_distance.len() <= d {
            self.by_distance.resize_with(d + 1, Vec::new);
        }
        self.by_distance[d].push(hit);
        self.len += 1;
        while self.len > MOST_WAITING {
            let Some(furthest) = self.by_distance.pop() else { break };
            self.len -= furthest.len();
            self.cut = self.by_distance.len() as u32;
        }
    }

    /// Adds what a search finds, as long as there is room for rows at `least`: `next` appends rows up to a distance, and says
    /// whether more may follow.
    pub(super) fn fill(
        &mut self,
        least: u32,
        mut next: impl FnMut(u32, &mut Vec<Hit>) -> Result<bool>,
    ) -> Result<()> {
        let (mut hits, mut more) = (Vec::new(), true);
        while more && self.cut > least {
            more = next(self.cut - 1, &mut hits)?;
            hits.drain(..).for_each(|hit| self.add(hit));
        }
        Ok(())
    }

    fn take(&mut self, distance: u32) -> Vec<Hit> {
        let hits = self.by_distance.get_mut(distance as usize).map(std::mem::take).unwrap_or_default();
        self.len -= hits.len();
        hits
    }

    /// All from a distance on, the nearest last.
    pub(super) fn from(&mut self, distance: u32) -> Vec<Hit> {
        (distance..self.cut).rev().flat_map(|distance| self.take(distance)).collect()
    }
}

impl NearestScan {
    /// A search for the rows nearest to `fingerprint`, within `limit` only.
    pub fn new(index: &Index, fingerprint: u64, limit: u32) -> Self {
        let limit = limit.min(MAX_DISTANCE);
        NearestScan {
            limit,
            index: *index,
            scope: index.whole_scope(),
            query: fingerprint,
            method: None,
            stream: None,
            done: 0,
            ready: Vec::new(),
            waiting: Waiting::new(HORIZON.min(limit) + 1),
            early: HashSet::new(),
            radii: [-1; BLOCKS],
            rows: 0.0,
            per_pass: LEAST_PER_PASS,
            reads: 0,
        }
    }

    /// The same in one scope only.
    #[must_use]
    pub fn in_scope(mut self, scope: Option<u32>) -> Self {
        self.scope = scope.or(self.scope);
        self
    }

    /// A search of rows between two distances.
    fn between(&self, least: u32, distance: u32) -> RangeScan {
        RangeScan::between(&self.index, self.query, least, distance).in_scope(self.scope)
    }

    /// Appends the next rows: at least one unless there are no more, at most `enough`, and no more than are
    /// at hand, for finding the next one may be expensive. A row is never nearer than those before it. Returns whether
    /// more may follow.
    pub fn next_batch<P: Pages>(&mut self, pages: &P, enough: usize, hits: &mut Vec<Hit>) -> Result<bool> {
        let enough = enough.max(1);
        while self.ready.is_empty() {
            if self.stream.is_none() && self.done > self.limit {
                return Ok(false);
            }
            pages.delay_point();
            match (&self.stream, self.method) {
                (Some(_), _) => self.stream(pages, enough)?,
                (None, None) => {
                    let hot =
                        second_levels(pages, &self.index, self.query, |state| state == BucketState::Hot)?;
                    self.method = Some(match self.scope {
                        None => Method::Whole,
                        Some(_) if !hot.is_empty() => Method::Hot,
                        Some(_) => Method::Shells,
                    });
                }
                (None, Some(Method::Hot)) if self.done <= 3 => self.stream = Some(self.next_distance()),
                (None, Some(Method::Hot)) => self.method = Some(Method::Shells),
                (None, Some(Method::Shells)) if self.covered() >= self.waiting.cut => self.beyond_cut(),
                (None, Some(Method::Shells)) => {
                    let next =
                        if self.covered() == self.done { self.waiting.take(self.done) } else { Vec::new() };
                    if !next.is_empty() {
                        self.early = next.iter().copied().collect();
                        self.ready = next;
                        break;
                    }
                    self.grow(pages)?;
                }
                (None, Some(Method::Whole)) => self.pass(pages)?,
            }
            self.ready.retain(|hit| !self.early.contains(hit));
        }
        let n = self.ready.len().min(enough);
        hits.extend(self.ready.drain(self.ready.len() - n..).rev());
        Ok(true)
    }

    /// Pages locked so far.
    pub fn pages_read(&self) -> u64 {
        self.reads
    }

    /// A scan of the next distance alone.
    fn next_distance(&self) -> Box<RangeScan> {
        Box::new(self.between(self.done, self.done))
    }

    /// Goes on with the distance that has a scan of its own.
    fn stream<P: Pages>(&mut self, pages: &P, enough: usize) -> Result<()> {
        let Some(mut scan) = self.stream.take() else { return Ok(()) };
        let before = scan.pages_read();
        let more = scan.next_batch(pages, enough, &mut self.ready)?;
        self.reads += scan.pages_read() - before;
        if more {
            self.stream = Some(scan);
            return Ok(());
        }
        self.done += 1;
        if matches!(self.method, Some(Method::Shells)) {
            self.waiting = Waiting::new(HORIZON.min(self.limit) + 1);
            self.radii = [-1; BLOCKS];
        }
        Ok(())
    }

    /// The distances that are covered.
    fn covered(&self) -> u32 {
        self.radii.iter().map(|r| r + 1).sum::<i32>() as u32
    }

    /// Keeps the nearest rows that a scan finds.
    fn fill<P: Pages>(&mut self, pages: &P, mut scan: RangeScan) -> Result<RangeScan> {
        self.waiting.fill(self.done, |furthest, hits| {
            scan.narrow(furthest);
            scan.next_batch(pages, 1024, hits)
        })?;
        self.reads += scan.pages_read();
        Ok(scan)
    }

    /// Covers one more distance by reading one shell.
    fn grow<P: Pages>(&mut self, pages: &P) -> Result<()> {
        let covered = self.covered();
        // Blocks in turn: the radii stay as even as can be.
        let i = covered as usize % BLOCKS;
        self.radii[i] += 1;
        let scan = self.between(self.done, HORIZON).of_shell(i, self.radii);
        let scan = self.fill(pages, scan)?;
        if (self.done..self.waiting.cut).contains(&covered) {
            self.ready = self.waiting.take(covered);
            self.done = covered + 1;
        }
        if let Some(all) = scan.leaves() {
            self.rows = all * pages.body_len() as f64 / 11.0;
            // The next step and the three after it cost as much, and the whole tree once.
            let radius = self.radii[(i + 1) % BLOCKS] + 1;
            if leaves_read(all, buckets_within(radius, radius)) * BLOCKS as f64 > all {
                self.method = Some(Method::Whole);
            }
        }
        Ok(())
    }

    /// The waiting rows are exhausted up to where rows were dropped: at the horizon, or at a distance that has too many.
    fn beyond_cut(&mut self) {
        if self.waiting.cut > HORIZON {
            self.method = Some(Method::Whole);
        } else {
            self.stream = Some(self.next_distance());
        }
    }

    /// Reads one whole tree for the nearest rows not returned yet.
    fn pass<P: Pages>(&mut self, pages: &P) -> Result<()> {
        // Not more than may be asked for next: a row too far away costs only the computation of its distance.
        let furthest = nearest_distance(self.rows, self.per_pass, self.done).min(self.limit);
        self.per_pass *= PASS_GROWTH;
        self.waiting = Waiting::new(furthest + 1);
        self.fill(pages, self.between(self.done, self.limit).whole())?;
        if self.waiting.cut <= self.done {
            // The very next distance has too many rows to keep.
            self.stream = Some(Box::new(self.next_distance().whole()));
            return Ok(());
        }
        self.ready = self.waiting.from(self.done);
        self.done = self.waiting.cut;
        Ok(())
    }
}
