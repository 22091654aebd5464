//! Threads that work on what the caller's thread makes, while it makes more.

use super::error::Result;
use super::host::Host;
use super::threads::{Gate, start};
use crate::interrupt;
use crate::memory::{OutOfMemory, Room};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Scope, ScopedJoinHandle, scope};
use std::time::Duration;

/// Items per thread that wait to be worked on.
const WAITING: usize = 2;

/// What a thread does with an item.
pub type Work<'w, T, R> = Box<dyn FnMut(T) -> R + 'w>;

/// Calls `give` on the caller's thread with a [`Feed`] of threads, as many as are asked for or can be had; with one, or
/// none, the caller's thread works. Each thread does the work that `worker` makes for it.
pub fn feed<'w, H: Host, T: Send, R: Send, G>(
    threads: usize,
    host: &mut H,
    worker: &(dyn Fn() -> Work<'w, T, R> + Sync),
    give: impl FnOnce(&mut Feed<'_, '_, 'w, H, T, R>) -> Result<G>,
) -> Result<G> {
    let (items, waiting) = sync_channel(WAITING * threads);
    let (done, results) = channel();
    let shared =
        Shared { waiting: Mutex::new(waiting), stop: AtomicBool::new(false), gate: Gate::default(), worker };
    scope(|scope| {
        give(&mut Feed {
            scope,
            host,
            shared: &shared,
            threads,
            items: Some(items),
            done: Some(done),
            results,
            away: 0,
            ready: VecDeque::new(),
            working: Vec::new(),
            own: None,
        })
    })
}

/// What the threads share.
struct Shared<'e, 'w, T, R> {
    waiting: Mutex<Receiver<T>>,
    stop: AtomicBool,
    gate: Gate,
    worker: &'e (dyn Fn() -> Work<'w, T, R> + Sync),
}

/// A result, or that there was no memory for it.
type Done<R> = std::result::Result<R, OutOfMemory>;

/// Takes items for threads, and has their results, in no particular order.
pub struct Feed<'s, 'e, 'w, H, T, R> {
    scope: &'s Scope<'s, 'e>,
    host: &'s mut H,
    shared: &'e Shared<'e, 'w, T, R>,
    threads: usize,
    items: Option<SyncSender<T>>,
    /// Until the threads are started.
    done: Option<Sender<Done<R>>>,
    results: Receiver<Done<R>>,
    /// How many items are on their way.
    away: usize,
    ready: VecDeque<R>,
    working: Vec<ScopedJoinHandle<'s, ()>>,
    /// The caller's thread's.
    own: Option<Work<'w, T, R>>,
}

impl<'s, 'e, H: Host, T: Send, R: Send> Feed<'s, 'e, '_, H, T, R> {
    /// Gives an item to the threads, which are started for the first one; waits while they have enough.
    pub fn give(&mut self, item: T) -> Result<()> {
        interrupt::check();
        if let Some(done) = self.done.take() {
            self.start(&done);
        }
        if self.working.is_empty() {
            return self.work(item);
        }
        let mut given = Some(item);
        while let (Some(item), Some(items)) = (given.take(), &self.items) {
            match items.try_send(item) {
                Ok(()) => self.away += 1,
                Err(TrySendError::Full(item) | TrySendError::Disconnected(item)) => {
                    given = Some(item);
                    self.wait()?;
                }
            }
        }
        Ok(())
    }

    /// Works on an item on the caller's thread.
    pub fn work(&mut self, item: T) -> Result<()> {
        let done = self.own.get_or_insert_with(self.shared.worker)(item);
        self.ready.room(1)?;
        self.ready.push_back(done);
        Ok(())
    }

    /// The host.
    pub fn host(&mut self) -> &mut H {
        self.host
    }

    /// Whether no thread was needed so far.
    pub fn is_idle(&self) -> bool {
        self.done.is_some()
    }

    /// A result, if one is there.
    pub fn ready(&mut self) -> Result<Option<R>> {
        while let Ok(done) = self.results.try_recv() {
            self.arrived(done)?;
        }
        Ok(self.ready.pop_front())
    }

    /// A result, for which it waits; `None` if all items that were given are done.
    pub fn awaited(&mut self) -> Result<Option<R>> {
        while self.ready.is_empty() && self.away > 0 {
            self.wait()?;
        }
        Ok(self.ready.pop_front())
    }

    fn arrived(&mut self, done: Done<R>) -> Result<()> {
        self.away -= 1;
        self.ready.room(1)?;
        self.ready.push_back(done?);
        Ok(())
    }

    /// Waits for a result, some milliseconds at most.
    fn wait(&mut self) -> Result<()> {
        interrupt::check();
        match self.results.recv_timeout(Duration::from_millis(20)) {
            Ok(done) => self.arrived(done),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                // While there may be items none ends but by a panic.
                if let Some(at) = self.working.iter().position(ScopedJoinHandle::is_finished)
                    && let Err(panic) = self.working.swap_remove(at).join()
                {
                    return Err(OutOfMemory::of_panic(panic).into());
                }
                Ok(())
            }
        }
    }

    fn start(&mut self, done: &Sender<Done<R>>) {
        let threads = if self.threads > 1 { self.threads } else { 0 };
        let (scope, shared, host) = (self.scope, self.shared, &mut *self.host);
        host.block_signals(true);
        let closed = shared.gate.close();
        self.working.extend((0..threads).map_while(|_| {
            let done = done.clone();
            start(scope, &shared.gate, host, move || shared.work(&done))
        }));
        drop(closed);
        host.block_signals(false);
    }
}

impl<T, R> Shared<'_, '_, T, R> {
    /// Works on items until there are no more, or are not wanted.
    fn work(&self, done: &Sender<Done<R>>) {
        let mut work = (self.worker)();
        while let Some(item) = self.next() {
            let result = catch_unwind(AssertUnwindSafe(|| work(item))).map_err(OutOfMemory::of_panic);
            if result.is_err() | done.send(result).is_err() {
                break;
            }
        }
    }

    fn next(&self) -> Option<T> {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.recv().ok().filter(|_| !self.stop.load(Relaxed))
    }
}

impl<H, T, R> Drop for Feed<'_, '_, '_, H, T, R> {
    /// What is not worked on yet is not wanted any more.
    fn drop(&mut self) {
        self.shared.stop.store(true, Relaxed);
        self.items = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::{Error, MemoryHost};
    use crate::interrupt::testing::interrupted_after;

    /// Protects that each item is worked on once, whatever the number of threads.
    #[test]
    fn every_item_has_its_result() {
        for threads in [0, 1, 2, 5] {
            let worker = || Box::new(|item: u32| item * 2) as Work<'_, u32, u32>;
            let mut found = Vec::new();
            feed(threads, &mut MemoryHost, &worker, |feed| {
                for item in 0..1000 {
                    if item % 100 == 7 {
                        feed.work(item)?
                    } else {
                        feed.give(item)?
                    }
                    found.extend(feed.ready()?);
                }
                while let Some(result) = feed.awaited()? {
                    found.push(result);
                }
                Ok(())
            })
            .unwrap();
            found.sort_unstable();
            assert_eq!(found, (0..1000).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    /// Protects the way of an error out of a thread.
    #[test]
    fn a_thread_out_of_memory_is_an_error() {
        let worker = || {
            Box::new(|item: u32| if item == 50 { OutOfMemory { bytes: 77 }.raise() } else { item })
                as Work<'_, u32, u32>
        };
        let fed = feed(2, &mut MemoryHost, &worker, |feed| {
            (0..100).try_for_each(|item| feed.give(item))?;
            while feed.awaited()?.is_some() {}
            Ok(())
        });
        assert_eq!(fed, Err(Error::OutOfMemory(OutOfMemory { bytes: 77 })));
    }

    /// Protects against threads that outlive an interrupt, and against a caller that waits for one that is gone.
    #[test]
    fn an_interrupt_or_a_panic_ends_it() {
        let worker = || Box::new(|item: u32| assert_ne!(item, 5)) as Work<'_, u32, ()>;
        let feed_to = |end: u32| {
            feed(2, &mut MemoryHost, &worker, |feed| {
                (0..end).try_for_each(|item| feed.give(item))?;
                while feed.awaited()?.is_some() {}
                Ok(())
            })
        };
        assert!(interrupted_after(3, || feed_to(5).unwrap()));
        assert!(catch_unwind(|| feed_to(100).unwrap()).is_err());
    }
}
