//! Near-duplicates of a whole table, as pairs and as groups.

mod clusters;
mod pairs;
mod text_pairs;
