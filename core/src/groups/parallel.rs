//! A join on several threads. They compute; only the caller's thread calls the host and takes the hits.

use super::blocking::{Blocking, ball};
use super::join::{Deliver, Hit, Joiner, Side, Split, Stop, varying};
use super::pairs::Span;
use crate::external::{self, Error, Host, Phase, Result};
use crate::interrupt;
use crate::memory;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

/// Fewer rows than this are not worth a thread.
const WORTH_IT: usize = 1 << 14;
/// Buckets or rows that a thread processes at a time.
const STRIDE: usize = 64;

/// A join of distinct fingerprints with others, or with themselves.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub left: &'a [u64],
    pub right: Option<&'a [u64]>,
    pub distance: u32,
    pub threads: usize,
    /// Its part of the whole work.
    pub span: Span,
}

/// Does a stretch of the work (from, to) and delivers the hits.
type Work<'w> = dyn Fn(usize, usize, &mut dyn Deliver) -> std::result::Result<(), Stop> + Sync + 'w;

/// The consumer's verdict on a batch of hits: true to continue, false to stop.
pub(super) type Take<'t, H> = &'t mut dyn FnMut(&mut H, &[Hit]) -> Result<bool>;

impl Task<'_> {
    /// A blocking that suits the task.
    pub fn cut(&self) -> Option<Blocking> {
        let right = self.right.unwrap_or(self.left);
        Blocking::choose(varying(self.left, right), self.distance, self.left.len(), right.len())
    }

    /// Finds all pairs; false if `take` stopped it.
    pub fn run<H: Host>(&self, host: &mut H, take: Take<'_, H>) -> Result<bool> {
        let Some(cut) = self.cut() else { return self.run_all(host, take) };
        for (block, span) in cut.spans().iter().enumerate() {
            let span = Span { from: self.span.at(span.from), to: self.span.at(span.to) };
            if !(Task { span, ..*self }).run_block(&cut, block, host, take)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Finds the pairs whose first block is `block`.
    pub fn run_block<H: Host>(
        &self,
        cut: &Blocking,
        block: usize,
        host: &mut H,
        take: Take<'_, H>,
    ) -> Result<bool> {
        if cut.radii[block] < 0 {
            return Ok(true);
        }
        let near = ball(cut.width, cut.radii[block]);
        let check = || {
            interrupt::check();
            Ok::<(), Error>(())
        };
        let mine = Split::new(cut, block, self.left, |i| i as u32, check)?;
        let theirs = match self.right {
            Some(right) => Some(Split::new(cut, block, right, |i| i as u32, check)?),
            None => None,
        };
        let right = theirs.as_ref().unwrap_or(&mine);
        self.spread(mine.buckets(), host, take, &|from, to, out| {
            let mut joiner = Joiner::new(self.distance, out);
            joiner.enter(cut.clone(), block);
            for value in from..to {
                joiner.bucket(&mine, right, value, &near, theirs.is_none())?;
            }
            joiner.finish()
        })
    }

    /// Compares all pairs.
    fn run_all<H: Host>(&self, host: &mut H, take: Take<'_, H>) -> Result<bool> {
        let right = self.right.unwrap_or(self.left);
        let numbers = memory::collect(0..self.left.len().max(right.len()) as u32)?;
        self.spread(self.left.len(), host, take, &|from, to, out| {
            let mut joiner = Joiner::new(self.distance, out);
            let mine = |from: usize, to: usize| Side { fps: &self.left[from..to], at: &numbers[from..to] };
            if self.right.is_some() {
                let theirs = Side { fps: right, at: &numbers[..right.len()] };
                joiner.compare(mine(from, to), theirs, false)?;
            } else {
                joiner.compare(mine(from, to), mine(from, to), true)?;
                joiner.compare(mine(from, to), mine(to, self.left.len()), false)?;
            }
            joiner.finish()
        })
    }

    /// Does `work` for the stretches of 0 to `items`.
    fn spread<H: Host>(
        &self,
        items: usize,
        host: &mut H,
        take: Take<'_, H>,
        work: &Work<'_>,
    ) -> Result<bool> {
        let rows = self.left.len() + self.right.map_or(0, <[u64]>::len);
        host.progress(Phase::Search, self.span.at(0.0));
        if self.threads > 1
            && rows >= WORTH_IT
            && let Some(last) = self.spread_wide(items, host, take, work)?
        {
            host.progress(Phase::Search, self.span.at(1.0));
            return Ok(last);
        }
        let mut out = Here { host, take, share: 0.0, last: Ok(true) };
        for from in (0..items).step_by(STRIDE) {
            out.share = self.span.at(from as f64 / items as f64);
            out.host.progress(Phase::Search, out.share);
            if work(from, (from + STRIDE).min(items), &mut out).is_err() {
                break;
            }
        }
        out.host.progress(Phase::Search, self.span.at(1.0));
        out.last
    }

    /// As [`Task::spread`], on threads; `None` if none could be started.
    fn spread_wide<H: Host>(
        &self,
        items: usize,
        host: &mut H,
        take: Take<'_, H>,
        work: &Work<'_>,
    ) -> Result<Option<bool>> {
        let next = &AtomicUsize::new(0);
        let stop = &AtomicBool::new(false);
        let (sender, receiver) = sync_channel(4 * self.threads);
        // Each thread owns a sender: the channel closes when the last one ends.
        let worker = move |_| {
            let sender = sender.clone();
            move || {
                let mut out = There { sender, stop };
                loop {
                    let from = next.fetch_add(STRIDE, Relaxed);
                    if from >= items || work(from, (from + STRIDE).min(items), &mut out).is_err() {
                        return;
                    }
                }
            }
        };
        let mut last = true;
        let share = || self.span.at(next.load(Relaxed).min(items) as f64 / items.max(1) as f64);
        let wait = |host: &mut H, _: &dyn Fn() -> bool| {
            // When this ends, also by an interrupt that unwinds, threads that wait to send are released.
            let receiver = receiver;
            last = collect(host, take, &receiver, &share)?;
            Ok(())
        };
        let done = external::run((0..self.threads).map(worker), stop, host, wait)?;
        Ok(done.map(|_| last))
    }
}

/// Takes the hits of the threads until all are done.
fn collect<H: Host>(
    host: &mut H,
    take: Take<'_, H>,
    receiver: &Receiver<Vec<Hit>>,
    share: &dyn Fn() -> f64,
) -> Result<bool> {
    loop {
        host.progress(Phase::Search, share());
        match receiver.recv_timeout(Duration::from_millis(20)) {
            Ok(hits) => {
                if !take(host, &hits)? {
                    return Ok(false);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(true),
        }
        interrupt::check();
    }
}

/// Hits found on the caller's own thread.
struct Here<'h, 't, H: Host> {
    host: &'h mut H,
    take: Take<'t, H>,
    share: f64,
    last: Result<bool>,
}

impl<H: Host> Deliver for Here<'_, '_, H> {
    fn deliver(&mut self, hits: &mut Vec<Hit>) -> std::result::Result<(), Stop> {
        interrupt::check();
        self.host.progress(Phase::Search, self.share);
        self.last = (self.take)(self.host, hits);
        hits.clear();
        if let Ok(true) = self.last { Ok(()) } else { Err(Stop) }
    }
}

/// Hits found on another thread.
struct There<'s> {
    sender: SyncSender<Vec<Hit>>,
    stop: &'s AtomicBool,
}

impl Deliver for There<'_> {
    fn deliver(&mut self, hits: &mut Vec<Hit>) -> std::result::Result<(), Stop> {
        if self.stop.load(Relaxed) {
            return Err(Stop);
        }
        if hits.is_empty() {
            return Ok(());
        }
        self.sender.send(std::mem::take(hits)).map_err(|_| Stop)
    }
}
