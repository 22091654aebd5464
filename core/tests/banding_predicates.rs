//! Serializable transactions: who adds a row to the answer of a search is in conflict with it, unless the search has found it.

mod common;

use common::Rng;
use common::banding::*;
use common::watched::{Next, Watched};
use dedup_core::banding::{Index, NearestScan, Options, PartsScan, RangeScan, Tid, scope_of_part};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// A row: its place, scope and fingerprint, and whether it was in conflict.
struct Row {
    tid: Tid,
    scope: u32,
    value: Option<Vec<u64>>,
    conflict: bool,
}

/// An index, a search, and the rows that have come since it began.
struct World<'p> {
    pages: &'p MemoryPages,
    index: Index,
    rng: Rng,
    scopes: u64,
    query: Vec<u64>,
    next: usize,
    began: usize,
    new: Vec<Row>,
    freed: u32,
    promoted: u32,
}

impl<'p> World<'p> {
    fn new(pages: &'p MemoryPages, seed: u64, scopes: u64, parts: usize) -> Self {
        let index = Index::create(pages, Options::default(), scopes > 1 || parts > 1).unwrap();
        let (rng, query, new) = (Rng::new(seed), vec![0; parts], Vec::new());
        World { pages, index, rng, scopes, query, next: 0, began: 0, new, freed: 0, promoted: 0 }
    }

    /// What the rows of a search share, or as near to it as can be.
    fn value(&mut self) -> Option<Vec<u64>> {
        let (rng, kind) = (&mut self.rng, self.next % 16);
        let near = |part: &u64| match kind {
            0..3 => rng.flip(*part, kind as u64),
            3..6 => part & 0xffff << 48 | rng.next() >> 16,
            _ => rng.next() & 0xff0f_0fff_00ff_0fff,
        };
        (kind < 15).then(|| self.query.iter().map(near).collect())
    }

    fn insert(&mut self) {
        let (value, parts) = (self.value(), self.query.len());
        let scope = self.rng.below(self.scopes) as u32 * 0x1000_0000;
        self.next += 1;
        let (tid, entries) =
            (tid(self.next), value.clone().map_or(vec![None], |it| it.into_iter().map(Some).collect()));
        self.pages.conflict.store(false, Ordering::Relaxed);
        for (part, value) in entries.into_iter().enumerate() {
            self.index.insert(self.pages, scope_of_part(scope, part, parts), value, tid).unwrap();
        }
        let conflict = self.pages.conflict.load(Ordering::Relaxed);
        self.new.push(Row { tid, scope, value, conflict });
    }

    /// What others do: rows come, those that were there before the search go, buckets become hot.
    fn stir(&mut self) {
        match self.rng.below(8) {
            0 => {
                let most = tid(self.rng.below(self.began as u64 + 1) as usize);
                self.freed += self.index.bulk_delete(self.pages, |row| row < most).unwrap().freed;
            }
            1 => self.promoted += self.index.maintain(self.pages).unwrap().promoted,
            _ => (0..=self.rng.below(40)).for_each(|_| self.insert()),
        }
    }
}

/// Protects serializable transactions: whatever kind of search, and whatever happens to its pages between two steps of it and
/// later, a row that belongs into its answer is found, or meets a leaf that the search relies on. Most others do not.
#[test]
fn banding_whoever_changes_an_answer_is_in_conflict() {
    let (mut freed, mut promoted, mut caught, mut unrelated) = (0, 0, 0, 0);
    for seed in 0..60 {
        let (scopes, parts) = [(1, 1), (3, 1), (1, 2)][seed as usize % 3];
        let memory = MemoryPages::new(512);
        let world = RefCell::new(World::new(&memory, seed, scopes, parts));
        for round in 0..12 {
            let kind = (round + seed / 3) % 4;
            let (scope, d, wanted, often) = {
                let world = &mut *world.borrow_mut();
                (0..world.rng.below(1 + 100 * round)).for_each(|_| world.insert());
                world.query.iter_mut().for_each(|part| *part = world.rng.next() & 0xff0f_0fff_00ff_0fff);
                world.began = world.next;
                world.new.clear();
                world.pages.relied_on.lock().unwrap().clear();
                let rng = &mut world.rng;
                (
                    rng.below(scopes) as u32 * 0x1000_0000,
                    rng.below(6) as u32,
                    1 + rng.below(9) as usize,
                    1 + rng.below(9),
                )
            };
            let (index, query) = (world.borrow().index, world.borrow().query.clone());
            let between = |next| {
                let mut world = world.borrow_mut();
                if next == Next::Read && world.rng.below(10 * often) == 0 {
                    world.stir();
                }
            };
            let pages = Watched::new(&memory, &between);
            let (mut hits, mut found, mut more) = (Vec::new(), BTreeSet::new(), true);
            // Rows nearer than this are all in the answer.
            let mut end = d + 1;
            match kind {
                0 => found.extend(nulls(&pages, &index, Some(scope_of_part(scope, 0, parts)), wanted)),
                1 if parts == 1 => {
                    let mut scan = NearestScan::new(&index, query[0], 64).in_scope(Some(scope));
                    while more && hits.len() < wanted {
                        more = scan.next_batch(&pages, 1, &mut hits).unwrap();
                    }
                    end = if more { hits.last().map_or(0, |hit| hit.distance) } else { 65 };
                }
                _ if parts == 1 => {
                    let mut scan = RangeScan::new(&index, query[0], d).in_scope(Some(scope));
                    while scan.next_batch(&pages, wanted, &mut hits).unwrap() {}
                }
                _ => {
                    let mut scan = PartsScan::new(&index, Some(scope), &query, d, 1 << 20);
                    while scan.next_batch(&pages, wanted, &mut hits).unwrap() {}
                }
            }
            let world = &mut *world.borrow_mut();
            (0..12).for_each(|_| world.stir());
            found.extend(hits.iter().map(|hit| hit.tid));
            for Row { tid, value, conflict, .. } in world.new.iter().filter(|row| row.scope == scope) {
                let distance =
                    value.as_ref().map(|it| it.iter().zip(&query).map(|(a, b)| (a ^ b).count_ones()).sum());
                let belongs = distance.map_or(kind == 0, |bits: u32| kind > 0 && bits < end);
                assert!(
                    !belongs || *conflict || found.contains(tid),
                    "seed {seed}, round {round}: {distance:?} {tid}"
                );
                caught += usize::from(belongs && *conflict);
                unrelated += usize::from(!belongs && !conflict);
            }
            assert_sound(world.pages, "stirred");
        }
        freed += world.borrow().freed;
        promoted += world.borrow().promoted;
    }
    assert!(
        freed > 2000 && promoted > 20 && caught > 10_000 && unrelated > 40_000,
        "{freed} {promoted} {caught} {unrelated}"
    );
}
