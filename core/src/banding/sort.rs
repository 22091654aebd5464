//! Sorting entries in place.
//!
//! No locking and no WAL here. Most-significant-digit radix sort by bytes, permuting in place
//! (American flag), since keys are as good as random in their upper bytes and a second copy of the data
//! would halve what fits in memory. What is small enough for the cache is left to the standard
//! comparison sort; what is skewed simply recurses, at most once a byte of key and tid.

use super::error::Result;
use super::key::Position;

/// Slices up to this length are sorted by comparison.
const SMALL: usize = 384;
/// Bytes of (key, tid).
const DIGITS: u32 = 14;

#[inline]
fn digit(p: &Position, d: u32) -> usize {
    let byte = if d < 8 { p.key >> (56 - 8 * d) } else { p.tid.bits() >> (40 - 8 * (d - 8)) };
    (byte & 0xff) as usize
}

/// Sorts by (key, tid). `check` is called every few milliseconds; its error ends the work.
pub(crate) fn sort(records: &mut [Position], check: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    sort_from(records, 0, check)
}

fn sort_from(records: &mut [Position], mut d: u32, check: &mut dyn FnMut() -> Result<()>) -> Result<()> {
    loop {
        if records.len() <= SMALL {
            records.sort_unstable();
            return Ok(());
        }
        if d == DIGITS {
            return Ok(());
        }
        let mut ends = [0usize; 256];
        for r in records.iter() {
            ends[digit(r, d)] += 1;
        }
        // A digit that all share: nothing to move.
        if ends.contains(&records.len()) {
            d += 1;
            continue;
        }
        if records.len() > 1 << 16 {
            check()?;
        }
        permute(records, d, &mut ends);
        let mut start = 0;
        for end in ends {
            sort_from(&mut records[start..end], d + 1, check)?;
            start = end;
        }
        return Ok(());
    }
}

/// Moves every record into its digit's range; turns counts into ends.
fn permute(records: &mut [Position], d: u32, ends: &mut [usize; 256]) {
    let mut next = [0usize; 256];
    let mut sum = 0;
    for (next, end) in next.iter_mut().zip(ends.iter_mut()) {
        *next = sum;
        sum += *end;
        *end = sum;
    }
    for own in 0..256 {
        while next[own] < ends[own] {
            let mut record = records[next[own]];
            // Follow the cycle until one comes that belongs here.
            loop {
                let to = digit(&record, d);
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
