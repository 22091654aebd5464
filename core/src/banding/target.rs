//! The leaves that a row's entries belong on: found one by one, and locked together.

use super::descend::{Trace, descend};
use super::error::{Result, Way, moved, sound};
use super::hot::{BucketState, second_levels};
use super::key::{BLOCKS, Position, Tree};
use super::meta::Index;
use super::page::Header;
use super::storage::{MAX_EDITS, Pages, WritePage};

/// An entry on its way into a tree.
#[derive(Clone, Copy)]
pub(crate) struct Target {
    pub tree: Tree,
    pub root: u32,
    pub entry: Position,
}

/// The entries in some trees of a row, which comes as the first one has it: by its fingerprint.
pub(crate) fn targets(index: &Index, trees: &[Tree], row: Position) -> Result<Vec<Target>> {
    let target = |&tree: &Tree| {
        let entry = Position { key: tree.key(row.key), ..row };
        Ok(Target { tree, root: index.root_of(tree)?, entry })
    };
    trees.iter().map(target).collect()
}

/// Calls `each` with the trees that hold a row of this fingerprint, with as many at a time as one record changes: the main
/// ones, then the second levels of its hot buckets.
pub(crate) fn in_all_trees<P: Pages>(
    pages: &P,
    index: &Index,
    fingerprint: u64,
    mut each: impl FnMut(&Index, &[Tree]) -> Result<()>,
) -> Result<()> {
    each(index, &std::array::from_fn::<_, BLOCKS, _>(Tree::main))?;
    if index.scoped {
        return Ok(());
    }
    // After the main trees, and from the metapage as it is now: see `hot` for why.
    let index = Index::open(pages)?;
    let second_levels = second_levels(pages, &index, fingerprint, |state| state != BucketState::Cold)?;
    second_levels.chunks(MAX_EDITS).try_for_each(|trees| each(&index, trees))
}

/// Descends to the leaf for an entry; it may be split before it is locked.
pub(crate) fn leaf_of<P: Pages>(pages: &P, Target { tree, root, entry }: Target) -> Way<u32> {
    let page = descend(pages, tree, root, 1, entry, &mut Trace::new())?;
    match page.header.level {
        0 => Ok(root),
        _ => Ok(page.child(entry)?.child),
    }
}

/// Locks the leaves of entries, in order, when all have been read; `None` if one was split meanwhile.
#[expect(clippy::type_complexity, reason = "a page and its header")]
pub(crate) fn lock_leaves<'p, P: Pages>(
    pages: &'p P,
    targets: &[Target],
) -> Way<Option<Vec<(P::Write<'p>, Header)>>> {
    let mut pins = Vec::with_capacity(targets.len());
    let mut blocks = [0; MAX_EDITS];
    for (n, target) in targets.iter().enumerate() {
        let block = leaf_of(pages, *target)?;
        sound(!blocks[..n].contains(&block), block, "two trees lead to this page")?;
        blocks[n] = block;
        pins.push(pages.pin(block)?);
    }
    let mut leaves = Vec::with_capacity(targets.len());
    for (pin, target) in pins.into_iter().zip(targets) {
        let leaf = pages.lock_pinned(pin)?;
        let block = leaf.block();
        let header = Header::read_tree(block, &leaf, target.tree)?;
        if header.level > 0 && block != target.root {
            return moved(block, format!("level {} where 0 is expected", header.level));
        }
        // Whatever led here: a leaf of the tree that covers the entry is the one that does ([`recycle`](super::recycle)).
        if header.level > 0 || !header.covers(target.entry) {
            return Ok(None);
        }
        leaves.push((leaf, header));
    }
    Ok(Some(leaves))
}
