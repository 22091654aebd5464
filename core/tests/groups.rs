//! Clusters equal straightforward references, whatever the data and threads.

mod common;

use common::groups::{Data, brute_pairs, fingerprints};
use dedup_core::external::MemoryHost;
use dedup_core::fingerprint::hamming;
use dedup_core::groups::{Centre, Linkage, Linker, Pair, Settings, SinglePass, UnionFind, components};

/// Every row against every centre: P4's own way.
fn single_pass(fps: &[u64], distance: u32) -> Vec<Centre> {
    let mut centres: Vec<(u64, u32)> = Vec::new();
    let mut put = |row: u32, fp: u64| {
        // The first of the least: the oldest of the nearest.
        let nearest = centres.iter().map(|&(centre, row)| (hamming(centre, fp), row)).min();
        match nearest {
            Some((apart, row)) if apart <= distance => Centre { row, distance: apart },
            _ => {
                centres.push((fp, row));
                Centre { row, distance: 0 }
            }
        }
    };
    fps.iter().enumerate().map(|(row, &fp)| put(row as u32, fp)).collect()
}

/// Protects Single-Pass: nearest centre, oldest on ties, input order.
#[test]
fn single_pass_equals_comparing_with_every_centre() {
    for data in Data::ALL {
        for (rows, distances) in [(20_000, vec![0, 3, 6, 9, 12]), (3000, (0..=64).collect())] {
            let fps = fingerprints(data, rows, 11);
            for distance in distances {
                let mut clusters = SinglePass::new(distance);
                let found: Vec<Centre> = fps.iter().map(|&fp| clusters.assign(fp)).collect();
                assert_eq!(found, single_pass(&fps, distance), "{data:?} {rows} {distance}");
            }
        }
    }
}

/// Little memory: pairs that are sorted go to a file.
fn settings(distance: u32, threads: usize) -> Settings {
    Settings { distance, memory: 1 << 16, threads }
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
                let found = components(&fps, settings(distance, threads), None, &mut MemoryHost).unwrap();
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
            let found = components(&fps, settings(distance, 2), Some(guard), &mut MemoryHost).unwrap();
            assert_eq!(found, guarded(&fps, distance, guard), "{data:?} {distance} {guard}");
        }
        assert_eq!(
            components(&fps, settings(5, 1), Some(64), &mut MemoryHost).unwrap(),
            walked(&fps, 5),
            "a guard of 64 guards nothing"
        );
    }
}

/// Something else than fingerprints that says which pairs belong together.
fn belong(a: u32, b: u32) -> bool {
    (a ^ b).wrapping_mul(0x9e37_79b9) >> 30 != 0
}

/// The first row of each row's group.
fn firsts(mut sets: UnionFind, rows: usize) -> Vec<u32> {
    (0..rows as u32).map(|row| sets.find(row)).collect()
}

fn linked(fps: &[u64], pairs: &[Pair], linkage: Linkage, memory: usize) -> (Vec<u32>, usize) {
    let mut asked = 0;
    let mut linker = Linker::new(linkage, memory, &mut MemoryHost);
    // In no particular order, as they are found.
    pairs.iter().rev().for_each(|&pair| linker.add(pair).unwrap());
    assert_eq!(linker.count(), pairs.len() as u64);
    let verify = |_: &mut MemoryHost, pairs: &[(u32, u32)]| {
        asked += pairs.len();
        assert!(pairs.iter().all(|(a, b)| a < b));
        Ok(pairs.iter().map(|&(a, b)| belong(a, b)).collect())
    };
    let sets = linker.finish(fps, &mut MemoryHost, verify).unwrap();
    (firsts(sets, fps.len()), asked)
}

/// All pairs verified first, then those that passed taken from the nearest to
/// the farthest; rows with equal fingerprints are different rows.
fn verified_within(fps: &[u64], pairs: &[Pair], diameter: u32) -> Vec<u32> {
    let mut pairs: Vec<&Pair> = pairs.iter().filter(|pair| belong(pair.a as u32, pair.b as u32)).collect();
    pairs.sort_unstable_by_key(|pair| (pair.distance, pair.a, pair.b));
    let mut group_of: Vec<usize> = (0..fps.len()).collect();
    for pair in pairs {
        let (a, b) = (group_of[pair.a as usize], group_of[pair.b as usize]);
        let members =
            |group| group_of.iter().enumerate().filter(move |of| *of.1 == group).map(|of| fps[of.0]);
        if a != b && members(a).all(|x| members(b).all(|y| hamming(x, y) <= diameter)) {
            group_of.iter_mut().filter(|of| **of == a.max(b)).for_each(|of| *of = a.min(b));
        }
    }
    group_of.iter().map(|&group| group as u32).collect()
}

/// Protects groups of verified pairs with a diameter: those of verifying all
/// pairs first, whatever the memory.
#[test]
fn verified_pairs_within_a_diameter_equal_the_reference() {
    for data in Data::ALL {
        let fps = fingerprints(data, 400, 17);
        for (distance, diameter) in [(3, 3), (6, 8), (10, 10), (12, 64), (30, 34)] {
            let pairs = brute_pairs(&fps, distance.min(diameter));
            let expected = verified_within(&fps, &pairs, diameter);
            for memory in [1 << 10, 1 << 30] {
                let (found, asked) = linked(&fps, &pairs, Linkage::Diameter(diameter), memory);
                assert_eq!(found, expected, "{data:?} {distance} {diameter}");
                assert!(asked <= pairs.len());
            }
            for (row, &first) in expected.iter().enumerate() {
                let near = |other: usize| hamming(fps[row], fps[other]) <= diameter;
                assert!((0..fps.len()).all(|other| expected[other] != first || near(other)));
            }
        }
    }
}

/// Protects Single-Pass over verified pairs: each row asks every earlier
/// centre that is near and verified, and takes the nearest, the oldest of those.
#[test]
fn verified_single_pass_equals_the_reference() {
    for data in Data::ALL {
        let fps = fingerprints(data, 600, 19);
        for distance in [0, 3, 8, 20] {
            let mut expected: Vec<u32> = Vec::new();
            for (row, &fp) in fps.iter().enumerate() {
                let centres = (0..row as u32).filter(|&centre| expected[centre as usize] == centre);
                let near = centres.map(|centre| (hamming(fps[centre as usize], fp), centre));
                let nearest = near.filter(|near| near.0 <= distance && belong(near.1, row as u32)).min();
                expected.push(nearest.map_or(row as u32, |near| near.1));
            }
            let pairs = brute_pairs(&fps, distance);
            for memory in [1 << 10, 1 << 30] {
                let (found, _) = linked(&fps, &pairs, Linkage::SinglePass, memory);
                assert_eq!(found, expected, "{data:?} {distance}");
            }
        }
    }
}
