//! The five papers' other systems, as SQL functions of the extension pg_dedup_papers.

mod bloom;
mod clusters;
mod detectors;
mod seen;
