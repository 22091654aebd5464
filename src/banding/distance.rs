//! Distances of fingerprints: `hamming`, `<~>`, `near_dup`, `near_dup_bands`.

use dedup_core::fingerprint;
use pgrx::prelude::*;

/// The number of bits, 0 to 64, in which two fingerprints differ.
#[pg_extern(sql = "")]
fn hamming(a: i64, b: i64) -> i32 {
    fingerprint::hamming(a as u64, b as u64) as i32
}

/// Whether two fingerprints differ in at most `distance` bits. A negative
/// distance is met by nothing, one of 64 or more by everything.
#[pg_extern(sql = "")]
fn near_dup(a: i64, b: i64, distance: i32) -> bool {
    i64::from(fingerprint::hamming(a as u64, b as u64)) <= i64::from(distance)
}

/// Four keys, one a block of 16 bits with the block's number (0 to 3) above
/// it: fingerprints that differ in at most three bits share one (pigeonhole;
/// P2's four-block classification). For engines that can only join on
/// equality.
#[pg_extern(sql = "")]
fn near_dup_bands(fp: i64) -> SetOfIterator<'static, i32> {
    let block = move |number: u32| (number << 16 | (fp as u64 >> (48 - 16 * number)) as u32 & 0xFFFF) as i32;
    SetOfIterator::new((0..4).map(block))
}
