//! The same for each of many, on several threads.

use super::pairs::Host;
use super::threads;
use crate::banding::Result;
use crate::memory::{self, OrRaise, Room};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// What `each` gives for every item, in order. There are as many threads as
/// `states`, each with one of its own, or as many as can be had; with one, the
/// caller's thread computes.
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
    if states.len() > 1 {
        let (next, stop) = (&AtomicUsize::new(0), &AtomicBool::new(false));
        let works = states.iter_mut().map(|state| {
            let each = &each;
            move || {
                let mut done: Vec<(usize, R)> = Vec::new();
                while !stop.load(Relaxed) {
                    let at = next.fetch_add(1, Relaxed);
                    let Some(item) = items.get(at) else { break };
                    done.room(1).or_raise();
                    done.push((at, each(&mut *state, item)));
                }
                done
            }
        });
        let parts = threads::on(works, stop, host, threads::look_on)?;
        if let Some(parts) = parts {
            let mut all = memory::with_capacity(items.len())?;
            all.extend(parts.into_iter().flatten());
            all.sort_unstable_by_key(|(at, _)| *at);
            // In place: what is left of a pair is no larger.
            return Ok(all.into_iter().map(|(_, result)| result).collect());
        }
    }
    let mut done = memory::with_capacity(items.len())?;
    for item in items {
        host.check()?;
        done.push(each(&mut states[0], item));
    }
    Ok(done)
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
