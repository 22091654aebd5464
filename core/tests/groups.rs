//! Clusters equal straightforward references, whatever the data and threads.

mod common;

use common::groups::{Data, brute_pairs, fingerprints};
use dedup_core::dedup::Limits;
use dedup_core::external::MemoryHost;
use dedup_core::fingerprint::hamming;
use dedup_detectors::components::components;
use dedup_detectors::single_pass::{Center, SinglePass};

/// Every row against every center: P4's own way.
fn single_pass(fps: &[u64], distance: u32) -> Vec<Center> {
    let mut centers: Vec<(u64, u32)> = Vec::new();
    let mut put = |row: u32, fp: u64| {
        // The first of the least: the oldest of the nearest.
        let nearest = centers.iter().map(|&(center, row)| (hamming(center, fp), row)).min();
        match nearest {
            Some((apart, row)) if apart <= distance => Center { row, distance: apart },
            _ => {
                centers.push((fp, row));
                Center { row, distance: 0 }
            }
        }
    };
    fps.iter().enumerate().map(|(row, &fp)| put(row as u32, fp)).collect()
}

/// Protects Single-Pass: nearest center, oldest on ties, input order.
#[test]
fn single_pass_equals_comparing_with_every_center() {
    for data in Data::ALL {
        for (rows, distances) in [(20_000, vec![0, 3, 6, 9, 12]), (3000, (0..=64).collect())] {
            let fps = fingerprints(data, rows, 11);
            for distance in distances {
                let mut clusters = SinglePass::new(distance);
                let found: Vec<Center> = fps.iter().map(|&fp| clusters.assign(fp)).collect();
                assert_eq!(found, single_pass(&fps, distance), "{data:?} {rows} {distance}");
            }
        }
    }
}

/// Little memory: pairs that are sorted go to a file.
fn within(fps: &[u64], distance: u32, diameter: Option<u32>, threads: usize) -> Vec<u32> {
    components(fps, distance, diameter, Limits { memory: 1 << 16, threads }, &mut MemoryHost).unwrap()
}

/// Rows that near pairs connect, by walking.
fn walked(fps: &[u64], distance: u32) -> Vec<u32> {
    let mut near = vec![Vec::new(); fps.len()];
    for pair in brute_pairs(fps, distance) {
        near[pair.a as usize].push(pair.b as usize);
        near[pair.b as usize].push(pair.a as usize);
    }
    let mut component = vec![u32::MAX; fps.len()];
    for first in 0..fps.len() {
        let mut to_visit = vec![first];
        while let Some(row) = to_visit.pop() {
            if component[row] == u32::MAX {
                component[row] = first as u32;
                to_visit.extend(&near[row]);
            }
        }
    }
    component
}

#[test]
fn components_equal_a_walk() {
    for data in Data::ALL {
        let fps = fingerprints(data, 6000, 5);
        for distance in [0, 1, 3, 5, 8, 12, 20, 64] {
            for threads in [1, 3] {
                let found = within(&fps, distance, None, threads);
                assert_eq!(found, walked(&fps, distance), "{data:?} {distance}");
            }
        }
    }
}

/// Complete linkage over near pairs, as documented: nearest pairs first, then
/// by rows, joined if all of one are within the guard of all of the other.
fn guarded(fps: &[u64], distance: u32, guard: u32) -> Vec<u32> {
    let mut distinct: Vec<u64> = Vec::new();
    for fp in fps {
        if !distinct.contains(fp) {
            distinct.push(*fp);
        }
    }
    let mut pairs = brute_pairs(&distinct, distance.min(guard));
    pairs.sort_unstable_by_key(|pair| (pair.distance, pair.a, pair.b));
    let mut clusters: Vec<Vec<u64>> = distinct.iter().map(|&fp| vec![fp]).collect();
    let mut cluster_of: Vec<usize> = (0..distinct.len()).collect();
    for pair in pairs {
        let (a, b) = (cluster_of[pair.a as usize], cluster_of[pair.b as usize]);
        let fits = || clusters[a].iter().all(|&x| clusters[b].iter().all(|&y| hamming(x, y) <= guard));
        if a != b && fits() {
            let moved = std::mem::take(&mut clusters[b]);
            clusters[a].extend(moved);
            cluster_of.iter_mut().for_each(|c| *c = if *c == b { a } else { *c });
        }
    }
    let of: Vec<usize> =
        fps.iter().map(|fp| cluster_of[distinct.iter().position(|of| of == fp).unwrap()]).collect();
    of.iter().map(|cluster| of.iter().position(|other| other == cluster).unwrap() as u32).collect()
}

#[test]
fn a_guarded_component_is_never_wider_than_its_guard() {
    for data in Data::ALL {
        let fps = fingerprints(data, 600, 9);
        for (distance, guard) in [(3, 3), (3, 5), (6, 4), (8, 10), (12, 16), (30, 34)] {
            let found = within(&fps, distance, Some(guard), 2);
            assert_eq!(found, guarded(&fps, distance, guard), "{data:?} {distance} {guard}");
        }
        assert_eq!(within(&fps, 5, Some(64), 1), walked(&fps, 5), "a guard of 64 guards nothing");
    }
}
