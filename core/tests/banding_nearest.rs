//! Nearest neighbours against brute force.

mod common;

use common::Rng;
use common::banding::*;
use dedup_core::banding::{Builder, Hit, Index, NearestScan, Options, Pages, Unscoped};
use dedup_core::external::MemoryHost;

/// The first k, checked to come in order of distance.
fn nearest<P: Pages>(pages: &P, index: &Index, query: u64, k: usize, batch: usize) -> Vec<Hit> {
    let mut scan = NearestScan::new(index, query, 64);
    let mut hits = Vec::new();
    while hits.len() < k && scan.next_batch(pages, batch, &mut hits).unwrap() {}
    assert!(hits.is_sorted_by_key(|h| h.distance));
    hits.truncate(k);
    hits
}

/// Compares up to ties at the last distance.
fn assert_nearest(found: &[Hit], rows: &Rows, query: u64, k: usize, what: &str) {
    let all = brute(rows, query, 64);
    let expected = &all[..k.min(all.len())];
    let distances = |hits: &[Hit]| hits.iter().map(|h| h.distance).collect::<Vec<_>>();
    assert!(distances(found) == distances(expected), "{what} k={k}");
    let last = expected.last().map_or(0, |h| h.distance);
    let inner = |hits: &[Hit]| {
        let mut inner: Vec<Hit> = hits.iter().filter(|h| h.distance < last).copied().collect();
        inner.sort_unstable();
        inner
    };
    assert!(inner(found) == inner(expected), "{what} k={k}: rows nearer than the last");
    let mut unique: Vec<Hit> = found.to_vec();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), found.len(), "{what} k={k}: a row came twice");
    assert!(found.iter().all(|h| rows.get(&h.tid) == Some(&h.fingerprint)), "{what} k={k}");
}

/// Protects exactness and order for every shape, from one row to all of them.
#[test]
fn banding_nearest_equals_brute_force() {
    let mut rng = Rng::new(21);
    for shape in SHAPES {
        for body in [512, 8168] {
            let fps = fingerprints(shape, 6000, &mut rng);
            let (pages, index, rows) = index_by_insert(body, &fps);
            for query in queries(&fps, 6, &mut rng) {
                for k in [1, 2, 10, 100, 1000, 7000] {
                    let batch = [1, 10, 300][k % 3];
                    let found = nearest(&pages, &index, query, k, batch);
                    assert_nearest(&found, &rows, query, k, &format!("{shape:?} {body}"));
                }
            }
        }
    }
}

/// Protects the bound on memory: more rows at one distance than may wait, near and far, of which some are at hand before the
/// distance is searched, and the way through hot buckets.
#[test]
fn banding_nearest_streams_more_rows_than_it_may_keep() {
    let mut rng = Rng::new(22);
    let base = rng.next();
    let mut fps = vec![base; 80_000];
    fps.extend(vec![base ^ 0xff; 90_000]);
    fps.extend((0..30_000).map(|_| base & 0xffff << 48 | rng.next() >> 16));
    fps.extend(fingerprints(Shape::Random, 30_000, &mut rng));
    let far = rng.next();
    let bit = |rng: &mut Rng, block: u64| 1 << (block * 16 + rng.below(16));
    fps.extend((0..30_000).map(|_| far ^ 0xf0 ^ bit(&mut rng, 3)));
    let two = |rng: &mut Rng| 1 << 63 ^ 1 << (48 + rng.below(15));
    fps.extend(
        (0..70_000).map(|_| far ^ two(&mut rng) ^ bit(&mut rng, 0) ^ bit(&mut rng, 1) ^ bit(&mut rng, 2)),
    );
    let mut host = MemoryHost;
    let pages = MemoryPages::new(8168);
    let mut builder = Builder::<_, Unscoped>::new(Options::default(), 8168, 1 << 26, &mut host).unwrap();
    let mut rows = Rows::new();
    for (n, fp) in fps.iter().enumerate() {
        builder.add(0, *fp, tid(n)).unwrap();
        rows.insert(tid(n), *fp);
    }
    let index = builder.finish(&mut &pages).unwrap().index;
    for query in [base, !base, base ^ 0b11, far] {
        for k in [5, 100_000, fps.len() + 1] {
            let found = nearest(&pages, &index, query, k, 5000);
            assert_nearest(&found, &rows, query, k, "large");
        }
    }
}

/// Protects the lazy part: the nearest of a near-duplicate are found without reading much.
#[test]
fn banding_nearest_reads_little_for_near_duplicates() {
    let mut rng = Rng::new(23);
    let mut fps = fingerprints(Shape::Random, 200_000, &mut rng);
    let base = rng.next();
    for _ in 0..20 {
        let near = rng.flip(base, 3);
        fps.push(near);
    }
    let mut host = MemoryHost;
    let pages = MemoryPages::new(8168);
    let mut builder = Builder::<_, Unscoped>::new(Options::default(), 8168, 1 << 26, &mut host).unwrap();
    for (n, fp) in fps.iter().enumerate() {
        builder.add(0, *fp, tid(n)).unwrap();
    }
    let index = builder.finish(&mut &pages).unwrap().index;
    let mut scan = NearestScan::new(&index, base, 64);
    let mut hits = Vec::new();
    while hits.len() < 10 && scan.next_batch(&pages, 10, &mut hits).unwrap() {}
    assert!(hits.len() >= 10 && scan.pages_read() < 8, "{} rows, {} pages", hits.len(), scan.pages_read());
}

/// Protects queries that have many copies of one fingerprint as their nearest: the copies are streamed from
/// their buckets, and no tree is read whole for them.
#[test]
fn banding_nearest_reads_little_before_many_copies() {
    let mut rng = Rng::new(24);
    let mut fps = fingerprints(Shape::Random, 300_000, &mut rng);
    let base = rng.next();
    fps.extend(vec![base; 70_000]);
    let mut host = MemoryHost;
    let pages = MemoryPages::new(8168);
    let mut builder = Builder::<_, Unscoped>::new(Options::default(), 8168, 1 << 26, &mut host).unwrap();
    for (n, fp) in fps.iter().enumerate() {
        builder.add(0, *fp, tid(n)).unwrap();
    }
    let index = builder.finish(&mut &pages).unwrap().index;
    // The copies fill about a hundred leaves of each tree, which has about 500.
    for (query, most) in
        [(base, 120), (base ^ 0b11, 120), (base ^ 0x1f, 600), (base ^ 0x0003_0001_0001_0001, 600)]
    {
        let mut scan = NearestScan::new(&index, query, 64);
        let mut hits = Vec::new();
        while hits.len() < 10 && scan.next_batch(&pages, 10, &mut hits).unwrap() {}
        let distance = (query ^ base).count_ones();
        assert!(hits.iter().all(|hit| hit.distance == distance), "{hits:?}");
        let read = scan.pages_read();
        assert!(read < most, "the copies are {distance} away: {read} pages");
        // And what comes after them is still found.
        while hits.len() < 70_010 && scan.next_batch(&pages, 1000, &mut hits).unwrap() {}
        assert!(
            hits[70_009].distance > distance && hits[..70_000].iter().all(|hit| hit.distance == distance)
        );
    }
}
