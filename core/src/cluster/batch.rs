//! The same for each of many, on several threads.

use super::pairs::Host;
use super::parallel::StopOnDrop;
use crate::banding::Result;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// What `each` gives for every item, in order. There are as many threads as
/// `states`, each with one of its own; with one, the caller's thread computes.
///
/// The host is asked between two items, or while threads are at work; when it
/// fails they end after the item that each is at.
///
/// # Errors
/// What the host fails with.
pub fn on_threads<H: Host, S: Send, T: Sync, R: Send>(
    items: &[T],
    states: &mut [S],
    host: &mut H,
    each: impl Fn(&mut S, &T) -> R + Sync,
) -> Result<Vec<R>> {
    if let [state] = states {
        let one = |item| {
            host.check()?;
            Ok(each(state, item))
        };
        return items.iter().map(one).collect();
    }
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let (next, stop, each) = (&next, &stop, &each);
    let work = |state: &mut S| {
        let mut done: Vec<(usize, R)> = Vec::new();
        while !stop.load(Relaxed) {
            let at = next.fetch_add(1, Relaxed);
            let Some(item) = items.get(at) else { break };
            done.push((at, each(state, item)));
        }
        done
    };
    let parts = std::thread::scope(|scope| {
        host.shield(true);
        let workers: Vec<_> = states.iter_mut().map(|state| scope.spawn(|| work(state))).collect();
        host.shield(false);
        let _stop = StopOnDrop(stop);
        while workers.iter().any(|worker| !worker.is_finished()) {
            std::thread::sleep(Duration::from_micros(200));
            host.check()?;
        }
        // A thread that panicked is an error of the program: it goes on here.
        Ok(workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>())
    })?;
    let mut all: Vec<(usize, R)> = parts.into_iter().flatten().collect();
    all.sort_unstable_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

#[cfg(test)]
mod tests {
    use super::super::pairs::MemoryHost;
    use super::*;

    /// Protects the order of results, whatever the number of threads.
    #[test]
    fn results_are_in_order() {
        for threads in [1, 2, 5] {
            for count in [0, 1, 1000] {
                let items: Vec<u32> = (0..count).collect();
                let mut states = vec![0u32; threads];
                let each = |seen: &mut u32, item: &u32| {
                    *seen += 1;
                    item * 2
                };
                let doubled = on_threads(&items, &mut states, &mut MemoryHost, each).unwrap();
                assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
                assert_eq!(states.iter().sum::<u32>(), count);
            }
        }
    }
}
