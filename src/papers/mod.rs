//! The five papers' other systems, as SQL functions of the extension pg_dedup_papers (and `exact_seen` of pg_dedup).

mod detectors;
mod exact;
