//! Near pairs and groups of whole tables.
//!
//! * [`Pairs`] finds every pair of rows within a Hamming distance, within a bound of memory and on several
//!   threads (P2's classification by blocks, exact at any distance); [`CrossPairs`] those of new rows with
//!   existing ones.
//! * [`SinglePass`] assigns each row to the nearest earlier centre (P4).
//! * [`components()`] are the connected components of near pairs, with an optional limit of their diameter.
//! * [`EdgeComponents`] are those of any edges, whoever has found them.
//! * [`Linker`] makes groups of near pairs that are verified one by one, [`IncrementalClusters`] clusters that
//!   keep their names while rows arrive, [`names()`] those of groups that rows have left.

mod blocking;
mod components;
mod connected;
mod cross;
mod diameter;
mod edge_components;
mod edges;
mod incremental;
mod join;
mod linker;
mod names;
mod pairs;
mod parallel;
mod partitioned;
mod rows;
mod shared_sets;
mod single_pass;
mod union_find;

pub use components::components;
pub use cross::{CrossPairs, is_search_cheaper};
pub use edge_components::EdgeComponents;
pub use incremental::{Candidate, IncrementalClusters, Merge};
pub use linker::{Linkage, Linker};
pub use names::names;
pub use pairs::{Connect, Pair, Pairs, Settings};
pub use shared_sets::SharedSets;
pub use single_pass::{Centre, SinglePass};
pub use union_find::UnionFind;
