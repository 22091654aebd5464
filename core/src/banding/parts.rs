//! Fingerprints of 128 and 256 bits: *parts* of 64 bits, each with entries of its own, in scopes of its own.
//!
//! The number of the part stands in the highest bits of the scope, so that a search meets entries of its own part alone, and
//! that part of all scopes is one range of a tree. By the generalised pigeonhole principle ([`schedule`](super::schedule)) a
//! row within the distance is within the radius of a part in that part: one search of each part finds them all, and others,
//! which the caller tells by the whole fingerprints. A row may be found in several parts. It is returned once, for those
//! returned are remembered; where they are too many for that, or the radii so wide that most rows would be found, all parts
//! of all rows are read instead, and the distances of each row are [added up](Pass).
//!
//! An insert writes one part after another: a row that is being inserted or removed meanwhile may be found or not, as nobody
//! relies on. No lock is held between calls.

use super::error::Result;
use super::key::Tid;
use super::meta::Index;
use super::nearest::Waiting;
use super::scan::{Hit, RangeScan};
use super::schedule::{MAX_DISTANCE, is_narrow, radius};
use super::storage::Pages;
use crate::interrupt;
use crate::memory::{Grow, Room};
use std::collections::HashSet;

/// Rows that are remembered, at most.
const MOST_SEEN: usize = 1 << 16;
/// Entries that a pass takes at once.
const ENTRIES: usize = 4096;

/// The scope of a part of rows of a scope, if there are so many parts: 1, 2 or 4.
pub const fn scope_of_part(scope: u32, part: usize, parts: usize) -> u32 {
    let bits = parts.trailing_zeros();
    if bits == 0 { scope } else { (part as u32) << (32 - bits) | scope >> bits }
}

/// A search of rows by a fingerprint of several parts, in progress. It returns every row within the distance once, and others.
#[derive(Debug, Clone)]
pub struct PartsScan {
    all: Pass,
    /// The part that is searched.
    part: usize,
    scan: Option<RangeScan>,
    seen: HashSet<Tid>,
    /// Whether the rest is found by a pass.
    passes: bool,
}

impl PartsScan {
    /// A search for the rows within `distance` of the fingerprint of these parts, in one scope or in all. A pass takes up to
    /// `memory` bytes.
    pub fn new(index: &Index, scope: Option<u32>, query: &[u64], distance: u32, memory: usize) -> Self {
        let all = Pass::new(index, scope, query, (0, distance), memory);
        // What belongs to a part of all scopes can only be read.
        let passes = scope.is_none() || !is_narrow(query.len(), distance);
        let mut new = PartsScan { all, part: 0, scan: None, seen: HashSet::new(), passes };
        new.scan = new.search();
        new
    }

    /// The search of the part.
    fn search(&self) -> Option<RangeScan> {
        let (parts, scope) = (self.all.query.len(), self.scope_found()?);
        let radius = u32::try_from(radius(self.all.distance, self.part, parts)).ok()?;
        Some(RangeScan::new(&self.all.index, *self.all.query.get(self.part)?, radius).in_scope(Some(scope)))
    }

    /// The scope of the entries by which the last batch was found, of which fingerprint and distance are a part's; `None`
    /// after a pass, which gives the whole distance and no fingerprint.
    pub fn scope_found(&self) -> Option<u32> {
        let scope = self.all.scope.filter(|_| !self.passes)?;
        Some(scope_of_part(scope, self.part, self.all.query.len()))
    }

    /// Appends rows of one part: about `enough`, at least one unless there are no more. Returns whether more may follow.
    pub fn next_batch<P: Pages>(&mut self, pages: &P, enough: usize, hits: &mut Vec<Hit>) -> Result<bool> {
        let (from, mut found) = (hits.len(), Vec::new());
        while hits.len() == from {
            if self.passes {
                let more = self.all.next_batch(pages, enough, &mut found)?;
                hits.extend(found.drain(..).filter(|hit| !self.seen.contains(&hit.tid)));
                if !more {
                    return Ok(false);
                }
            } else if let Some(scan) = &mut self.scan {
                let more = scan.next_batch(pages, enough, &mut found)?;
                for hit in found.drain(..) {
                    self.seen.room(1)?;
                    if self.seen.insert(hit.tid) {
                        hits.push(hit);
                    }
                }
                if !more {
                    self.scan = None;
                } else if self.seen.len() > MOST_SEEN {
                    self.passes = true;
                }
            } else {
                self.part += 1;
                self.scan = self.search();
                if self.scan.is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// The exact distances of all rows: every part of one tree is read, and what its entries differ in is added up by row. If that
/// does not fit into memory, the rows of the first blocks of the table come first, and the others by reading again.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    index: Index,
    scope: Option<u32>,
    query: Vec<u64>,
    least: u32,
    distance: u32,
    memory: usize,
    /// The first block whose rows are to be added up; `None` if there are no more.
    next: Option<u32>,
    /// The block of the first sums, and those of each block by offset: [`PART`] for each part, and the distance.
    first: u32,
    sums: Vec<Vec<u16>>,
    /// The sums that have been reported.
    reported: usize,
}

const PART: u16 = 1 << 12;

impl Pass {
    /// Of the rows from one distance to another.
    pub(crate) fn new(
        index: &Index,
        scope: Option<u32>,
        query: &[u64],
        (least, distance): (u32, u32),
        memory: usize,
    ) -> Self {
        let query = query.to_vec();
        let (next, first, sums, reported) = (Some(0), 0, Vec::new(), 0);
        Pass { index: *index, scope, query, least, distance, memory, next, first, sums, reported }
    }

    /// Appends rows in the order of the table, about `enough`. Returns whether more may follow.
    pub(crate) fn next_batch<P: Pages>(
        &mut self,
        pages: &P,
        enough: usize,
        hits: &mut Vec<Hit>,
    ) -> Result<bool> {
        let wanted = hits.len() + enough.max(1);
        let complete = self.query.len() as u16;
        loop {
            while let Some(sums) = self.sums.get_mut(self.reported) {
                interrupt::check();
                let block = self.first + self.reported as u32;
                for (offset, sum) in std::mem::take(sums).into_iter().enumerate() {
                    let distance = u32::from(sum % PART);
                    if sum / PART == complete && (self.least..=self.distance).contains(&distance) {
                        hits.grow(Hit { distance, tid: Tid::new(block, offset as u16), fingerprint: 0 })?;
                    }
                }
                self.reported += 1;
                if hits.len() >= wanted {
                    return Ok(true);
                }
            }
            let Some(first) = self.next.take() else { return Ok(false) };
            self.add_up(pages, first)?;
        }
    }

    /// Adds up the rows of as many blocks from `first` on as memory has room for.
    fn add_up<P: Pages>(&mut self, pages: &P, first: u32) -> Result<()> {
        (self.first, self.sums, self.reported) = (first, Vec::new(), 0);
        let room = (self.memory / size_of::<Vec<u16>>()).max(1);
        let (mut end, mut taken, mut hits) = (first.saturating_add(room as u32), 0, Vec::new());
        for (part, query) in self.query.iter().enumerate() {
            let of = |scope| scope_of_part(scope, part, self.query.len());
            let (from, to) = self.scope.map_or((0, u32::MAX), |scope| (scope, scope));
            let mut scan = RangeScan::of_scopes(&self.index, *query, of(from), of(to));
            let mut more = true;
            while more {
                more = scan.next_batch(pages, ENTRIES, &mut hits)?;
                for hit in hits.drain(..).filter(|hit| hit.tid.block() >= first) {
                    let block = hit.tid.block();
                    if block >= end {
                        self.next = Some(self.next.map_or(block, |next| next.min(block)));
                        continue;
                    }
                    let (at, offset) = ((block - first) as usize, usize::from(hit.tid.offset()));
                    if at >= self.sums.len() {
                        let added = at + 1 - self.sums.len();
                        self.sums.room(added)?;
                        self.sums.resize_with(at + 1, Vec::new);
                        taken += added * size_of::<Vec<u16>>();
                    }
                    let sums = &mut self.sums[at];
                    if offset >= sums.len() {
                        let added = (offset + 1).next_multiple_of(64) - sums.len();
                        sums.room(added)?;
                        sums.resize(sums.len() + added, 0);
                        taken += added * size_of::<u16>();
                    }
                    // More than all parts has only a row that was removed, and whose place was taken, meanwhile.
                    sums[offset] = sums[offset].wrapping_add(PART + hit.distance as u16);
                    if taken > self.memory && self.sums.len() > 1 {
                        self.sums.truncate(self.sums.len() / 2);
                        end = first + self.sums.len() as u32;
                        self.next = Some(end);
                        let of_block = |sums: &Vec<u16>| size_of_val(sums) + size_of_val(sums.as_slice());
                        taken = self.sums.iter().map(of_block).sum();
                    }
                }
            }
        }
        Ok(())
    }
}

/// Rows whose whole fingerprints are asked for while the nearest ones are searched, at most; beyond, a pass is cheaper.
const MOST_ASKED: usize = 4096;

/// A search of the nearest rows by a fingerprint of several parts, in progress: those within a few bits of each part by
/// searching, the others by passes, of which each keeps the nearest. Its memory is bounded.
#[derive(Debug, Clone)]
pub struct PartsNearest {
    /// From the least distance that has not been returned to the largest wanted.
    all: Pass,
    /// Distances up to which to search before passing.
    steps: Vec<u32>,
    /// The nearest last.
    ready: Vec<Hit>,
    /// A distance of too many rows to keep.
    stream: Option<Pass>,
}

impl PartsNearest {
    /// A search for the rows within `limit`, in one scope or in all; `memory` as that of a [`PartsScan`].
    pub fn new(index: &Index, scope: Option<u32>, query: &[u64], limit: u32, memory: usize) -> Self {
        let parts = query.len() as u32;
        let limit = limit.min(MAX_DISTANCE * parts);
        let steps = if scope.is_some() { vec![8 * parts - 1, 4 * parts - 1] } else { Vec::new() };
        let all = Pass::new(index, scope, query, (0, limit), memory);
        PartsNearest { all, steps, ready: Vec::new(), stream: None }
    }

    /// Appends the next rows: about `enough`, at least one unless there are no more. A row is never nearer than those before
    /// it. `distance_of` tells the whole distance of a row that was found in a scope, `None` if nobody wants it. Returns
    /// whether more may follow.
    pub fn next_batch<P: Pages>(
        &mut self,
        pages: &P,
        enough: usize,
        hits: &mut Vec<Hit>,
        distance_of: &mut dyn FnMut(&Hit, Option<u32>) -> Option<u32>,
    ) -> Result<bool> {
        let from = hits.len();
        while hits.len() == from {
            if !self.ready.is_empty() {
                let n = self.ready.len().min(enough.max(1));
                hits.extend(self.ready.drain(self.ready.len() - n..).rev());
            } else if let Some(stream) = &mut self.stream {
                if !stream.next_batch(pages, enough, hits)? {
                    self.stream = None;
                    self.all.least += 1;
                }
            } else if self.all.least > self.all.distance {
                return Ok(false);
            } else if let Some(step) = self.steps.pop() {
                self.search(pages, step.min(self.all.distance), distance_of)?;
            } else {
                self.pass(pages)?;
            }
        }
        Ok(true)
    }

    /// Searches for the rows up to a distance.
    fn search<P: Pages>(
        &mut self,
        pages: &P,
        to: u32,
        distance_of: &mut dyn FnMut(&Hit, Option<u32>) -> Option<u32>,
    ) -> Result<()> {
        let Pass { index, scope, query, memory, .. } = &self.all;
        let mut scan = PartsScan::new(index, *scope, query, to, *memory);
        let (mut found, mut ready, mut asked, mut more) = (Vec::new(), Vec::new(), 0, true);
        while more {
            more = scan.next_batch(pages, ENTRIES, &mut found)?;
            asked += found.len();
            if asked > MOST_ASKED {
                self.steps.clear();
                return Ok(());
            }
            for hit in found.drain(..) {
                let distance = distance_of(&hit, scan.scope_found());
                let wanted = distance.filter(|distance| (self.all.least..=to).contains(distance));
                ready.extend(wanted.map(|distance| Hit { distance, ..hit }));
            }
        }
        ready.sort_unstable_by(|a, b| b.cmp(a));
        self.ready = ready;
        self.all.least = to + 1;
        Ok(())
    }

    /// Reads all rows for the nearest not returned yet.
    fn pass<P: Pages>(&mut self, pages: &P) -> Result<()> {
        let Pass { index, scope, query, least, distance, memory, .. } = &self.all;
        let (least, mut waiting) = (*least, Waiting::new(distance + 1));
        let mut pass = Pass::new(index, *scope, query, (least, *distance), *memory);
        waiting.fill(least, |furthest, hits| {
            pass.distance = furthest;
            pass.next_batch(pages, ENTRIES, hits)
        })?;
        if waiting.cut <= least {
            self.stream = Some(Pass::new(index, *scope, query, (least, least), *memory));
            return Ok(());
        }
        self.ready = waiting.from(least);
        self.all.least = waiting.cut;
        Ok(())
    }
}
