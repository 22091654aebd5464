//! Sorting entries in place.
//!
//! No locking and no WAL here. Most-significant-digit radix sort by bytes, permuting in place
//! (American flag), since keys are as good as random in their upper bytes and a second copy of the data
//! would halve what fits in memory. What is small enough for the cache is left to the standard
//! comparison sort; what is skewed simply recurses, at most once a byte of key and tid.

use super::error::Result;
use super::key::Position;

/// What is sorted by its bytes, which must order as `Ord` does.
pub(crate) trait Bytes: Copy + Ord {
    /// How many bytes.
    const DIGITS: u32;

    /// Byte `d`, 0 the most significant.
    fn digit(&self, d: u32) -> usize;
}

/// Slices up to this length are sorted by comparison.
const SMALL: usize = 384;

/// The bytes of (key, tid).
impl Bytes for Position {
    const DIGITS: u32 = 14;

    #[inline]
    fn digit(&self, d: u32) -> usize {
        let byte = if d < 8 { self.key >> (56 - 8 * d) } else { self.tid.bits() >> (40 - 8 * (d - 8)) };
        (byte & 0xff) as usize
    }
}

/// Sorts. `check` is called every few milliseconds; its error ends the work.
pub(crate) fn sort<T: Bytes>(records: &mut [T], check: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    sort_from(records, 0, check)
}

/// Sorts records whose first `d` bytes are equal.
pub(crate) fn sort_from<T: Bytes>(
    records: &mut [T],
    mut d: u32,
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    loop {
        if records.len() <= SMALL {
            records.sort_unstable();
            return Ok(());
        }
        if d == T::DIGITS {
            return Ok(());
        }
        let mut ends = count(records, d);
        // A digit that all share: nothing to move.
        if ends.contains(&records.len()) {
            d += 1;
            continue;
        }
        permute(records, d, &mut ends, check)?;
        let mut start = 0;
        for end in ends {
            sort_from(&mut records[start..end], d + 1, check)?;
            start = end;
        }
        return Ok(());
    }
}

/// How many records have each value of byte `d`.
pub(crate) fn count<T: Bytes>(records: &[T], d: u32) -> [usize; 256] {
    let mut counts = [0usize; 256];
    for record in records {
        counts[record.digit(d)] += 1;
    }
    counts
}

/// Moves every record into its digit's range; turns counts into ends.
pub(crate) fn permute<T: Bytes>(
    records: &mut [T],
    d: u32,
    ends: &mut [usize; 256],
    check: &mut dyn FnMut() -> Result<()>,
) -> Result<()> {
    let mut next = [0usize; 256];
    let mut sum = 0;
    for (next, end) in next.iter_mut().zip(ends.iter_mut()) {
        *next = sum;
        sum += *end;
        *end = sum;
    }
    for own in 0..256 {
        // 256 times a large slice, so that a hundred million are no long wait.
        if records.len() > 1 << 16 {
            check()?;
        }
        while next[own] < ends[own] {
            let mut record = records[next[own]];
            // Follow the cycle until one comes that belongs here.
            loop {
                let to = record.digit(d);
                if to == own {
                    break;
                }
                std::mem::swap(&mut record, &mut records[next[to]]);
                next[to] += 1;
            }
            records[next[own]] = record;
            next[own] += 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::banding::key::Tid;

    /// Protects the order that packing relies on, for random and for degenerate input.
    #[test]
    fn banding_sort_orders_any_input() {
        let mut x = 1u64;
        for mask in [u64::MAX, 0, 0xff, 0xffff << 40, 1 << 63 | 1] {
            let mut records: Vec<Position> = (0..20_000)
                .map(|_| {
                    x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    Position {
                        key: (x ^ x >> 29) & mask,
                        tid: Tid::from_bits(x.rotate_left(20) & 0xff00_ffff),
                    }
                })
                .collect();
            let mut expected = records.clone();
            expected.sort();
            sort(&mut records, &mut || Ok(())).unwrap();
            assert_eq!(records, expected);
        }
    }
}
