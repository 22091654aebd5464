//! Fingerprints are made on threads while the caller's reads contents.

use crate::external::{Gate, Host, Result, start};
use crate::features::{Extractor, TextRecipe};
use crate::interrupt;
use crate::memory::{Grow, OrRaise, OutOfMemory, Room};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle, scope};
use std::time::Duration;

/// Bytes of the contents that a thread takes at a time.
const BATCH: usize = 1 << 16;
/// Contents of so many bytes are left to the caller's thread, which can be interrupted.
const LONG: usize = 1 << 20;
/// Batches per thread that wait to be worked on.
const WAITING: usize = 2;

/// Contents with their numbers.
type Batch = Vec<(usize, String)>;
/// Numbers of contents with their fingerprints, or that there was no memory for them.
type Made = std::result::Result<Vec<(usize, u64)>, OutOfMemory>;

struct Shared<'r> {
    recipe: &'r (dyn Fn() -> &'r TextRecipe + Sync),
    waiting: Mutex<Receiver<Batch>>,
    stop: AtomicBool,
    gate: Gate,
}

/// Takes contents for threads, and has their fingerprints, in no particular order.
pub struct Making<'s, 'e, 'r, H> {
    scope: &'s Scope<'s, 'e>,
    host: &'s mut H,
    shared: &'e Shared<'r>,
    threads: usize,
    batch: Batch,
    /// Of the batch.
    bytes: usize,
    batches: Option<SyncSender<Batch>>,
    /// Until the threads are started.
    made: Option<Sender<Made>>,
    results: Receiver<Made>,
    /// How many batches are on their way.
    away: usize,
    working: Vec<ScopedJoinHandle<'s, ()>>,
    /// The caller's thread's.
    extractor: Extractor,
}

/// Calls `give` on the caller's thread with what makes fingerprints by `recipe`, on as many threads as are asked for or can be
/// had; with one, or none, the caller's thread works.
pub fn making<'r, H: Host, G>(
    recipe: &'r (dyn Fn() -> &'r TextRecipe + Sync),
    threads: usize,
    host: &mut H,
    give: impl FnOnce(&mut Making<'_, '_, 'r, H>) -> Result<G>,
) -> Result<G> {
    let (batches, waiting) = sync_channel(WAITING * threads);
    let (made, results) = channel();
    let (waiting, stop) = (Mutex::new(waiting), AtomicBool::new(false));
    let shared = Shared { recipe, waiting, stop, gate: Gate::default() };
    scope(|scope| {
        give(&mut Making {
            scope,
            host,
            shared: &shared,
            threads,
            batch: Vec::new(),
            bytes: 0,
            batches: Some(batches),
            made: Some(made),
            results,
            away: 0,
            working: Vec::new(),
            extractor: Extractor::new(),
        })
    })
}

impl<H: Host> Making<'_, '_, '_, H> {
    /// The host.
    pub fn host(&mut self) -> &mut H {
        self.host
    }

    /// Takes a content; `each` gets the fingerprints that are made by now, of contents that have one.
    pub fn add(&mut self, number: usize, content: String, each: &mut impl FnMut(usize, u64)) -> Result<()> {
        if content.len() >= LONG {
            self.work(vec![(number, content)], each);
        } else {
            self.bytes += content.len();
            self.batch.grow((number, content))?;
            if self.bytes >= BATCH {
                self.give(each)?;
            }
        }
        while let Ok(made) = self.results.try_recv() {
            self.arrived(made, each)?;
        }
        Ok(())
    }

    /// Makes those that are left.
    pub fn finish(&mut self, each: &mut impl FnMut(usize, u64)) -> Result<()> {
        // Few are made before a thread has started.
        if self.made.is_some() {
            let batch = std::mem::take(&mut self.batch);
            self.work(batch, each);
        } else {
            self.give(each)?;
        }
        while self.away > 0 {
            self.wait(each)?;
        }
        Ok(())
    }

    /// Gives the batch to the threads, which are started for the first one; waits while they have enough.
    fn give(&mut self, each: &mut impl FnMut(usize, u64)) -> Result<()> {
        interrupt::check();
        self.bytes = 0;
        let batch = std::mem::take(&mut self.batch);
        if let Some(made) = self.made.take() {
            self.start(&made);
        }
        if self.working.is_empty() {
            self.work(batch, each);
            return Ok(());
        }
        let mut given = Some(batch);
        while let (Some(batch), Some(batches)) = (given.take(), &self.batches) {
            match batches.try_send(batch) {
                Ok(()) => self.away += 1,
                Err(TrySendError::Full(batch) | TrySendError::Disconnected(batch)) => {
                    given = Some(batch);
                    self.wait(each)?;
                }
            }
        }
        Ok(())
    }

    fn work(&mut self, batch: Batch, each: &mut impl FnMut(usize, u64)) {
        let made = self.shared.make(batch, &mut self.extractor);
        made.into_iter().for_each(|(number, fp)| each(number, fp));
    }

    fn arrived(&mut self, made: Made, each: &mut impl FnMut(usize, u64)) -> Result<()> {
        self.away -= 1;
        made?.into_iter().for_each(|(number, fp)| each(number, fp));
        Ok(())
    }

    /// Waits for a result, some milliseconds at most.
    fn wait(&mut self, each: &mut impl FnMut(usize, u64)) -> Result<()> {
        interrupt::check();
        match self.results.recv_timeout(Duration::from_millis(20)) {
            Ok(made) => self.arrived(made, each),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                // While there may be batches none ends but by a panic.
                if let Some(at) = self.working.iter().position(ScopedJoinHandle::is_finished)
                    && let Err(panic) = self.working.swap_remove(at).join()
                {
                    return Err(OutOfMemory::of_panic(panic).into());
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, made: &Sender<Made>) {
        let threads = if self.threads > 1 { self.threads } else { 0 };
        let (scope, shared, host) = (self.scope, self.shared, &mut *self.host);
        host.block_signals(true);
        let closed = shared.gate.close();
        self.working.extend((0..threads).map_while(|_| {
            let made = made.clone();
            start(scope, &shared.gate, host, move || shared.work(&made))
        }));
        drop(closed);
        host.block_signals(false);
    }
}

impl Shared<'_> {
    fn make(&self, batch: Batch, extractor: &mut Extractor) -> Vec<(usize, u64)> {
        let mut made = Vec::new();
        made.room(batch.len()).or_raise();
        let (recipe, all) = ((self.recipe)(), batch.into_iter());
        made.extend(all.filter_map(|(number, content)| Some((number, extractor.simhash(&content, recipe)?))));
        made
    }

    /// Works on batches until there are no more, or are not wanted.
    fn work(&self, results: &Sender<Made>) {
        let mut extractor = Extractor::new();
        let next = || {
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            waiting.recv().ok().filter(|_| !self.stop.load(Relaxed))
        };
        while let Some(batch) = next() {
            let make = AssertUnwindSafe(|| self.make(batch, &mut extractor));
            let made = catch_unwind(make).map_err(OutOfMemory::of_panic);
            if made.is_err() | results.send(made).is_err() {
                break;
            }
        }
    }
}

impl<H> Drop for Making<'_, '_, '_, H> {
    /// What is not worked on yet is not wanted any more.
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        self.batches = None;
    }
}
