//! Every near pair, each once: against brute force, whatever memory, threads
//! and data.

mod common;

use common::groups::{Data, brute_pairs, fingerprints};
use common::interrupted_after;
use dedup_core::dedup::Limits;
use dedup_core::external::{Host, MemoryHost, MemorySpill, Result};
use dedup_core::groups::{Connect, Mark, Pair, PairSearch, Pairs, UnionFind};
use dedup_core::hash::mix64;
use dedup_detectors::components::components;

fn pairs(fps: &[u64], distance: u32, memory: usize, threads: usize) -> Vec<Pair> {
    let mut host = MemoryHost;
    let mut collecting = Pairs::new(PairSearch { distance, memory, threads });
    for (i, &fp) in fps.iter().enumerate() {
        collecting.add(i as i64, fp, &mut host).unwrap();
    }
    let mut found = Vec::new();
    let all = collecting.finish(&mut host, |pair, _| {
        found.push(pair);
        Ok(())
    });
    assert_eq!(all, Ok(()));
    found.sort_unstable();
    found
}

/// The memory that holds everything, and one that holds a few hundred rows.
const PLENTY: usize = 1 << 30;
const LITTLE: usize = 1 << 16;

/// Protects the promise of the issue: 20,000 rows of each kind at radii 0 to
/// 12 give what brute force gives, in memory and through files, on one thread
/// and on three.
#[test]
fn equals_brute_force_on_20000_rows() {
    for data in Data::ALL {
        let fps = fingerprints(data, 20_000, 7);
        for distance in 0..=12 {
            let expected = brute_pairs(&fps, distance);
            assert_eq!(pairs(&fps, distance, PLENTY, 3), expected, "{data:?} {distance}");
            if distance % 3 == 0 {
                assert_eq!(pairs(&fps, distance, LITTLE * 4, 2), expected, "{data:?} {distance} spilled");
            }
        }
    }
}

/// Verifies pairs late: when it has more than `lag`.
struct Late<'s, V> {
    sets: &'s UnionFind,
    verify: V,
    lag: usize,
    waiting: Vec<Pair>,
    taken: usize,
}

impl<H, V: Fn(i64, i64) -> bool> Connect<H> for Late<'_, V> {
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()> {
        self.taken += 1;
        self.waiting.push(pair);
        if self.waiting.len() > self.lag { self.settle(host) } else { Ok(()) }
    }

    fn settle(&mut self, _: &mut H) -> Result<()> {
        for Pair { a, b, .. } in self.waiting.drain(..) {
            if (self.verify)(a, b) {
                self.sets.union(a as u32, b as u32);
            }
        }
        Ok(())
    }
}

/// The component of each row by pairs that are verified so late, and how many pairs were looked at.
fn connected(
    fps: &[u64],
    settings: PairSearch,
    lag: usize,
    verify: impl Fn(i64, i64) -> bool,
) -> (Vec<u32>, usize) {
    let mut host = MemoryHost;
    let mut collecting = Pairs::new(settings);
    fps.iter().zip(0..).for_each(|(&fp, id)| collecting.add(id, fp, &mut host).unwrap());
    let sets = UnionFind::new(fps.len());
    let mut late = Late { sets: &sets, verify, lag, waiting: Vec::new(), taken: 0 };
    assert_eq!(collecting.connect(&sets, &mut host, &mut late), Ok(()));
    late.settle(&mut host).unwrap();
    let taken = late.taken;
    ((0..fps.len() as u32).map(|row| sets.find(row)).collect(), taken)
}

/// Protects the groups of `dedup`: whatever is left out because it is connected already, the components are those of all
/// pairs that are verified, few of them or all, soon or late, in memory and through files, on one thread and on three.
#[test]
fn connects_as_all_pairs_do() {
    for data in Data::ALL {
        for (rows, distance) in [(60, 20), (2500, 3), (2500, 9)] {
            let fps = fingerprints(data, rows, 11);
            for share in [1, 8, 64] {
                let verify = |a: i64, b: i64| {
                    let (a, b) = (a.min(b).cast_unsigned(), a.max(b).cast_unsigned());
                    mix64(a << 32 ^ b) % 64 < share
                };
                let sets = UnionFind::new(rows);
                for Pair { a, b, .. } in brute_pairs(&fps, distance) {
                    if verify(a, b) {
                        sets.union(a as u32, b as u32);
                    }
                }
                let expected: Vec<u32> = (0..rows as u32).map(|row| sets.find(row)).collect();
                for (memory, threads, lag) in
                    [(PLENTY, 1, 0), (PLENTY, 1, 5000), (LITTLE, 1, 100), (LITTLE, 3, 900)]
                {
                    let settings = PairSearch { distance, memory, threads };
                    let (found, _) = connected(&fps, settings, lag, verify);
                    assert!(found == expected, "{data:?} {rows} {distance} {share} {memory} {threads} {lag}");
                }
            }
        }
    }
}

/// Protects against a family being quadratic: 30,000 rows near each other, or of one fingerprint, have 450 million pairs.
#[test]
fn a_family_is_connected_by_few_pairs() {
    let family: Vec<u64> =
        (0..30_000).map(|x| mix64(x) & mix64(x + 1) & mix64(x + 2) & mix64(x + 3)).collect();
    for fps in [family, vec![5; 30_000]] {
        for memory in [PLENTY, LITTLE] {
            let (found, taken) =
                connected(&fps, PairSearch { distance: 10, memory, threads: 1 }, 1000, |_, _| true);
            let outside = found.iter().filter(|&&set| set != 0).count();
            assert!(outside < 100 && taken < 3_000_000, "{outside} outside, {taken} pairs");
        }
    }
}

/// Protects that what is marked apart, and nothing else, is left out: among equal fingerprints and near ones, one row of each or
/// many, in memory and through files, pairs or what they connect.
#[test]
fn leaves_out_what_is_apart() {
    for data in Data::ALL {
        for (rows, distance, bits) in [(2500, 9, u64::MAX), (1500, 3, 0xf0f)] {
            let fps: Vec<u64> = fingerprints(data, rows, 13).into_iter().map(|fp| fp & bits).collect();
            let mark = |row: u64| {
                let known = mix64(row) & mix64(row + 7) & 0xff_00f0;
                Mark { kind: (mix64(row + 3) % 3) as u32, known, value: mix64(row / 5) & known }
            };
            let marks: Vec<Mark> = (0..rows as u64).map(mark).collect();
            let apart = |a: i64, b: i64| marks[a as usize].is_apart(&marks[b as usize]);
            let all = brute_pairs(&fps, distance);
            let expected: Vec<Pair> = all.iter().filter(|it| !apart(it.a, it.b)).copied().collect();
            assert!(expected.len() < all.len(), "{data:?} {distance}");
            for (memory, threads) in [(PLENTY, 1), (PLENTY, 3), (LITTLE, 2)] {
                let settings = PairSearch { distance, memory, threads };
                let collecting = || {
                    let mut collecting = Pairs::new(settings).marked(Some(marks.clone()));
                    fps.iter()
                        .zip(0..)
                        .for_each(|(&fp, id)| collecting.add(id, fp, &mut MemoryHost).unwrap());
                    collecting
                };
                let mut found = Vec::new();
                let add = |pair, _: &mut _| {
                    found.push(pair);
                    Ok(())
                };
                collecting().finish(&mut MemoryHost, add).unwrap();
                found.sort_unstable();
                assert!(found == expected, "{data:?} {distance} {memory} {threads}");
                let sets = UnionFind::new(rows);
                let verify = |a, b| !apart(a, b);
                let mut late = Late { sets: &sets, verify, lag: 100, waiting: Vec::new(), taken: 0 };
                collecting().connect(&sets, &mut MemoryHost, &mut late).unwrap();
                let whole = UnionFind::new(rows);
                expected.iter().for_each(|it| _ = whole.union(it.a as u32, it.b as u32));
                let same = (0..rows as u32).all(|row| sets.find(row) == whole.find(row));
                assert!(same, "{data:?} {distance} {memory} {threads}");
            }
        }
    }
}

/// Protects every radius, the smallest inputs, and fingerprints that differ in some bits only.
#[test]
fn equals_brute_force_at_every_radius() {
    let few_bits = [0xffff_ffff_ffff, 0x1111_1111_1111_1111, 0x8000_0f00_0000_0fff];
    let of_few = few_bits.map(|bits| (Data::Uniform, bits, 20)).into_iter();
    for (data, bits, most) in of_few.chain(Data::ALL.map(|data| (data, u64::MAX, 64))) {
        for rows in [0, 1, 2, 3, 50, 1500] {
            let fps: Vec<u64> = fingerprints(data, rows, 3).into_iter().map(|fp| fp & bits).collect();
            for distance in (0..=most).step_by(if rows > 100 { 7 } else { 1 }) {
                let expected = brute_pairs(&fps, distance);
                for (memory, threads) in [(PLENTY, 1), (LITTLE, 1), (LITTLE, 2)] {
                    let found = pairs(&fps, distance, memory, threads);
                    assert_eq!(found, expected, "{data:?} {bits:x} {rows} {distance}");
                }
            }
        }
    }
}

/// Protects against a hot bucket being quadratic: 300,000 fingerprints share
/// their upper 40 bits, and few of them are near. (Compared all with all this
/// test would take minutes.)
#[test]
fn a_hot_bucket_is_cut_again() {
    let fps: Vec<u64> = (0..300_000).map(|x| 0xabcd_ef01_2300_0000 | mix64(x) >> 42).collect();
    let found = pairs(&fps, 1, PLENTY, 2);
    let mut sorted: Vec<(u64, i64)> = fps.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let mut expected = 0;
    for &(fp, id) in &sorted {
        for other in std::iter::once(fp).chain((0..64).map(|bit| fp ^ 1 << bit)) {
            let from = sorted.partition_point(|row| row.0 < other);
            let equal = sorted[from..].iter().take_while(|row| row.0 == other);
            expected += equal.filter(|row| row.1 > id).count();
        }
    }
    assert_eq!(found.len(), expected);
}

/// A host that records the progress of the search.
#[derive(Default)]
struct Watching(Vec<f64>);

impl Host for Watching {
    type File = MemorySpill;

    fn file(&mut self) -> MemorySpill {
        MemorySpill::default()
    }

    fn progress(&mut self, share: f64) {
        self.0.push(share);
    }
}

fn watched(fps: &[u64], settings: PairSearch) -> Vec<f64> {
    let mut host = Watching::default();
    let mut collecting = Pairs::new(settings);
    for (i, &fp) in fps.iter().enumerate() {
        collecting.add(i as i64, fp, &mut host).unwrap();
    }
    collecting.finish(&mut host, |_, _| Ok(())).unwrap();
    host.0
}

/// Protects notices of progress: the share of the work rises from 0 to nearly
/// 1, pairs or no pairs, in memory and through files.
#[test]
fn the_share_of_the_work_rises() {
    let fps = fingerprints(Data::Uniform, 40_000, 23);
    let lonely: Vec<u64> = (0..40_000).map(mix64).collect();
    for fps in [fps, lonely] {
        for (memory, threads) in [(PLENTY, 1), (PLENTY, 2), (LITTLE * 4, 1), (LITTLE * 4, 2)] {
            let shares = watched(&fps, PairSearch { distance: 5, memory, threads });
            assert!(shares.is_sorted(), "{memory} {threads}");
            let (first, last) = (shares[0], shares[shares.len() - 1]);
            assert!(first < 0.2 && last > 0.8, "{memory} {threads}: {first} to {last}");
            assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        }
    }
}

/// Protects against work that cannot be interrupted: whichever check for
/// interrupts unwinds, the work ends there, threads included.
#[test]
fn an_interrupt_ends_the_work_wherever_it_comes() {
    let fps = fingerprints(Data::Skewed, 20_000, 29);
    for (memory, threads) in [(PLENTY, 1), (PLENTY, 2), (LITTLE, 1), (LITTLE, 2)] {
        let settings = PairSearch { distance: 6, memory, threads };
        let work = || drop(watched(&fps, settings));
        let (interrupted, all) = interrupted_after(usize::MAX, work);
        assert!(!interrupted && all > 10, "{all}");
        // On threads the number of checks depends on the clock: those at the beginning are always there.
        let checks = if threads == 1 { all } else { 3 };
        for passed in (0..checks).step_by(1 + checks / 25) {
            assert!(interrupted_after(passed, work).0, "{memory} {threads} {passed} of {checks}");
            let limits = Limits { memory, sketches: 0, threads };
            let components = || drop(components(&fps, 6, Some(8), limits, &mut MemoryHost));
            assert!(interrupted_after(passed.min(2), components).0);
        }
    }
}
