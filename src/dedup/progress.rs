//! What a long run says on its way: every so many seconds how far it is, and
//! what each stage counted and took.

use pgrx::{check_for_interrupts, notice};
use std::time::{Duration, Instant};

pub(super) struct Progress {
    every: Option<Duration>,
    stage: &'static str,
    total: Option<usize>,
    steps: usize,
    started: Instant,
    said: Instant,
}

/// Steps between two looks at the clock.
const STRIDE: usize = 256;

impl Progress {
    pub(super) fn new(every: f64) -> Progress {
        let now = Instant::now();
        let every = (every > 0.0).then(|| Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX));
        Progress { every, stage: "", total: None, steps: 0, started: now, said: now }
    }

    /// A stage begins; `total`: its steps, if they are known.
    pub(super) fn stage(&mut self, stage: &'static str, total: Option<usize>) {
        let now = Instant::now();
        *self = Progress { stage, total, steps: 0, started: now, said: now, ..*self };
    }

    /// One step is done.
    pub(super) fn step(&mut self) {
        self.steps += 1;
        if !self.steps.is_multiple_of(STRIDE) {
            return;
        }
        check_for_interrupts!();
        let Some(every) = self.every else { return };
        if self.said.elapsed() >= every {
            self.said = Instant::now();
            let seconds = self.started.elapsed().as_secs_f64();
            let rate = self.steps as f64 / seconds;
            let left = self.total.map_or(String::new(), |total| {
                let share = 100.0 * self.steps as f64 / total as f64;
                format!(", {share:.0} % done, {:.0} s left", (total - self.steps) as f64 / rate)
            });
            notice!("dedup: {}: {} done, {rate:.0} a second{left}", self.stage, self.steps);
        }
    }

    /// The stage is over.
    pub(super) fn end(&mut self, counts: &str) {
        if self.every.is_some() {
            notice!("dedup: {}: {counts}, {:.1} s", self.stage, self.started.elapsed().as_secs_f64());
        }
    }
}
