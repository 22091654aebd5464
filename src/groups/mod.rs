//! Near rows as pairs and as groups.

mod clusters;
mod pairs;
mod text_pairs;
