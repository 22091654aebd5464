//! Clusters, components, pairs with new rows and names equal straightforward references, whatever the data and threads.

mod common;

use common::groups::{Data, brute_pairs, fingerprints};
use dedup_core::dedup::Limits;
use dedup_core::external::MemoryHost;
use dedup_core::fingerprint::hamming;
use dedup_core::groups::{CrossPairs, EdgeComponents, Named, Pair, PairSearch, names};
use dedup_detectors::components::components;
use dedup_detectors::single_pass::{Center, SinglePass};
use proptest::prelude::*;
use std::collections::BTreeMap;

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
    components(fps, distance, diameter, Limits { memory: 1 << 16, sketches: 0, threads }, &mut MemoryHost)
        .unwrap()
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

/// The least id of each id's component, of ids whose hashes are their remainders.
fn found(edges: &[(i64, i64)], hashes: u64) -> Vec<(i64, i64)> {
    let (mut graph, mut ids) = (EdgeComponents::default(), Vec::new());
    for &(a, b) in edges {
        let [a, b] = [a, b].map(|id| {
            let node = graph.node(id.unsigned_abs() % hashes, |node| ids[node as usize] == id).unwrap();
            if node as usize == ids.len() {
                ids.push(id);
            }
            node
        });
        graph.join(a, b);
    }
    let least = graph.least(|a, b| ids[a as usize] < ids[b as usize]).unwrap();
    let mut found: Vec<_> = ids.iter().zip(least).map(|(&id, least)| (id, ids[least as usize])).collect();
    found.sort_unstable();
    found
}

/// The same by passing the least id along the edges until nothing changes.
fn expected(edges: &[(i64, i64)]) -> Vec<(i64, i64)> {
    let mut of: BTreeMap<i64, i64> = edges.iter().flat_map(|&(a, b)| [(a, a), (b, b)]).collect();
    loop {
        let before = of.clone();
        for &(a, b) in edges {
            let least = of[&a].min(of[&b]);
            of.extend([(a, least), (b, least)]);
        }
        if before == of {
            return of.into_iter().collect();
        }
    }
}

proptest! {
    /// Whatever the order of the edges, sparse or dense, and however many ids share a hash.
    #[test]
    fn equals_passing_the_least_along(
        edges in prop::collection::vec((-40..40i64, -40..40i64), 0..120),
        hashes in prop::sample::select(vec![1, 3, 1000]),
    ) {
        prop_assert_eq!(found(&edges, hashes), expected(&edges));
    }
}

/// Protects the time of chains, which set-based SQL walks a step at a time: 0-1, 1-2, … in any order.
#[test]
fn a_long_chain_is_one_component() {
    let length = 200_000;
    let chain: Vec<(i64, i64)> = (0..length).map(|i| (i, i + 1)).collect();
    let backwards: Vec<(i64, i64)> = chain.iter().rev().map(|&(a, b)| (b, a)).collect();
    // 7919 is prime: every edge once.
    let mixed: Vec<(i64, i64)> = (0..length).map(|i| chain[(i * 7919 % length) as usize]).collect();
    for edges in [chain, backwards, mixed] {
        assert!(found(&edges, u64::MAX).into_iter().all(|(_, least)| least == 0));
    }
}

proptest! {
    /// Every pair of the two sides, once, whatever the chunks: few values,
    /// so that many are equal, and skewed ones.
    #[test]
    fn equals_brute_force(
        new in prop::collection::vec(0u64..600, 0..60),
        old in prop::collection::vec(0u64..600, 0..200),
        spread in prop::sample::select(vec![1u64, 0x9e37_79b9_7f4a_7c15, 1 << 40]),
        distance in 0u32..12, chunk in 1usize..200, threads in 1usize..3,
    ) {
        let named = |values: &[u64], from: i64| -> Vec<(i64, u64)> {
            values.iter().zip(from..).map(|(&value, id)| (id, value.wrapping_mul(spread))).collect()
        };
        let (new, old) = (named(&new, 1000), named(&old, 0));
        let mut truth = Vec::new();
        for &(a, x) in &old {
            for &(b, y) in &new {
                if hamming(x, y) <= distance {
                    truth.push(Pair { a, b, distance: hamming(x, y) });
                }
            }
        }
        let settings = PairSearch { distance, memory: 0, threads };
        let between = CrossPairs::new(settings, &new, &mut MemoryHost).unwrap();
        let mut found = Vec::new();
        for part in old.chunks(chunk) {
            between.with(part, &mut MemoryHost, |pair| { found.push(pair); Ok(()) }).unwrap();
        }
        found.sort_unstable();
        truth.sort_unstable();
        prop_assert_eq!(found, truth);
    }
}

proptest! {
    /// Rows come, leave and are grouped in any way, again and again: no two groups have one name, the oldest row that
    /// had a name keeps it unless its group has an older one, and names that are gone are told.
    #[test]
    fn groups_have_names_of_their_own_whatever_comes_and_goes(
        steps in prop::collection::vec(prop::collection::vec((any::<bool>(), any::<bool>(), 0u32..6), 12), 1..8),
    ) {
        // The name of the group of each row, by its arrival.
        let mut there: BTreeMap<i64, Option<i64>> = BTreeMap::new();
        let mut arrived = 0;
        for step in steps {
            let gone: Vec<i64> = there.keys().zip(&step).filter(|(_, it)| it.0).map(|(&row, _)| row).collect();
            gone.iter().for_each(|row| { there.remove(row); });
            for _ in step.iter().filter(|it| it.1) {
                arrived += 1;
                there.insert(arrived, None);
            }
            let parts = step.iter().cycle().map(|it| it.2);
            let rows: Vec<Named> = there.iter().zip(parts).zip(0..)
                .map(|(((&arrival, &before), part), row)| Named { arrival, before, part, row }).collect();
            let (named, absorbed) = names(rows.clone(), 6, &[]).unwrap();
            for a in &rows {
                for b in &rows {
                    prop_assert_eq!(named[a.part as usize] == named[b.part as usize], a.part == b.part);
                }
                if a.before.is_some() && rows.iter().all(|b| b.before != a.before || b.arrival >= a.arrival) {
                    let name = Some(named[a.part as usize]);
                    prop_assert!(name <= a.before);
                    prop_assert_eq!(absorbed.contains(a), name != a.before);
                }
            }
            there = rows.iter().map(|row| (row.arrival, Some(named[row.part as usize]))).collect();
        }
    }
}
