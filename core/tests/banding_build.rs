//! Building, in memory and through spilled runs, and hot buckets.

mod common;

use common::Rng;
use common::banding::*;
use dedup_core::banding::{Builder, Built, Index, Options, Pages, Unscoped};
use dedup_core::external::MemoryHost;

fn build(body: usize, memory: usize, fps: &[u64], options: Options) -> (MemoryPages, Built) {
    let pages = MemoryPages::new(body);
    let mut host = MemoryHost;
    let mut builder = Builder::<_, Unscoped>::new(options, body, memory, &mut host).unwrap();
    for (n, fp) in fps.iter().enumerate() {
        builder.add(0, *fp, tid(n)).unwrap();
    }
    let built = builder.finish(&mut &pages).unwrap();
    assert_eq!(Index::open(&pages).unwrap(), built.index);
    (pages, built)
}

fn rows_of(fps: &[u64]) -> Rows {
    fps.iter().enumerate().map(|(n, fp)| (tid(n), *fp)).collect()
}

/// Protects builds of every shape and size, sorted in memory or merged from runs: the same answers as
/// brute force, before and after further inserts and deletes.
#[test]
fn banding_a_build_answers_like_brute_force() {
    let mut rng = Rng::new(11);
    for shape in SHAPES {
        for (body, memory, n) in
            [(512, 1 << 26, 20_000), (512, 0, 20_000), (8168, 0, 9_000), (4072, 1 << 26, 1)]
        {
            let fps = fingerprints(shape, n, &mut rng);
            let (pages, built) = build(body, memory, &fps, Options::default());
            assert_eq!((built.rows, built.runs > 0), (n as u64, memory == 0 && n > 4096));
            assert_sound(&pages, &format!("{shape:?} {body} {memory} {n}"));
            let mut rows = rows_of(&fps);
            for (k, fp) in fingerprints(shape, 500, &mut rng).into_iter().enumerate() {
                built.index.insert(&pages, 0, fp, tid(n + k)).unwrap();
                rows.insert(tid(n + k), fp);
            }
            rows.retain(|t, _| t.offset() % 3 > 0);
            built.index.bulk_delete(&pages, |t| t.offset() % 3 == 0).unwrap();
            for query in queries(&fps, 3, &mut rng) {
                for d in [0, 1, 2, 3, 4, 7, 12, 20, 64] {
                    let found = search(&pages, &built.index, query, d, 100);
                    assert!(found == brute(&rows, query, d), "{shape:?} {body} {memory} {n} d={d}");
                }
            }
        }
    }
}

/// Protects builds on several threads, in memory and merged: page for page those of one thread.
#[test]
fn banding_a_build_on_threads_is_the_same() {
    let fps = fingerprints(Shape::NearDuplicates, 300_000, &mut Rng::new(15));
    for memory in [1 << 26, 5 << 20] {
        let build = |threads| {
            let (pages, mut host) = (MemoryPages::new(8168), MemoryHost);
            let builder = Builder::<_, Unscoped>::new(Options::default(), 8168, memory, &mut host).unwrap();
            let mut builder = builder.on_threads(threads);
            for (n, fp) in fps.iter().enumerate() {
                builder.add(0, *fp, tid(n)).unwrap();
            }
            let built = builder.finish(&mut &pages).unwrap();
            let image = |block| pages.read(block).unwrap().to_vec();
            (built, (0..built.pages).map(image).collect::<Vec<_>>())
        };
        let (one, three) = (build(1), build(3));
        assert_eq!(one.0.runs > 0, memory < 1 << 26);
        assert!(one == three, "{memory}");
    }
}

/// Protects the empty build.
#[test]
fn banding_a_build_without_rows_is_an_empty_index() {
    let (pages, built) = build(8168, 0, &[], Options::default());
    assert_eq!((built.rows, built.pages), (0, 6));
    assert!(search(&pages, &built.index, 1, 64, 10).is_empty());
    built.index.insert(&pages, 0, 1, tid(0)).unwrap();
    assert_eq!(search(&pages, &built.index, 0, 1, 10).len(), 1);
}

/// Protects the size promised: at most 46 bytes a row after a build of random rows.
#[test]
fn banding_a_build_is_small() {
    let fps = fingerprints(Shape::Random, 300_000, &mut Rng::new(12));
    let (_, built) = build(8168, 1 << 26, &fps, Options::default());
    let bytes = u64::from(built.pages) * 8192 / built.rows;
    assert!(bytes <= 46, "{bytes}");
}

/// Protects the fill left by random inserts: about 70 %.
#[test]
fn banding_inserts_leave_leaves_well_filled() {
    let fps = fingerprints(Shape::Random, 100_000, &mut Rng::new(13));
    let (_, built) = build(8168, 1 << 26, &fps, Options { fillfactor: 100, ..Options::default() });
    let (pages, _, _) = index_by_insert(8168, &fps);
    let grown = dedup_core::banding::Pages::len(&pages).unwrap();
    assert!(u64::from(built.pages) * 100 / u64::from(grown) > 60, "{} {grown}", built.pages);
}

/// Protects hot buckets: decided at build and by maintenance, kept by inserts and deletes, exact below
/// and above distance 3, and worth it.
#[test]
fn banding_hot_buckets_are_exact() {
    let mut rng = Rng::new(14);
    let base = rng.next();
    let mut fps = fingerprints(Shape::NearDuplicates, 6000, &mut rng);
    // Two hot buckets of block 1, one of them half one fingerprint; none elsewhere.
    fps.extend((0..4000).map(|_| base & 0xffff << 48 | rng.next() >> 16));
    fps.extend((0..4000).map(|k| if k % 2 == 0 { !base } else { !base & 0xffff << 48 | rng.next() >> 16 }));
    let mut rows = rows_of(&fps);
    let (grown, index, _) = index_by_insert(512, &fps);
    let stats = index.maintain(&grown).unwrap();
    assert_eq!((stats.remaining, stats.promoted > 1), (14_000, true));
    assert_eq!(index.maintain(&grown).unwrap().promoted, 0);
    let reopened = Index::open(&grown).unwrap();
    for (what, (pages, index)) in [
        ("built", build(512, 1 << 26, &fps, Options::default())),
        ("merged", build(512, 0, &fps, Options::default())),
    ]
    .map(|(w, (p, b))| (w, (p, b.index)))
    .into_iter()
    .chain([("grown", (grown, reopened))])
    {
        rows = rows_of(&fps);
        let hot = index.stats(&pages).unwrap().hot;
        assert!((1..=2).contains(&hot[0]) && hot[1..] == [0; 3], "{what}: {hot:?} hot buckets");
        assert_sound(&pages, what);
        for (k, fp) in fps.clone().into_iter().enumerate().skip(5900).step_by(7) {
            let (fp, t) = (rng.flip(fp, 2), tid(20_000 + k));
            index.insert(&pages, 0, fp, t).unwrap();
            rows.insert(t, fp);
        }
        rows.retain(|t, _| t.offset() % 5 > 0);
        index.bulk_delete(&pages, |t| t.offset() % 5 == 0).unwrap();
        for query in [base, !base, fps[7000], fps[7000] ^ 0b1011, fps[13_999] ^ 1 << 60, fps[3]] {
            for d in [0, 1, 2, 3, 4, 9] {
                assert!(search(&pages, &index, query, d, 50) == brute(&rows, query, d), "{what} d={d}");
            }
        }
        let mut scan = dedup_core::banding::RangeScan::new(&index, fps[7000] ^ 0b111, 3);
        while scan.next_batch(&pages, 100, &mut Vec::new()).unwrap() {}
        assert!(scan.pages_read() < 60, "{what}: {} pages", scan.pages_read());
    }
    assert!(!rows.is_empty());
}

/// Protects searches of very large tables: with a limit for buckets a search within 3 reads as little where all of them are
/// large as where none is, built or grown.
#[test]
fn banding_large_buckets_have_a_limit() {
    let mut rng = Rng::new(16);
    // As evenly spread as a table of billions, but with eight values a block.
    let values: Vec<u64> = (0..8).map(|_| rng.next() & 0xffff).collect();
    let mut fp = || (0..4).fold(0, |fp, _| fp << 16 | values[rng.below(8) as usize]);
    let fps: Vec<u64> = (0..20_000).map(|_| fp()).collect();
    let options = Options { max_bucket: 100, ..Options::default() };
    let reads = |pages: &MemoryPages, query: u64| {
        let index = Index::open(pages).unwrap();
        let mut scan = dedup_core::banding::RangeScan::new(&index, query, 3);
        let mut hits = Vec::new();
        while scan.next_batch(pages, 100, &mut hits).unwrap() {}
        hits.sort_unstable();
        assert!(hits == brute(&rows_of(&fps), query, 3));
        scan.pages_read()
    };
    let (without, _) = build(512, 1 << 26, &fps, Options::default());
    let (built, _) = build(512, 0, &fps, options);
    let grown = MemoryPages::new(512);
    let index = Index::create(&grown, options, false).unwrap();
    fps.iter().enumerate().for_each(|(n, fp)| index.insert(&grown, 0, *fp, tid(n)).unwrap());
    assert!(index.maintain(&grown).unwrap().promoted > 0);
    for pages in [&built, &grown] {
        assert_sound(pages, "large buckets");
        let index = Index::open(pages).unwrap();
        assert_eq!(index.options().max_bucket, 100);
        for query in [fps[5], fps[77] ^ 0b11] {
            let (few, many) = (reads(pages, query), reads(&without, query));
            assert!(few < many, "{few} pages, without a limit {many}");
        }
    }
}

/// Protects the figures users are shown.
#[test]
fn banding_stats_describe_the_index() {
    let fps = fingerprints(Shape::Random, 50_000, &mut Rng::new(15));
    let (pages, built) = build(8168, 1 << 26, &fps, Options::default());
    let stats = built.index.stats(&pages).unwrap();
    assert_eq!((stats.rows, stats.pages, stats.unused), (50_000, built.pages, 0));
    assert_eq!(stats.leaves.iter().chain(&stats.inner).sum::<u32>() + 1, stats.pages);
    assert_eq!((stats.levels[0], stats.levels[1], stats.hot), (2, 0, [0; 4]));
    assert!(stats.leaf_fill > 0.85 && stats.leaf_fill < 0.93, "{}", stats.leaf_fill);
    assert!(stats.largest.iter().all(|l| l.len() == 10 && l.is_sorted_by(|a, b| a.1 >= b.1)));
}
