//! What is connected already, so that pairs within it need not be looked for: a family of rows that are near each other
//! has many more pairs than it takes to connect it.

use super::pair::{Connect, Pair, Sink};
use super::rows::{Hit, MIXED, Side};
use super::union_find::UnionFind;
use crate::external::Result;
use crate::interrupt::{Meter, checked};
use crate::memory::{Grow, OfKey, OrRaise};
use rustc_hash::FxHashMap;

/// Distinct fingerprints by the numbers of their rows.
#[derive(Clone, Copy)]
pub(super) struct Connected<'a> {
    pub sets: &'a UnionFind,
    pub left: &'a [u32],
    pub right: &'a [u32],
}

impl Connected<'_> {
    fn set(&self, row: u32) -> u32 {
        if row == MIXED { MIXED } else { self.sets.find(row) }
    }

    pub fn left(&self, number: u32) -> u32 {
        self.set(self.left[number as usize])
    }

    pub fn right(&self, number: u32) -> u32 {
        self.set(self.right[number as usize])
    }

    pub fn is_known(&self, (left, right): Hit) -> bool {
        let set = self.left(left);
        set != MIXED && set == self.right(right)
    }

    /// Whether no pair of two lists would connect anything.
    pub fn are_known(&self, left: Side<'_>, right: Side<'_>) -> bool {
        let set = self.left(left.at[0]);
        set != MIXED
            && checked(right.at).all(|&number| self.right(number) == set)
            && checked(left.at).all(|&number| self.left(number) == set)
    }
}

/// The part of a list that is not in its largest set.
#[derive(Default)]
pub(super) struct Rest {
    /// A row of that set, if it makes the part much shorter than the list.
    set: Option<u32>,
    pub places: Vec<u32>,
    pub fps: Vec<u64>,
    pub at: Vec<u32>,
}

impl Rest {
    /// Whether a fingerprint on the left need be compared with this part only.
    pub fn suffices(&self, connected: &Connected<'_>, left: u32) -> bool {
        self.set.is_some_and(|row| connected.sets.find(row) == connected.left(left))
    }

    /// Finds out what the part of a list on the right is now.
    pub fn renew(&mut self, connected: &Connected<'_>, list: Side<'_>) {
        // The only one that more than half can be in.
        let (mut most, mut lead) = (MIXED, 0usize);
        let mut meter = Meter::new();
        for &number in list.at {
            meter.work(1);
            let set = connected.right(number);
            match lead {
                _ if set == most => lead += 1,
                0 => (most, lead) = (set, 1),
                _ => lead -= 1,
            }
        }
        self.places.clear();
        self.fps.clear();
        self.at.clear();
        self.set = None;
        if most == MIXED {
            return;
        }
        for (place, (&number, &fp)) in list.at.iter().zip(list.fps).enumerate() {
            meter.work(1);
            if connected.right(number) == most {
                continue;
            }
            if 2 * self.places.len() > list.at.len() {
                return;
            }
            self.places.grow(place as u32).or_raise();
            self.fps.grow(fp).or_raise();
            self.at.grow(number).or_raise();
        }
        // Another may have become the least of it since.
        self.set = Some(most);
    }
}

const WAITING: usize = 1 << 18;
/// Two sets each that are remembered at most.
const REMEMBERED: usize = 1 << 16;

/// Passes on few pairs of the same two sets at a time: before it is known whether those join them the others wait, and then
/// most of them are not wanted any more.
pub(super) struct Sparing<'s, H> {
    sets: &'s UnionFind,
    sink: Sink<'s, H>,
    /// How many pairs of two sets were passed on.
    passed: FxHashMap<(u32, u32), u32>,
    waiting: Vec<Pair>,
    few: u32,
}

impl<'s, H> Sparing<'s, H> {
    pub fn new(sets: &'s UnionFind, sink: Sink<'s, H>) -> Sparing<'s, H> {
        Sparing { sets, sink, passed: FxHashMap::default(), waiting: Vec::new(), few: 1 }
    }
}

impl<H> Connect<H> for Sparing<'_, H> {
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()> {
        let [a, b] = [pair.a, pair.b].map(|id| self.sets.find(id as u32));
        if a == b {
            return Ok(());
        }
        if self.passed.len() >= REMEMBERED {
            self.passed.clear();
        }
        let passed = self.passed.of_key((a.min(b), a.max(b)))?;
        if *passed < self.few {
            *passed += 1;
            return self.sink.take(pair, host);
        }
        self.waiting.grow(pair)?;
        if self.waiting.len() >= WAITING { self.settle(host) } else { Ok(()) }
    }

    fn settle(&mut self, host: &mut H) -> Result<()> {
        let mut meter = Meter::new();
        while !self.waiting.is_empty() {
            self.sink.settle(host)?;
            self.passed.clear();
            // Where pairs were not verified more are tried at a time.
            self.few *= 4;
            for pair in std::mem::take(&mut self.waiting) {
                meter.work(4);
                self.take(pair, host)?;
            }
        }
        self.few = 1;
        self.sink.settle(host)
    }
}
