//! Entries of dead rows that go before VACUUM comes.

mod common;

use common::Rng;
use common::banding::*;
use dedup_core::banding::{Dead, Index, NearestScan, Pages, Result, Tid};
use std::collections::HashSet;

/// Rows that are dead for good, of which it tells those on visited pages.
#[derive(Default)]
struct Dying {
    dead: HashSet<Tid>,
    visited: HashSet<u32>,
    visits: usize,
}

impl Dead for Dying {
    fn visit(&mut self, rows: &[Tid]) -> Result<()> {
        self.visited = rows.iter().map(|row| row.block()).collect();
        self.visits += self.visited.len();
        Ok(())
    }

    fn is_dead(&mut self, row: Tid) -> bool {
        self.visited.contains(&row.block()) && self.dead.contains(&row)
    }
}

/// The answers of the rows that are not dead, whatever is left of the others.
fn live_answers_agree(pages: &MemoryPages, rows: &Rows, dying: &Dying, queries: &[u64], what: &str) {
    let index = Index::open(pages).unwrap();
    for query in queries {
        for d in [0, 3, 7, 12, 64] {
            let mut found = search(pages, &index, *query, d, 100);
            found.retain(|hit| !dying.dead.contains(&hit.tid));
            assert!(found == brute(rows, *query, d), "{what}, d={d}");
        }
        let (mut scan, mut found) = (NearestScan::new(&index, *query, 64), Vec::new());
        while scan.next_batch(pages, 50, &mut found).unwrap() {}
        found.retain(|hit| !dying.dead.contains(&hit.tid));
        assert!(found.is_sorted_by_key(|hit| hit.distance) && found.len() == rows.len(), "{what}, nearest");
    }
}

/// Protects tables that are updated, row by row or all by one statement, whose old versions are dead only when it has ended:
/// of rows with ten versions the index stays about as large as of rows with one or two, without a VACUUM, no live row is lost,
/// and what is left of the others VACUUM removes.
#[test]
fn banding_versions_of_rows_leave_before_a_split() {
    for (shape, nulls, second_levels, at_once) in [
        (Shape::Random, false, false, false),
        (Shape::Random, false, true, false),
        (Shape::Skewed, true, false, false),
        (Shape::Random, false, false, true),
    ] {
        let mut rng = Rng::new(81);
        let mut fps = fingerprints(shape, 6000, &mut rng);
        if second_levels {
            fps.iter_mut().step_by(2).for_each(|fp| *fp = *fp >> 16 | 0x5eed << 48);
        }
        let (pages, index, mut rows) = index_by_insert(if at_once { 8192 } else { 2048 }, &fps);
        if second_levels {
            assert!(index.maintain(&pages).unwrap().promoted > 0);
        }
        if nulls {
            (0..6000).for_each(|n| index.insert(&pages, 0, None, tid(500_000 + n)).unwrap());
        }
        let before = pages.len().unwrap();
        let (mut dying, mut old_versions) = (Dying::default(), Vec::new());
        for version in 1..=10 {
            for (n, &fp) in (0..).zip(&fps) {
                let (old, new) = (tid((version - 1) * 6000 + n), tid(version * 6000 + n));
                index.insert_version(&pages, 0, Some(fp), new, Some(&mut dying)).unwrap();
                rows.remove(&old);
                rows.insert(new, fp);
                old_versions.push(old);
                if nulls {
                    let (old, new) =
                        (tid(500_000 + (version - 1) * 6000 + n), tid(500_000 + version * 6000 + n));
                    index.insert_version(&pages, 0, None, new, Some(&mut dying)).unwrap();
                    old_versions.push(old);
                }
                if !at_once {
                    dying.dead.extend(old_versions.drain(..));
                }
            }
            dying.dead.extend(old_versions.drain(..));
        }
        let after = pages.len().unwrap();
        assert!(after <= before * 5 / 2, "{shape:?}: {before} pages became {after}");
        assert!(
            dying.visits < 60_000 * 4 * 4,
            "{shape:?}: {} pages of the table were looked at",
            dying.visits
        );
        live_answers_agree(&pages, &rows, &dying, &queries(&fps, 6, &mut rng), &format!("{shape:?}"));
        index.bulk_delete(&pages, |t| dying.dead.contains(&t)).unwrap();
        assert_sound(&pages, "after the versions");
        live_answers_agree(&pages, &rows, &dying, &fps[..3], "vacuumed");
    }
}

/// Protects inserts of many rows of one fingerprint, all alive: looking for dead ones costs little, and finds none.
#[test]
fn banding_live_versions_stay() {
    let (pages, index, mut rows) = index_by_insert(2048, &[]);
    let mut dying = Dying::default();
    for n in 0..20_000 {
        index.insert_version(&pages, 0, Some(4711), tid(n), Some(&mut dying)).unwrap();
        rows.insert(tid(n), 4711);
    }
    assert!(dying.visits < 20_000, "{} pages of the table were looked at", dying.visits);
    live_answers_agree(&pages, &rows, &dying, &[4711, 4712], "one fingerprint");
    assert_sound(&pages, "one fingerprint");
}

/// Protects what a search removes: that row's entries, from all trees at once, and no other's, whether it is
/// there or not; of a row that is not dead any more, nothing.
#[test]
fn banding_removed_rows_are_gone_from_all_trees() {
    for shape in SHAPES {
        let mut rng = Rng::new(82);
        let fps = fingerprints(shape, 4000, &mut rng);
        let (pages, index, mut rows) = index_by_insert(512, &fps);
        index.maintain(&pages).unwrap();
        let index = Index::open(&pages).unwrap();
        let mut dying = Dying::default();
        for k in 0..3000 {
            let n = rng.below(4000) as usize;
            if k % 3 == 0 {
                // Not dead: nothing happens.
                index.remove(&pages, 0, fps[n], tid(n), &mut dying).unwrap();
                continue;
            }
            dying.dead.insert(tid(n));
            rows.remove(&tid(n));
            index.remove(&pages, 0, fps[n], tid(n), &mut dying).unwrap();
            dying.dead.remove(&tid(n));
            // The place of the row is taken again, by a row of the same fingerprint or another.
            if k % 3 == 1 {
                let fp = if k % 2 == 0 { fps[n] } else { rng.flip(fps[n], 2) };
                index.insert(&pages, 0, fp, tid(10_000 + k)).unwrap();
                rows.insert(tid(10_000 + k), fp);
            }
        }
        live_answers_agree(&pages, &rows, &dying, &queries(&fps, 6, &mut rng), &format!("{shape:?}"));
        assert_sound(&pages, &format!("{shape:?}"));
        assert_eq!(index.stats(&pages).unwrap().rows, rows.len() as u64, "{shape:?}");
    }
}
