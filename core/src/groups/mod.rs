//! Whole tables at once: all pairs of near fingerprints, and the groups that
//! they make.
//!
//! * [`Pairs`] finds every pair of rows within a Hamming distance, within a
//!   bound of memory and on several threads (P2's classification by blocks,
//!   made exact at any distance).
//! * [`SinglePass`] puts each row to the nearest earlier centre (P4).
//! * [`CrossPairs`] finds the pairs of new rows with those that are there, and
//!   [`IncrementalClusters`] the clusters that they join, found or bridge.
//! * [`components`](fn@components) are the rows that near pairs connect, with an optional
//!   guard against chains.
//! * [`Linker`] makes groups of near pairs that are verified one by one.

mod blocking;
mod components;
mod cross;
mod diameter;
mod edges;
mod incremental;
mod join;
mod linker;
mod pairs;
mod parallel;
mod partitioned;
mod rows;
mod single_pass;
mod union_find;

pub use components::components;
pub use cross::CrossPairs;
pub use incremental::{IncrementalClusters, Merge};
pub use linker::{Linkage, Linker};
pub use pairs::{Pair, Pairs, Settings};
pub use single_pass::{Centre, SinglePass};
pub use union_find::UnionFind;
