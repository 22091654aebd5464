//! Data and straightforward references for the tests of `cluster`.
#![allow(dead_code)]

use dedup_core::cluster::Pair;
use dedup_core::signature::hamming;

/// How fingerprints are distributed.
#[derive(Debug, Clone, Copy)]
pub enum Data {
    /// 70 % random, 30 % copies with 0 to 3 flipped bits.
    Uniform,
    /// Half of the rows share a block, and the last byte is constant.
    Skewed,
    /// A few fingerprints very often, and copies of those.
    Duplicates,
}

impl Data {
    pub const ALL: [Data; 3] = [Data::Uniform, Data::Skewed, Data::Duplicates];
}

/// A small generator of numbers, the same everywhere.
pub struct Numbers(u64);

impl Numbers {
    pub fn new(seed: u64) -> Numbers {
        Numbers(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    fn flip(&mut self, fp: u64, most: u64) -> u64 {
        (0..self.below(most + 1)).fold(fp, |fp, _| fp ^ 1 << self.below(64))
    }
}

/// `count` fingerprints of a kind.
pub fn fingerprints(data: Data, count: usize, seed: u64) -> Vec<u64> {
    let mut numbers = Numbers(seed);
    let mut fps: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count as u64 {
        let copied = i > 0 && numbers.below(10) < 3;
        let fp = match data {
            Data::Uniform | Data::Skewed if copied => {
                let of = fps[numbers.below(i) as usize];
                numbers.flip(of, 3)
            }
            Data::Uniform => numbers.next(),
            Data::Skewed if numbers.below(2) == 0 => numbers.next() & !0xff | 7,
            Data::Skewed => numbers.next() & 0x0000_ffff_ffff_ff00 | 0xbeef << 48 | 7,
            Data::Duplicates if copied || i < 200 => numbers.next(),
            Data::Duplicates => {
                let of = fps[numbers.below(200) as usize];
                if numbers.below(4) == 0 { numbers.flip(of, 8) } else { of }
            }
        };
        fps.push(fp);
    }
    fps
}

/// All pairs, by comparing all with all.
pub fn brute_pairs(fps: &[u64], distance: u32) -> Vec<Pair> {
    let mut found = Vec::new();
    for (a, &one) in fps.iter().enumerate() {
        for (b, &other) in fps.iter().enumerate().skip(a + 1) {
            if hamming(one, other) <= distance {
                found.push(Pair { a: a as i64, b: b as i64, distance: hamming(one, other) });
            }
        }
    }
    found
}
