//! Times the `banding` index in memory: `cargo run --release -p dedup_core --example banding_bench [rows…]`.
//!
//! Data as in the design: 70 % random, 30 % copies with 0 to 3 flipped bits. Prints, asserts nothing.
use std::time::{Duration, Instant};

use dedup_core::banding::{
    Builder, Index, MemoryPages, NearestScan, Options, Pages, RangeScan, Tid, Unscoped,
};

use dedup_core::external::MemoryHost;
use dedup_core::random::SplitMix64;

fn tid(n: usize) -> Tid {
    // 60 rows a heap page.
    Tid::new((n / 60) as u32, (n % 60 + 1) as u16)
}

fn percentiles(mut times: Vec<Duration>) -> (Duration, Duration) {
    times.sort();
    (times[times.len() / 2], times[times.len() * 95 / 100])
}

fn data(n: usize, rng: &mut SplitMix64) -> Vec<u64> {
    let mut fps: Vec<u64> = Vec::with_capacity(n);
    for k in 0..n {
        let fp = if k > 0 && rng.next() % 10 < 3 {
            let of = fps[(rng.next() % k as u64) as usize];
            (0..rng.next() % 4).fold(of, |x, _| x ^ 1 << (rng.next() % 64))
        } else {
            rng.next()
        };
        fps.push(fp);
    }
    fps
}

fn run(n: usize) -> dedup_core::banding::Result<()> {
    let mut rng = SplitMix64::new(7);
    let fps = data(n, &mut rng);
    let pages = MemoryPages::new(8168);
    let mut host = MemoryHost;
    let start = Instant::now();
    let mut builder = Builder::<_, Unscoped>::new(Options::default(), 8168, 1 << 30, &mut host)?;
    for (k, fp) in fps.iter().enumerate() {
        builder.add(0, *fp, tid(k))?;
    }
    let built = builder.finish(&mut &pages)?;
    println!("{n} rows: build {:.2?}", start.elapsed());
    println!("  {:.1} bytes a row, {} pages", f64::from(built.pages) * 8192.0 / n as f64, built.pages);
    let index = built.index;
    searches(&pages, &index, &fps, &mut rng)?;

    let start = Instant::now();
    let inserts = 200_000;
    for k in 0..inserts {
        index.insert(&pages, 0, rng.next(), tid(n + k))?;
    }
    let per = start.elapsed() / inserts as u32;
    println!("  insert {:.2?} each ({:.0} a second)", per, 1.0 / per.as_secs_f64());
    let start = Instant::now();
    let deleted = index.bulk_delete(&pages, |t| t.block() % 10 == 0)?;
    println!("  bulk delete of {} rows {:.2?}, {} pages now", deleted.removed, start.elapsed(), pages.len()?);
    let start = Instant::now();
    index.maintain(&pages)?;
    println!("  maintain {:.2?}", start.elapsed());
    Ok(())
}

fn searches(
    pages: &MemoryPages,
    index: &Index,
    fps: &[u64],
    rng: &mut SplitMix64,
) -> dedup_core::banding::Result<()> {
    let mut hits = Vec::new();
    for (d, queries) in [(0, 3000), (3, 3000), (5, 2000), (7, 1000), (10, 300), (13, 100), (64, 3)] {
        let (mut times, mut found, mut read) = (Vec::new(), 0, 0);
        for _ in 0..queries {
            let query = fps[(rng.next() % fps.len() as u64) as usize] ^ 1 << (rng.next() % 64);
            let start = Instant::now();
            let mut scan = RangeScan::new(index, query, d);
            while scan.next_batch(pages, 1000, &mut hits)? {
                found += hits.len();
                hits.clear();
            }
            found += hits.len();
            hits.clear();
            times.push(start.elapsed());
            read += scan.pages_read();
        }
        let (p50, p95) = percentiles(times);
        println!(
            "  d = {d:2}: p50 {p50:9.2?}, p95 {p95:9.2?}; {:.1} pages, {:.1} rows a search",
            read as f64 / queries as f64,
            found as f64 / queries as f64
        );
    }
    for (k, clustered) in [(1, false), (10, false), (10, true), (100, false)] {
        let (mut times, mut read, mut last) = (Vec::new(), 0, 0);
        for n in 0..200u32 {
            let mut query = fps[(rng.next() % fps.len() as u64) as usize] ^ 1 << (rng.next() % 64);
            if clustered {
                // A near-duplicate of ten rows, which are new.
                query = rng.next();
                for m in 0..10 {
                    let fp = (0..m % 4).fold(query, |x, _| x ^ 1 << (rng.next() % 64));
                    index.insert(pages, 0, fp, Tid::new(10_000_000 + n, m + 1))?;
                }
            }
            let start = Instant::now();
            let mut scan = NearestScan::new(index, query);
            hits.clear();
            while hits.len() < k && scan.next_batch(pages, k, &mut hits)? {}
            times.push(start.elapsed());
            read += scan.pages_read();
            last += hits[k - 1].distance;
        }
        let (p50, p95) = percentiles(times);
        println!(
            "  {k} nearest{}: p50 {p50:.2?}, p95 {p95:.2?}; {} pages, last at distance {:.1}",
            if clustered { " of a near-duplicate" } else { "" },
            read / 200,
            f64::from(last) / 200.0
        );
    }
    Ok(())
}

fn main() -> dedup_core::banding::Result<()> {
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    for n in if sizes.is_empty() { vec![1_000_000, 10_000_000] } else { sizes } {
        run(n)?;
    }
    Ok(())
}
