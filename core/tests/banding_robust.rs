//! Crashes, threads, damage.

mod common;

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use common::Rng;
use common::banding::*;
use common::watched::{Next, Watched};
use dedup_core::banding::{Error, Index, NearestScan, Pages, RangeScan, TREES, Tid, Tree, check};

/// One thing done to an index.
enum Step {
    Insert(u64, Tid),
    InsertNull(Tid),
    Delete(u16),
    Maintain,
}

fn steps(rng: &mut Rng) -> Vec<Step> {
    let base = rng.next();
    let mut steps = Vec::new();
    for n in 0..900 {
        let fp = match rng.below(3) {
            0 => rng.next(),
            1 => base & 0xffff << 48 | rng.next() >> 16,
            _ => rng.flip(base, 2),
        };
        steps.push(Step::Insert(fp, tid(n)));
        if n % 5 == 0 {
            steps.push(Step::InsertNull(tid(10_000 + n)));
        }
        if n % 300 == 250 {
            steps.push(Step::Delete(n as u16 % 7));
            steps.push(Step::Maintain);
        }
    }
    steps
}

/// Protects recovery: after any number of commits the structure is whole, what was acknowledged is
/// there, and the work can go on.
#[test]
fn banding_every_prefix_of_commits_is_a_sound_index() {
    let mut rng = Rng::new(31);
    let steps = steps(&mut rng);
    let total = run_until_crash(&steps, u32::MAX).unwrap();
    assert!(total > 1500, "{total} commits");
    let mut at = 6;
    while u64::from(at) < total {
        run_until_crash(&steps, at);
        at += 1 + rng.below(12) as u32;
    }
}

/// Runs all steps with a crash after `commits`; afterwards recovers and goes on. Returns the commits if
/// none failed.
fn run_until_crash(steps: &[Step], commits: u32) -> Option<u64> {
    let pages = MemoryPages::new(512);
    let index = Index::create(&pages, Default::default(), false).unwrap();
    let mut rows = Rows::new();
    pages.fail_after(commits);
    let mut crashed = false;
    for step in steps {
        match one(&pages, &index, step, &mut rows) {
            Ok(()) => {}
            Err(error) => {
                assert!(!crashed, "crashes once: {error}");
                crashed = true;
                pages.recover();
                let findings = check(&pages, false, |_, _, _| ()).unwrap();
                let unused = Index::open(&pages).unwrap().stats(&pages).unwrap().unused;
                assert!(findings.is_empty() && unused <= 3, "after {commits}: {findings:?}");
                // The crashed insert's row is dead to PostgreSQL: vacuum removes what is there of it.
                index.bulk_delete(&pages, |t| !rows.contains_key(&t)).unwrap();
                assert_sound(&pages, &format!("after {commits} commits"));
                let query = *rows.values().next_back().unwrap_or(&0);
                let index = Index::open(&pages).unwrap();
                for d in [0, 3, 9] {
                    assert!(
                        search(&pages, &index, query, d, 10) == brute(&rows, query, d),
                        "{commits} d={d}"
                    );
                }
                one(&pages, &index, step, &mut rows).unwrap();
            }
        }
    }
    assert_sound(&pages, &format!("{commits} commits, in the end"));
    (!crashed).then(|| pages.commits())
}

fn one(pages: &MemoryPages, index: &Index, step: &Step, rows: &mut Rows) -> Result<(), Error> {
    match step {
        Step::Insert(fp, tid) => {
            index.insert(pages, 0, *fp, *tid)?;
            rows.insert(*tid, *fp);
        }
        // Counted nowhere: only that they are in no one's way.
        Step::InsertNull(tid) => index.insert(pages, 0, None, *tid)?,
        Step::Delete(rest) => {
            let dead = |t: Tid| t.offset() % 7 == *rest;
            // Deleted rows are dead whether or not the walk gets to its end.
            rows.retain(|t, _| !dead(*t));
            index.bulk_delete(pages, dead)?;
        }
        Step::Maintain => {
            index.maintain(pages)?;
        }
    }
    Ok(())
}

/// Protects concurrency: inserters, a vacuum that also promotes, a checker and searchers at once; no
/// search misses or repeats a row that was there throughout, and the end is what brute force says.
#[test]
fn banding_threads_meet_without_losing_rows() {
    let mut rng = Rng::new(32);
    let base = rng.next();
    let shape = |rng: &mut Rng| match rng.below(4) {
        0 => rng.next(),
        1 => base & 0xffff << 48 | rng.next() >> 16,
        2 => base,
        _ => rng.flip(base, 6),
    };
    let fps: Vec<u64> = (0..24_000).map(|_| shape(&mut rng)).collect();
    // The first third is there at the start; every fifth of it dies.
    let (pages, index, mut rows) = index_by_insert(512, &fps[..8000]);
    let dies = |t: Tid| t.offset().is_multiple_of(5) && t.block() < tid(8000).block();
    let stable: Rows = rows.iter().filter(|(t, _)| !dies(**t)).map(|(t, f)| (*t, *f)).collect();
    let (next, stop) = (AtomicUsize::new(8000), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let inserters: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let n = next.fetch_add(1, Ordering::Relaxed);
                        let Some(fp) = fps.get(n) else { return };
                        index.insert(&pages, 0, *fp, tid(n)).unwrap();
                    }
                })
            })
            .collect();
        for seed in 0..2 {
            let (pages, index, stop, stable, fps) = (&pages, &index, &stop, &stable, &fps);
            scope.spawn(move || {
                let mut rng = Rng::new(seed);
                while !stop.load(Ordering::Relaxed) {
                    let index = if rng.below(2) == 0 { *index } else { Index::open(pages).unwrap() };
                    let (query, d) = (rng.flip(fps[0], 3), rng.below(12) as u32);
                    let mut found = search(pages, &index, query, d, 20);
                    found.retain(|h| stable.contains_key(&h.tid));
                    assert!(found == brute(stable, query, d), "d={d}");
                    let mut scan = NearestScan::new(&index, query, 64);
                    let mut hits = Vec::new();
                    while hits.len() < 50 && scan.next_batch(pages, 20, &mut hits).unwrap() {}
                    assert!(hits.is_sorted_by_key(|h| h.distance));
                }
            });
        }
        let vacuum = scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                index.bulk_delete(&pages, dies).unwrap();
                index.maintain(&pages).unwrap();
                let findings = check(&pages, false, |_, _, _| ()).unwrap();
                assert!(findings.is_empty(), "{:?}", &findings[..findings.len().min(5)]);
            }
        });
        for inserter in inserters {
            inserter.join().unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        vacuum.join().unwrap();
    });
    rows.extend(fps.iter().enumerate().map(|(n, fp)| (tid(n), *fp)));
    rows.retain(|t, _| !dies(*t));
    index.bulk_delete(&pages, dies).unwrap();
    index.maintain(&pages).unwrap();
    assert_sound(&pages, "after all threads");
    let index = Index::open(&pages).unwrap();
    assert!(index.stats(&pages).unwrap().hot[0] > 0);
    for d in [0, 2, 3, 6, 64] {
        assert!(search(&pages, &index, base, d, 500) == brute(&rows, base, d), "d={d}");
    }
}

fn copy(pages: &MemoryPages) -> MemoryPages {
    let other = MemoryPages::new(pages.body_len());
    for block in 0..pages.len().unwrap() {
        drop(other.extend().unwrap());
        let from = pages.read(block).unwrap();
        other.overwrite(block, |to| to.copy_from_slice(&from)).unwrap();
    }
    other
}

fn damaged_index(rng: &mut Rng) -> (MemoryPages, Vec<u64>, Rows) {
    let base = rng.next();
    let mut fps = fingerprints(Shape::NearDuplicates, 900, rng);
    fps.extend((0..900).map(|_| base & 0xffff << 48 | rng.next() >> 16));
    let (pages, index, rows) = index_by_insert(512, &fps);
    assert!(index.maintain(&pages).unwrap().promoted > 0);
    (pages, fps, rows)
}

/// Protects against damaged pages: whatever bytes are flipped, everything ends, nothing panics, and if a
/// check finds nothing wrong then answers are right.
#[test]
fn banding_flipped_bytes_never_panic_hang_or_go_unnoticed() {
    let mut rng = Rng::new(33);
    let (sound, fps, rows) = damaged_index(&mut rng);
    let mut unnoticed = 0;
    for round in 0..600 {
        let pages = copy(&sound);
        for _ in 0..1 + rng.below(3) {
            let block = match rng.below(4) {
                0 => 0,
                1 => rng.below(6),
                _ => rng.below(u64::from(pages.len().unwrap())),
            } as u32;
            let at = if rng.below(2) == 0 { rng.below(128) } else { rng.below(512) } as usize;
            let byte = match rng.below(4) {
                0 => 0,
                1 => 0xff,
                _ => rng.next() as u8,
            };
            pages.overwrite(block, |b| b[at] = byte).unwrap();
        }
        let faults = faults(&pages);
        let Ok(index) = Index::open(&pages) else {
            assert!(!faults.is_empty(), "round {round}");
            continue;
        };
        let query = fps[rng.below(1800) as usize];
        for d in [0, 3, 8, 64] {
            let mut scan = RangeScan::new(&index, query, d);
            let mut hits = Vec::new();
            let ended = loop {
                match scan.next_batch(&pages, 50, &mut hits) {
                    Ok(true) => assert!(hits.len() < 20_000, "round {round}: a scan without end"),
                    other => break other,
                }
            };
            hits.sort_unstable();
            if faults.is_empty() {
                unnoticed += 1;
                assert!(ended.is_ok() && hits == brute(&rows, query, d), "round {round} d={d}");
            }
        }
        let mut scan = NearestScan::new(&index, query, 64);
        let mut hits = Vec::new();
        while hits.len() < 3000 && scan.next_batch(&pages, 100, &mut hits) == Ok(true) {}
        let _ = index.stats(&pages);
        let _ = index.maintain(&pages);
        for n in 0..20 {
            let fp = rng.flip(query, n);
            let _ = index.insert(&pages, 0, fp, tid(5000 + n as usize));
        }
        let _ = index.bulk_delete(&pages, |t| t.offset() % 2 == 0);
        let _ = check(&pages, false, |_, _, _| ());
    }
    assert!(unnoticed > 0);
}

type Damage<'a> = &'a dyn Fn(&mut [u8]);

/// Protects what the check promises to find: a lost page, a missing entry, a misplaced entry, a broken
/// link; and the entries it lists, which heapallindexed relies on.
#[test]
fn banding_check_finds_what_is_wrong_and_lists_what_is_there() {
    let mut rng = Rng::new(34);
    let (sound, _, rows) = damaged_index(&mut rng);
    assert_sound(&sound, "before");
    let index = Index::open(&sound).unwrap();
    let mut entries = vec![Vec::new(); TREES + 1];
    check(&sound, true, |tree, at, _| entries[tree.number()].push((at.tid, tree.fingerprint(at.key))))
        .unwrap();
    for listed in (0..4).map(|i| &entries[Tree::main(i).number()]) {
        assert!(listed.len() == rows.len() && listed.iter().copied().collect::<Rows>() == rows);
    }
    for (tid, fp) in rows.iter().step_by(50) {
        assert_eq!(index.missing_from(&sound, 0, Some(*fp), *tid).unwrap(), None);
        assert_eq!(index.missing_from(&sound, 0, Some(fp ^ 1 << 63), *tid).unwrap(), Some(Tree::main(0)));
    }
    let leaves: Vec<u32> = (5..sound.len().unwrap()).filter(|b| sound.read(*b).unwrap()[2] == 2).collect();
    let count = |body: &[u8]| u16::from_le_bytes([body[8], body[9]]);
    for block in leaves.iter().copied().filter(|b| count(&sound.read(*b).unwrap()) > 1).step_by(5) {
        let damages: [(&str, Damage<'_>); 5] = [
            ("zeroed", &|b| b.fill(0)),
            ("entry missing", &|b| {
                let (width, n) = (u16::from(b[59]), count(b) - 1);
                b[8..10].copy_from_slice(&n.to_le_bytes());
                b[6..8].copy_from_slice(&(64 + n * width).to_le_bytes());
            }),
            ("entry changed", &|b| b[64] ^= 1),
            ("link broken", &|b| b[12] ^= 0x55),
            ("range changed", &|b| b[16] ^= 1),
        ];
        for (what, damage) in damages {
            let pages = copy(&sound);
            pages.overwrite(block, damage).unwrap();
            let faults = faults(&pages);
            assert!(!faults.is_empty(), "block {block} {what}");
        }
    }
}

/// Protects who meets a damaged page from waiting for it to get better, which only one that VACUUM has moved may: the error comes
/// at once, or after as many ways as are tried to one that has moved.
#[test]
fn banding_damage_ends_a_search_at_once() {
    let fps = fingerprints(Shape::Random, 2000, &mut Rng::new(35));
    let (sound, index, _) = index_by_insert(512, &fps);
    let search = |pages: &MemoryPages| {
        let waits = Cell::new(0);
        let count = |next| waits.set(waits.get() + u32::from(next == Next::Wait));
        let watched = Watched::new(pages, &count);
        let (mut scan, mut hits) = (RangeScan::new(&index, 0, 64), Vec::new());
        let result = loop {
            match scan.next_batch(&watched, 64, &mut hits) {
                Ok(true) => {}
                end => break end,
            }
        };
        (result, waits.get())
    };
    let (result, usual) = search(&sound);
    assert_eq!(result, Ok(false));
    let damages: [Damage<'_>; 5] =
        [&|b| b.fill(0), &|b| b[2] = 9, &|b| b[3] = 4, &|b| b[55] = 15, &|b| b[8] = b[8].wrapping_add(1)];
    let of_first_tree = |block: &u32| sound.read(*block).unwrap()[2..4] == [2, 0];
    for block in (5..sound.len().unwrap()).filter(of_first_tree).step_by(7) {
        for damage in damages {
            let pages = copy(&sound);
            pages.overwrite(block, damage).unwrap();
            let (result, waits) = search(&pages);
            assert!(
                matches!(result, Err(Error::Corrupt { .. })) && waits <= usual,
                "{result:?}, {waits} waits"
            );
        }
        // A leaf that says it is free has moved: other ways are tried, but not without end.
        let pages = copy(&sound);
        pages
            .overwrite(block, |b| {
                b[2] = 6;
                b[6..10].copy_from_slice(&[64, 0, 0, 0]);
            })
            .unwrap();
        let (result, waits) = search(&pages);
        assert!(
            matches!(result, Err(Error::Corrupt { .. })) && (90..usual + 100).contains(&waits),
            "{result:?}, {waits} waits"
        );
    }
}

/// Protects against reading another format as if it were this one.
#[test]
fn banding_open_refuses_what_is_not_an_index() {
    let (sound, _, _) = index_by_insert(512, &[1, 2, 3]);
    let pages = copy(&sound);
    pages.overwrite(0, |b| b[72] = 99).unwrap();
    assert!(matches!(Index::open(&pages), Err(Error::Version { found: 99, supported: 2 })));
    let pages = copy(&sound);
    pages.overwrite(0, |b| b[92] = 4).unwrap();
    assert!(matches!(Index::open(&pages), Err(Error::Features(4))));
    let pages = copy(&sound);
    pages.overwrite(0, |b| b.fill(0)).unwrap();
    assert!(matches!(Index::open(&pages), Err(Error::Corrupt { block: 0, .. })));
    let options = dedup_core::banding::Options { mu: -1.0, ..Default::default() };
    assert!(matches!(Index::create(&MemoryPages::new(512), options, false), Err(Error::Option(_))));
}
