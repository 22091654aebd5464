//! Statistics of an index. Pages are read one by one, so the figures of an index that changes meanwhile belong
//! to no single moment.

use super::error::Result;
use super::hot::{BucketState, states};
use super::key::{BLOCKS, TREES};
use super::leaf::Leaf;
use super::meta::Index;
use super::page::{HEADER, Header, Kind};
use super::storage::Pages;

/// How many of the largest buckets of a block are listed.
const LARGEST_BUCKETS: usize = 10;

/// Statistics of an index.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Stats {
    /// Rows with a fingerprint: entries of the first main tree.
    pub rows: u64,
    /// All pages, the metapage included.
    pub pages: u32,
    /// Leaves by tree number.
    pub leaves: [u32; TREES + 1],
    /// Inner pages by tree number.
    pub inner: [u32; TREES + 1],
    /// Levels by tree number: 1 is a root that is a leaf, 0 a tree that does not exist.
    pub levels: [u8; TREES + 1],
    /// Entries by tree number.
    pub entries: [u64; TREES + 1],
    /// Free pages, and zeroed ones that nothing points to.
    pub unused: u32,
    /// The share of the leaves' space for entries that is in use, 0 to 1.
    pub leaf_fill: f64,
    /// By block: the ten largest buckets and their entries, largest first.
    pub largest: [Vec<(u16, u64)>; BLOCKS],
    /// By block: buckets with a complete second level.
    pub hot: [u32; BLOCKS],
}

impl Index {
    /// Reads the whole index and describes it.
    pub fn stats<P: Pages>(&self, pages: &P) -> Result<Stats> {
        let mut stats = Stats { pages: pages.len()?, ..Stats::default() };
        let (mut used, mut room) = (0u64, 0u64);
        let mut counts = vec![[0u64; BLOCKS]; 1 << 16];
        for block in 1..stats.pages {
            if block % 64 == 0 {
                pages.delay_point();
            }
            let body = pages.read(block)?;
            let Some(header) = Header::read(block, &body)? else {
                stats.unused += 1;
                continue;
            };
            let t = header.tree.number();
            match header.kind {
                Kind::Leaf => {
                    stats.leaves[t] += 1;
                    stats.entries[t] += header.count as u64;
                    used += (header.used - HEADER) as u64;
                    room += (body.len() - HEADER) as u64;
                    if header.tree.is_main() {
                        let entries = Leaf::read(block, &body, header)?.iter();
                        entries.for_each(|it| counts[usize::from(it.bucket())][header.tree.block()] += 1);
                    }
                }
                Kind::Inner => stats.inner[t] += 1,
                Kind::Free => stats.unused += 1,
                Kind::HotDirectory | Kind::HotStates | Kind::Meta => {}
            }
            if self.root(header.tree) == Some(block) {
                stats.levels[t] = header.level + 1;
            }
        }
        stats.rows = stats.entries[0];
        stats.leaf_fill = used as f64 / room.max(1) as f64;
        // A stale copy of the metapage may not know of a second level.
        let now = Index::open(pages)?;
        for i in 0..BLOCKS {
            let mut largest: Vec<_> = (0..=u16::MAX).zip(counts.iter().map(|counts| counts[i])).collect();
            largest.retain(|c| c.1 > 0);
            largest.sort_unstable_by_key(|c| std::cmp::Reverse((c.1, c.0)));
            largest.truncate(LARGEST_BUCKETS);
            stats.largest[i] = largest;
            let hot = states(pages, &now, i)?;
            stats.hot[i] = hot.iter().filter(|s| s.1 == BucketState::Hot).count() as u32;
        }
        Ok(stats)
    }
}
