//! Near-duplicates of a whole table, as pairs and as groups.

mod edges;
mod pairs;
