//! Which buckets a search must read.
//!
//! The generalised pigeonhole principle: if the radii of the four blocks satisfy sum(r_i + 1) = d + 1, with
//! r_i = -1 for a block that is not probed, then two fingerprints within distance d differ in at most r_i bits
//! in at least one block i. (Otherwise they would differ in at least r_i + 1 bits in every block, d + 1 in all.)
//! Probing, for each block, the ball of radius r_i around the query's bucket therefore finds every row within d.

use super::key::BLOCKS;

/// Bits of a fingerprint: the largest distance.
pub const MAX_DISTANCE: u32 = 64;

/// The radius of each block; -1 = not probed.
pub(crate) type Radii = [i32; BLOCKS];

/// The radii of the blocks for a search within `distance`, -1 for a block that is not probed: as even as
/// possible, the larger ones first. Distances above 64 are clamped to 64.
pub fn radii(distance: u32) -> [i32; BLOCKS] {
    std::array::from_fn(|i| radius(distance.min(MAX_DISTANCE), i, BLOCKS))
}

/// The radius of the `i`-th of `n` blocks, or of `n` parts of a longer fingerprint.
pub(crate) fn radius(distance: u32, i: usize, n: usize) -> i32 {
    (distance as i32 - i as i32 + n as i32).div_euclid(n as i32) - 1
}

/// The widest radius of a part with which it is searched.
const WIDEST: i32 = 16;

/// Whether the parts of a fingerprint are searched, rather than read.
pub(crate) fn is_narrow(parts: usize, distance: u32) -> bool {
    radius(distance, 0, parts) <= WIDEST
}

/// The number of buckets that differ from a given one in `lo` to `hi` of 16 bits.
pub fn buckets_within(lo: i32, hi: i32) -> u32 {
    ball_size(16, hi) - ball_size(16, lo - 1)
}

/// The number of values of `width` bits with at most `radius` ones; none for a negative one.
pub(crate) fn ball_size(width: u32, radius: i32) -> u32 {
    let (mut binomial, mut sum) = (1, 0);
    for ones in 0..=radius.min(width as i32) as i64 {
        sum += binomial;
        binomial = binomial * (i64::from(width) - ones) / (ones + 1);
    }
    sum as u32
}

/// The number of buckets that a search within `distance` probes: 4 for 3, 68 for 7, 428 for 10.
pub fn probes(distance: u32) -> u32 {
    radii(distance).iter().map(|r| buckets_within(0, *r)).sum()
}

/// A shell of buckets around a center: those that differ from it in `lo` to `hi` bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shell {
    pub center: u16,
    pub lo: u32,
    pub hi: u32,
}

impl Shell {
    /// The least bucket of the shell that is not below `from`. Stateless, so that a search can stop
    /// and resume with nothing but its mark, and skip what a leaf that it has read covers.
    pub(crate) fn next(&self, from: u16) -> Option<u16> {
        let differences = |v: u16| (v ^ self.center).count_ones();
        if (self.lo..=self.hi).contains(&differences(from)) {
            return Some(from);
        }
        // A greater value shares a prefix with `from`, has a 1 where `from` has its first 0 after that,
        // and is free below: the longest prefix that leaves the shell in reach is the least value.
        for bit in 0..16u32 {
            if from >> bit & 1 == 1 {
                continue;
            }
            let top = (from | 1 << bit) >> bit << bit;
            let fixed = differences(top & (u16::MAX << bit) | self.center & !(u16::MAX << bit));
            if fixed <= self.hi && fixed + bit >= self.lo {
                return Some(self.least_below(top, bit, fixed));
            }
        }
        None
    }

    /// The least value of the shell that agrees with `top` above its low `free` bits, with `fixed`
    /// differences there; one exists.
    fn least_below(&self, top: u16, free: u32, mut fixed: u32) -> u16 {
        let mut value = top;
        for bit in (0..free).rev() {
            let center = self.center >> bit & 1;
            // A zero if the rest can still meet the bounds, else a one.
            let with_zero = fixed + u32::from(center);
            if with_zero <= self.hi && with_zero + bit >= self.lo {
                fixed = with_zero;
            } else {
                value |= 1 << bit;
                fixed += u32::from(center ^ 1);
            }
        }
        value
    }
}

/// Leaves that a search of `buckets` of 65536 reads in a tree of `leaves`: with many buckets per leaf, several
/// share one; with many leaves per bucket, each has its own.
pub(crate) fn leaves_read(leaves: f64, buckets: u32) -> f64 {
    let share = f64::from(buckets) / 65536.0;
    let buckets_per_leaf = 65536.0 / leaves.max(1.0);
    if buckets == 0 {
        0.0
    } else if buckets_per_leaf <= 1.0 {
        (share * leaves + f64::from(buckets)).min(leaves)
    } else {
        // A bucket that straddles two leaves has both read, hence the 1.
        leaves * (1.0 - (1.0 - share).max(0.0).powf(buckets_per_leaf + 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Protects the enumeration of probes against skipping a bucket.
    #[test]
    fn banding_shells_are_enumerated_completely_in_order() {
        for center in [0, u16::MAX, 0xa5c3, 0x0100] {
            for (lo, hi) in [(0, 0), (0, 1), (0, 2), (2, 2), (3, 3), (0, 16), (16, 16), (9, 11), (0, 5)] {
                let shell = Shell { center, lo, hi };
                let mut next = u32::from(u16::MAX) + 1;
                for from in (0..=u16::MAX).rev() {
                    if (lo..=hi).contains(&(from ^ center).count_ones()) {
                        next = from.into();
                    }
                    assert_eq!(shell.next(from).map_or(65536, u32::from), next, "{shell:?} from {from}");
                }
            }
        }
    }
}
