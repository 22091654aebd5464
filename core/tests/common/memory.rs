//! Page storage in memory.
//!
//! Locking: one `RwLock` per page, so that threads use the same locks as PostgreSQL's backends.
//! Pages live in segments of doubling size that never move, so a guard can borrow from the
//! storage without copying and without a lock around the array.
//!
//! WAL: none; a commit copies the bytes. A crash is simulated by [`MemoryPages::fail_after`]: the
//! commits before it happened, the others did not, and what was added but not committed is zero.

use std::collections::BTreeSet;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, RwLock, RwLockReadGuard, RwLockWriteGuard};

use dedup_core::banding::{
    Edit, Error, MAX_BODY, MIN_BODY, PageSink, Pages, Result, WritePage, validate_edits,
};
use dedup_core::external;

type Body = Box<[u8]>;

/// An index's pages in memory.
#[derive(Debug)]
pub struct MemoryPages {
    body_len: usize,
    /// Segment s holds the pages [2^s - 1, 2^(s+1) - 1).
    segments: [OnceLock<Box<[RwLock<Body>]>>; 32],
    len: AtomicU32,
    growing: Mutex<()>,
    /// Commits that still succeed; negative = no limit.
    commits_left: AtomicI64,
    commits: AtomicU64,
    /// Leaves that a watched search relies on, and whether a row has come to one of them.
    pub relied_on: Mutex<BTreeSet<u32>>,
    pub conflict: AtomicBool,
}

/// A shared lock on a page in memory.
#[derive(Debug)]
pub struct MemoryRead<'p>(RwLockReadGuard<'p, Body>);

/// An exclusive lock on a page in memory.
#[derive(Debug)]
pub struct MemoryWrite<'p> {
    block: u32,
    body: RwLockWriteGuard<'p, Body>,
}

impl Deref for MemoryRead<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl Deref for MemoryWrite<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.body
    }
}

impl WritePage for MemoryWrite<'_> {
    fn block(&self) -> u32 {
        self.block
    }
}

/// The error of a block that is not there.
fn corrupt<T>(block: u32, what: &'static str) -> Result<T> {
    Err(Error::Corrupt { block, what: what.into() })
}

/// A failure of the storage.
fn failed<T>(what: &'static str) -> Result<T> {
    Err(external::Error::Storage(what.into()).into())
}

impl MemoryPages {
    /// No pages yet, each to be of `body_len` bytes (clamped to what an index can use; 8168 is
    /// PostgreSQL's usual page).
    pub fn new(body_len: usize) -> Self {
        MemoryPages {
            body_len: body_len.clamp(MIN_BODY, MAX_BODY),
            segments: [const { OnceLock::new() }; 32],
            len: AtomicU32::new(0),
            growing: Mutex::new(()),
            commits_left: AtomicI64::new(-1),
            commits: AtomicU64::new(0),
            relied_on: Mutex::default(),
            conflict: AtomicBool::new(false),
        }
    }

    /// Lets `commits` more commits succeed; then everything fails until [`recover`](Self::recover).
    pub fn fail_after(&self, commits: u32) {
        self.commits_left.store(i64::from(commits), Ordering::SeqCst);
    }

    /// Ends the simulated crash.
    pub fn recover(&self) {
        self.commits_left.store(-1, Ordering::SeqCst);
    }

    /// How many commits have succeeded.
    pub fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Overwrites a page outside all rules: for tests that damage pages, and for loading a build.
    ///
    /// # Errors
    /// `block` lies beyond the end.
    pub fn overwrite(&self, block: u32, change: impl FnOnce(&mut [u8])) -> Result<()> {
        let mut page = self.lock(block)?;
        change(&mut page.body);
        Ok(())
    }

    fn slot(&self, block: u32) -> Result<&RwLock<Body>> {
        if block >= self.len.load(Ordering::Acquire) {
            return corrupt(block, "the block lies beyond the end of the index");
        }
        let n = u64::from(block) + 1;
        let segment = n.ilog2();
        let pages = self.segments[segment as usize].get();
        match pages.and_then(|p| p.get((n - (1 << segment)) as usize)) {
            Some(slot) => Ok(slot),
            None => corrupt(block, "the block is not allocated"),
        }
    }

    fn alive(&self) -> Result<()> {
        match self.commits_left.load(Ordering::SeqCst) {
            0 => failed("simulated crash"),
            _ => Ok(()),
        }
    }
}

/// A lock that a panicking test poisoned is still a lock.
fn ignore_poison<T>(guard: std::result::Result<T, std::sync::PoisonError<T>>) -> T {
    guard.unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// A build writes straight into the pages.
impl PageSink for &MemoryPages {
    fn write(&mut self, block: u32, body: &[u8]) -> Result<()> {
        while self.len()? <= block {
            drop(self.extend()?);
        }
        self.overwrite(block, |to| to.copy_from_slice(body))
    }
}

impl Pages for MemoryPages {
    type Read<'p> = MemoryRead<'p>;
    type Write<'p> = MemoryWrite<'p>;
    type Pin<'p> = u32;

    fn body_len(&self) -> usize {
        self.body_len
    }

    fn len(&self) -> Result<u32> {
        Ok(self.len.load(Ordering::Acquire))
    }

    fn read(&self, block: u32) -> Result<MemoryRead<'_>> {
        Ok(MemoryRead(ignore_poison(self.slot(block)?.read())))
    }

    fn pin(&self, block: u32) -> Result<u32> {
        Ok(block)
    }

    fn lock_pinned(&self, block: u32) -> Result<MemoryWrite<'_>> {
        Ok(MemoryWrite { block, body: ignore_poison(self.slot(block)?.write()) })
    }

    fn extend(&self) -> Result<MemoryWrite<'_>> {
        self.alive()?;
        let _growing = ignore_poison(self.growing.lock());
        let block = self.len.load(Ordering::Acquire);
        if block == u32::MAX - 1 {
            return failed("the index has no block number left");
        }
        let segment = (u64::from(block) + 1).ilog2();
        let pages = self.segments[segment as usize]
            .get_or_init(|| (0..1u64 << segment).map(|_| RwLock::new(Body::default())).collect());
        // Locked before it can be seen, as PostgreSQL's extension does.
        let at = u64::from(block) + 1 - (1 << segment);
        let mut body = ignore_poison(pages[at as usize].write());
        *body = vec![0; self.body_len].into_boxed_slice();
        self.len.store(block + 1, Ordering::Release);
        Ok(MemoryWrite { block, body })
    }

    fn commit<'p>(&'p self, edits: &mut [Edit<'_, MemoryWrite<'p>>]) -> Result<()> {
        validate_edits(edits, self.body_len)?;
        self.alive()?;
        let _ = self
            .commits_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| if n > 0 { Some(n - 1) } else { None });
        for edit in edits {
            edit.change.apply(&mut edit.page.body);
        }
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    fn check_predicate(&self, block: u32) {
        let conflict = ignore_poison(self.relied_on.lock()).contains(&block);
        self.conflict.fetch_or(conflict, Ordering::Relaxed);
    }

    fn copy_predicate(&self, from: u32, to: u32) {
        let mut relied_on = ignore_poison(self.relied_on.lock());
        if relied_on.contains(&from) {
            relied_on.insert(to);
        }
    }
}
