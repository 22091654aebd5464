//! Generates a made-up Chinese petition desk (信访): petitions with known
//! near-duplicates, for trying out and measuring pg_dedup.
//!
//! Every row is computed from the options and its own number, so desks of any
//! size are written as a stream, and the same options always give the same desk.

pub mod calendar;
pub mod compose;
pub mod context;
pub mod csv;
pub mod desk;
pub mod generic;
pub mod grammar;
pub mod measure;
pub mod names;
pub mod openings;
pub mod options;
pub mod people;
pub mod plan;
pub mod rng;
pub mod similarity;
pub mod template;
pub mod topics;
pub mod vary;
pub mod words;
