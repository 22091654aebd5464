//! What the tests share: reproducible random numbers, interrupts, data and brute-force answers.
#![allow(dead_code, missing_docs, reason = "no test uses all of it")]

pub mod banding;
pub mod groups;
pub mod memory;
pub mod watched;

use dedup_core::random::SplitMix64;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Random numbers of a seed, so that a failure can be repeated.
pub struct Rng(SplitMix64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(SplitMix64::new(seed))
    }

    pub fn next(&mut self) -> u64 {
        self.0.next()
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }

    /// `x` with `n` random bits flipped (fewer if it hits one twice).
    pub fn flip(&mut self, x: u64, n: u64) -> u64 {
        (0..n).fold(x, |x, _| x ^ 1 << self.below(64))
    }
}

thread_local! {
    /// Checks for interrupts that pass on this thread before one unwinds; `None`: all of them.
    static LEFT: Cell<Option<usize>> = const { Cell::new(None) };
}

fn hook() {
    let Some(left) = LEFT.get() else { return };
    LEFT.set(left.checked_sub(1));
    if left == 0 {
        std::panic::resume_unwind(Box::new("interrupted"));
    }
}

/// Runs `work`, whose check for interrupts after `passed` others unwinds. Whether it was interrupted, and the
/// checks that passed.
pub fn interrupted_after(passed: usize, work: impl FnOnce()) -> (bool, usize) {
    dedup_core::interrupt::set_hook(hook);
    LEFT.set(Some(passed));
    let interrupted = catch_unwind(AssertUnwindSafe(work)).is_err();
    (interrupted, passed - LEFT.take().unwrap_or(0))
}
