//! The page storage of an index, as a trait.
//!
//! Locking: a [`Pages::Read`] is a shared lock, a [`Pages::Write`] an exclusive one; both are
//! released when dropped, whatever the reason, so a caller that fails or is cancelled leaves no
//! lock behind. Readers hold one at a time. Writers lock leaves in the order of their trees, then inner pages from the
//! bottom up, then new pages, which nobody else can want, and never take a page twice: that excludes deadlock.
//! Nobody waits for a page to be read while holding a lock: who locks several pages has [pinned](Pages::pin) or read
//! them just before.
//!
//! WAL: [`Pages::commit`] is the only way to change a page, and one call is one atomic record of at
//! most [`MAX_EDITS`] pages. An edit is *data* ([`Change`]), not code: all that can fail has been
//! decided before the record is begun, and applying it cannot fail or panic. On PostgreSQL a commit
//! is `GenericXLogStart`, one `GenericXLogRegisterBuffer` per edit, [`Change::apply`] on the copy's
//! body, `pd_lower` from [`used_bytes`](super::used_bytes), `GenericXLogFinish`; a record of patches
//! alone can be written directly, as fragments.

use std::ops::Deref;

use super::error::{Result, corrupt};
use crate::interrupt;

/// The most pages one atomic record can hold (`XLR_NORMAL_MAX_BLOCK_ID`).
pub const MAX_EDITS: usize = 4;
/// The smallest page body, in bytes. Real pages are 4 kB and more; tests use less for deep trees.
pub const MIN_BODY: usize = 512;
/// The largest page body, in bytes: a 32 kB page.
pub const MAX_BODY: usize = 32 * 1024;

/// A change of a page.
#[derive(Debug, Clone, Copy)]
pub enum Change<'a> {
    /// Bytes written at offsets of the body; what is not named stays. Keeps a WAL delta small.
    Patch(&'a [(usize, &'a [u8])]),
    /// The body from its start; the rest of it becomes zero.
    Image(&'a [u8]),
}

impl Change<'_> {
    /// Whether the change stays inside a body of `body_len` bytes. [`Pages::commit`] asks this of
    /// every edit before it begins the record.
    pub fn fits(&self, body_len: usize) -> bool {
        match self {
            Change::Patch(patches) => patches
                .iter()
                .all(|(at, bytes)| at.checked_add(bytes.len()).is_some_and(|end| end <= body_len)),
            Change::Image(image) => image.len() <= body_len,
        }
    }

    /// Applies the change. What does not [fit](Self::fits) is left out, so this never panics.
    pub fn apply(&self, body: &mut [u8]) {
        match self {
            Change::Patch(patches) => {
                for (at, bytes) in *patches {
                    if let Some(to) = body.get_mut(*at..).and_then(|b| b.get_mut(..bytes.len())) {
                        to.copy_from_slice(bytes);
                    }
                }
            }
            Change::Image(image) => {
                let n = image.len().min(body.len());
                body[..n].copy_from_slice(&image[..n]);
                body[n..].fill(0);
            }
        }
    }
}

/// One page of a commit.
#[derive(Debug)]
pub struct Edit<'a, W> {
    /// The page, exclusively locked.
    pub page: &'a mut W,
    /// The change.
    pub change: Change<'a>,
    /// The page comes from [`Pages::extend`]: log it as a full image.
    pub fresh: bool,
}

/// An exclusively locked page; dereferences to its body as of the last commit.
pub trait WritePage: Deref<Target = [u8]> {
    /// The page's block number.
    fn block(&self) -> u32;
}

/// A growing array of pages of one size, each with a shared/exclusive lock.
///
/// A *body* is a page without what the storage keeps for itself; all bodies are
/// [`body_len`](Self::body_len) bytes long. A page that was added but never committed reads as zeroes.
#[expect(clippy::len_without_is_empty, reason = "no index is without a page")]
pub trait Pages {
    /// A shared lock; dereferences to the page's body without copying it.
    type Read<'p>: Deref<Target = [u8]>
    where
        Self: 'p;
    /// An exclusive lock.
    type Write<'p>: WritePage
    where
        Self: 'p;
    /// A page that stays in memory and is not locked.
    type Pin<'p>
    where
        Self: 'p;

    /// Bytes of a page body: [`MIN_BODY`] to [`MAX_BODY`].
    fn body_len(&self) -> usize;

    /// The number of pages, now.
    fn len(&self) -> Result<u32>;

    /// Takes a shared lock.
    fn read(&self, block: u32) -> Result<Self::Read<'_>>;

    /// Reads a page without locking it.
    fn pin(&self, block: u32) -> Result<Self::Pin<'_>>;

    /// Takes an exclusive lock on a page that has been read.
    fn lock_pinned<'p>(&'p self, pin: Self::Pin<'p>) -> Result<Self::Write<'p>>;

    /// Takes an exclusive lock.
    fn lock(&self, block: u32) -> Result<Self::Write<'_>> {
        self.lock_pinned(self.pin(block)?)
    }

    /// Adds a zeroed page at the end and locks it exclusively. Not undone by a crash or an error:
    /// a zero page that nothing points to is legal anywhere.
    fn extend(&self) -> Result<Self::Write<'_>>;

    /// Changes 1 to [`MAX_EDITS`] pages as one atomic record. The locks stay held, and the guards
    /// show the new bodies.
    ///
    /// # Errors
    /// Nothing has changed when it fails.
    fn commit<'p>(&'p self, edits: &mut [Edit<'_, Self::Write<'p>>]) -> Result<()>;

    /// A search relies on what the leaf `block`, which it has locked, holds and lacks. This and the next two are for
    /// serializable transactions.
    fn lock_predicate(&self, _block: u32) {}

    /// A row comes to the leaf `block`, locked exclusively: a conflict with who relies on it.
    fn check_predicate(&self, _block: u32) {}

    /// What `from` covers is about to be covered by `to`: who relies on the one relies on both. The first is locked
    /// exclusively, and the other one too or not to be found yet.
    fn copy_predicate(&self, _from: u32, _to: u32) {}

    /// Called with no lock held, at least once per 64 pages read: answers interrupts, and is where VACUUM
    /// sleeps.
    fn delay_point(&self) {
        interrupt::check();
    }

    /// Announces that `block` will be read soon. Only a hint.
    fn prefetch(&self, _block: u32) {}

    /// How many pages ahead [`prefetch`](Self::prefetch) should be called; 0 disables it.
    fn prefetch_distance(&self) -> usize {
        0
    }
}

/// Refuses edits that break the contract of [`Pages::commit`]; for its implementations.
pub fn validate_edits<W: WritePage>(edits: &[Edit<'_, W>], body_len: usize) -> Result<()> {
    if edits.is_empty() || edits.len() > MAX_EDITS {
        return corrupt(0, format!("a record of {} pages was requested", edits.len()));
    }
    match edits.iter().find(|e| !e.change.fits(body_len)) {
        Some(edit) => corrupt(edit.page.block(), "an edit leaves the page"),
        None => Ok(()),
    }
}
