//! A join on several threads. They compute; only the caller's thread calls the host and takes the hits.

use super::blocking::{Blocking, Span, ball};
use super::connected::Connected;
use super::join::{Deliver, Joiner, Split, Stop, varying};
use super::mark::Apart;
use super::rows::{Hit, Side};
use crate::external::{self, Error, Host, Result};
use crate::interrupt;
use crate::memory;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
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
    /// What tells them apart, if anything does.
    pub apart: Option<Apart<'a>>,
}

/// Does a stretch of the work (from, to) and delivers the hits.
type Work<'w> = dyn Fn(usize, usize, &mut Deliver<'_>) -> std::result::Result<(), Stop> + Sync + 'w;

pub(super) type Take<'t, H> = &'t mut dyn FnMut(&mut H, &[Hit]) -> Result<()>;

impl Task<'_> {
    pub fn run<H: Host>(&self, host: &mut H, take: Take<'_, H>) -> Result<()> {
        let right = self.right.unwrap_or(self.left);
        let varying = varying(self.left, right);
        let Some(cut) = Blocking::choose(varying, self.distance, self.left.len(), right.len()) else {
            return self.run_all(host, take);
        };
        for (block, span) in cut.spans().iter().enumerate() {
            let span = Span { from: self.span.at(span.from), to: self.span.at(span.to) };
            Task { span, ..*self }.run_block(&cut, block, host, take)?;
        }
        Ok(())
    }

    pub fn run_block<H: Host>(
        &self,
        cut: &Blocking,
        block: usize,
        host: &mut H,
        take: Take<'_, H>,
    ) -> Result<()> {
        if cut.radii[block] < 0 {
            return Ok(());
        }
        let check = || {
            interrupt::check();
            Ok::<(), Error>(())
        };
        let split = |fps| Split::new(cut, block, fps, |row| row as u32, check);
        let left = split(self.left)?;
        let right = self.right.map(split).transpose()?;
        let near = ball(cut.width, cut.radii[block]);
        self.spread(left.buckets(), host, take, &|from, to, out| {
            let mut joiner = Joiner::new(self.distance, (self.connected, self.apart), out);
            joiner.path.push((cut.clone(), block));
            for bucket in from..to {
                joiner.bucket(&left, right.as_ref().unwrap_or(&left), bucket, &near, right.is_none())?;
            }
            joiner.flush()
        })
    }

    fn run_all<H: Host>(&self, host: &mut H, take: Take<'_, H>) -> Result<()> {
        let rows = self.left.len().max(self.right.map_or(0, <[u64]>::len));
        let numbers = memory::collect(0..rows as u32)?;
        let left = Side { fps: self.left, at: &numbers[..self.left.len()] };
        let right = self.right.map(|fps| Side { fps, at: &numbers[..fps.len()] });
        self.spread(self.left.len(), host, take, &|from, to, out| {
            let mut joiner = Joiner::new(self.distance, (self.connected, self.apart), out);
            let some = left.part(from, to);
            if let Some(right) = right {
                joiner.compare(some, right, false)?;
            } else {
                joiner.compare(some, some, true)?;
                joiner.compare(some, left.part(to, rows), false)?;
            }
            joiner.flush()
        })
    }

    /// Does `work` for the stretches of 0 to `items`.
    fn spread<H: Host>(&self, items: usize, host: &mut H, take: Take<'_, H>, work: &Work<'_>) -> Result<()> {
        host.progress(self.span.at(0.0));
        let rows = self.left.len() + self.right.map_or(0, <[u64]>::len);
        let is_worth_it = self.threads > 1 && rows >= WORTH_IT;
        if !is_worth_it || !self.on_threads(items, host, &mut *take, work)? {
            // The caller's thread works.
            let (share, mut taken) = (Cell::new(0.0), Ok(()));
            let mut out = |hits: &mut Vec<Hit>| {
                interrupt::check();
                host.progress(share.get());
                taken = take(host, hits);
                hits.clear();
                if taken.is_ok() { Ok(()) } else { Err(Stop) }
            };
            for from in (0..items).step_by(STRIDE) {
                share.set(self.span.at(from as f64 / items as f64));
                // Work reports the progress whenever it delivers, in the end at least.
                if work(from, (from + STRIDE).min(items), &mut out).is_err() {
                    break;
                }
            }
            taken?;
        }
        host.progress(self.span.at(1.0));
        Ok(())
    }

    /// As [`Task::spread`], on threads of its own; false if none could be started.
    fn on_threads<H: Host>(
        &self,
        items: usize,
        host: &mut H,
        take: Take<'_, H>,
        work: &Work<'_>,
    ) -> Result<bool> {
        let next = &AtomicUsize::new(0);
        let stop = &AtomicBool::new(false);
        let (sender, receiver) = sync_channel(4 * self.threads);
        let worker = |sender: SyncSender<Vec<Hit>>| {
            move || {
                let mut out = |hits: &mut Vec<Hit>| match stop.load(Relaxed) {
                    true => Err(Stop),
                    false if hits.is_empty() => Ok(()),
                    false => sender.send(std::mem::take(hits)).map_err(|_| Stop),
                };
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
        let wait = |host: &mut H, _: &dyn Fn() -> bool| {
            // When this ends, also by an interrupt that unwinds, threads that wait to send are released.
            let receiver = receiver;
            loop {
                let begun = next.load(Relaxed).min(items) as f64 / items.max(1) as f64;
                host.progress(self.span.at(begun));
                match receiver.recv_timeout(Duration::from_millis(20)) {
                    Ok(hits) => take(host, &hits)?,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return Ok(()),
                }
                interrupt::check();
            }
        };
        Ok(external::run(workers, stop, host, wait)?.is_some())
    }
}
