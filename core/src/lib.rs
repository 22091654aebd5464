//! The algorithms of pg_dedup, with no dependency on PostgreSQL.
//!
//! A [`text`] becomes a bag of weighted [`features`], the bag a [`fingerprint`]; fingerprints are searched with
//! [`banding`], pairs that are near are verified by [`similarity`] and [`details`] and linked into [`groups`]; a [`report`] shows them.
#![deny(unsafe_code)]

#[cfg(target_endian = "big")]
compile_error!("pg_dedup runs on little-endian processors only: no big-endian one has run its tests");

pub mod banding;
pub mod dedup;
pub mod details;
pub mod evaluate;
pub mod external;
pub mod features;
pub mod fingerprint;
pub mod groups;
pub mod hash;
pub mod interrupt;
pub mod memory;
pub mod random;
pub mod records;
pub mod report;
pub mod similarity;
pub mod text;
mod words;
