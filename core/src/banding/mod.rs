//! The `banding` index: exact Hamming search over 64-bit fingerprints, at any distance.
//!
//! The algorithms of the index access method, over a [page storage](Pages) that PostgreSQL's buffers
//! implement, and pages in memory for tests. A fingerprint is cut into four blocks of 16 bits; four
//! trees store every row, each ordered by another block first ([`Tree`]). A search probes, in each tree, the
//! [buckets](probes()) around the query's that the generalised pigeonhole principle requires (multi-index
//! hashing: Norouzi, Punjani and Fleet 2012). Where rows belong to *scopes*, the hash of a row's scope stands above
//! its key: a scope is one part of each tree, and is searched alone. Longer fingerprints are [cut into parts](PartsScan) of 64 bits.
//!
//! Locking and WAL, in short (the files say more): readers hold one shared lock at a time, move right where a page
//! was split meanwhile, and hold none between batches; a leaf that a bulk delete has emptied becomes part of its neighbour,
//! and its page is used again; every change is one atomic record of at most four pages and leaves a complete
//! structure. What reads or writes pages fails where one is damaged ([`Error::Corrupt`]), or as the storage does; then a scan is over.

mod build;
mod check;
mod cost;
mod cursor;
mod delete;
mod descend;
mod error;
mod estimate;
mod hot;
mod insert;
mod key;
mod leaf;
mod meta;
mod nearest;
mod pack;
mod page;
mod parts;
mod promote;
mod prune;
mod ranges;
mod recycle;
mod scan;
mod schedule;
mod stats;
mod storage;
mod target;

pub use build::{Builder, Built};
pub use check::{Finding, check};
pub use cost::{SearchCost, candidates, nearest_distance, parts_cost, random_selectivity, search_cost};
pub use delete::DeleteStats;
pub use error::{Error, Result};
pub use estimate::Sample;
pub use hot::BucketState;
pub use key::{BLOCKS, Position, Row, TREES, Tid, Tree, Unscoped};
pub use meta::{FORMAT_VERSION, Index, METAPAGE, Options};
pub use nearest::{NearestScan, passes};
pub use pack::PageSink;
pub use page::{Kind, used_after, used_bytes};
pub use parts::{PartsNearest, PartsScan, scope_of_part};
pub use prune::Dead;
pub use scan::{Hit, RangeScan};
pub use schedule::{MAX_DISTANCE, buckets_within, probes, radii};
pub(crate) use schedule::{ball_size, radius};
pub use stats::Stats;
pub use storage::{Change, Edit, MAX_BODY, MAX_EDITS, MIN_BODY, Pages, WritePage, validate_edits};
