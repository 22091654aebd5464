//! Interrupts: how a long computation lets its host end it.
//!
//! Every loop whose length follows the input calls [`check`] every so often,
//! at least every few milliseconds. The host sets one hook for the process;
//! it ends the computation by unwinding (a panic that it catches itself), so
//! a check stands only where nothing is left half done that outlives the
//! call, holds no lock, and never stands in a `Drop`.

use std::cmp::Ordering;
use std::sync::OnceLock;

static HOOK: OnceLock<fn()> = OnceLock::new();

/// Sets what [`check`] calls, on whatever thread it is called. The first hook
/// stays; without one a check does nothing.
pub fn set_hook(hook: fn()) {
    let _ = HOOK.set(hook);
}

/// Lets the host end the computation. Costs about two nanoseconds.
#[inline]
pub fn check() {
    if let Some(hook) = HOOK.get() {
        hook();
    }
}

/// Counts work that is too little for a [`check`] each time.
#[derive(Debug, Default, Clone)]
pub struct Meter(usize);

impl Meter {
    /// So many units, of some nanoseconds each, are one check.
    const INTERVAL: usize = 1 << 12;

    /// No work done yet.
    pub fn new() -> Meter {
        Meter::default()
    }

    /// `units` of work are about to be done.
    #[inline]
    pub fn work(&mut self, units: usize) {
        self.0 += units;
        if self.0 >= Self::INTERVAL {
            self.0 = 0;
            check();
        }
    }
}

/// `items`, with a check every so many of them.
#[inline]
pub fn checked<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut meter = Meter::new();
    items.into_iter().inspect(move |_| meter.work(1))
}

/// A shorter list is sorted without a check.
const SHORT: usize = 1 << 14;

/// Sorts as `sort_unstable_by` of slices does.
pub fn sort_unstable_by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    if list.len() <= SHORT {
        return list.sort_unstable_by(compare);
    }
    let mut meter = Meter::new();
    list.sort_unstable_by(|x, y| {
        meter.work(1);
        compare(x, y)
    });
}

/// Makes a list the set of its elements, in ascending order.
pub fn sort_and_dedup<T: Ord>(list: &mut Vec<T>) {
    sort_unstable_by(list, T::cmp);
    let mut meter = Meter::new();
    list.dedup_by(|x, y| {
        meter.work(1);
        x == y
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    thread_local! {
        /// Checks that are let through on this thread before one unwinds.
        static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
    }

    /// Other tests of this process have the hook too, and must not notice.
    fn hook() {
        let Some(left) = LEFT.get() else { return };
        LEFT.set(left.checked_sub(1));
        if left == 0 {
            std::panic::resume_unwind(Box::new("interrupted"));
        }
    }

    /// Whether `work` was ended by the check after `left` others.
    fn ends(left: usize, work: impl FnOnce()) -> bool {
        set_hook(hook);
        LEFT.set(Some(left));
        let ended = catch_unwind(AssertUnwindSafe(work)).is_err();
        LEFT.set(None);
        ended
    }

    #[test]
    fn a_meter_checks_every_so_often() {
        let mut meter = Meter::new();
        assert!(!ends(0, || (1..Meter::INTERVAL).for_each(|_| meter.work(1))));
        assert!(ends(0, || meter.work(1)));
        assert!(ends(2, || checked(0..3 * Meter::INTERVAL).for_each(drop)));
        assert!(!ends(3, || checked(0..3 * Meter::INTERVAL).for_each(drop)));
    }

    #[test]
    fn a_sort_can_be_ended_and_is_a_sort() {
        let numbers = |count: u64| (0..count).map(crate::hash::mix64).collect::<Vec<u64>>();
        assert!(ends(9, || sort_and_dedup(&mut numbers(100_000))));
        for count in [0, 1, 100, 100_000] {
            let (mut sorted, mut expected) = (numbers(count), numbers(count));
            sorted.extend(numbers(count / 2));
            sort_and_dedup(&mut sorted);
            expected.sort_unstable();
            assert_eq!(sorted, expected);
        }
    }
}
