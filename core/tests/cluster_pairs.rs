//! Every near pair, each once: against brute force, whatever memory, threads
//! and data.

mod cluster_common;

use cluster_common::{Data, brute_pairs, fingerprints};
use dedup_core::cluster::{MemoryHost, Pair, Pairs, Settings};

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
