//! Every near pair, each once: against brute force, whatever memory, threads
//! and data.

mod common;

use common::groups::{Data, brute_pairs, fingerprints};
use common::interrupted_after;
use dedup_core::external::{Host, MemoryHost, MemorySpill, Phase};
use dedup_core::groups::{Pair, Pairs, Settings, components};
use dedup_core::hash::mix64;

fn pairs(fps: &[u64], distance: u32, memory: usize, threads: usize) -> Vec<Pair> {
    let mut host = MemoryHost;
    let mut collecting = Pairs::new(Settings { distance, memory, threads });
    for (i, &fp) in fps.iter().enumerate() {
        collecting.add(i as i64, fp, &mut host).unwrap();
    }
    let mut found = Vec::new();
    let all = collecting.finish(&mut host, |pair| {
        found.push(pair);
        Ok(true)
    });
    assert_eq!(all, Ok(true));
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

/// Protects every radius, and the smallest inputs.
#[test]
fn equals_brute_force_at_every_radius() {
    for data in Data::ALL {
        for rows in [0, 1, 2, 3, 50, 1500] {
            let fps = fingerprints(data, rows, 3);
            for distance in (0..=64).step_by(if rows > 100 { 7 } else { 1 }) {
                let expected = brute_pairs(&fps, distance);
                for (memory, threads) in [(PLENTY, 1), (LITTLE, 1), (LITTLE, 2)] {
                    assert_eq!(
                        pairs(&fps, distance, memory, threads),
                        expected,
                        "{data:?} {rows} {distance}"
                    );
                }
            }
        }
    }
}

/// Protects LIMIT: whoever has enough is not given more.
#[test]
fn a_sink_may_stop() {
    let fps = vec![5; 100_000];
    for memory in [PLENTY, LITTLE] {
        for threads in [1, 2] {
            let mut host = MemoryHost;
            let mut collecting = Pairs::new(Settings { distance: 3, memory, threads });
            fps.iter().zip(0..).for_each(|(&fp, id)| collecting.add(id, fp, &mut host).unwrap());
            let mut taken = 0;
            let all = collecting.finish(&mut host, |_| {
                taken += 1;
                Ok(taken < 10)
            });
            assert_eq!((all, taken), (Ok(false), 10));
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

    fn progress(&mut self, phase: Phase, share: f64) {
        if phase == Phase::Search {
            self.0.push(share);
        }
    }
}

fn watched(fps: &[u64], settings: Settings) -> Vec<f64> {
    let mut host = Watching::default();
    let mut collecting = Pairs::new(settings);
    for (i, &fp) in fps.iter().enumerate() {
        collecting.add(i as i64, fp, &mut host).unwrap();
    }
    collecting.finish(&mut host, |_| Ok(true)).unwrap();
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
            let shares = watched(&fps, Settings { distance: 5, memory, threads });
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
        let settings = Settings { distance: 6, memory, threads };
        let work = || drop(watched(&fps, settings));
        let (interrupted, all) = interrupted_after(usize::MAX, work);
        assert!(!interrupted && all > 10, "{all}");
        // On threads the number of checks depends on the clock: those at the beginning are always there.
        let checks = if threads == 1 { all } else { 3 };
        for passed in (0..checks).step_by(1 + checks / 25) {
            assert!(interrupted_after(passed, work).0, "{memory} {threads} {passed} of {checks}");
            let components = || drop(components(&fps, settings, Some(8), &mut MemoryHost));
            assert!(interrupted_after(passed.min(2), components).0);
        }
    }
}
