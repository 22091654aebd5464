//! Pages that bulk deletes have emptied are used again, and nobody who is on the way to one of them gets a wrong answer.

mod common;

use common::Rng;
use common::banding::*;
use common::watched::{Next, Watched};
use dedup_core::banding::{Change, Edit, Index, NearestScan, Pages, RangeScan, Tid, check};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::channel;

/// A row: its scope, its fingerprint.
type Row = (u32, Option<u64>);

/// What ought to be in an index with scopes that come and go.
struct World {
    rng: Rng,
    rows: BTreeMap<Tid, Row>,
    /// Rows that are gone, whose entries are not removed yet.
    dead: BTreeMap<Tid, Row>,
    /// Places that may be taken again, and the next new one.
    places: Vec<Tid>,
    next: usize,
    /// Rows that were there at some time since this was emptied.
    ever: Vec<(Tid, Row)>,
}

impl World {
    fn new(seed: u64) -> World {
        let rows = BTreeMap::new();
        World {
            rng: Rng::new(seed),
            rows,
            dead: BTreeMap::new(),
            places: Vec::new(),
            next: 0,
            ever: Vec::new(),
        }
    }

    /// Any scope: half of them are one of a few, which are filled and emptied all the time.
    fn scope(&mut self) -> u32 {
        if self.rng.below(2) == 0 { self.rng.below(12) as u32 * 0x1000_0000 } else { self.rng.next() as u32 }
    }

    fn new_row(&mut self, scope: u32) -> (Tid, Row) {
        let place = self.places.pop().unwrap_or_else(|| {
            self.next += 1;
            tid(self.next)
        });
        let fp = (self.rng.below(10) > 0).then(|| self.rng.next() & 0xff0f_0fff_00ff_0fff);
        (place, (scope, fp))
    }

    /// It is in the index from now on.
    fn add(&mut self, (place, row): (Tid, Row)) {
        self.rows.insert(place, row);
        self.ever.push((place, row));
    }

    /// Whole scopes die, or in all of them the rows of some buckets.
    fn kill_scopes(&mut self) {
        let (share, by) = (self.rng.below(4), self.rng.next() as u32 | 1);
        let whole = self.rng.below(2) == 0;
        let goes = |(scope, fp): Row| match fp {
            Some(fp) if !whole => fp.rotate_left(by % 4 * 16) >> 60 <= share,
            _ => u64::from(scope.wrapping_mul(by) >> 28) <= share,
        };
        let (gone, rows) = std::mem::take(&mut self.rows).into_iter().partition(|(_, row)| goes(*row));
        self.rows = rows;
        self.dead.extend::<BTreeMap<_, _>>(gone);
    }

    fn of_scope(&self, scope: Option<u32>) -> Rows {
        let of = self.rows.iter().filter(|(_, row)| scope.is_none_or(|scope| scope == row.0));
        of.filter_map(|(tid, row)| Some((*tid, row.1?))).collect()
    }
}

fn insert<P: Pages>(pages: &P, index: &Index, (place, (scope, fp)): (Tid, Row)) {
    match fp {
        Some(fp) => index.insert(pages, scope, fp, place).unwrap(),
        None => index.insert(pages, scope, None, place).unwrap(),
    }
}

fn fill<P: Pages>(pages: &P, index: &Index, world: &RefCell<World>) {
    let scope = world.borrow_mut().scope();
    let rows = [3, 60, 150][world.borrow_mut().rng.below(3) as usize];
    for _ in 0..rows {
        let row = world.borrow_mut().new_row(scope);
        insert(pages, index, row);
        world.borrow_mut().add(row);
    }
}

/// Removes the entries of the rows that are dead now; their places are taken again by others.
fn vacuum<P: Pages>(pages: &P, index: &Index, world: &RefCell<World>) -> u32 {
    let dead = std::mem::take(&mut world.borrow_mut().dead);
    let stats = index.bulk_delete(pages, |row| dead.contains_key(&row)).unwrap();
    assert_eq!(stats.removed, dead.len() as u64);
    world.borrow_mut().places.extend(dead.keys());
    stats.freed
}

/// What others do between two steps of a reader or writer: one time of so many, if not `vacuums` no bulk delete.
fn stir(pages: &MemoryPages, index: &Index, world: &RefCell<World>, often: u64, vacuums: bool) {
    if world.borrow_mut().rng.below(often) > 0 {
        return;
    }
    let vacuum_now = world.borrow_mut().rng.below(3) == 0;
    if vacuum_now && vacuums {
        world.borrow_mut().kill_scopes();
        vacuum(pages, index, world);
    } else if world.borrow().rows.len() < 4000 {
        fill(pages, index, world);
    }
}

fn everything(pages: &MemoryPages, index: &Index, world: &World, what: &str) {
    assert_sound(pages, what);
    let mut hits = Vec::new();
    let mut scan = RangeScan::new(index, 0, 64);
    while scan.next_batch(pages, 1000, &mut hits).unwrap() {}
    hits.sort_unstable();
    let dead = world.dead.iter().filter_map(|(tid, row)| Some((*tid, row.1?)));
    let expected: Rows = world.of_scope(None).into_iter().chain(dead).collect();
    assert!(hits == brute(&expected, 0, 64), "{what}: the index holds other rows");
}

/// Protects against wrong rows, missing rows and rows found twice where a leaf is recycled between any two steps of a search,
/// an insert, a bulk delete or a check. Places in the table are taken again by other rows after a bulk delete, so an entry
/// that one had missed would show.
#[test]
fn banding_any_step_may_find_its_page_recycled() {
    let mut freed = 0;
    for seed in 0..10 {
        let pages = MemoryPages::new(512);
        let index = Index::create(&pages, Default::default(), true).unwrap();
        let world = RefCell::new(World::new(900 + seed));
        (0..20).for_each(|_| fill(&pages, &index, &world));
        for step in 0..60 {
            let (kind, often, distance, batch) = {
                let rng = &mut world.borrow_mut().rng;
                (
                    rng.below(8),
                    2 + rng.below(30),
                    [3, 12, 24, 64, 64][rng.below(5) as usize],
                    1 + rng.below(40) as usize,
                )
            };
            let what = format!("seed {seed}, step {step}, {kind}");
            let between = |next| {
                if matches!(next, Next::Read | Next::Lock) {
                    stir(&pages, &index, &world, often, kind != 4);
                }
            };
            let stirred = Watched::new(&pages, &between);
            let before: Rows = world.borrow().of_scope(None);
            let nulls: Vec<Tid> = {
                let world = world.borrow();
                world.rows.iter().filter(|(_, row)| row.1.is_none()).map(|(tid, _)| *tid).collect()
            };
            let start: Vec<(Tid, Row)> = world.borrow().rows.iter().map(|(tid, row)| (*tid, *row)).collect();
            world.borrow_mut().ever = start;
            let scope = (kind != 2).then(|| world.borrow_mut().scope());
            let query = {
                let mut world = world.borrow_mut();
                let at = world.rng.below(5000) as usize;
                world.of_scope(scope).values().nth(at % 60).copied().unwrap_or(7)
            };
            match kind {
                0..=2 => {
                    let mut scan = RangeScan::new(&index, query, distance).in_scope(scope);
                    let mut hits = Vec::new();
                    while scan.next_batch(&stirred, batch, &mut hits).unwrap() {}
                    let world = world.borrow();
                    let stayed: Rows = world
                        .of_scope(scope)
                        .into_iter()
                        .filter(|(t, fp)| before.get(t) == Some(fp))
                        .collect();
                    for hit in brute(&stayed, query, distance) {
                        let ever = world.ever.iter().filter(|(tid, _)| *tid == hit.tid).count();
                        let found = hits.iter().filter(|it| **it == hit).count();
                        assert!(found == 1 || ever > 1, "{what}: {hit:?} found {found} times");
                    }
                    for hit in hits {
                        let was = |(tid, (of, fp)): &(Tid, Row)| {
                            *tid == hit.tid
                                && *fp == Some(hit.fingerprint)
                                && scope.is_none_or(|scope| scope == *of)
                        };
                        assert!(world.ever.iter().any(was), "{what}: {hit:?} is no row");
                    }
                }
                3 => {
                    let mut scan = NearestScan::new(&index, query, 64).in_scope(scope);
                    let mut hits = Vec::new();
                    while hits.len() < 40 && scan.next_batch(&stirred, batch, &mut hits).unwrap() {}
                    let mut tids: Vec<_> = hits.iter().map(|hit| (hit.tid, hit.fingerprint)).collect();
                    tids.sort_unstable();
                    tids.dedup();
                    assert!(
                        tids.len() == hits.len() || world.borrow().ever.len() > before.len(),
                        "{what}: a row twice"
                    );
                }
                4 => {
                    world.borrow_mut().kill_scopes();
                    freed += vacuum(&stirred, &index, &world);
                }
                5 => fill(&stirred, &index, &world),
                6 => {
                    let found = common::banding::nulls(&stirred, &index, None, batch);
                    let world = world.borrow();
                    for tid in
                        nulls.iter().filter(|tid| world.rows.get(tid).is_some_and(|row| row.1.is_none()))
                    {
                        let ever = world.ever.iter().filter(|(it, _)| it == tid).count();
                        assert!(
                            ever > 1 || found.iter().filter(|it| *it == tid).count() == 1,
                            "{what}: {tid}"
                        );
                    }
                }
                _ => {
                    let findings = check(&stirred, false, |_, _, _| ()).unwrap();
                    assert!(findings.is_empty(), "{what}: {findings:?}");
                }
            }
            if step % 10 == 9 {
                everything(&pages, &index, &world.borrow(), &what);
            }
        }
    }
    assert!(freed > 50, "only {freed} leaves came out: nothing was tried");
}

/// Runs a search during which `between` is called, with the number of the place, wherever it may wait.
fn disturbed<T>(pages: &MemoryPages, between: &dyn Fn(usize), search: impl FnOnce(&Watched<'_>) -> T) -> T {
    let waits = Cell::new(0);
    let waiting = |next| {
        if matches!(next, Next::Lock | Next::Wait) {
            between(waits.replace(waits.get() + 1));
        }
    };
    search(&Watched::new(pages, &waiting))
}

/// The whole index, in one call or leaf by leaf, and the pages read.
fn read_all(pages: &Watched<'_>, index: &Index, batch: usize) -> (Vec<Tid>, u64) {
    let (mut scan, mut hits) = (RangeScan::new(index, 0, 64), Vec::new());
    while scan.next_batch(pages, batch, &mut hits).unwrap() {}
    (hits.into_iter().map(|hit| hit.tid).collect(), scan.pages_read())
}

fn read_nulls(pages: &Watched<'_>, index: &Index, batch: usize) -> (Vec<Tid>, u64) {
    (nulls(pages, index, None, batch), 0)
}

fn read_nearest(pages: &Watched<'_>, index: &Index, batch: usize) -> (Vec<Tid>, u64) {
    let (mut scan, mut hits) = (NearestScan::new(index, 0, 64), Vec::new());
    while scan.next_batch(pages, batch, &mut hits).unwrap() {}
    assert!(hits.is_sorted_by_key(|hit| hit.distance), "not in order of distance");
    (hits.into_iter().map(|hit| hit.tid).collect(), 0)
}

/// The leaves of a tree, told by their headers.
fn leaves_of(pages: &MemoryPages, tree: u8) -> usize {
    let is_leaf = |block: &u32| pages.read(*block).unwrap()[2..4] == [2, tree];
    (1..pages.len().unwrap()).filter(is_leaf).count()
}

/// Protects readers whose next leaf comes out of the tree just before they read it, in one call and between two: the rows of
/// its left neighbour, which has its range now, do not come twice; and where its page has become a leaf at another
/// place at once, they begin again at the root, and neither take it for theirs nor go through the tree from there.
#[test]
fn banding_readers_find_the_leaf_that_they_read_next_emptied() {
    type Read = fn(&Watched<'_>, &Index, usize) -> (Vec<Tid>, u64);
    // The rows of nearest searches are all in one bucket of the first tree.
    let row = |kind: usize, n: usize| match kind {
        0 => ((n as u64) << 50) | (n as u64 * 0x9e37_79b9) & 0xffff_ffff,
        _ => 1 << (n % 48) | 1 << (n / 48 * 5 % 48) | 1 << (n * 7 % 48),
    };
    for (kind, read) in [read_all as Read, read_nulls, read_nearest].into_iter().enumerate() {
        // Rows without a fingerprint take a third of the space, and in order they would leave full leaves behind.
        let count = if kind == 1 { 2500 } else { 500 };
        let order = |n: usize| if kind == 1 { n * 901 % count } else { n };
        let put = |pages: &MemoryPages, index: &Index, n: usize, place: Tid| match kind {
            1 => index.insert(pages, 0, None, place).unwrap(),
            _ => index.insert(pages, 0, row(kind, n), place).unwrap(),
        };
        let new = || {
            let pages = MemoryPages::new(512);
            let index = Index::create(&pages, Default::default(), false).unwrap();
            (0..count).map(order).for_each(|n| put(&pages, &index, n, tid(n)));
            (pages, index)
        };
        let tree = if kind == 1 { 16 } else { 0 };
        // Its leaves, from the left to the right.
        let leaves: Vec<Vec<Tid>> = {
            let (pages, index) = new();
            let mut scan =
                if kind == 1 { RangeScan::nulls(&index, None) } else { RangeScan::new(&index, 0, 64) };
            let mut leaves = Vec::new();
            loop {
                let mut hits = Vec::new();
                let more = scan.next_batch(&pages, 1, &mut hits).unwrap();
                leaves.push(hits.iter().map(|hit| hit.tid).collect());
                if !more {
                    break leaves;
                }
            }
        };
        assert!(leaves.len() > 8, "search {kind}: {} leaves", leaves.len());
        let (pages, index) = new();
        let undisturbed = disturbed(&pages, &|_| (), |pages| read(pages, &index, usize::MAX)).1;
        let (mut out, mut again) = (0, 0);
        for (victim, reused, batch) in (1..leaves.len())
            .flat_map(|victim| [(victim, false), (victim, true)])
            .flat_map(|(victim, reused)| [(victim, reused, 1), (victim, reused, usize::MAX)])
        {
            // A search that plans waits once more before it reads that leaf, and one of nearest rows some times more.
            let waits = [victim + 1..victim + 2, victim..victim + 1, victim..victim + 4][kind].clone();
            for wait in waits {
                let (pages, index) = new();
                let (done, freed, used) = (Cell::new(false), Cell::new(false), Cell::new(false));
                let between = |now: usize| {
                    if now != wait || done.replace(true) {
                        return;
                    }
                    let before = leaves_of(&pages, tree);
                    index.bulk_delete(&pages, |row| leaves[victim].contains(&row)).unwrap();
                    freed.set(leaves_of(&pages, tree) < before);
                    let mut copies = 0;
                    while reused && freed.get() && leaves_of(&pages, tree) < before {
                        let from = leaves[0][copies % leaves[0].len()];
                        let n = (0..count).find(|n| tid(*n) == from).unwrap();
                        let place = match kind {
                            1 => Tid::new(0, 1000 + copies as u16),
                            _ => tid(100_000 + copies),
                        };
                        put(&pages, &index, n, place);
                        copies += 1;
                    }
                    used.set(copies > 0);
                };
                let (rows, reads) = disturbed(&pages, &between, |pages| read(pages, &index, batch));
                let what = format!("search {kind}, leaf {victim}, page used {reused}, wait {wait}, {batch}");
                for (n, leaf) in leaves.iter().enumerate() {
                    for row in leaf {
                        let found = rows.iter().filter(|it| *it == row).count();
                        assert!(found == 1 || found == 0 && n == victim, "{what}: {row} {found} times");
                    }
                }
                assert_sound(&pages, &what);
                (out, again) = (out + usize::from(freed.get()), again + usize::from(used.get()));
                // Between two calls the search descends anyway.
                if kind == 0 && batch > 1 {
                    assert!(reads <= undisturbed + 5, "{what}: {reads} pages read, not {undisturbed}");
                }
            }
        }
        assert!(out > 20 && again > 10, "search {kind}: {out} came out, {again} were used again");
    }
}

/// A tree of rows without a fingerprint: each leaf holds those of one scope, which is their block, and the last page
/// above the leaves is full.
struct Full {
    pages: MemoryPages,
    index: Index,
    rows: RefCell<BTreeSet<Tid>>,
    /// With which scope the right half of that page will begin.
    middle: u32,
}

impl Full {
    /// The rows that `free` deletes.
    const FIRST: u16 = 37;

    fn of(scopes: u32, middle: u32) -> Full {
        let pages = MemoryPages::new(512);
        let index = Index::create(&pages, Default::default(), true).unwrap();
        let full = Full { pages, index, rows: RefCell::default(), middle };
        for scope in 1..=scopes {
            (1..=Full::FIRST).rev().for_each(|n| full.add(&full.pages, scope, n));
        }
        full
    }

    /// The numbers of scopes and the middle of such a tree.
    fn size() -> (u32, u32) {
        let first = |scopes| {
            let split = Full::of(scopes, 0);
            let inner = split.blocks(3);
            // The root and two below it are not split yet.
            (inner.len() == 4).then(|| (scopes - 1, split.scope_of(inner[3])))
        };
        (1..).find_map(first).unwrap()
    }

    fn blocks(&self, kind: u8) -> Vec<u32> {
        let is = |block: &u32| self.pages.read(*block).unwrap()[2..4] == [kind, 16];
        (1..self.pages.len().unwrap()).filter(is).collect()
    }

    /// That of a page's low key.
    fn scope_of(&self, block: u32) -> u32 {
        u32::from_le_bytes(self.pages.read(block).unwrap()[30..34].try_into().unwrap())
    }

    fn add<P: Pages>(&self, pages: &P, scope: u32, n: u16) {
        self.index.insert(pages, scope, None, Tid::new(scope, n)).unwrap();
        self.rows.borrow_mut().insert(Tid::new(scope, n));
    }

    /// Adds rows to a scope until there is another page of that kind, or there are many of them: wide ones, so that half a
    /// leaf of them can take the range of the next.
    fn add_until<P: Pages>(&self, pages: &P, scope: u32, kind: u8) {
        let before = self.blocks(kind).len();
        for n in (60_000..60_400).rev() {
            if self.blocks(kind).len() == before {
                self.add(pages, scope, n);
            }
        }
    }

    fn free<P: Pages>(&self, pages: &P, scope: u32) {
        let dead = |row: Tid| row.block() == scope && row.offset() <= Full::FIRST;
        self.rows.borrow_mut().retain(|row| !dead(*row));
        self.index.bulk_delete(pages, dead).unwrap();
    }
}

/// Does `one` in a new tree, again and again, and between each two of its steps once what `others` do.
fn at_every_step((scopes, middle): (u32, u32), one: impl Fn(&Full, &dyn Fn(Next)), others: impl Fn(&Full)) {
    for step in 0.. {
        let full = Full::of(scopes, middle);
        let now = Cell::new(0);
        let between = |next| {
            if next != Next::Extend && now.replace(now.get() + 1) == step {
                others(&full);
            }
        };
        one(&full, &between);
        if now.get() <= step {
            assert!(step > 3);
            return;
        }
        assert_sound(&full.pages, &format!("step {step}"));
        let rows = nulls(&full.pages, &full.index, None, 1000);
        assert!(rows.iter().collect::<BTreeSet<_>>() == full.rows.borrow().iter().collect(), "step {step}");
    }
}

/// Protects what is looked at again once a page is locked. A leaf that a search is on the way to comes out, and becomes the
/// right half of the page above it, with the same low key; before a leaf comes out, the one to its left or the page
/// above both is split, the latter between them; before a split takes a free page, another one becomes the first.
#[test]
fn banding_what_was_read_before_is_looked_at_again() {
    let size = Full::size();
    let inner = Cell::new(0);
    at_every_step(
        size,
        |full, between| {
            let rows = nulls(&Watched::new(&full.pages, between), &full.index, Some(full.middle), 1000);
            assert!(rows.iter().all(|row| row.block() == full.middle));
        },
        |full| {
            let was = *full.blocks(2).iter().find(|leaf| full.scope_of(**leaf) == full.middle).unwrap();
            full.free(&full.pages, full.middle);
            full.free(&full.pages, 3);
            (201..220).for_each(|n| full.add(&full.pages, full.middle - 1, n));
            full.add_until(&full.pages, full.middle, 2);
            full.add_until(&full.pages, full.middle + 2, 3);
            inner.set(inner.get() + usize::from(full.blocks(3).contains(&was)));
            assert_eq!(full.scope_of(was), full.middle);
        },
    );
    assert!(inner.get() > 0, "no leaf became an inner page");
    let free = |full: &Full, between: &dyn Fn(Next)| {
        full.free(&Watched::new(&full.pages, between), full.middle);
    };
    at_every_step(size, free, |full| full.add_until(&full.pages, full.middle + 2, 3));
    let free = |full: &Full, between: &dyn Fn(Next)| {
        full.free(&Watched::new(&full.pages, between), full.middle + 4);
    };
    at_every_step(size, free, |full| full.add_until(&full.pages, full.middle + 3, 2));
    at_every_step(
        size,
        |full, between| {
            full.free(&full.pages, 3);
            full.add_until(&Watched::new(&full.pages, between), 6, 2);
        },
        |full| full.free(&full.pages, 9),
    );
}

/// Protects rows that come to the place of deleted ones from entries that a bulk delete has missed: one begins after a writer
/// has looked for a free page and before that one takes it, and is beyond the free page when the right half of a leaf that it
/// has not seen yet would come there.
#[test]
fn banding_no_page_is_used_behind_a_walk_that_has_just_begun() {
    let pages = MemoryPages::new(512);
    let index = Index::create(&pages, Default::default(), false).unwrap();
    let next = AtomicU32::new(6000);
    (0..6000).for_each(|n| index.insert(&pages, 0, None, Tid::new(n, 1)).unwrap());
    let freed = index.bulk_delete(&pages, |row| row.block() < 1000).unwrap().freed;
    assert!(freed > 0 && pages.len().unwrap() > 35, "{freed} of {} pages are free", pages.len().unwrap());
    std::thread::scope(|threads| {
        let (pages, index, next) = (&pages, &index, &next);
        let ((begin, begun), (beyond, is_beyond), (go, on)) = (channel(), channel(), channel());
        let walk = threads.spawn(move || {
            let between = |wait: usize| {
                if wait == 25 {
                    beyond.send(()).unwrap();
                    on.recv().unwrap();
                }
            };
            begun.recv().unwrap();
            let dead = |row: Tid| (5000..next.load(Ordering::Relaxed)).contains(&row.block());
            disturbed(pages, &between, |pages| index.bulk_delete(pages, dead).unwrap())
        });
        let (locked, done) = (Cell::new(0), Cell::new(false));
        // The first leaf that one insert locks is found full, the second time it is to be split.
        let between = |_| {
            locked.set(locked.get() + 1);
            if locked.get() == 2 && !done.replace(true) {
                begin.send(()).unwrap();
                is_beyond.recv().unwrap();
            }
        };
        disturbed(pages, &between, |stirred| {
            while !done.get() {
                locked.set(0);
                index.insert(stirred, 0, None, Tid::new(next.load(Ordering::Relaxed), 1)).unwrap();
                if !done.get() {
                    next.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        go.send(()).unwrap();
        walk.join().unwrap();
    });
    let mut rows = nulls(&pages, &index, None, 1000);
    let last = next.into_inner();
    let expected: Vec<Tid> = (1000..5000).chain([last]).map(|n| Tid::new(n, 1)).collect();
    rows.sort_unstable();
    assert!(rows == expected, "{} rows, not {}", rows.len(), expected.len());
}

/// Protects the size of an index whose scopes come and go, and the readers' views of it: free pages are counted, and after
/// bulk deletes that died at any commit are found again.
#[test]
fn banding_scopes_that_come_and_go_leave_no_pages_behind() {
    for dies in [false, true] {
        let pages = MemoryPages::new(1024);
        let index = Index::create(&pages, Default::default(), true).unwrap();
        let world = RefCell::new(World::new(77));
        let refill = |count: usize| {
            for _ in 0..count {
                let scope = world.borrow_mut().rng.next() as u32;
                for _ in 0..400 {
                    let row = world.borrow_mut().new_row(scope);
                    insert(&pages, &index, row);
                    world.borrow_mut().add(row);
                }
            }
        };
        refill(60);
        let first = pages.len().unwrap();
        let mut most = 0;
        for round in 0..25 {
            let scopes: Vec<u32> =
                world.borrow().rows.values().map(|row| row.0).collect::<BTreeSet<_>>().into_iter().collect();
            {
                let mut world = world.borrow_mut();
                let (gone, rows) = std::mem::take(&mut world.rows).into_iter().partition(|(_, row)| {
                    scopes.iter().position(|scope| *scope == row.0).is_some_and(|at| at % 5 == round % 5)
                });
                world.rows = rows;
                world.dead = gone;
            }
            let gone = world.borrow().dead.values().map(|row| row.0).collect::<BTreeSet<_>>().len();
            if dies {
                let dead = world.borrow().dead.clone();
                for commits in [0, 1, 7, 40, 90] {
                    pages.fail_after(commits);
                    assert!(index.bulk_delete(&pages, |row| dead.contains_key(&row)).is_err());
                    pages.recover();
                    let findings = check(&pages, true, |_, _, _| ()).unwrap();
                    assert!(findings.is_empty(), "{findings:?}");
                }
                let dead = std::mem::take(&mut world.borrow_mut().dead);
                index.bulk_delete(&pages, |row| dead.contains_key(&row)).unwrap();
                world.borrow_mut().places.extend(dead.keys());
            } else {
                vacuum(&pages, &index, &world);
            }
            let stats = index.stats(&pages).unwrap();
            assert!(stats.unused > first / 10, "{round}: {} free of {first}", stats.unused);
            refill(gone);
            everything(&pages, &index, &world.borrow(), "after a round");
            most = most.max(pages.len().unwrap());
        }
        assert!(most < first + first / 3, "{first} pages became {most}");
    }
}

/// Protects searches in a bucket that has become hot while the index grew into its free pages only: a VACUUM without dead rows
/// sees that it must count.
#[test]
fn banding_an_index_grows_into_its_free_pages() {
    let mut rng = Rng::new(79);
    let (pages, index, rows) = index_by_insert(512, &fingerprints(Shape::Random, 3000, &mut rng));
    let vacuum = |dead: bool| {
        let answer = |tids: &[Tid], answers: &mut Vec<bool>| answers.extend(tids.iter().map(|_| dead));
        index.vacuum(&pages, 1 << 20, answer).unwrap()
    };
    vacuum(false);
    let len = pages.len().unwrap();
    assert!(vacuum(true).freed > len / 2);
    assert!(!Index::has_grown(&pages).unwrap(), "nothing has happened");
    let new = [Shape::Random, Shape::Skewed].map(|shape| fingerprints(shape, 500, &mut rng)).concat();
    for (n, fp) in new.into_iter().enumerate() {
        index.insert(&pages, 0, fp, tid(rows.len() + n)).unwrap();
    }
    assert!(pages.len().unwrap() <= len && Index::has_grown(&pages).unwrap());
    assert_eq!(index.maintain(&pages).unwrap().promoted, 1);
    assert!(!Index::has_grown(&pages).unwrap(), "they are counted");
}

/// Protects what needs no free page: where those that are listed are damaged, or a bulk delete has died while it walked, the
/// index only grows; and such a walk can be said to be over.
#[test]
fn banding_without_its_free_pages_an_index_only_grows() {
    const KIND: usize = 2;
    for damaged in [false, true] {
        let pages = MemoryPages::new(1024);
        let index = Index::create(&pages, Default::default(), true).unwrap();
        let world = RefCell::new(World::new(78));
        let fill = |scopes: std::ops::Range<u32>| {
            for _ in 0..300 {
                for scope in scopes.clone() {
                    let row = world.borrow_mut().new_row(scope << 24);
                    insert(&pages, &index, row);
                    world.borrow_mut().add(row);
                }
            }
        };
        let kill = |scopes: std::ops::Range<u32>| {
            let mut world = world.borrow_mut();
            let rows = std::mem::take(&mut world.rows).into_iter();
            (world.dead, world.rows) = rows.partition(|(_, row)| scopes.contains(&(row.0 >> 24)));
        };
        let grows = |scopes: std::ops::Range<u32>| {
            let (before, free) = (pages.len().unwrap(), index.stats(&pages).unwrap().unused);
            fill(scopes);
            (pages.len().unwrap() > before, index.stats(&pages).unwrap().unused < free)
        };
        fill(0..40);
        kill(0..20);
        assert!(vacuum(&pages, &index, &world) > 50);
        if damaged {
            for block in 1..pages.len().unwrap() {
                let mut page = pages.lock(block).unwrap();
                if page[KIND] == 6 {
                    pages
                        .commit(&mut [Edit { page: &mut page, change: Change::Image(&[]), fresh: false }])
                        .unwrap();
                }
            }
            assert_eq!(grows(50..55), (true, false));
            let mut hits = Vec::new();
            let mut scan = RangeScan::new(&index, 0, 64);
            while scan.next_batch(&pages, 1000, &mut hits).unwrap() {}
            hits.sort_unstable();
            assert!(hits == brute(&world.borrow().of_scope(None), 0, 64));
        } else {
            kill(20..22);
            pages.fail_after(1);
            let dead = world.borrow().dead.clone();
            assert!(index.bulk_delete(&pages, |row| dead.contains_key(&row)).is_err());
            pages.recover();
            assert_eq!(grows(50..55), (true, false));
            Index::end_walk(&pages).unwrap();
            assert_eq!(grows(60..65), (false, true));
            everything(&pages, &index, &world.borrow(), "after a dead walk");
        }
    }
}

/// Protects the order of locks, and answers between threads: searchers, inserters and one who deletes, on the same pages.
#[test]
fn banding_pages_are_recycled_under_readers_and_writers() {
    let pages = MemoryPages::new(512);
    let index = Index::create(&pages, Default::default(), true).unwrap();
    let mut rng = Rng::new(5);
    let mut lasting = Rows::new();
    let of = |n: usize| (n % 9) as u32 * 0x1c00_0000;
    for n in 0..3000 {
        let fp = rng.next() & 0xff0f_0fff_00ff_0fff;
        index.insert(&pages, of(n), fp, tid(n)).unwrap();
        lasting.insert(tid(n), fp);
    }
    let (done, written) = (AtomicBool::new(false), AtomicU32::new(0));
    let freed = std::thread::scope(|threads| {
        let (pages, index, lasting, done, written) = (&pages, &index, &lasting, &done, &written);
        for reader in 0..2 {
            threads.spawn(move || {
                let mut rng = Rng::new(50 + reader);
                while !done.load(Ordering::Relaxed) {
                    let scope = rng.below(9) as usize;
                    let rows: Rows = lasting
                        .iter()
                        .enumerate()
                        .filter(|(n, _)| n % 9 == scope)
                        .map(|(_, row)| (*row.0, *row.1))
                        .collect();
                    let query = *rows.values().nth(rng.below(rows.len() as u64) as usize).unwrap();
                    let d = [3, 8, 12, 64][rng.below(4) as usize];
                    let mut hits = Vec::new();
                    let mut scan = RangeScan::new(index, query, d).in_scope(Some(of(scope)));
                    while scan.next_batch(pages, 20, &mut hits).unwrap() {}
                    hits.retain(|hit| lasting.contains_key(&hit.tid));
                    hits.sort_unstable();
                    assert!(hits == brute(&rows, query, d), "another answer");
                    let findings = check(pages, false, |_, _, _| ()).unwrap();
                    assert!(findings.is_empty(), "{findings:?}");
                }
            });
        }
        threads.spawn(move || {
            let mut rng = Rng::new(60);
            for n in 0.. {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let scope = (rng.below(4000) as u32) << 20;
                index
                    .insert(pages, scope, rng.next(), Tid::new(2_000_000 + n / 200, (n % 200) as u16 + 1))
                    .unwrap();
                written.store(n + 1, Ordering::Release);
            }
        });
        let mut rng = Rng::new(61);
        let mut freed = 0;
        for round in 0..60u32 {
            for _ in 0..4 {
                let scope = rng.next() as u32;
                for n in 0..200u32 {
                    index
                        .insert(
                            pages,
                            scope,
                            rng.next(),
                            Tid::new(1_000_000 + n, (rng.below(200) + 1) as u16),
                        )
                        .unwrap();
                }
            }
            let complete = if round % 4 == 0 { written.load(Ordering::Acquire) / 200 } else { 0 };
            let dead = |row: Tid| (1_000_000..2_000_000 + complete).contains(&row.block());
            freed += index.bulk_delete(pages, dead).unwrap().freed;
        }
        done.store(true, Ordering::Relaxed);
        freed
    });
    assert!(freed > 200, "{freed}");
    assert_sound(&pages, "at rest");
}
