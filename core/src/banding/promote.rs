//! Promotion: which buckets are hot, and how they are given their second level.
//!
//! Locking: counting reads leaves as a scan does. Promotion copies a leaf's entries out under its shared
//! lock, releases it, and inserts them into the second level like any insert; it never holds locks in two
//! trees. One promotion at a time, and none beside a bulk delete: VACUUM's own lock on the table ensures
//! both. Why promotion is safe beside inserts and searches is proved in [`hot`](super::hot).
//!
//! A bucket is promoted if it holds more than `1 + mu` times the average non-empty bucket of its block, or more than
//! `max_bucket` entries, and more than [four leaves](least_hot) of them. Entries of one identical fingerprint cannot be told
//! apart by any second level; if they are the majority of a bucket, what is left without them has
//! to exceed both bounds.

use super::cursor::Cursor;
use super::error::Result;
use super::hot::{BucketState, empty_directory, set_state, states};
use super::insert::insert_into;
use super::key::{BLOCKS, Position, Tree};
use super::meta::{HOT, Index, METAPAGE, Options, ROOTS, empty_root};
use super::page::{HEADER, get_u32};
use super::ranges::Ranges;
use super::storage::{Change, Edit, Pages, WritePage};

/// Entries below which no bucket is hot: four leaves of ten-byte entries.
pub(crate) fn least_hot(body_len: usize) -> u64 {
    4 * (body_len - HEADER) as u64 / 10
}

/// A bucket's size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketCount {
    pub bucket: u16,
    pub entries: u64,
    /// Entries of one fingerprint, if they are more than half; else less than that or 0.
    pub identical: u64,
}

/// Whether a bucket is hot and a second level helps.
pub(crate) fn is_worth_promoting(
    count: &BucketCount,
    average: f64,
    options: &Options,
    body_len: usize,
) -> bool {
    let helped = match count.identical * 2 > count.entries {
        // Inserts may have come between the two counts.
        true => count.entries.saturating_sub(count.identical),
        false => count.entries,
    };
    let too_large = options.max_bucket > 0 && helped > u64::from(options.max_bucket);
    helped > least_hot(body_len) && (too_large || helped as f64 > (1.0 + options.mu) * average)
}

/// Counts the buckets of entries that come in key order.
pub(crate) struct BucketCounter {
    pub buckets: Vec<BucketCount>,
    /// The last key, and how many have come in a row.
    key: u64,
    run: u64,
}

impl BucketCounter {
    pub(crate) fn new() -> Result<Self> {
        Ok(BucketCounter { buckets: crate::memory::with_capacity(1 << 16)?, key: 0, run: 0 })
    }

    #[inline]
    pub(crate) fn add(&mut self, key: u64) {
        let bucket = (key >> 48) as u16;
        self.run = if self.key == key { self.run + 1 } else { 1 };
        self.key = key;
        match self.buckets.last_mut() {
            Some(count) if count.bucket == bucket => {
                count.entries += 1;
                count.identical = count.identical.max(self.run);
            }
            _ => self.buckets.push(BucketCount { bucket, entries: 1, identical: 1 }),
        }
    }

    /// The average non-empty bucket.
    pub(crate) fn average(&self) -> f64 {
        let entries: u64 = self.buckets.iter().map(|count| count.entries).sum();
        entries as f64 / self.buckets.len().max(1) as f64
    }
}

impl Index {
    /// Promotes the buckets that were counted and are hot; says how many.
    pub(crate) fn promote_counted<P: Pages>(&self, pages: &P, counts: &BucketCounts) -> Result<u32> {
        let mut promoted = 0;
        for (i, counts) in counts.0.iter().enumerate() {
            let entries: u64 = counts.iter().map(|c| u64::from(c.entries)).sum();
            let filled = counts.iter().filter(|c| c.entries > 0).count().max(1);
            let average = entries as f64 / filled as f64;
            let index = Index::open(pages)?;
            let known = states(pages, &index, i)?;
            for (bucket, count) in (0..=u16::MAX).zip(counts) {
                let state = known.binary_search_by_key(&bucket, |s| s.0).map(|at| known[at].1);
                let promote = match state {
                    Ok(BucketState::Hot) => false,
                    // Begun and not finished.
                    Ok(BucketState::Filling) => true,
                    _ => {
                        let entries = u64::from(count.entries);
                        let worth = |identical| {
                            let size = BucketCount { bucket, entries, identical };
                            is_worth_promoting(&size, average, &self.options, pages.body_len())
                        };
                        worth(0) && worth(count_key(pages, self, i, count.majority)?)
                    }
                };
                if promote {
                    promote_bucket(pages, i, bucket)?;
                    promoted += 1;
                }
            }
        }
        Index::note_counted(pages)?;
        Ok(promoted)
    }
}

/// The size of a bucket, and its majority key if it has one (else any key).
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Count {
    pub entries: u32,
    majority: u64,
    /// Boyer and Moore's vote: the key that outweighs all others, if one does, survives, in whatever order they come.
    votes: u32,
}

/// The sizes of the buckets of all blocks; nothing in an index with scopes. 6 MB.
pub(crate) struct BucketCounts([Vec<Count>; BLOCKS]);

impl BucketCounts {
    pub(crate) fn new(index: &Index) -> Result<Self> {
        let mut counts: [Vec<Count>; BLOCKS] = Default::default();
        if !index.scoped {
            for block in &mut counts {
                *block = crate::memory::filled(Count::default(), 1 << 16)?;
            }
        }
        Ok(BucketCounts(counts))
    }

    /// Counts an entry of a main tree; of another tree, nothing.
    #[inline]
    pub(crate) fn add(&mut self, tree: Tree, key: u64) {
        if !tree.is_main() {
            return;
        }
        let Some(count) = self.0[tree.block()].get_mut((key >> 48) as usize) else { return };
        count.entries = count.entries.saturating_add(1);
        if count.votes == 0 {
            (count.majority, count.votes) = (key, 1);
        } else if count.majority == key {
            count.votes += 1;
        } else {
            count.votes -= 1;
        }
    }
}

/// How many entries of block `i`'s main tree have a key.
fn count_key<P: Pages>(pages: &P, index: &Index, i: usize, key: u64) -> Result<u64> {
    let tree = Tree::main(i);
    let mut cursor = Cursor::new(pages, tree, index.root_of(tree)?, Ranges::All);
    let (mut mark, mut n) = (Position::start(0, key), 0);
    loop {
        let page = cursor.seek(mark)?;
        page.leaf()?.near(None, key, 0, |_| n += 1);
        match page.high() {
            Some(high) if high.key <= key => mark = high,
            _ => return Ok(n),
        }
    }
}

/// Gives a block its second level's three root leaves and its directory of states, if it has none. The directory comes
/// last: whoever sees a state finds the trees.
fn add_second_level<P: Pages>(pages: &P, block: usize) -> Result<Index> {
    let body_len = pages.body_len();
    for tree in (1..4).map(|j| Tree::new(block, j)) {
        add_page(pages, ROOTS + 4 * tree.number(), &empty_root(tree, false, body_len))?;
    }
    add_page(pages, HOT + 4 * block, &empty_directory(block, body_len))?;
    Index::open(pages)
}

/// Adds a page to which the metapage points at `at`, in one record with the pointer, unless it points to one there.
fn add_page<P: Pages>(pages: &P, at: usize, image: &[u8]) -> Result<()> {
    let mut meta = pages.lock(METAPAGE)?;
    Index::decode(&meta, pages.body_len())?;
    if get_u32(&meta, at) != 0 {
        return Ok(());
    }
    let mut page = pages.extend()?;
    let pointer = page.block().to_le_bytes();
    pages.commit(&mut [
        Edit { page: &mut page, change: Change::Image(image), fresh: true },
        Edit { page: &mut meta, change: Change::Patch(&[(at, &pointer)]), fresh: false },
    ])
}

pub(crate) fn promote_bucket<P: Pages>(pages: &P, i: usize, bucket: u16) -> Result<()> {
    let index = add_second_level(pages, i)?;
    set_state(pages, &index, i, bucket, BucketState::Filling)?;
    // Only now read: whoever inserts from here on sees `filling`.
    let tree = Tree::main(i);
    let root = index.root_of(tree)?;
    let last = u64::from(bucket) << 48 | u64::MAX >> 16;
    let mut mark = Position::start(0, u64::from(bucket) << 48);
    let mut entries: Vec<Position> = Vec::new();
    loop {
        let high = {
            let mut cursor = Cursor::new(pages, tree, root, Ranges::All);
            let page = cursor.seek(mark)?;
            entries.extend(page.leaf()?.iter().filter(|e| e.bucket() == bucket));
            page.high()
        };
        for entry in entries.drain(..) {
            let row = Position { key: tree.fingerprint(entry.key), ..entry };
            let trees = [1, 2, 3].map(|j| Tree::new(i, j));
            insert_into(pages, &index, &trees, row, None)?;
        }
        pages.delay_point();
        match high {
            Some(high) if high.key <= last => mark = high,
            _ => break,
        }
    }
    set_state(pages, &index, i, bucket, BucketState::Hot)
}
