//! Fallible allocation.
//!
//! Whatever grows with the data reserves its memory first, with [`Room`] or one of the functions here, and fails
//! with [`OutOfMemory`] if there is none. Allocations that Rust's containers make by themselves must not fail:
//! a failure there ends the process, which in a server means all sessions.

use std::cell::Cell;
use std::collections::{BinaryHeap, HashMap, HashSet, TryReserveError};
use std::hash::{BuildHasher, Hash};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

/// A reservation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("out of memory")]
pub struct OutOfMemory {
    /// The bytes requested.
    pub bytes: usize,
}

/// A result that fails only for lack of memory.
pub type Result<T> = std::result::Result<T, OutOfMemory>;

thread_local! {
    static FALLIBLE: Cell<bool> = const { Cell::new(false) };
}

/// Whether the current allocation of this thread may fail, for a global allocator: if not, it must find the
/// memory or end the process.
pub fn may_fail() -> bool {
    FALLIBLE.get()
}

/// Bytes allocated and not freed, but for what threads have still to report.
static TAKEN: AtomicIsize = AtomicIsize::new(0);

/// What a thread has taken since it last reported; its end reports the rest.
struct Unreported(Cell<isize>);

impl Drop for Unreported {
    fn drop(&mut self) {
        TAKEN.fetch_add(self.0.get(), Relaxed);
    }
}

thread_local! {
    static UNREPORTED: Unreported = const { Unreported(Cell::new(0)) };
}

/// Counts bytes that this thread has allocated or, below zero, freed: for a global allocator.
#[inline]
pub fn count(bytes: isize) {
    /// Threads that allocate at the same time write to memory that they share only once in so many bytes.
    const OFTEN: usize = 1 << 16;
    let sum = UNREPORTED.try_with(|own| own.0.replace(0) + bytes).unwrap_or(bytes);
    let kept = sum.unsigned_abs() < OFTEN && UNREPORTED.try_with(|own| own.0.set(sum)).is_ok();
    if !kept {
        TAKEN.fetch_add(sum, Relaxed);
    }
}

/// The bytes that the process has taken, as this thread knows.
#[inline]
pub fn taken() -> usize {
    let own = UNREPORTED.try_with(|own| own.0.get()).unwrap_or(0);
    usize::try_from(TAKEN.load(Relaxed) + own).unwrap_or(0)
}

/// The files that may hold limits of memory of a process whose `/proc/self/cgroup` is `groups`: those of its control
/// groups and of all that these are in, of both versions.
pub fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(of), Some(path)) = (fields.next(), fields.next()) else { continue };
        let (root, file) = match of {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if of.split(',').any(|of| of == "memory") => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            _ => continue,
        };
        let groups = Path::new(path).ancestors().map(|group| group.to_string_lossy());
        files.extend(groups.map(|group| format!("{root}{}/{file}", group.trim_end_matches('/'))));
    }
    files
}

/// Reports the error; returns on a thread where it cannot.
static REPORT: OnceLock<fn(OutOfMemory)> = OnceLock::new();

/// Sets the function that [`OutOfMemory::raise`] calls. Only the first call has an effect.
pub fn on_raise(report: fn(OutOfMemory)) {
    let _ = REPORT.set(report);
}

impl OutOfMemory {
    /// Panics, for functions that return no error: with the panic of the function given to [`on_raise`], or
    /// one that carries `self`.
    #[cold]
    pub fn raise(self) -> ! {
        if let Some(report) = REPORT.get() {
            report(self);
        }
        std::panic::resume_unwind(Box::new(self))
    }

    /// The error that a panic of [`OutOfMemory::raise`] carries; resumes any other panic.
    pub fn of_panic(panic: Box<dyn std::any::Any + Send>) -> OutOfMemory {
        match panic.downcast::<OutOfMemory>() {
            Ok(error) => *error,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

/// A result whose error can be raised.
pub trait OrRaise<T> {
    /// The value; [`OutOfMemory::raise`] if there is none.
    fn or_raise(self) -> T;
}

impl<T> OrRaise<T> for Result<T> {
    #[inline]
    fn or_raise(self) -> T {
        self.unwrap_or_else(|error| error.raise())
    }
}

/// Calls `reserve`, whose allocation may fail.
fn attempt(bytes: usize, reserve: impl FnOnce() -> std::result::Result<(), TryReserveError>) -> Result<()> {
    FALLIBLE.set(true);
    let done = reserve();
    FALLIBLE.set(false);
    done.map_err(|_| OutOfMemory { bytes })
}

/// A container whose memory can be reserved.
pub trait Room {
    /// Reserves memory for `additional` more elements.
    fn room(&mut self, additional: usize) -> Result<()>;
}

macro_rules! room {
    ([$($generics:tt)*] $container:ty, $element:ty) => {
        impl<$($generics)*> Room for $container {
            #[inline]
            fn room(&mut self, additional: usize) -> Result<()> {
                if self.capacity() - self.len() >= additional {
                    return Ok(());
                }
                let wanted = additional.max(self.len());
                attempt(wanted.saturating_mul(size_of::<$element>()), || self.try_reserve(additional))
            }
        }
    };
}

room!([T] Vec<T>, T);
room!([T: Ord] BinaryHeap<T>, T);
room!([] String, u8);
room!([K: Eq + Hash, V, S: BuildHasher] HashMap<K, V, S>, (K, V));
room!([T: Eq + Hash, S: BuildHasher] HashSet<T, S>, T);

/// A container that grows by one element at a time.
pub trait Grow<T> {
    /// Adds an element, to a list at its end.
    fn grow(&mut self, element: T) -> Result<()>;
}

impl<T> Grow<T> for Vec<T> {
    #[inline]
    fn grow(&mut self, element: T) -> Result<()> {
        self.room(1)?;
        self.push(element);
        Ok(())
    }
}

impl<T: Eq + Hash, S: BuildHasher> Grow<T> for HashSet<T, S> {
    #[inline]
    fn grow(&mut self, element: T) -> Result<()> {
        self.room(1)?;
        self.insert(element);
        Ok(())
    }
}

/// A map whose values begin as their default.
pub trait OfKey<K, V> {
    /// The value of a key.
    fn of_key(&mut self, key: K) -> Result<&mut V>;
}

impl<K: Eq + Hash, V: Default, S: BuildHasher> OfKey<K, V> for HashMap<K, V, S> {
    #[inline]
    fn of_key(&mut self, key: K) -> Result<&mut V> {
        self.room(1)?;
        Ok(self.entry(key).or_default())
    }
}

/// An empty vector with room for exactly `capacity` elements.
pub fn with_capacity<T>(capacity: usize) -> Result<Vec<T>> {
    let mut made = Vec::new();
    reserve_exact(&mut made, capacity)?;
    Ok(made)
}

/// Reserves memory for exactly `additional` more elements, where `room` would double the vector.
pub fn reserve_exact<T>(vector: &mut Vec<T>, additional: usize) -> Result<()> {
    attempt(additional.saturating_mul(size_of::<T>()), || vector.try_reserve_exact(additional))
}

/// A vector of `count` times `value`.
pub fn filled<T: Clone>(value: T, count: usize) -> Result<Vec<T>> {
    let mut made = with_capacity(count)?;
    made.resize(count, value);
    Ok(made)
}

/// A copy of a slice.
pub fn copy<T: Clone>(from: &[T]) -> Result<Vec<T>> {
    let mut made = with_capacity(from.len())?;
    made.extend_from_slice(from);
    Ok(made)
}

/// A copy of a string.
pub fn copy_str(from: &str) -> Result<String> {
    let mut made = String::new();
    made.room(from.len())?;
    made.push_str(from);
    Ok(made)
}

/// The elements of an iterator as a vector.
pub fn collect<T>(from: impl IntoIterator<Item = T>) -> Result<Vec<T>> {
    let from = from.into_iter();
    let mut made = with_capacity(from.size_hint().0)?;
    for each in from {
        made.grow(each)?;
    }
    Ok(made)
}

/// Checks that `bytes` bytes could be allocated now: before calls into other crates that allocate a known amount
/// and cannot fail.
pub fn ensure(bytes: usize) -> Result<()> {
    /// Smaller amounts are covered by the allocator's reserve.
    const WORTH_ASKING: usize = 1 << 18;
    if bytes < WORTH_ASKING { Ok(()) } else { with_capacity::<u8>(bytes).map(drop) }
}
