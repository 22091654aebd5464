//! Data of every nasty shape for the tests of `banding`, and the brute-force answer.

pub use super::memory::MemoryPages;

use super::Rng;
use std::collections::BTreeMap;

use dedup_core::banding::{
    Change, DeleteStats, Edit, Hit, Index, Options, Pages, Position, RangeScan, Result, TREES, Tid, Tree,
    check,
};

/// The shapes of data every answer is tested on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Random fingerprints.
    Random,
    /// 70 % random, 30 % copies with 0 to 3 flipped bits.
    NearDuplicates,
    /// One value of block 1 for everything.
    Skewed,
    /// Mostly one fingerprint.
    Duplicates,
    /// All differ from one another in one block only.
    OneBlock,
    /// Few bits set: dense balls, so that every distance has rows.
    Sparse,
}

pub const SHAPES: [Shape; 6] =
    [Shape::Random, Shape::NearDuplicates, Shape::Skewed, Shape::Duplicates, Shape::OneBlock, Shape::Sparse];

pub fn fingerprints(shape: Shape, n: usize, rng: &mut Rng) -> Vec<u64> {
    let mut fps: Vec<u64> = Vec::with_capacity(n);
    let base = rng.next();
    for k in 0..n {
        let fp = match shape {
            Shape::Random => rng.next(),
            Shape::NearDuplicates if k > 0 && rng.below(10) < 3 => {
                let (of, bits) = (fps[rng.below(k as u64) as usize], rng.below(4));
                rng.flip(of, bits)
            }
            Shape::NearDuplicates => rng.next(),
            Shape::Skewed => base & 0xffff << 48 | rng.next() >> 16,
            Shape::Duplicates if rng.below(50) > 0 => base,
            Shape::Duplicates => {
                let bits = rng.below(20);
                rng.flip(base, bits)
            }
            Shape::OneBlock => base ^ (rng.next() & 0xffff) << 16,
            Shape::Sparse => {
                let bits = rng.below(10);
                rng.flip(0, bits)
            }
        };
        fps.push(fp);
    }
    fps
}

/// A heap position as PostgreSQL would give the n-th row.
pub fn tid(n: usize) -> Tid {
    Tid::new((n / 120) as u32, (n % 120 + 1) as u16)
}

/// The rows that should be in the index.
pub type Rows = BTreeMap<Tid, u64>;

pub fn brute(rows: &Rows, query: u64, distance: u32) -> Vec<Hit> {
    let mut hits: Vec<Hit> = rows
        .iter()
        .map(|(tid, fp)| Hit { distance: (fp ^ query).count_ones(), tid: *tid, fingerprint: *fp })
        .filter(|h| h.distance <= distance)
        .collect();
    hits.sort_unstable();
    hits
}

/// The index's answer, sorted; duplicates would show.
pub fn search(pages: &MemoryPages, index: &Index, query: u64, distance: u32, batch: usize) -> Vec<Hit> {
    let mut scan = RangeScan::new(index, query, distance);
    let mut hits = Vec::new();
    while scan.next_batch(pages, batch, &mut hits).unwrap() {}
    hits.sort_unstable();
    hits
}

/// The rows without a fingerprint, in one scope or in all, as a scan finds them that takes so many at a time.
pub fn nulls(pages: &impl Pages, index: &Index, scope: Option<u32>, batch: usize) -> Vec<Tid> {
    let (mut scan, mut hits) = (RangeScan::nulls(index, scope), Vec::new());
    while scan.next_batch(pages, batch, &mut hits).unwrap() {}
    hits.into_iter().map(|hit| hit.tid).collect()
}

pub trait Whole: Sized {
    /// An empty index in storage without pages; the metapage is written last.
    fn create(pages: &impl Pages, options: Options, scoped: bool) -> Result<Self>;

    /// Adds a row that is no new version of another.
    fn insert<P: Pages>(&self, pages: &P, scope: u32, fp: impl Into<Option<u64>>, tid: Tid) -> Result<()>;

    /// A VACUUM that finds no dead row.
    fn maintain(&self, pages: &impl Pages) -> Result<DeleteStats>;
}

impl Whole for Index {
    fn create(pages: &impl Pages, options: Options, scoped: bool) -> Result<Index> {
        let images = Index::empty_images(options, scoped, pages.body_len())?;
        let commit = |page: &mut _, image: &[u8]| {
            pages.commit(&mut [Edit { page, change: Change::Image(image), fresh: true }])
        };
        let mut meta = pages.extend()?;
        for image in &images[1..] {
            commit(&mut pages.extend()?, image)?;
        }
        commit(&mut meta, &images[0])?;
        drop(meta);
        Index::open(pages)
    }

    fn insert<P: Pages>(&self, pages: &P, scope: u32, fp: impl Into<Option<u64>>, tid: Tid) -> Result<()> {
        self.insert_version(pages, scope, fp.into(), tid, None)
    }

    fn maintain(&self, pages: &impl Pages) -> Result<DeleteStats> {
        self.vacuum(pages, 0, |rows, dead| dead.resize(dead.len() + rows.len(), false))
    }
}

pub fn index_by_insert(body: usize, fps: &[u64]) -> (MemoryPages, Index, Rows) {
    let pages = MemoryPages::new(body);
    let index = Index::create(&pages, Default::default(), false).unwrap();
    let mut rows = Rows::new();
    for (n, fp) in fps.iter().enumerate() {
        index.insert(&pages, 0, *fp, tid(n)).unwrap();
        rows.insert(tid(n), *fp);
    }
    (pages, index, rows)
}

/// Queries worth asking of these rows: present ones, near ones, far ones.
pub fn queries(fps: &[u64], n: usize, rng: &mut Rng) -> Vec<u64> {
    (0..n)
        .map(|k| match k % 3 {
            2 => rng.next(),
            bits => {
                let of = fps[rng.below(fps.len() as u64) as usize];
                rng.flip(of, bits as u64 * 4)
            }
        })
        .collect()
}

/// What a check finds of an index at rest, or else the trees that do not hold the same rows as the first, or in a second
/// level those of its block's hot buckets.
pub fn faults(pages: &impl Pages) -> Vec<String> {
    let mut trees = vec![Vec::new(); TREES + 1];
    let row = |tree: Tree, at: Position, hot| (at.scope, tree.fingerprint(at.key), at.tid, hot);
    let entry = |tree: Tree, at, hot| trees[tree.number()].push(row(tree, at, hot));
    let findings = check(pages, true, entry).unwrap();
    trees.iter_mut().for_each(|rows| rows.sort_unstable());
    let of = |tree: Tree| trees[tree.number()].iter();
    let rows = |tree| of(tree).map(|row| (row.0, row.1, row.2));
    let hot = |tree| of(tree).filter(|row| row.3);
    let differ = |tree: &Tree| match tree.is_main() {
        true => rows(*tree).ne(rows(Tree::main(0))),
        false => hot(*tree).ne(hot(Tree::main(tree.block()))),
    };
    match findings.is_empty() {
        true => Tree::all().filter(differ).map(|tree| format!("other rows in the {tree}")).collect(),
        false => findings.iter().map(|it| format!("{it:?}")).collect(),
    }
}

/// Nothing is wrong with an index at rest.
pub fn assert_sound(pages: &impl Pages, what: &str) {
    let faults = faults(pages);
    assert!(faults.is_empty(), "{what}: {:?}", &faults[..faults.len().min(5)]);
}
