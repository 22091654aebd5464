//! Pages that say what is about to happen to them, so that a test can do what others would do in between.

use super::memory::{MemoryPages, MemoryRead, MemoryWrite};
use dedup_core::banding::{Edit, Pages, Result, WritePage};
use std::cell::Cell;
use std::ops::Deref;

/// What is about to happen. But for [`Extend`](Self::Extend), no lock is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    Read,
    Lock,
    Wait,
    Extend,
}

/// Pages of one thread. They count the locks that it holds, and expect none when a leaf is read or this is the time to wait.
pub struct Watched<'o> {
    pub pages: &'o MemoryPages,
    /// Told what is next.
    between: &'o dyn Fn(Next),
    pub held: Cell<u32>,
    /// The most locks held at once.
    pub most: Cell<u32>,
    /// How many pages are announced.
    pub ahead: usize,
}

impl<'o> Watched<'o> {
    pub fn new(pages: &'o MemoryPages, between: &'o dyn Fn(Next)) -> Self {
        Watched { pages, between, held: Cell::new(0), most: Cell::new(0), ahead: 0 }
    }

    fn guard<G>(&self, page: G) -> Guard<'_, G> {
        self.held.set(self.held.get() + 1);
        self.most.set(self.most.get().max(self.held.get()));
        Guard { page, held: &self.held }
    }
}

pub struct Guard<'p, G> {
    page: G,
    held: &'p Cell<u32>,
}

impl<G> Drop for Guard<'_, G> {
    fn drop(&mut self) {
        self.held.set(self.held.get() - 1);
    }
}

impl<G: Deref<Target = [u8]>> Deref for Guard<'_, G> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.page
    }
}

impl WritePage for Guard<'_, MemoryWrite<'_>> {
    fn block(&self) -> u32 {
        self.page.block()
    }
}

impl Pages for Watched<'_> {
    type Read<'p>
        = Guard<'p, MemoryRead<'p>>
    where
        Self: 'p;
    type Write<'p>
        = Guard<'p, MemoryWrite<'p>>
    where
        Self: 'p;
    type Pin<'p>
        = u32
    where
        Self: 'p;

    fn body_len(&self) -> usize {
        self.pages.body_len()
    }

    fn len(&self) -> Result<u32> {
        self.pages.len()
    }

    fn read(&self, block: u32) -> Result<Self::Read<'_>> {
        assert_eq!(self.held.get(), 0, "readers hold one lock at a time");
        (self.between)(Next::Read);
        Ok(self.guard(self.pages.read(block)?))
    }

    fn pin(&self, block: u32) -> Result<u32> {
        let inner = self.held.get() == 0 || self.pages.read(block)?[4] > 0;
        assert!(inner, "a leaf is read with {} locks held", self.held.get());
        Ok(block)
    }

    fn lock_pinned(&self, block: u32) -> Result<Self::Write<'_>> {
        if self.held.get() == 0 {
            (self.between)(Next::Lock);
        }
        Ok(self.guard(self.pages.lock(block)?))
    }

    fn extend(&self) -> Result<Self::Write<'_>> {
        (self.between)(Next::Extend);
        Ok(self.guard(self.pages.extend()?))
    }

    fn commit<'p>(&'p self, edits: &mut [Edit<'_, Self::Write<'p>>]) -> Result<()> {
        let mut edits: Vec<Edit<'_, MemoryWrite<'p>>> = edits
            .iter_mut()
            .map(|edit| Edit { page: &mut edit.page.page, change: edit.change, fresh: edit.fresh })
            .collect();
        self.pages.commit(&mut edits)
    }

    fn lock_predicate(&self, block: u32) {
        assert_eq!(self.held.get(), 1, "the leaf is locked");
        self.pages.relied_on.lock().unwrap().insert(block);
    }

    fn delay_point(&self) {
        assert_eq!(self.held.get(), 0, "who may wait holds no lock");
        (self.between)(Next::Wait);
    }

    fn prefetch_distance(&self) -> usize {
        self.ahead
    }
}
