//! The algorithms of pg_dedup, with no dependency on PostgreSQL.
//!
//! One way through: [`text`] becomes weighted [`features`], features become a
//! [`signature`], signatures are searched with [`banding`], and what is found
//! is grouped. Everything here is tested without a server.
#![deny(unsafe_code)]

pub mod banding;
pub mod cluster;
pub mod dedup;
pub mod evaluate;
pub mod exact;
pub mod external;
pub mod features;
pub mod hash;
pub mod interrupt;
pub mod memory;
pub mod random;
pub mod signature;
pub mod text;
