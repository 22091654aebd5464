//! Threads that compute while the caller's waits. There may be fewer than were asked for, or none: a thread
//! takes memory too.

use super::host::{Host, Result};
use crate::interrupt;
use crate::memory::{self, Grow, OrRaise, OutOfMemory};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope, ScopedJoinHandle, scope};
use std::time::Duration;

/// Applies `each` to every item and returns the results in order. There are as many threads as `states`, each
/// with one of its own, or as many as can be had; with one state, the caller's thread computes. An interrupt
/// is answered between two items.
pub fn on_threads<H: Host, S: Send, T: Sync, R: Send>(
    items: &[T],
    states: &mut [S],
    host: &mut H,
    each: impl Fn(&mut S, &T) -> R + Sync,
) -> Result<Vec<R>> {
    beside_threads(items, states, host, each, &mut || Ok(()))
}

/// The same, while the caller's thread works on something else, once.
pub(crate) fn beside_threads<H: Host, S: Send, T: Sync, R: Send>(
    items: &[T],
    states: &mut [S],
    host: &mut H,
    each: impl Fn(&mut S, &T) -> R + Sync,
    meanwhile: &mut dyn FnMut() -> Result<()>,
) -> Result<Vec<R>> {
    if states.len() > 1 {
        let (next, stop) = (&AtomicUsize::new(0), &AtomicBool::new(false));
        let works = states.iter_mut().map(|state| {
            let each = &each;
            move || {
                let mut done: Vec<(usize, R)> = Vec::new();
                while !stop.load(Relaxed) {
                    let at = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(at) else { break };
                    done.grow((at, each(&mut *state, item))).or_raise();
                }
                done
            }
        });
        let wait = |host: &mut H, busy: &dyn Fn() -> bool| {
            meanwhile()?;
            wait_for(host, busy)
        };
        if let Some(parts) = run(works, stop, host, wait)? {
            let mut all = memory::with_capacity(items.len())?;
            all.extend(parts.into_iter().flatten());
            all.sort_unstable_by_key(|(at, _)| *at);
            // Collected in place: what is left of a pair is no larger.
            return Ok(all.into_iter().map(|(_, result)| result).collect());
        }
    }
    let mut done = memory::with_capacity(items.len())?;
    for item in items {
        interrupt::check();
        done.push(each(&mut states[0], item));
    }
    meanwhile()?;
    Ok(done)
}

/// Tells threads to stop when it goes out of scope.
struct StopOnDrop<'s>(&'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Bytes that a thread takes until it works: its stack, and what the C library allocates for it.
const TO_START: usize = 4 << 20;

/// What keeps threads from working, and so from taking memory, until all of them are started.
#[derive(Default)]
pub(crate) struct Gate(Mutex<()>);

impl Gate {
    /// Threads that are started meanwhile wait.
    pub(crate) fn close(&self) -> MutexGuard<'_, ()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a thread, whose work begins when the gate, which is closed now, opens. `None` if there is no memory for it.
///
/// The C library allocates a thread's own data at their first use, and ends the process if it cannot. So the system must have
/// more memory than that before, nobody takes it meanwhile, and this thread and the new one have [used](use_own_data) them
/// when this returns.
pub(crate) fn start<'s, 'e, H: Host, R: Send + 's>(
    scope: &'s Scope<'s, 'e>,
    gate: &'e Gate,
    host: &mut H,
    work: impl FnOnce() -> R + Send + 's,
) -> Option<ScopedJoinHandle<'s, R>> {
    if !host.has_room(TO_START) {
        return None;
    }
    use_own_data();
    let (started, has_started) = sync_channel(1);
    let begin = move || {
        use_own_data();
        // The caller waits for it.
        let _ = started.send(());
        drop(gate.close());
        work()
    };
    let thread = Builder::new().spawn_scoped(scope, begin).ok()?;
    let _ = has_started.recv();
    Some(thread)
}

/// Uses what a thread has of its own: whether its allocations may fail, and what a channel keeps for the threads that wait, which
/// is made at the first wait. One without room for an item waits in any case, here until a moment that has passed.
fn use_own_data() {
    std::hint::black_box(memory::may_fail());
    let (sender, receiver) = sync_channel::<()>(0);
    let _ = receiver.recv_timeout(Duration::ZERO);
    drop(sender);
}

/// Runs each of `works` on a thread of its own and returns their results, or `None` if no thread could be
/// started. Meanwhile the caller's thread runs `wait`, whose argument tells whether any thread still works.
///
/// When `wait` ends, by an interrupt that unwinds too, or a thread panics, `stop` tells the others to end. So
/// works share what is to be done: one that got no thread is not missed.
pub(crate) fn run<H: Host, R: Send>(
    works: impl IntoIterator<Item = impl FnOnce() -> R + Send>,
    stop: &AtomicBool,
    host: &mut H,
    wait: impl FnOnce(&mut H, &dyn Fn() -> bool) -> Result<()>,
) -> Result<Option<Vec<R>>> {
    let gate = Gate::default();
    scope(|scope| {
        host.block_signals(true);
        let closed = gate.close();
        let workers: Vec<ScopedJoinHandle<'_, R>> = works
            .into_iter()
            .map_while(|work| {
                let work = || {
                    let stop = StopOnDrop(stop);
                    let done = work();
                    std::mem::forget(stop);
                    done
                };
                start(scope, &gate, host, work)
            })
            .collect();
        drop(closed);
        host.block_signals(false);
        if workers.is_empty() {
            return Ok(None);
        }
        let stop = StopOnDrop(stop);
        let waited = wait(host, &|| workers.iter().any(|worker| !worker.is_finished()));
        drop(stop);
        // Any panic but that of missing memory is a bug of the program and goes on here.
        let join = |worker: ScopedJoinHandle<'_, R>| worker.join().map_err(OutOfMemory::of_panic);
        let done = workers.into_iter().map(join).collect::<std::result::Result<Vec<R>, _>>();
        waited?;
        Ok(Some(done?))
    })
}

pub(crate) fn wait_for<H: Host>(_: &mut H, busy: &dyn Fn() -> bool) -> Result<()> {
    while busy() {
        std::thread::sleep(Duration::from_micros(200));
        interrupt::check();
    }
    Ok(())
}
