//! Fixed-size records, and sorting them in place.
//!
//! Most-significant-digit radix sort by bytes that permutes in place (American flag sort): the upper bytes
//! of fingerprints and hashes are as good as random, and a second copy of the data would halve what fits in
//! memory. Slices that fit in the cache are left to the standard comparison sort; skewed data recurses, at
//! most once per byte.

use super::error::Result;
use super::host::Host;
use super::threads;
use crate::interrupt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A record that orders as its numbers do: the lead, the high one, the low one. Not one `u128`, which would make
/// sorting half as slow again.
pub trait Record: Copy + Ord {
    /// Bytes of all numbers: those of the lead, 8 of the high one, up to 8 of the low one.
    const BYTES: usize;
    /// Bytes of the lead: 4, or 0 if it is always 0.
    const LEAD: usize = 0;

    /// The numbers.
    fn to_parts(self) -> (u32, u64, u64);

    /// The record of numbers that [`Record::to_parts`] gave.
    fn from_parts(lead: u32, high: u64, low: u64) -> Self;

    /// Byte `at` of the numbers, 0 being the most significant.
    #[inline]
    fn byte(&self, at: usize) -> usize {
        let (lead, high, low) = self.to_parts();
        if at < Self::LEAD {
            return (lead >> (8 * (Self::LEAD - 1 - at)) & 0xff) as usize;
        }
        let in_high = at - Self::LEAD;
        let shifted =
            if in_high < 8 { high >> (56 - 8 * in_high) } else { low >> (8 * (Self::BYTES - 1 - at)) };
        (shifted & 0xff) as usize
    }
}

impl Record for u64 {
    const BYTES: usize = 8;

    #[inline]
    fn to_parts(self) -> (u32, u64, u64) {
        (0, self, 0)
    }

    #[inline]
    fn from_parts(_: u32, high: u64, _: u64) -> u64 {
        high
    }
}

/// Three numbers, compared one after the other.
impl Record for [u32; 3] {
    const BYTES: usize = 12;

    #[inline]
    fn to_parts(self) -> (u32, u64, u64) {
        let [a, b, c] = self.map(u64::from);
        (0, a << 32 | b, c)
    }

    #[inline]
    fn from_parts(_: u32, high: u64, low: u64) -> Self {
        [(high >> 32) as u32, high as u32, low as u32]
    }
}

/// Appends the [`Record::BYTES`] bytes of a record to `into`.
#[inline]
pub(crate) fn encode<T: Record>(record: T, into: &mut Vec<u8>) {
    let (lead, high, low) = record.to_parts();
    into.extend_from_slice(&lead.to_le_bytes()[..T::LEAD]);
    into.extend_from_slice(&high.to_le_bytes());
    into.extend_from_slice(&low.to_le_bytes()[..T::BYTES - T::LEAD - 8]);
}

#[inline]
pub(crate) fn decode<T: Record>(bytes: &[u8]) -> T {
    let (lead, bytes) = bytes.split_at(T::LEAD);
    let (high, low) = bytes.split_at(8);
    let number = |bytes: &[u8]| {
        let mut number = [0; 8];
        number[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(number)
    };
    T::from_parts(number(lead) as u32, number(high), number(low))
}

/// Slices up to this length are sorted by comparison.
const SMALL: usize = 384;
/// Fewer records than this are not worth a thread.
const WORTH_THREADS: usize = 1 << 18;

/// The sort is not wanted any more.
struct Stopped;

type GoesOn = std::result::Result<(), Stopped>;

/// What is asked every few milliseconds whether a sort goes on.
type GoOn<'g> = &'g dyn Fn() -> GoesOn;

/// Sorts, with checks for interrupts.
pub(crate) fn sort<T: Record>(records: &mut [T]) {
    let _ = sort_from(records, 0, &checking);
}

fn checking() -> GoesOn {
    interrupt::check();
    Ok(())
}

/// Sorts on several threads: by the first byte on the caller's, the 256 parts on whichever is free.
pub(crate) fn sort_on_threads<T: Record + Send, H: Host>(
    records: &mut [T],
    threads: usize,
    host: &mut H,
) -> Result<()> {
    if threads < 2 || records.len() < WORTH_THREADS {
        sort(records);
        return Ok(());
    }
    let mut ends = count(records, 0);
    let _ = permute(records, 0, &mut ends, &checking);
    let (mut parts, mut rest, mut start) = (Vec::new(), records, 0);
    for end in ends {
        let part;
        (part, rest) = rest.split_at_mut(end - start);
        parts.push(part);
        start = end;
    }
    let parts = Mutex::new(parts);
    let stop = AtomicBool::new(false);
    let go_on = || if stop.load(Relaxed) { Err(Stopped) } else { Ok(()) };
    let work = || {
        loop {
            let part = parts.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(part) = part else { return };
            if go_on().and_then(|()| sort_from(part, 1, &go_on)).is_err() {
                return;
            }
        }
    };
    if threads::run((0..threads).map(|_| &work), &stop, host, threads::wait_for)?.is_none() {
        for part in parts.into_inner().unwrap_or_else(PoisonError::into_inner) {
            let _ = sort_from(part, 1, &checking);
        }
    }
    Ok(())
}

/// Sorts records whose first `at` bytes are equal.
fn sort_from<T: Record>(records: &mut [T], mut at: usize, go_on: GoOn<'_>) -> GoesOn {
    loop {
        if records.len() <= SMALL {
            records.sort_unstable();
            return Ok(());
        }
        if at == T::BYTES {
            return Ok(());
        }
        let mut ends = count(records, at);
        // All records share this byte: nothing to move.
        if ends.contains(&records.len()) {
            at += 1;
            continue;
        }
        permute(records, at, &mut ends, go_on)?;
        let mut start = 0;
        for end in ends {
            sort_from(&mut records[start..end], at + 1, go_on)?;
            start = end;
        }
        return Ok(());
    }
}

fn count<T: Record>(records: &[T], at: usize) -> [usize; 256] {
    let mut counts = [0; 256];
    records.iter().for_each(|record| counts[record.byte(at)] += 1);
    counts
}

/// Moves every record into the range of its byte `at`; turns counts into ends.
fn permute<T: Record>(records: &mut [T], at: usize, ends: &mut [usize; 256], go_on: GoOn<'_>) -> GoesOn {
    let mut next = [0; 256];
    let mut sum = 0;
    for (next, end) in next.iter_mut().zip(ends.iter_mut()) {
        *next = sum;
        sum += *end;
        *end = sum;
    }
    for own in 0..256 {
        // A part of a hundred million records still takes only some milliseconds.
        if records.len() > 1 << 16 {
            go_on()?;
        }
        while next[own] < ends[own] {
            let mut record = records[next[own]];
            // Follow the cycle until a record comes that belongs here.
            loop {
                let to = record.byte(at);
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
