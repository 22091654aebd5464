//! Notices on the progress of a long run: how far it is, and at the end of each stage its counts and time.

use super::settings::progress_interval;
use dedup_core::interrupt;
use pgrx::notice;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The progress of one run. It can be shared: all methods take `&self`.
pub(crate) struct Progress {
    /// The function that runs.
    who: &'static str,
    every: Option<Duration>,
    started: Instant,
    stage: Cell<Stage>,
    said: Cell<Instant>,
}

#[derive(Clone, Copy)]
struct Stage {
    name: &'static str,
    /// The noun for its steps, in the plural.
    unit: &'static str,
    steps: u64,
    /// All steps, if they are known.
    total: Option<u64>,
    /// The share done, from 0 to 1, if it is not known by counting steps.
    share: Option<f64>,
    started: Instant,
}

impl Progress {
    /// Emits a notice whenever as much time has passed as the session says.
    pub(crate) fn new(who: &'static str) -> Progress {
        let every = progress_interval();
        let now = Instant::now();
        let stage = Stage { name: "", unit: "", steps: 0, total: None, share: None, started: now };
        Progress { who, every, started: now, stage: Cell::new(stage), said: Cell::new(now) }
    }

    /// Begins a stage of `total` steps, if their number is known.
    pub(crate) fn stage(&self, name: &'static str, unit: &'static str, total: Option<u64>) {
        let started = Instant::now();
        self.stage.set(Stage { name, unit, steps: 0, total, share: None, started });
        self.said.set(started);
    }

    pub(crate) fn step(&self) {
        let mut stage = self.stage.get();
        stage.steps += 1;
        self.stage.set(stage);
        // Reading the clock costs more than a small step.
        if stage.steps.is_multiple_of(16) {
            self.tick();
        }
    }

    /// Sets the share of the stage that is done, from 0 to 1.
    pub(crate) fn share(&self, share: f64) {
        self.stage.set(Stage { share: Some(share), ..self.stage.get() });
        self.tick();
    }

    /// Checks for interrupts, and emits a notice if one is due.
    fn tick(&self) {
        interrupt::check();
        if self.every.is_some_and(|every| self.said.get().elapsed() >= every) {
            self.said.set(Instant::now());
            notice!("{}: {}", self.who, self.stage.get().so_far());
        }
    }

    /// Ends the stage, with a notice if the run has lasted that long.
    pub(crate) fn end(&self, counts: &str) {
        if self.every.is_some_and(|every| self.started.elapsed() >= every) {
            let stage = self.stage.get();
            notice!("{}: {}: {counts}, {:.1} s", self.who, stage.name, stage.started.elapsed().as_secs_f64());
        }
    }
}

impl Stage {
    fn so_far(&self) -> String {
        let Stage { name, unit, steps, total, share, started } = *self;
        let seconds = started.elapsed().as_secs_f64();
        let share = share.or(total.map(|total| steps as f64 / total.max(1) as f64));
        let mut said = format!("{name}: ");
        if let Some(share) = share {
            said += &format!("{:.0} % done, ", 100.0 * share);
            // What has just begun may take as long as all the rest, as one bucket of many like rows does.
            if share >= 0.01 {
                said += &format!("{:.0} s left, ", (seconds / share - seconds).max(0.0));
            }
        }
        said + &format!("{steps} {unit}, {:.0} a second", steps as f64 / seconds.max(1e-3))
    }
}
