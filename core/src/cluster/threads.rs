//! Threads that compute while the caller's waits. There may be fewer than were
//! asked for: a thread takes memory too.

use super::pairs::Host;
use crate::banding::Result;
use crate::memory::OutOfMemory;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, ScopedJoinHandle, scope};
use std::time::Duration;

/// Tells threads to stop when it goes out of scope.
pub(super) struct StopOnDrop<'s>(pub &'s AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// Does each of `works` on a thread of its own and gives what they give, or
/// `None` if no thread could be made. Meanwhile the caller's thread does
/// `wait`, which is given what says whether any still works.
///
/// When `wait` ends, or one of the threads does by a panic, the others are
/// told to by `stop`. So works share what is to be done: one that has no
/// thread is not missed.
pub(super) fn on<H: Host, R: Send>(
    works: impl IntoIterator<Item = impl FnOnce() -> R + Send>,
    stop: &AtomicBool,
    host: &mut H,
    wait: impl FnOnce(&mut H, &dyn Fn() -> bool) -> Result<()>,
) -> Result<Option<Vec<R>>> {
    scope(|scope| {
        host.shield(true);
        let workers: Vec<ScopedJoinHandle<'_, R>> = works
            .into_iter()
            .map_while(|work| {
                let work = || {
                    let stop = StopOnDrop(stop);
                    let done = work();
                    std::mem::forget(stop);
                    done
                };
                Builder::new().spawn_scoped(scope, work).ok()
            })
            .collect();
        host.shield(false);
        if workers.is_empty() {
            return Ok(None);
        }
        let stop = StopOnDrop(stop);
        let waited = wait(host, &|| workers.iter().any(|worker| !worker.is_finished()));
        drop(stop);
        // A thread that panicked for another reason than memory is an error of the program: it goes on
        // here.
        let join = |worker: ScopedJoinHandle<'_, R>| worker.join().map_err(OutOfMemory::of_panic);
        let done = workers.into_iter().map(join).collect::<std::result::Result<Vec<R>, _>>();
        waited?;
        Ok(Some(done?))
    })
}

/// What to do while threads work, when there is nothing else.
pub(super) fn look_on<H: Host>(host: &mut H, busy: &dyn Fn() -> bool) -> Result<()> {
    while busy() {
        std::thread::sleep(Duration::from_micros(200));
        host.check()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::pairs::MemoryHost;
    use super::*;
    use crate::banding::Error;

    /// Protects the error's way from a thread, and that the others are told.
    #[test]
    fn a_thread_out_of_memory_is_an_error() {
        let stop = AtomicBool::new(false);
        let work = |number: usize| {
            let stop = &stop;
            move || match number {
                1 => OutOfMemory { bytes: 77 }.raise(),
                _ => {
                    while !stop.load(Relaxed) {
                        std::thread::yield_now();
                    }
                }
            }
        };
        let done = on((0..3).map(work), &stop, &mut MemoryHost, look_on);
        assert_eq!(done, Err(Error::OutOfMemory(OutOfMemory { bytes: 77 })));
    }

    /// Protects the case of a machine that has no thread to give.
    #[test]
    fn no_thread_is_no_result() {
        let stop = AtomicBool::new(false);
        let none = std::iter::empty::<fn() -> u8>();
        assert_eq!(on(none, &stop, &mut MemoryHost, look_on), Ok(None));
    }
}
