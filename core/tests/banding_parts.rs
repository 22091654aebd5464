//! Fingerprints of several parts against brute force: every row or pair within the distance is found, and none twice.

mod common;

use common::Rng;
use common::banding::*;
use dedup_core::banding::{
    Builder, Hit, Index, Options, PartsNearest, PartsScan, Position, Tid, scope_of_part,
};
use dedup_core::external::MemoryHost;
use dedup_core::groups::{PairSearch, PartPairs};

type Long = (u32, Vec<u64>);

/// Rows of two scopes: some alike, some that are alike in one part only, some empty in most parts.
fn rows(parts: usize, n: usize, rng: &mut Rng) -> Vec<Long> {
    let mut rows: Vec<Long> = Vec::new();
    for k in 0..n {
        let mut row: Vec<u64> = (0..parts).map(|_| rng.next()).collect();
        match k % 5 {
            0 if k > 0 => {
                row = rows[rng.below(k as u64) as usize].1.clone();
                for part in &mut row {
                    let bits = rng.below(12);
                    *part = rng.flip(*part, bits);
                }
            }
            1 => row[k / 5 % parts] = 0,
            2 if k % 3 == 0 => row[1..].fill(0),
            _ => {}
        }
        rows.push((k as u32 % 2 * u32::MAX, row));
    }
    rows
}

fn distance(a: &[u64], b: &[u64]) -> u32 {
    a.iter().zip(b).map(|(a, b)| (a ^ b).count_ones()).sum()
}

fn number(tid: Tid) -> usize {
    tid.block() as usize * 120 + usize::from(tid.offset()) - 1
}

fn entries(rows: &[Long]) -> impl Iterator<Item = (u32, u64, Tid)> {
    rows.iter().enumerate().flat_map(|(n, (scope, row))| {
        row.iter()
            .enumerate()
            .map(move |(part, value)| (scope_of_part(*scope, part, row.len()), *value, tid(n)))
    })
}

fn built(rows: &[Long]) -> (MemoryPages, Index) {
    let (mut host, pages) = (MemoryHost, MemoryPages::new(1024));
    let mut builder = Builder::<_, Position>::new(Options::default(), 1024, 1 << 22, &mut host).unwrap();
    entries(rows).for_each(|(scope, value, tid)| builder.add(scope, value, tid).unwrap());
    let built = builder.finish(&mut &pages).unwrap();
    (pages, built.index)
}

fn inserted(rows: &[Long]) -> (MemoryPages, Index) {
    let pages = MemoryPages::new(1024);
    let index = Index::create(&pages, Default::default(), true).unwrap();
    entries(rows).for_each(|(scope, value, tid)| index.insert(&pages, scope, value, tid).unwrap());
    (pages, index)
}

fn search(pages: &MemoryPages, mut scan: PartsScan) -> Vec<Hit> {
    let mut hits = Vec::new();
    while scan.next_batch(pages, 17, &mut hits).unwrap() {}
    hits
}

/// Protects searches at all distances, in a scope and in all, with the memory of a pass for all blocks and for one.
#[test]
fn banding_parts_are_found_as_wholes() {
    let mut rng = Rng::new(40);
    for parts in [2, 4] {
        let rows = rows(parts, 3000, &mut rng);
        for (pages, index) in [built(&rows), inserted(&rows)] {
            assert_sound(&pages, "parts");
            for round in 0..60 {
                let (of, query) = &rows[rng.below(rows.len() as u64) as usize];
                let query: Vec<u64> = query.iter().map(|part| rng.flip(*part, round % 7)).collect();
                let scope = [None, Some(*of), Some(7)][round as usize % 3];
                let d = [0, 1, 3, 7, 31, 40, 68, 100, 64 * parts as u32][round as usize % 9];
                let memory = [1 << 20, 4096, 1][round as usize % 3];
                let hits = search(&pages, PartsScan::new(&index, scope, &query, d, memory));
                let mut found: Vec<Tid> = hits.iter().map(|hit| hit.tid).collect();
                found.sort_unstable();
                let count = found.len();
                found.dedup();
                assert_eq!(found.len(), count, "{parts} parts, {scope:?}, {d}: a row twice");
                let near = |row: &Long| distance(&row.1, &query) <= d;
                let is_wanted = |row: &Long| scope.is_none_or(|scope| scope == row.0) && near(row);
                for (n, row) in rows.iter().enumerate().filter(|(_, row)| is_wanted(row)) {
                    assert!(found.binary_search(&tid(n)).is_ok(), "{parts} parts, {scope:?}, {d}: {row:?}");
                }
                // What a pass finds is exact.
                let exact = scope.is_none() || d > 17 * parts as u32;
                assert!(!exact || count == rows.iter().filter(|row| is_wanted(row)).count(), "{scope:?} {d}");
            }
        }
    }
}

/// Protects all pairs, each once, in memory and through files.
#[test]
fn pairs_of_parts_are_found_as_wholes() {
    let mut rng = Rng::new(43);
    for (parts, memory) in [(2, 1 << 24), (4, 1 << 24), (4, 1 << 16), (3, 1 << 16)] {
        let rows = rows(parts, 1500, &mut rng);
        for d in [0, 2, 31, 60] {
            let mut host = MemoryHost;
            let mut pairs = PartPairs::new(parts, PairSearch { distance: d, memory, threads: 2 });
            for (n, (_, row)) in rows.iter().enumerate() {
                pairs.add(n as i64 - 5, row, &mut host).unwrap();
            }
            let (mut found, mut wanted) = (Vec::new(), Vec::new());
            let all = pairs.finish(&mut host, |pair, _| {
                found.push((pair.a, pair.b, pair.distance));
                Ok(())
            });
            all.unwrap();
            for (n, (_, a)) in rows.iter().enumerate() {
                let near =
                    rows[n + 1..].iter().map(|(_, b)| distance(a, b)).enumerate().filter(|near| near.1 <= d);
                wanted.extend(near.map(|(k, bits)| (n as i64 - 5, (n + 1 + k) as i64 - 5, bits)));
            }
            found.sort_unstable();
            assert!(
                found == wanted && (d < 31 || !wanted.is_empty()),
                "{parts} parts, {d}: {} {}",
                found.len(),
                wanted.len()
            );
        }
    }
}

/// Protects the order of the nearest rows, whatever limit and memory.
#[test]
fn banding_parts_nearest_come_in_order() {
    let mut rng = Rng::new(42);
    for parts in [2, 4] {
        let rows = rows(parts, 3000, &mut rng);
        let (pages, index) = built(&rows);
        for round in 0..12 {
            let (of, query) = &rows[rng.below(rows.len() as u64) as usize];
            let query: Vec<u64> = query.iter().map(|part| rng.flip(*part, round % 9)).collect();
            let scope = [None, Some(*of), Some(*of)][round as usize % 3];
            let limit = [30, 1000, 70][round as usize % 3];
            let mut scan =
                PartsNearest::new(&index, scope, &query, limit, [1 << 20, 4096][round as usize % 2]);
            let of_row = |hit: &Hit, _| Some(distance(&rows[number(hit.tid)].1, &query));
            let mut hits = Vec::new();
            while scan.next_batch(&pages, 50, &mut hits, &mut { of_row }).unwrap() {}
            let mut found: Vec<(u32, Tid)> = hits.iter().map(|hit| (hit.distance, hit.tid)).collect();
            assert!(found.is_sorted_by_key(|hit| hit.0), "{scope:?} {limit}");
            let mut wanted: Vec<(u32, Tid)> =
                rows.iter().enumerate().map(|(n, row)| (distance(&row.1, &query), tid(n))).collect();
            wanted.retain(|row| row.0 <= limit && scope.is_none_or(|scope| scope == rows[number(row.1)].0));
            found.sort_unstable();
            wanted.sort_unstable();
            assert!(found == wanted, "{parts} parts, {scope:?}, {limit}");
        }
    }
}

/// Protects the change to a pass when more rows are alike in a part than are remembered.
#[test]
fn banding_parts_with_many_alike() {
    let mut rng = Rng::new(41);
    let rows: Vec<Long> = (0..90_000).map(|_| (0, vec![0, rng.next()])).collect();
    let (pages, index) = built(&rows);
    let mut found: Vec<Tid> =
        search(&pages, PartsScan::new(&index, Some(0), &[0, rows[7].1[1]], 10, 1 << 16))
            .iter()
            .map(|hit| hit.tid)
            .collect();
    let count = found.len();
    found.sort_unstable();
    found.dedup();
    assert!(found.len() == count && found.contains(&tid(7)), "{count}");
    assert!(count < rows.len(), "the pass leaves out what is far");
    let rows: Vec<Long> = (0..70_000).map(|_| (0, vec![5, 6])).collect();
    let (pages, index) = built(&rows);
    let (mut scan, mut hits) = (PartsNearest::new(&index, Some(0), &[5, 7], 9, 1 << 20), Vec::new());
    while scan.next_batch(&pages, 100, &mut hits, &mut |_, _| Some(1)).unwrap() {}
    assert!(hits.len() == rows.len() && hits.iter().all(|hit| hit.distance == 1), "streamed");
}
