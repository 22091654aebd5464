//! What long work takes of its surroundings: memory, temporary files, threads.

mod common;

use common::interrupted_after;
use dedup_core::dedup::making;
use dedup_core::external::{Error, Host, MemoryHost, MemorySpill, Result, Sorter, on_threads};
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::hash::mix64;
use dedup_core::interrupt::{Meter, checked, sort_and_dedup};
use dedup_core::memory::{
    OrRaise, OutOfMemory, Room, count, ensure, filled, limit_files, may_fail, taken, with_capacity,
};
use proptest::prelude::*;
use std::collections::HashMap;
use std::panic::catch_unwind;
use std::thread::{ThreadId, current, sleep};
use std::time::Duration;

const NEVER: usize = isize::MAX as usize / 16;

/// Protects the way out: what cannot be had is an error, and the container is as it was.
#[test]
fn what_cannot_be_had_is_an_error() {
    let mut list = vec![1u64, 2];
    assert_eq!(list.room(NEVER).unwrap_err().bytes, NEVER * 8);
    assert_eq!(list, [1, 2]);
    assert!(filled(0u8, NEVER).is_err() && ensure(NEVER).is_err());
    assert!(HashMap::<u32, u32>::new().room(NEVER).is_err());
    assert!(String::new().room(NEVER).is_err() && with_capacity::<u64>(usize::MAX).is_err());
    assert!(!may_fail());
}

/// Protects the limit of a process: what threads take and give back is counted, also the rest at their end.
#[test]
fn what_threads_take_is_counted() {
    let before = taken();
    std::thread::scope(|scope| {
        let count = |bytes| move || (0..1000).for_each(|_| count(bytes));
        let threads = [700, 300, -400].map(|bytes| scope.spawn(count(bytes)));
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_eq!(taken() - before, 600_000);
    count(-600_000);
}

/// Protects the limit of a service in a group of a group, in either version.
#[test]
fn limits_of_all_control_groups_are_read() {
    let files = |root: &str, file: &str, groups: &[&str]| -> Vec<String> {
        groups.iter().map(|group| format!("/sys/fs/cgroup{root}{group}/{file}")).collect()
    };
    let service = ["/system.slice/postgresql.service", "/system.slice", ""];
    assert_eq!(limit_files("0::/system.slice/postgresql.service\n"), files("", "memory.max", &service));
    let first =
        "5:cpu,cpuacct:/other\n4:pids,memory:/system.slice/postgresql.service\n1:name=systemd:/init:x\n";
    assert_eq!(limit_files(first), files("/memory", "memory.limit_in_bytes", &service));
    assert_eq!(limit_files("0::/\n"), ["/sys/fs/cgroup/memory.max"]);
    assert!(limit_files("\nnonsense\n7:memory").is_empty());
}

/// Protects the size that is reported from one thread to another.
#[test]
fn a_raised_error_comes_back() {
    let panic = std::panic::catch_unwind(|| filled(0u8, NEVER).or_raise()).unwrap_err();
    assert_eq!(OutOfMemory::of_panic(panic), OutOfMemory { bytes: NEVER });
}

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

/// Protects the way of an error out of a thread, and that the others are told.
#[test]
fn a_thread_out_of_memory_is_an_error() {
    let each = |_: &mut (), item: &u32| match item {
        1 => OutOfMemory { bytes: 77 }.raise(),
        _ => sleep(Duration::from_millis(1)),
    };
    let items: Vec<u32> = (0..100_000).collect();
    let done = on_threads(&items, &mut [(); 3], &mut MemoryHost, each);
    assert_eq!(done, Err(Error::OutOfMemory(OutOfMemory { bytes: 77 })));
}

/// Protects against threads that outlive an interrupt.
#[test]
fn an_interrupt_stops_the_threads() {
    let each = |_: &mut (), _: &u32| sleep(Duration::from_millis(1));
    assert!(interrupted_after(3, || drop(on_threads(&[0; 100_000], &mut [(); 2], &mut MemoryHost, each))).0);
}

/// A host with room for so many threads.
struct Narrow(usize);

impl Host for Narrow {
    type File = MemorySpill;

    fn file(&mut self) -> MemorySpill {
        MemorySpill::default()
    }

    fn has_room(&mut self, _: usize) -> bool {
        let has = self.0 > 0;
        self.0 = self.0.saturating_sub(1);
        has
    }
}

/// Protects the process from threads that the system has no memory for: with room for none the caller's works.
#[test]
fn there_are_no_more_threads_than_there_is_room_for() {
    for (room, most) in [(0, 1), (2, 2), (9, 5)] {
        let mut threads = [None; 5];
        let each = |thread: &mut Option<ThreadId>, item: &u32| {
            *thread = Some(current().id());
            item * 2
        };
        let doubled = on_threads(&[1, 2, 3], &mut threads, &mut Narrow(room), each);
        assert_eq!(doubled, Ok(vec![2, 4, 6]));
        let worked = threads.iter().flatten().count();
        assert!((1..=most).contains(&worked) && (room == 0) == threads.contains(&Some(current().id())));
    }
}

#[test]
fn a_meter_checks_every_so_often() {
    const INTERVAL: usize = 1 << 12;
    let mut meter = Meter::new();
    assert!(!interrupted_after(0, || (1..INTERVAL).for_each(|_| meter.work(1))).0);
    assert!(interrupted_after(0, || meter.work(1)).0);
    assert!(interrupted_after(2, || checked(0..3 * INTERVAL).for_each(drop)).0);
    assert!(!interrupted_after(3, || checked(0..3 * INTERVAL).for_each(drop)).0);
}

#[test]
fn a_sort_can_be_interrupted_and_is_a_sort() {
    let numbers = |count: u64| (0..count).map(mix64).collect::<Vec<u64>>();
    assert!(interrupted_after(9, || sort_and_dedup(&mut numbers(100_000))).0);
    for count in [0, 1, 100, 100_000] {
        let (mut sorted, mut expected) = (numbers(count), numbers(count));
        sorted.extend(numbers(count / 2));
        sort_and_dedup(&mut sorted);
        expected.sort_unstable();
        assert_eq!(sorted, expected);
    }
}

/// The fingerprints of so many contents; what `fail` does happens on other threads.
fn made(count: usize, threads: usize, fail: fn()) -> Result<Vec<(usize, u64)>> {
    let (default, own): (TextRecipe, ThreadId) = (TextRecipe::default(), current().id());
    let recipe = || {
        if current().id() != own {
            fail();
        }
        &default
    };
    let mut all = Vec::new();
    let mut each = |number, fp| all.push((number, fp));
    making(&recipe, threads, &mut MemoryHost, |making| {
        let content =
            |number: usize| if number % 50 == 7 { "水区".repeat((1 << 20) / 5) } else { text(number) };
        (0..count).try_for_each(|number| making.add(number, content(number), &mut each))?;
        making.finish(&mut each)
    })?;
    all.sort_unstable();
    Ok(all)
}

fn text(number: usize) -> String {
    format!("停水{number}小区 ").repeat(400)
}

/// Protects that each content is worked on once, whatever the number of threads.
#[test]
fn every_content_has_its_fingerprint() {
    let expected = made(100, 0, || ()).unwrap();
    assert_eq!(expected[3], (3, Extractor::new().simhash(&text(3), &TextRecipe::default()).unwrap()));
    assert!(expected.iter().map(|it| it.0).eq(0..100));
    for threads in [1, 2, 5] {
        assert_eq!(made(100, threads, || ()).unwrap(), expected);
    }
}

/// Protects against threads that outlive an error or an interrupt, and against a caller that waits for one that is gone.
#[test]
fn an_error_an_interrupt_or_a_panic_ends_it() {
    let lacks = made(100, 2, || OutOfMemory { bytes: 77 }.raise());
    assert_eq!(lacks, Err(Error::OutOfMemory(OutOfMemory { bytes: 77 })));
    assert!(interrupted_after(3, || drop(made(100, 2, || ()))).0);
    assert!(catch_unwind(|| made(100, 2, || panic!("a bug"))).is_err());
}

proptest! {
    /// Whatever the memory, through no run, a few, or so many that they are merged more than once.
    #[test]
    fn equals_a_sorted_list(
        numbers in prop::collection::vec(any::<[u32; 3]>(), 0..9000),
        memory in prop::sample::select(vec![1, 1 << 14, 1 << 20]),
        mask in prop::sample::select(vec![u32::MAX, 0, 0xff, 0xffff << 8, 1 << 31 | 1]),
    ) {
        let numbers: Vec<[u32; 3]> = numbers.into_iter().map(|it| it.map(|number| number & mask)).collect();
        let mut sorter = Sorter::new(memory, MemorySpill::default());
        numbers.iter().for_each(|&record| sorter.add(record).unwrap());
        prop_assert_eq!(sorter.count(), numbers.len() as u64);
        let mut found = Vec::new();
        sorter.finish(|record| { found.push(record); Ok::<_, dedup_core::external::Error>(()) }).unwrap();
        let mut expected = numbers;
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
    }
}
