//! Interrupts: how the host ends a long computation.
//!
//! Every loop whose length depends on the input calls [`check`] at least every few milliseconds. The host sets
//! one hook for the process, which ends the computation by a panic that the host itself catches. So a check must
//! not be called while a lock is held, in a `Drop`, or where something that outlives the call is half done.

use std::cmp::Ordering;
use std::sync::OnceLock;

static HOOK: OnceLock<fn()> = OnceLock::new();

/// Sets the function that [`check`] calls, on any thread. Only the first call has an effect; without a hook a
/// check does nothing.
pub fn set_hook(hook: fn()) {
    let _ = HOOK.set(hook);
}

/// Calls the host's hook, which may unwind. Costs about two nanoseconds.
#[inline]
pub fn check() {
    if let Some(hook) = HOOK.get() {
        hook();
    }
}

/// Counts steps that are too small for a [`check`] each.
#[derive(Debug, Default, Clone)]
pub struct Meter(usize);

impl Meter {
    /// Units of work, of some nanoseconds each, per check.
    const INTERVAL: usize = 1 << 12;

    /// No work done yet.
    pub fn new() -> Meter {
        Meter::default()
    }

    /// Counts `units` of work, of some nanoseconds each, and checks if it is time to.
    #[inline]
    pub fn work(&mut self, units: usize) {
        self.0 += units;
        if self.0 >= Self::INTERVAL {
            self.0 = 0;
            check();
        }
    }
}

/// `items`, with regular checks.
#[inline]
pub fn checked<I: IntoIterator>(items: I) -> impl Iterator<Item = I::Item> {
    let mut meter = Meter::new();
    items.into_iter().inspect(move |_| meter.work(1))
}

/// Up to this length a list is sorted without a check.
const SHORT: usize = 1 << 14;

/// Sorts as `sort_unstable_by` of slices does, with checks.
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

/// Turns a list into the set of its elements, in ascending order.
pub fn sort_and_dedup<T: Ord>(list: &mut Vec<T>) {
    sort_unstable_by(list, T::cmp);
    let mut meter = Meter::new();
    list.dedup_by(|x, y| {
        meter.work(1);
        x == y
    });
}
