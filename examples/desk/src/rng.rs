//! A small random number generator that never changes, so that the same options give the same desk on every machine and
//! with every release; `rand` and `fastrand` promise no such thing.

/// SplitMix64 (Steele, Lea and Flood): one 64-bit word of state.
#[derive(Clone, Debug)]
pub struct Rng(u64);

const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Rng {
    /// The generator of one purpose (`stream`) of one row or cluster (`number`).
    pub fn new(seed: u64, stream: u64, number: u64) -> Self {
        let a = mix(seed.wrapping_add(GOLDEN));
        let b = mix(a ^ stream.wrapping_mul(0xD1B5_4A32_D192_ED03));
        Rng(mix(b.wrapping_add(number.wrapping_mul(GOLDEN))))
    }

    /// The generator that goes on from this state.
    pub fn from_state(state: u64) -> Self {
        Rng(state)
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        mix(self.0)
    }

    /// A number in `0..n`; `n` must not be 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.next_u64()) * n as u128) >> 64) as usize
    }

    /// A number in `lo..=hi`.
    pub fn between(&mut self, lo: u64, hi: u64) -> u64 {
        lo + self.below((hi - lo + 1) as usize) as u64
    }

    /// A number in `[0, 1)`.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with probability `p`.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// One element of `items`, which must not be empty.
    pub fn pick<'a, T: ?Sized>(&mut self, items: &'a [&'a T]) -> &'a T {
        items[self.below(items.len())]
    }

    /// Puts `items` in a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Rng;

    #[test]
    fn output_is_stable_for_ever() {
        let mut r = Rng::new(1, 2, 3);
        let first: Vec<u64> = (0..3).map(|_| r.below(1_000_000) as u64).collect();
        assert_eq!(first, STABLE);
        assert_ne!(Rng::new(1, 2, 3).next_u64(), Rng::new(1, 3, 2).next_u64());
    }

    const STABLE: [u64; 3] = [361719, 27128, 656401];

    #[test]
    fn below_reaches_every_value() {
        let mut r = Rng::new(7, 0, 0);
        let mut seen = [0u32; 6];
        for _ in 0..6000 {
            seen[r.below(6)] += 1;
        }
        assert!(seen.iter().all(|&n| (800..1200).contains(&n)), "{seen:?}");
    }
}
