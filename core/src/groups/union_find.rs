//! Disjoint sets.

use crate::fingerprint::hamming;
use crate::interrupt::Meter;
use crate::memory::{self, Grow, OrRaise};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Disjoint sets of numbers; each is identified by its least member. One thread may join sets while others look: what they
/// see may be old, but two numbers that are in one set are so for ever.
#[derive(Debug, Default)]
pub struct UnionFind {
    /// A number's parent is in its set, and less than it but for the root.
    parents: Vec<AtomicU32>,
}

impl UnionFind {
    /// `count` sets of one number each.
    pub fn new(count: usize) -> UnionFind {
        UnionFind { parents: memory::collect((0..count as u32).map(AtomicU32::new)).or_raise() }
    }

    /// Adds a set of one new number, and returns it.
    pub fn push(&mut self) -> u32 {
        let number = self.parents.len() as u32;
        self.parents.grow(number.into()).or_raise();
        number
    }

    /// The least member of the set of `number`.
    #[inline]
    pub fn find(&self, number: u32) -> u32 {
        let parent = |at: u32| self.parents[at as usize].load(Relaxed);
        let mut at = number;
        loop {
            let (one, two) = (parent(at), parent(parent(at)));
            if one == two {
                return one;
            }
            // Path halving, near constant time without ranks, on any thread: only who is no root gets another parent here,
            // and never will it be one again.
            self.parents[at as usize].store(two, Relaxed);
            at = two;
        }
    }

    /// Joins the sets of two numbers, on one thread only; false if they were the same.
    pub fn union(&self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.parents[a.max(b) as usize].store(a.min(b), Relaxed);
        }
        a != b
    }
}

/// Disjoint sets of rows, none of which holds two rows whose fingerprints are
/// farther apart than the diameter. Takes 16 bytes per row.
pub(crate) struct DiameterSets<'f> {
    fps: &'f [u64],
    diameter: u32,
    pub sets: UnionFind,
    /// The members of a set are a ring.
    next: Vec<u32>,
    /// The bits in which members of a set differ, at its root.
    varying: Vec<u64>,
    theirs: Vec<u64>,
    meter: Meter,
}

impl<'f> DiameterSets<'f> {
    pub fn new(fps: &'f [u64], diameter: u32) -> memory::Result<DiameterSets<'f>> {
        Ok(DiameterSets {
            fps,
            diameter,
            sets: UnionFind::new(fps.len()),
            next: memory::collect(0..fps.len() as u32)?,
            varying: memory::filled(0, fps.len())?,
            theirs: Vec::new(),
            meter: Meter::new(),
        })
    }

    /// Whether the sets of two rows differ and may be joined.
    pub fn may_join(&mut self, a: u32, b: u32) -> memory::Result<bool> {
        let (a, b) = (self.sets.find(a), self.sets.find(b));
        // No two rows can differ in more bits than vary at all, which mostly decides.
        let is_narrow = |sets: &Self| sets.varying_of_both(a, b).count_ones() <= sets.diameter;
        Ok(a != b && (is_narrow(self) || self.all_near(a, b)?))
    }

    /// Joins the sets of two rows, which [`DiameterSets::may_join`] allows.
    pub fn join(&mut self, a: u32, b: u32) {
        let (a, b) = (self.sets.find(a), self.sets.find(b));
        self.varying[a.min(b) as usize] = self.varying_of_both(a, b);
        self.sets.union(a, b);
        self.next.swap(a as usize, b as usize);
    }

    fn varying_of_both(&self, a: u32, b: u32) -> u64 {
        let (a, b) = (a as usize, b as usize);
        self.varying[a] | self.varying[b] | self.fps[a] ^ self.fps[b]
    }

    /// Whether every row of one set is near every row of the other.
    fn all_near(&mut self, a: u32, b: u32) -> memory::Result<bool> {
        let mut theirs = std::mem::take(&mut self.theirs);
        theirs.clear();
        for row in self.ring(b) {
            theirs.grow(self.fps[row as usize])?;
        }
        theirs.sort_unstable();
        theirs.dedup();
        let mut meter = self.meter.clone();
        meter.work(theirs.len());
        let mut near = true;
        for row in self.ring(a) {
            let fp = self.fps[row as usize];
            // Some hundred comparisons take as long as other steps do.
            meter.work(1 + theirs.len() / 256);
            if theirs.iter().any(|&their| hamming(their, fp) > self.diameter) {
                near = false;
                break;
            }
        }
        (self.theirs, self.meter) = (theirs, meter);
        Ok(near)
    }

    fn ring(&self, row: u32) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(Some(row), move |&at| Some(self.next[at as usize]).filter(|&next| next != row))
    }
}
