//! Whether the trees of an index hold the same rows: compared by digests of 24 bytes that the
//! [check](super::check()) sums up page by page.

use super::cursor::Cursor;
use super::error::Result;
use super::hot::{BucketState, second_levels};
use super::key::{BLOCKS, Position, Tid, Tree};
use super::meta::Index;
use super::ranges::Ranges;
use super::storage::Pages;
use crate::hash::mix64;

/// An order-independent digest of a set of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Digest {
    pub rows: u64,
    sum: u128,
}

impl Digest {
    pub(super) fn add(&mut self, scope: u32, fingerprint: u64, tid: Tid) {
        let fingerprint = fingerprint ^ u64::from(scope).wrapping_mul(0xd6e8_feb8_6659_fd93);
        // Sums of well-mixed values: equal sets give equal sums, others collide with probability 2^-128.
        let mix = |seed: u64| mix64(mix64(fingerprint ^ seed) ^ tid.bits());
        self.rows += 1;
        self.sum = self.sum.wrapping_add(u128::from(mix(1)) << 64 | u128::from(mix(0x5851_f42d_4c95_7f2d)));
    }
}

/// What second levels of block `i` do not hold just the rows of its hot buckets, of these digests.
pub(super) fn wrong_second_levels(index: &Index, i: usize, hot: &[Digest]) -> Vec<(Tree, String)> {
    let main = hot[Tree::main(i).number()];
    let mut wrong = Vec::new();
    for tree in (1..4).map(|j| Tree::new(i, j)) {
        let own = hot[tree.number()];
        if own != main && (index.root(tree).is_some() || main.rows > 0) {
            wrong.push((
                tree,
                format!("{} entries of hot buckets, not the {} of the main tree", own.rows, main.rows),
            ));
        }
    }
    wrong
}

/// What main trees differ from the majority: all hold the same rows.
pub(super) fn wrong_main_trees(all: &[Digest]) -> Vec<(Tree, String)> {
    let digests = [0, 1, 2, 3].map(|i| all[Tree::main(i).number()]);
    let agreeing = |d: &Digest| digests.iter().filter(|other| *other == d).count();
    let Some(usual) = digests.iter().max_by_key(|d| agreeing(d)).copied() else { return Vec::new() };
    let wrong = digests.iter().enumerate().filter(|(_, digest)| **digest != usual).map(|(i, digest)| {
        let what = match digest.rows == usual.rows {
            true => "its rows are not those of the other trees".to_owned(),
            false => format!("{} rows, {} in other trees", digest.rows, usual.rows),
        };
        (Tree::main(i), what)
    });
    wrong.collect()
}

impl Index {
    /// Whether a tree holds exactly this entry; `false` for a second level that does not exist. Reads one leaf,
    /// as a search does.
    pub fn contains<P: Pages>(
        &self,
        pages: &P,
        tree: Tree,
        scope: u32,
        fingerprint: u64,
        tid: Tid,
    ) -> Result<bool> {
        let Some(root) = self.root(tree) else {
            return Ok(false);
        };
        let at = Position { scope, key: tree.key(fingerprint), tid };
        let mut cursor = Cursor::new(pages, tree, root, Ranges::All);
        Ok(cursor.seek(at)?.leaf()?.contains(at))
    }

    /// The first tree that ought to hold a row's entry and does not: a main tree, or one of the second
    /// level of a hot bucket that the row is in, or that of NULLs. For a row whose insert has returned.
    pub fn missing_from<P: Pages>(
        &self,
        pages: &P,
        scope: u32,
        fingerprint: Option<u64>,
        tid: Tid,
    ) -> Result<Option<Tree>> {
        let Some(fingerprint) = fingerprint else {
            let missing = !self.contains(pages, Tree::NULLS, scope, 0, tid)?;
            return Ok(missing.then_some(Tree::NULLS));
        };
        let second_levels = second_levels(pages, self, fingerprint, |state| state == BucketState::Hot)?;
        for tree in (0..BLOCKS).map(Tree::main).chain(second_levels) {
            if !self.contains(pages, tree, scope, fingerprint, tid)? {
                return Ok(Some(tree));
            }
        }
        Ok(None)
    }
}
