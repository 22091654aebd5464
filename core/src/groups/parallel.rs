//! A join on several threads. They compute; only the caller's thread calls the host and takes the hits.

use super::blocking::{Blocking, ball};
use super::connected::Connected;
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
    /// What is connected already, if only pairs are wanted that connect something.
    pub connected: Option<Connected<'a>>,
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
        let split = |fps| {
            Split::new(
                cut,
                block,
                fps,
                |row| row as u32,
                || {
                    interrupt::check();
                    Ok::<(), Error>(())
                },
            )
        };
        let left = split(self.left)?;
        let right = self.right.map(split).transpose()?;
        let near = ball(cut.width, cut.radii[block]);
        self.spread(left.buckets(), host, take, &|from, to, out| {
            let mut joiner = Joiner::new(self.distance, self.connected, out);
            joiner.enter(cut.clone(), block);
            for bucket in from..to {
                joiner.bucket(&left, right.as_ref().unwrap_or(&left), bucket, &near, right.is_none())?;
            }
            joiner.finish()
        })
    }

    /// Compares all pairs.
    fn run_all<H: Host>(&self, host: &mut H, take: Take<'_, H>) -> Result<bool> {
        let rows = self.left.len().max(self.right.map_or(0, <[u64]>::len));
        let numbers = memory::collect(0..rows as u32)?;
        let side = |fps| Side::numbered(fps, &numbers);
        let (left, right) = (side(self.left), self.right.map(side));
        self.spread(self.left.len(), host, take, &|from, to, out| {
            let mut joiner = Joiner::new(self.distance, self.connected, out);
            let some = left.part(from, to);
            if let Some(right) = right {
                joiner.compare(some, right, false)?;
            } else {
                joiner.compare(some, some, true)?;
                joiner.compare(some, left.part(to, rows), false)?;
            }
            joiner.finish()
        })
    }

    /// Does `work` for the stretches of 0 to `items`; false if `take` stopped it.
    fn spread<H: Host>(
        &self,
        items: usize,
        host: &mut H,
        take: Take<'_, H>,
        work: &Work<'_>,
    ) -> Result<bool> {
        host.progress(Phase::Search, self.span.at(0.0));
        let rows = self.left.len() + self.right.map_or(0, <[u64]>::len);
        let on_threads = if self.threads > 1 && rows >= WORTH_IT {
            self.on_threads(items, host, &mut *take, work)?
        } else {
            None
        };
        let all = match on_threads {
            Some(all) => all,
            None => self.on_this_thread(items, host, take, work)?,
        };
        host.progress(Phase::Search, self.span.at(1.0));
        Ok(all)
    }

    /// As [`Task::spread`], on the caller's thread.
    fn on_this_thread<H: Host>(
        &self,
        items: usize,
        host: &mut H,
        take: Take<'_, H>,
        work: &Work<'_>,
    ) -> Result<bool> {
        let mut out = Taken { host, take, share: 0.0, verdict: Ok(true) };
        for from in (0..items).step_by(STRIDE) {
            out.share = self.span.at(from as f64 / items as f64);
            out.host.progress(Phase::Search, out.share);
            if work(from, (from + STRIDE).min(items), &mut out).is_err() {
                break;
            }
        }
        out.verdict
    }

    /// As [`Task::spread`], on threads of its own; `None` if none could be started.
    fn on_threads<H: Host>(
        &self,
        items: usize,
        host: &mut H,
        take: Take<'_, H>,
        work: &Work<'_>,
    ) -> Result<Option<bool>> {
        let next = &AtomicUsize::new(0);
        let stop = &AtomicBool::new(false);
        let (sender, receiver) = sync_channel(4 * self.threads);
        let worker = |sender| {
            move || {
                let mut out = Sent { sender, stop };
                loop {
                    let from = next.fetch_add(STRIDE, Relaxed);
                    if from >= items || work(from, (from + STRIDE).min(items), &mut out).is_err() {
                        return;
                    }
                }
            }
        };
        // Each thread owns a sender, and nobody else does: the channel closes when the last one ends.
        let workers = std::iter::repeat_n(sender, self.threads).map(worker);
        let share = || self.span.at(next.load(Relaxed).min(items) as f64 / items.max(1) as f64);
        let mut all = true;
        let wait = |host: &mut H, _: &dyn Fn() -> bool| {
            // When this ends, also by an interrupt that unwinds, threads that wait to send are released.
            let receiver = receiver;
            all = collect(host, take, &receiver, &share)?;
            Ok(())
        };
        let started = external::run(workers, stop, host, wait)?;
        Ok(started.map(|_| all))
    }
}

/// Takes the hits of the threads until all are done; false if `take` stopped it.
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

/// Hits found on the caller's own thread: taken at once.
struct Taken<'h, 't, H: Host> {
    host: &'h mut H,
    take: Take<'t, H>,
    /// How much of the whole work is done.
    share: f64,
    /// What `take` said last.
    verdict: Result<bool>,
}

impl<H: Host> Deliver for Taken<'_, '_, H> {
    fn deliver(&mut self, hits: &mut Vec<Hit>) -> std::result::Result<(), Stop> {
        interrupt::check();
        self.host.progress(Phase::Search, self.share);
        self.verdict = (self.take)(self.host, hits);
        hits.clear();
        if let Ok(true) = self.verdict { Ok(()) } else { Err(Stop) }
    }
}

/// Hits found on another thread: sent to the caller's.
struct Sent<'s> {
    sender: SyncSender<Vec<Hit>>,
    stop: &'s AtomicBool,
}

impl Deliver for Sent<'_> {
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
