//! Every near pair, each once: against brute force, whatever memory, threads
//! and data.

mod cluster_common;

use cluster_common::{Data, brute_pairs, fingerprints};
use dedup_core::banding::{Error, MemorySpill, Result};
use dedup_core::cluster::{Host, MemoryHost, Pair, Pairs, Phase, Settings, components};

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
    let mut fps: Vec<u64> = Vec::new();
    let mut x = 1u64;
    for _ in 0..300_000 {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        fps.push(0xabcd_ef01_2300_0000 | x >> 42);
    }
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

/// A host that notes how far the work is, and interrupts it at its `stop`th look.
#[derive(Default)]
struct Watching {
    shares: Vec<f64>,
    checks: usize,
    stop: Option<usize>,
}

impl Host for Watching {
    type File = MemorySpill;

    fn file(&mut self) -> MemorySpill {
        MemorySpill::default()
    }

    fn check(&mut self) -> Result<()> {
        self.checks += 1;
        match self.stop {
            Some(stop) if self.checks > stop => Err(Error::Storage("interrupted".into())),
            _ => Ok(()),
        }
    }

    fn progress(&mut self, phase: Phase, share: f64) {
        if phase == Phase::Search {
            self.shares.push(share);
        }
    }
}

fn watched(fps: &[u64], settings: Settings, host: &mut Watching) -> Result<usize> {
    let mut collecting = Pairs::new(settings);
    for (i, &fp) in fps.iter().enumerate() {
        collecting.add(i as i64, fp, host)?;
    }
    let mut found = 0;
    collecting.finish(host, |_| {
        found += 1;
        Ok(true)
    })?;
    Ok(found)
}

/// Protects notices of progress: the share of the work rises from 0 to nearly
/// 1, pairs or no pairs, in memory and through files.
#[test]
fn the_share_of_the_work_rises() {
    let fps = fingerprints(Data::Uniform, 40_000, 23);
    let lonely: Vec<u64> = (0..40_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    for fps in [fps, lonely] {
        for (memory, threads) in [(PLENTY, 1), (PLENTY, 2), (LITTLE * 4, 1), (LITTLE * 4, 2)] {
            let mut host = Watching::default();
            watched(&fps, Settings { distance: 5, memory, threads }, &mut host).unwrap();
            assert!(host.shares.is_sorted(), "{memory} {threads}");
            assert!(host.shares.first().unwrap() < &0.2 && host.shares.last().unwrap() > &0.8);
            assert!(host.shares.iter().all(|share| (0.0..=1.0).contains(share)));
        }
    }
}

/// Protects against work that cannot be interrupted: the error of any look at
/// interrupts ends it, and comes back.
#[test]
fn an_interrupt_ends_the_work_wherever_it_comes() {
    let fps = fingerprints(Data::Skewed, 20_000, 29);
    for (memory, threads) in [(PLENTY, 1), (PLENTY, 2), (LITTLE, 1), (LITTLE, 2)] {
        let settings = Settings { distance: 6, memory, threads };
        let mut host = Watching::default();
        watched(&fps, settings, &mut host).unwrap();
        // On threads the looks depend on the clock: those at its beginning are there in any case.
        let looks = if threads == 1 { host.checks } else { 3 };
        for stop in (0..looks).step_by(1 + looks / 25) {
            let mut host = Watching { stop: Some(stop), ..Watching::default() };
            assert!(watched(&fps, settings, &mut host).is_err(), "{memory} {threads} {stop} of {looks}");
            assert_eq!(host.checks, stop + 1);
            let mut host = Watching { stop: Some(stop.min(2)), ..Watching::default() };
            assert!(components(&fps, settings, Some(8), &mut host).is_err());
        }
    }
}
