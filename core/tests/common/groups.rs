//! Data and straightforward references for the tests of `cluster`.

use super::Rng;
use dedup_core::fingerprint::hamming;
use dedup_core::groups::Pair;

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

/// `count` fingerprints of a kind.
pub fn fingerprints(data: Data, count: usize, seed: u64) -> Vec<u64> {
    let mut rng = Rng::new(seed);
    // Up to so many flipped bits.
    let flip = |rng: &mut Rng, fp, most: u64| {
        let bits = rng.below(most + 1);
        rng.flip(fp, bits)
    };
    let mut fps: Vec<u64> = Vec::with_capacity(count);
    for i in 0..count as u64 {
        let copied = i > 0 && rng.below(10) < 3;
        let fp = match data {
            Data::Uniform | Data::Skewed if copied => {
                let of = fps[rng.below(i) as usize];
                flip(&mut rng, of, 3)
            }
            Data::Uniform => rng.next(),
            Data::Skewed if rng.below(2) == 0 => rng.next() & !0xff | 7,
            Data::Skewed => rng.next() & 0x0000_ffff_ffff_ff00 | 0xbeef << 48 | 7,
            Data::Duplicates if copied || i < 200 => rng.next(),
            Data::Duplicates => {
                let of = fps[rng.below(200) as usize];
                if rng.below(4) == 0 { flip(&mut rng, of, 8) } else { of }
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
