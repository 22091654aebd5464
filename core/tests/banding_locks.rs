//! What is locked while a page is read.

mod common;

use std::cell::Cell;

use common::Rng;
use common::banding::*;
use common::watched::{Next, Watched};
use dedup_core::banding::{Dead, NearestScan, Pages, RangeScan, Result, Tid};

/// Every row of some pages is dead; asked for with no lock held.
struct DeadPages<'p>(&'p Watched<'p>);

impl Dead for DeadPages<'_> {
    fn visit(&mut self, _rows: &[Tid]) -> Result<()> {
        assert_eq!(self.0.held.get(), 0, "the table is read with no lock held");
        Ok(())
    }

    fn is_dead(&mut self, row: Tid) -> bool {
        row.block() % 7 == 3
    }
}

/// Protects against convoys: whoever reads a leaf, which may take as long as a disk does, holds no page that
/// others need: searches, inserts with splits of leaves and inner pages, bulk deletes, promotion, checks, and whoever
/// removes dead rows.
#[test]
fn banding_nobody_holds_a_page_while_a_leaf_is_read() {
    let mut rng = Rng::new(71);
    let base = rng.next();
    let (pages, index, _) = index_by_insert(512, &[]);
    let mut pages = Watched::new(&pages, &|_| ());
    pages.ahead = 4;
    for n in 0..9000 {
        let fp = if n % 3 == 0 { base & 0xffff << 48 | rng.next() >> 16 } else { rng.next() };
        index.insert_version(&pages, 0, Some(fp), tid(n), Some(&mut DeadPages(&pages))).unwrap();
        index.remove(&pages, 0, fp, tid(n), &mut DeadPages(&pages)).unwrap();
        if n % 5 == 0 {
            index.insert(&pages, 0, None, tid(100_000 + n)).unwrap();
        }
        if n % 3000 == 2999 {
            index.bulk_delete(&pages, |t| t.block() % 7 == 3).unwrap();
            assert_eq!(index.maintain(&pages).unwrap().promoted > 0, n == 2999);
        }
        if n % 1000 == 999 {
            let mut hits = Vec::new();
            for d in [0, 3, 9, 64] {
                let mut scan = RangeScan::new(&index, fp, d);
                while scan.next_batch(&pages, 100, &mut hits).unwrap() {}
            }
            let mut nearest = NearestScan::new(&index, fp, 64);
            while hits.len() < 100 && nearest.next_batch(&pages, 10, &mut hits).unwrap() {}
            assert_sound(&pages, "at rest");
        }
    }
    assert_eq!(pages.most.get(), 4, "four leaves, or what a split changes");
    assert!(index.stats(&pages).unwrap().levels[0] >= 3);
}

/// Protects inserts from an error of damage that is none: the parent of a leaf that one splits is the root, and before it is
/// locked, somebody else splits the root, whose level is another one then.
#[test]
fn banding_a_root_may_be_split_before_it_is_locked_as_a_parent() {
    /// That of the tree of rows without a fingerprint.
    const ROOT: u32 = 5;
    let level = |pages: &MemoryPages| pages.read(ROOT).unwrap()[4];
    let (pages, index, _) = index_by_insert(512, &[]);
    let mut expected: Vec<Tid> = (1_000_000..).map(|block| Tid::new(block, 1)).take(300).collect();
    expected.iter().for_each(|row| index.insert(&pages, 0, None, *row).unwrap());
    assert_eq!(level(&pages), 1);
    let others = Cell::new(0);
    let meanwhile = |next: Next| {
        while next == Next::Extend && level(&pages) == 1 {
            index.insert(&pages, 0, None, Tid::new(2_000_000 + others.get(), 1)).unwrap();
            others.set(others.get() + 1);
        }
    };
    let watched = Watched::new(&pages, &meanwhile);
    // Into the first leaf, until it is full and another page is added.
    for block in 0.. {
        index.insert(&watched, 0, None, Tid::new(block, 1)).unwrap();
        expected.push(Tid::new(block, 1));
        if others.get() > 0 {
            break;
        }
    }
    expected.extend((0..others.get()).map(|n| Tid::new(2_000_000 + n, 1)));
    expected.sort_unstable();
    let rows = nulls(&pages, &index, None, 1000);
    assert!(rows == expected, "{} rows, not {}", rows.len(), expected.len());
    assert_sound(&pages, "two splits");
}
