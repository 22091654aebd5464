//! What a long run says on its way: every so many seconds how far it is, and
//! what each stage counted and took.

use dedup_core::interrupt;
use pgrx::notice;
use std::cell::Cell;
use std::time::{Duration, Instant};

/// The notices of one run. Whatever is being done may look at it.
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
    /// What its steps are.
    unit: &'static str,
    steps: u64,
    /// All steps, if they are known.
    total: Option<u64>,
    /// How far it is, if that is known otherwise than by steps.
    share: Option<f64>,
    started: Instant,
}

impl Progress {
    /// Says something every so many seconds; 0: nothing at all.
    pub(crate) fn new(who: &'static str, every: f64) -> Progress {
        let now = Instant::now();
        let every = (every > 0.0).then(|| Duration::try_from_secs_f64(every).unwrap_or(Duration::MAX));
        let stage = Stage { name: "", unit: "", steps: 0, total: None, share: None, started: now };
        Progress { who, every, started: now, stage: Cell::new(stage), said: Cell::new(now) }
    }

    /// A stage begins; `total`: its steps, if they are known.
    pub(crate) fn stage(&self, name: &'static str, unit: &'static str, total: Option<u64>) {
        let started = Instant::now();
        self.stage.set(Stage { name, unit, steps: 0, total, share: None, started });
        self.said.set(started);
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        let mut stage = self.stage.get();
        stage.steps += 1;
        self.stage.set(stage);
        // The clock costs more than a step that does little.
        if stage.steps.is_multiple_of(16) {
            self.tick();
        }
    }

    /// How far the stage is, from 0 to 1.
    pub(crate) fn share(&self, share: f64) {
        self.stage.set(Stage { share: Some(share), ..self.stage.get() });
    }

    /// Gives an interrupt its chance, and says how far the stage is if it is time to.
    pub(crate) fn tick(&self) {
        interrupt::check();
        if self.every.is_some_and(|every| self.said.get().elapsed() >= every) {
            self.said.set(Instant::now());
            notice!("{}: {}", self.who, self.stage.get().so_far());
        }
    }

    /// The stage is over, which is told of a run that takes long.
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
            if share > 0.0 {
                said += &format!("{:.0} s left, ", (seconds / share - seconds).max(0.0));
            }
        }
        said + &format!("{steps} {unit}, {:.0} a second", steps as f64 / seconds.max(1e-3))
    }
}
