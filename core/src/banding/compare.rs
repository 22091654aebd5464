//! Whether the trees of an index hold the same rows: compared by digests of 24 bytes that the
//! [check](super::check()) sums up page by page.

use super::check::{Check, CheckSink};
use super::cursor::Cursor;
use super::error::Result;
use super::key::{BLOCKS, Position, Tid, Tree};
use super::meta::{Index, METAPAGE};
use super::ranges::Ranges;
use super::storage::Pages;

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
        let mix = |seed: u64| {
            let mut z = fingerprint ^ tid.bits().wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed);
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9 ^ seed << 1);
            z = (z ^ z >> 27).wrapping_add(tid.bits()).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        };
        self.rows += 1;
        self.sum = self.sum.wrapping_add(u128::from(mix(1)) << 64 | u128::from(mix(0x5851_f42d_4c95_7f2d)));
    }
}

impl<P: Pages, S: CheckSink> Check<'_, P, S> {
    pub(super) fn compare_second_levels(&mut self, index: &Index, i: usize) {
        let main = self.hot[Tree::main(i).number()];
        for tree in (1..4).map(|j| Tree::new(i, j)) {
            let own = self.hot[tree.number()];
            if own != main && (index.root(tree).is_some() || main.rows > 0) {
                let what =
                    format!("{} entries of hot buckets, not the {} of the main tree", own.rows, main.rows);
                self.find(METAPAGE, tree, what);
            }
        }
    }

    /// All main trees hold the same rows; those that differ from the majority are reported.
    pub(super) fn compare_main_trees(&mut self) {
        let digests: Vec<Digest> = (0..BLOCKS).map(|i| self.all[Tree::main(i).number()]).collect();
        let agreeing = |d: &Digest| digests.iter().filter(|other| *other == d).count();
        let Some(usual) = digests.iter().max_by_key(|d| agreeing(d)).copied() else { return };
        for (i, digest) in digests.iter().enumerate().filter(|(_, d)| **d != usual) {
            let what = match digest.rows == usual.rows {
                true => "its rows are not those of the other trees".to_owned(),
                false => format!("{} rows, {} in other trees", digest.rows, usual.rows),
            };
            self.find(METAPAGE, Tree::main(i), what);
        }
    }
}

impl Index {
    /// Whether a tree holds exactly this entry; `false` for a second level that does not exist. Reads one leaf,
    /// as a search does.
    ///
    /// # Errors
    /// Damaged pages, or what the storage fails with.
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
    ///
    /// # Errors
    /// As [`contains`](Self::contains).
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
        for i in 0..BLOCKS {
            let bucket = (Tree::main(i).key(fingerprint) >> 48) as u16;
            let hot = super::hot::state(pages, self, i, bucket)? == super::hot::BucketState::Hot;
            for tree in (0..if hot { 4 } else { 1 }).map(|j| Tree::new(i, j)) {
                if !self.contains(pages, tree, scope, fingerprint, tid)? {
                    return Ok(Some(tree));
                }
            }
        }
        Ok(None)
    }
}
