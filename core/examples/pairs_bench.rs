//! Times all pairs and Single-Pass in memory, without a server:
//! `pairs_bench [millions] [distance] [threads] [memory in MiB]`.

use dedup_core::external::MemoryHost;
use dedup_core::groups::{Pairs, Settings};
use dedup_core::random::SplitMix64;
use dedup_detectors::single_pass::SinglePass;
use std::time::Instant;

fn main() {
    let number = |at: usize, default: usize| {
        std::env::args().nth(at).and_then(|arg| arg.parse().ok()).unwrap_or(default)
    };
    let (rows, distance, threads) = (number(1, 1) * 1_000_000, number(2, 3) as u32, number(3, 2));
    let memory = number(4, 4096) << 20;
    let mut random = SplitMix64::new(1);
    // 70 % random, 30 % copies with 0 to 3 flipped bits.
    let mut fps: Vec<u64> = Vec::with_capacity(rows);
    for i in 0..rows as u64 {
        let fp = random.next();
        fps.push(if i == 0 || fp % 10 < 7 {
            fp
        } else {
            (0..random.next() % 4)
                .fold(fps[(random.next() % i) as usize], |fp, _| fp ^ 1 << (random.next() % 64))
        });
    }
    let mut host = MemoryHost;
    let start = Instant::now();
    let mut pairs = Pairs::new(Settings { distance, memory, threads });
    for (i, &fp) in fps.iter().enumerate() {
        pairs.add(i as i64, fp, &mut host).expect("memory");
    }
    let mut found = 0u64;
    pairs
        .finish(&mut host, |_, _| {
            found += 1;
            Ok(())
        })
        .expect("memory");
    println!("pairs: {rows} rows within {distance}, {threads} threads: {found} in {:.2?}", start.elapsed());
    let start = Instant::now();
    let mut clusters = SinglePass::new(distance);
    let centers = fps.iter().enumerate().filter(|&(i, &fp)| clusters.assign(fp).row as usize == i).count();
    println!("single-pass: {rows} rows within {distance}: {centers} centers in {:.2?}", start.elapsed());
}
