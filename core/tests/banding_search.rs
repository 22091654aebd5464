//! Range search, insert and bulk delete against brute force.

mod common;

use common::Rng;
use common::banding::*;
use common::memory::{MemoryRead, MemoryWrite};
use std::cell::RefCell;
use std::collections::HashSet;

use dedup_core::banding::{Edit, Index, Pages, RangeScan, Result, Tree, probes, radii};
use dedup_core::random::SplitMix64;

/// Protects exactness at every distance, on every shape of data, in trees of one level and of many.
#[test]
fn banding_range_search_equals_brute_force_at_every_distance() {
    let mut rng = Rng::new(1);
    for shape in SHAPES {
        for body in [512, 8168] {
            let fps = fingerprints(shape, 4000, &mut rng);
            let (pages, index, rows) = index_by_insert(body, &fps);
            assert_sound(&pages, &format!("{shape:?} {body}"));
            for query in queries(&fps, 3, &mut rng) {
                for d in 0..=64 {
                    let batch = if d % 2 == 0 { 1 } else { 1000 };
                    let found = search(&pages, &index, query, d, batch);
                    assert!(found == brute(&rows, query, d), "{shape:?} {body} d={d}");
                }
            }
        }
    }
}

/// Protects the walk of VACUUM and inserts into leaves it has emptied.
#[test]
fn banding_interleaved_inserts_and_deletes_keep_answers_exact() {
    let mut rng = Rng::new(2);
    for shape in SHAPES {
        let fps = fingerprints(shape, 3000, &mut rng);
        let (pages, index, mut rows) = index_by_insert(512, &fps);
        for round in 0..6u64 {
            let dead: Rows = rows.iter().filter(|_| rng.below(3) > 0).map(|(t, f)| (*t, *f)).collect();
            let stats = index.bulk_delete(&pages, |t| dead.contains_key(&t)).unwrap();
            rows.retain(|t, _| !dead.contains_key(t));
            assert_eq!((stats.removed, stats.remaining), (dead.len() as u64, rows.len() as u64));
            // Reuse the freed tids and add new ones.
            for (n, fp) in fingerprints(shape, 1500, &mut rng).into_iter().enumerate() {
                let t = tid(n * 2 + round as usize);
                rows.entry(t).or_insert_with(|| {
                    index.insert(&pages, 0, fp, t).unwrap();
                    fp
                });
            }
            for query in queries(&fps, 3, &mut rng) {
                for d in [0, 1, 3, 6, 11, 24] {
                    assert!(
                        search(&pages, &index, query, d, 100) == brute(&rows, query, d),
                        "{shape:?} d={d}"
                    );
                }
            }
        }
        assert_sound(&pages, &format!("{shape:?}"));
        let stats = index.bulk_delete(&pages, |_| true).unwrap();
        assert_eq!((stats.removed, stats.remaining), (rows.len() as u64, 0));
        assert!(search(&pages, &index, fps[0], 64, 10).is_empty());
    }
}

/// Protects long runs of one fingerprint: they spread over pages, are found, and are not looked at
/// by others.
#[test]
fn banding_one_fingerprint_a_hundred_thousand_times() {
    let mut fps = vec![0xdead_beef_0bad_cafe; 100_000];
    fps.extend(fingerprints(Shape::Random, 1000, &mut Rng::new(3)));
    let (pages, index, rows) = index_by_insert(8168, &fps);
    assert_eq!(search(&pages, &index, fps[0], 0, 500).len(), 100_000);
    assert!(search(&pages, &index, fps[100_500], 9, 500) == brute(&rows, fps[100_500], 9));
    let mut scan = RangeScan::new(&index, fps[100_500], 0);
    while scan.next_batch(&pages, 10, &mut Vec::new()).unwrap() {}
    assert!(scan.pages_read() < 8, "{}", scan.pages_read());
}

/// Protects searches of an index without rows.
#[test]
fn banding_an_empty_index_answers() {
    let pages = MemoryPages::new(8168);
    let index = Index::create(&pages, Default::default(), false).unwrap();
    assert_eq!(Index::open(&pages).unwrap(), index);
    for d in [0, 3, 64] {
        assert!(search(&pages, &index, 7, d, 10).is_empty());
    }
    assert_eq!(index.bulk_delete(&pages, |_| true).unwrap().removed, 0);
}

/// Protects a scan against splits and deletes between its batches: rows there throughout are reported
/// once.
#[test]
fn banding_a_scan_survives_changes_between_batches() {
    let mut rng = Rng::new(4);
    for d in [3, 8, 20, 64] {
        let fps = fingerprints(Shape::Sparse, 3000, &mut rng);
        let (pages, index, rows) = index_by_insert(512, &fps);
        let mut scan = RangeScan::new(&index, fps[5], d);
        let (mut hits, mut n) = (Vec::new(), 3000);
        while scan.next_batch(&pages, 3, &mut hits).unwrap() {
            for fp in fingerprints(Shape::Sparse, 30, &mut rng) {
                index.insert(&pages, 0, fp, tid(n)).unwrap();
                n += 1;
            }
        }
        let new = hits.iter().filter(|h| !rows.contains_key(&h.tid)).count();
        hits.retain(|h| rows.contains_key(&h.tid));
        hits.sort_unstable();
        assert!(hits == brute(&rows, fps[5], d), "d={d}, {new} new");
    }
}

type Interrupt = Box<dyn FnMut(&MemoryPages)>;

/// Storage that remembers what it was told to prefetch, and lets things happen between pages.
struct Watched {
    pages: MemoryPages,
    told: RefCell<Vec<u32>>,
    read: RefCell<Vec<u32>>,
    /// What happens whenever no lock is held.
    interrupt: RefCell<Interrupt>,
}

impl Watched {
    fn new(pages: MemoryPages, interrupt: impl FnMut(&MemoryPages) + 'static) -> Self {
        let interrupt = RefCell::new(Box::new(interrupt) as Interrupt);
        Watched { pages, told: RefCell::default(), read: RefCell::default(), interrupt }
    }
}

impl Pages for Watched {
    type Read<'p> = MemoryRead<'p>;
    type Write<'p> = MemoryWrite<'p>;
    type Pin<'p> = u32;

    fn body_len(&self) -> usize {
        self.pages.body_len()
    }

    fn len(&self) -> Result<u32> {
        self.pages.len()
    }

    fn read(&self, block: u32) -> Result<MemoryRead<'_>> {
        self.read.borrow_mut().push(block);
        self.pages.read(block)
    }

    fn pin(&self, block: u32) -> Result<u32> {
        self.pages.pin(block)
    }

    fn lock_pinned(&self, block: u32) -> Result<MemoryWrite<'_>> {
        self.pages.lock(block)
    }

    fn extend(&self) -> Result<MemoryWrite<'_>> {
        self.pages.extend()
    }

    fn commit<'p>(&'p self, edits: &mut [Edit<'_, MemoryWrite<'p>>]) -> Result<()> {
        self.pages.commit(edits)
    }

    fn delay_point(&self) {
        self.interrupt.borrow_mut()(&self.pages);
    }

    fn prefetch(&self, block: u32) {
        self.told.borrow_mut().push(block);
    }

    fn prefetch_distance(&self) -> usize {
        6
    }
}

/// Protects prefetching: it names pages that are then read, and does not change answers.
#[test]
fn banding_prefetched_pages_are_read() {
    let mut rng = Rng::new(5);
    let fps = fingerprints(Shape::Random, 20_000, &mut rng);
    let (pages, index, rows) = index_by_insert(2048, &fps);
    let pages = Watched::new(pages, |_| ());
    for d in [3, 7, 64] {
        pages.told.borrow_mut().clear();
        pages.read.borrow_mut().clear();
        let mut scan = RangeScan::new(&index, fps[1], d);
        let mut hits = Vec::new();
        while scan.next_batch(&pages, usize::MAX, &mut hits).unwrap() {}
        hits.sort_unstable();
        assert!(hits == brute(&rows, fps[1], d), "d={d}");
        let (told, read) = (pages.told.borrow(), pages.read.borrow());
        let distinct: HashSet<u32> = told.iter().copied().collect();
        let useful = distinct.iter().filter(|b| read.contains(b)).count();
        assert!(useful * 20 >= distinct.len() * 19, "d={d}: {useful} of {} pages told", distinct.len());
        assert!(
            d != 3 || distinct.len() >= 4,
            "within 3 one leaf of each of four trees is told, not {told:?}"
        );
        // The rest are inner pages and, below each of these, the leaf that is read at once.
        assert!(d < 7 || useful * 10 >= read.len() * 4, "d={d}: {useful} told of {} read", read.len());
    }
}

/// Protects bulk delete against splits behind its back: dead entries that move to new pages are found
/// there.
#[test]
fn banding_bulk_delete_follows_entries_that_splits_move() {
    let mut rng = Rng::new(6);
    let fps = fingerprints(Shape::Random, 3000, &mut rng);
    let (pages, index, _) = index_by_insert(512, &fps);
    let before = pages.len().unwrap();
    let mut n = 3000;
    let pages = Watched::new(pages, move |pages| {
        for _ in 0..if n < 6000 { 50 } else { 0 } {
            index.insert(pages, 0, rng.next(), tid(n)).unwrap();
            n += 1;
        }
    });
    let dead = |t: dedup_core::banding::Tid| t < tid(3000);
    let stats = index.bulk_delete(&pages, dead).unwrap();
    assert!(stats.pages > before + 100, "the inserts split nothing");
    let pages = pages.pages;
    assert_sound(&pages, "after the walk");
    let left = search(&pages, &index, 0, 64, 1000);
    assert!(left.len() == 3000 && left.iter().all(|h| !dead(h.tid)), "{} left", left.len());
}

/// Protects the claim that a tree needs to store only its key.
#[test]
fn banding_keys_are_bijective_and_keep_distances() {
    let mut random = SplitMix64::new(1);
    for _ in 0..1000 {
        let (x, y) = (random.next(), random.next());
        for t in Tree::all() {
            assert_eq!(t.fingerprint(t.key(x)), x);
            assert_eq!(t.key(x) ^ t.key(y), t.key(x ^ y));
            assert_eq!((t.key(x) ^ t.key(y)).count_ones(), (x ^ y).count_ones());
            assert_eq!(t.key(x) >> 48, x.rotate_left(16 * t.block() as u32) >> 48);
            let sub = x.rotate_left(16 * t.block() as u32) >> (36 - 12 * t.sub_block()) & 0xfff;
            assert_eq!(t.key(x) >> 36 & 0xfff, sub);
        }
    }
}

/// Protects exactness: the radii add up for every distance, and the promised numbers of probes hold.
#[test]
fn banding_radii_satisfy_the_pigeonhole() {
    for d in 0..=64 {
        let r = radii(d);
        assert_eq!(r.iter().map(|r| r + 1).sum::<i32>(), d as i32 + 1, "{d}: {r:?}");
        assert!(r.iter().all(|x| (r[0] - 1..=r[0]).contains(x)));
    }
    assert_eq!((radii(0), radii(10)), ([0, -1, -1, -1], [2, 2, 2, 1]));
    assert_eq!([0, 1, 2, 3, 7, 10].map(probes), [1, 2, 3, 4, 68, 428]);
}
