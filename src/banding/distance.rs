//! Distances of fingerprints: `hamming`, `<~>`, `near_dup`, `near_dup_bands`.

use crate::pg::raise_invalid;
use dedup_core::fingerprint::{self, Bands, BandsError};
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn hamming(a: i64, b: i64) -> i32 {
    fingerprint::hamming(a as u64, b as u64) as i32
}

#[pg_extern(sql = "")]
fn near_dup(a: i64, b: i64, distance: i32) -> bool {
    i64::from(fingerprint::hamming(a as u64, b as u64)) <= i64::from(distance)
}

/// The keys by blocks of a fingerprint ([`Bands`]), for engines that can only join on equality. Arguments: fp, distance
/// (3), blocks (distance + 1).
#[pg_extern(sql = "")]
fn near_dup_bands(
    fp: Option<i64>,
    distance: Option<i32>,
    blocks: Option<i32>,
) -> SetOfIterator<'static, i64> {
    const DISTANCE: i32 = 3;
    let bands = Bands::new(distance.unwrap_or(DISTANCE), blocks).unwrap_or_else(|error| {
        let hint = match error {
            BandsError::Distance(_) => "The distance is 0 to 63: all fingerprints are within 64.".to_owned(),
            BandsError::Blocks(_) => {
                "Blocks are more than the distance, at most 64; every choice of blocks less distance of them makes a key."
                    .to_owned()
            }
            BandsError::TooMany(_) => format!("Take fewer blocks: at most {} keys.", Bands::MOST),
            BandsError::TooLong(_) => "Take fewer blocks: keys are shorter then.".to_owned(),
        };
        raise_invalid(error.to_string(), hint)
    });
    let keys = fp.map(|fp| (0..bands.count()).map(move |number| bands.key(fp as u64, number) as i64));
    SetOfIterator::new(keys.into_iter().flatten())
}
