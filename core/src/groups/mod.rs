//! Near pairs of whole tables, and what they connect.
//!
//! * [`Pairs`] finds every pair of rows within a Hamming distance, within a bound of memory and on several
//!   threads (P2's classification by blocks, exact at any distance); [`CrossPairs`] those of new rows with
//!   existing ones.
//! * [`EdgeComponents`] are the connected components of any pairs, whoever has found them.
//! * [`names()`] are names of groups that stay theirs while rows come and go.

mod blocking;
mod connected;
mod edge_components;
mod join;
mod mark;
mod names;
mod pair;
mod pairs;
mod parallel;
mod part_pairs;
mod partitioned;
mod rows;
mod runs;
mod union_find;

pub use edge_components::EdgeComponents;
pub use mark::Mark;
pub use names::{Named, names};
pub use pair::{Connect, Pair, PairSearch};
pub use pairs::{CrossPairs, Pairs};
pub use part_pairs::PartPairs;
pub(crate) use union_find::DiameterSets;
pub use union_find::UnionFind;
