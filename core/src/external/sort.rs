//! Fixed-size records, and sorting them in place: a second copy of the data would halve what fits in memory.

use super::host::{Host, Result};
use super::threads;
use crate::interrupt::{self, sort_unstable_by};
use std::cmp::Ordering;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// A record that is written as its numbers: the lead, the high one, the low one.
pub trait Record: Copy + Ord {
    /// Bytes of all numbers: those of the lead, 8 of the high one, up to 8 of the low one.
    const BYTES: usize;
    /// Bytes of the lead: 4, or 0 if it is always 0.
    const LEAD: usize = 0;

    /// The numbers.
    fn to_parts(self) -> (u32, u64, u64);

    /// The record of numbers that [`Record::to_parts`] gave.
    fn from_parts(lead: u32, high: u64, low: u64) -> Self;
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

/// Fewer records than this are not worth a thread.
const WORTH_THREADS: usize = 1 << 18;

/// Sorts, with checks for interrupts.
pub(crate) fn sort<T: Record>(records: &mut [T]) {
    sort_unstable_by(records, T::cmp);
}

/// Sorts on several threads: halved on the caller's until there is a part for each.
pub(crate) fn sort_on_threads<T: Record + Send, H: Host>(
    records: &mut [T],
    threads: usize,
    host: &mut H,
) -> Result<()> {
    if threads < 2 || records.len() < WORTH_THREADS {
        sort(records);
        return Ok(());
    }
    let mut parts = vec![records];
    while parts.len() < threads {
        let halves = parts.into_iter().flat_map(|part| {
            let middle = part.len() / 2;
            part.select_nth_unstable_by(middle, checked(interrupt::check));
            <[_; 2]>::from(part.split_at_mut(middle))
        });
        parts = halves.collect();
    }
    let parts = Mutex::new(parts);
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let stop = AtomicBool::new(false);
    // Unwinds as the caller does, who is the only one to stop this.
    let go_on = || {
        if stop.load(Relaxed) {
            resume_unwind(Box::new("stopped"))
        }
    };
    let work = || {
        while let Some(part) = next() {
            part.sort_unstable_by(checked(go_on))
        }
    };
    if threads::run((0..threads).map(|_| &work), &stop, host, threads::wait_for)?.is_none() {
        std::iter::from_fn(next).for_each(sort);
    }
    Ok(())
}

/// Compares records, with regular calls of `check`.
fn checked<T: Record>(check: impl Fn()) -> impl FnMut(&T, &T) -> Ordering {
    let mut compared = 0;
    move |a, b| {
        compared += 1;
        if compared % (1 << 12) == 0 {
            check();
        }
        a.cmp(b)
    }
}
