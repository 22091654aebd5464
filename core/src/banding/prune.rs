//! Removing the entries of dead rows before VACUUM does: those that a search has met, from all trees, and those on a leaf
//! that is to be split.
//!
//! Only rows that are dead *for good* count: nobody's snapshot sees them, on a standby neither, and nothing is stored
//! in their place before a VACUUM has walked over all leaves. Whether a row is, [`Dead`] says while the entry's
//! leaf is locked exclusively. That is what makes it safe: an entry found there belongs to the row that is dead now, not to
//! a later one in its place, since for that VACUUM would have had to remove the entry first.
//!
//! Locking: as an insert. What says that a row is dead is read before, with no lock held. WAL: one record for all
//! main trees; one for a leaf that was full. An entry that a promotion copies meanwhile stays in a second level
//! until VACUUM; it is of a row that nobody sees.

use super::descend::retry;
use super::error::{Result, Way};
use super::key::{Position, Tid, Tree};
use super::leaf::{Leaf, packed_image, remove_dead};
use super::meta::Index;
use super::page::Header;
use super::storage::{Change, Edit, Pages, WritePage};
use super::target::{Target, in_all_trees, leaf_of, lock_leaves, targets};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Pages of the table that are looked at for a full leaf.
const MOST_VISITED: usize = 32;
/// The share of a full leaf's entries that must be dead, or it is split: what is looked at should pay.
const LEAST_PRUNED: usize = 128;
/// Attempts to lock the leaves of a row before it is left to VACUUM.
const ATTEMPTS: usize = 10;

/// Says which rows are dead for good.
pub trait Dead {
    /// Reads what [`is_dead`](Self::is_dead) needs of these rows; no lock is held.
    fn visit(&mut self, rows: &[Tid]) -> Result<()>;

    /// Whether a row is dead for good: false for one that was not visited last. Leaves are locked: it must not read from
    /// disk.
    fn is_dead(&mut self, row: Tid) -> bool;
}

impl Index {
    /// Removes a row's entries, if it is dead for good; says whether it is.
    pub fn remove<P: Pages>(
        &self,
        pages: &P,
        scope: u32,
        fingerprint: u64,
        tid: Tid,
        dead: &mut dyn Dead,
    ) -> Result<bool> {
        dead.visit(&[tid])?;
        if !dead.is_dead(tid) {
            return Ok(false);
        }
        let row = Position { scope, key: fingerprint, tid };
        in_all_trees(pages, self, fingerprint, |index, trees| remove_from(pages, index, trees, row, dead))?;
        Ok(true)
    }
}

fn remove_from<P: Pages>(
    pages: &P,
    index: &Index,
    trees: &[Tree],
    row: Position,
    dead: &mut dyn Dead,
) -> Result<()> {
    let targets = targets(index, trees, row)?;
    for _ in 0..ATTEMPTS {
        pages.delay_point();
        let Some(mut leaves) = retry(pages, || lock_leaves(pages, &targets))? else { continue };
        let mut images = Vec::with_capacity(leaves.len());
        for ((page, header), target) in leaves.iter().zip(&targets) {
            let leaf = Leaf::read(page.block(), page, *header)?;
            let mut entries: Vec<Position> = leaf.iter().collect();
            remove_dead(&mut entries, |_, entry| *entry == target.entry);
            images
                .push((entries.len() < header.count).then(|| packed_image(*header, &leaf.layout, &entries)));
        }
        if !dead.is_dead(row.tid) {
            return Ok(());
        }
        let edits = leaves.iter_mut().zip(&images).filter_map(|((page, _), image)| {
            Some(Edit { page, change: Change::Image(image.as_ref()?), fresh: false })
        });
        let mut edits: Vec<_> = edits.collect();
        return if edits.is_empty() { Ok(()) } else { pages.commit(&mut edits) };
    }
    Ok(())
}

/// Removes from the full leaf of a target the entries of rows that are dead for good, looking at older versions of rows
/// whose newer ones stand there too. Says whether there is room now, or somebody else has split the leaf.
pub(crate) fn prune_leaf<P: Pages>(pages: &P, target: Target, dead: &mut dyn Dead) -> Way<bool> {
    let block = leaf_of(pages, target)?;
    let leaf_header = |page: &[u8]| -> Way<Option<Header>> {
        let header = Header::read_tree(block, page, target.tree)?;
        Ok(Some(header).filter(|it| it.level == 0 && it.covers(target.entry)))
    };
    let rows = {
        let page = pages.read(block)?;
        let Some(header) = leaf_header(&page)? else { return Ok(true) };
        old_versions(&Leaf::read(block, &page, header)?, target.entry)
    };
    if rows.is_empty() {
        return Ok(false);
    }
    dead.visit(&rows)?;
    let mut page = pages.lock(block)?;
    let Some(header) = leaf_header(&page)? else { return Ok(true) };
    let leaf = Leaf::read(block, &page, header)?;
    let mut entries: Vec<Position> = leaf.iter().collect();
    remove_dead(&mut entries, |_, entry| entry.tid.can_be_a_row() && dead.is_dead(entry.tid));
    let removed = header.count - entries.len();
    if removed * LEAST_PRUNED < header.count {
        return Ok(false);
    }
    let image = packed_image(header, &leaf.layout, &entries);
    pages.commit(&mut [Edit { page: &mut page, change: Change::Image(&image), fresh: false }])?;
    Ok(true)
}

/// Rows on the leaf that share their fingerprint, with `new` too, in a few pages of the table: first of the fingerprints that
/// have most rows, for all but one or two of these are old, unless the rows are different ones; so not all of one fingerprint.
fn old_versions(leaf: &Leaf<'_>, new: Position) -> Vec<Tid> {
    let mut entries: Vec<Position> = leaf.iter().filter(|entry| entry.tid.can_be_a_row()).collect();
    entries.sort_unstable();
    let same = |a: &Position, b: &Position| (a.scope, a.key) == (b.scope, b.key);
    let shared = |rows: &&[Position]| rows.len() > 1 || same(&rows[0], &new);
    let mut versions: Vec<&[Position]> = entries.chunk_by(same).filter(shared).collect();
    versions.sort_by_key(|rows| Reverse(rows.len()));
    let some = versions.into_iter().flat_map(|rows| {
        let (before, from) = rows.split_at(usize::from(new.tid.offset()) % rows.len());
        from.iter().chain(before).take(MOST_VISITED / 2)
    });
    let mut pages = BTreeSet::new();
    some.map(|row| row.tid)
        .take_while(|row| {
            pages.insert(row.block());
            pages.len() <= MOST_VISITED
        })
        .collect()
}
