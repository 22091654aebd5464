//! `hamming_ball`: the fingerprints within a distance of one, and the
//! operators that ask whether a fingerprint lies in it.

use crate::pg::raise;
use dedup_core::signature::hamming;
use pgrx::prelude::*;

pub(crate) use crate::pg::ball::Ball;

/// The distance of the operator `=~`.
pub(crate) const NEAR_DISTANCE: u32 = 3;

fn radius(distance: i32) -> u32 {
    match u32::try_from(distance) {
        Ok(radius) => radius.min(64),
        Err(_) => raise(
            PgSqlErrorCode::ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
            format!("radius {distance} of a hamming_ball is negative"),
            "A Hamming distance of fingerprints is 0 to 64.",
        ),
    }
}

/// The ball around `center`.
#[pg_extern(sql = "")]
fn hamming_ball(center: i64, distance: i32) -> Ball {
    Ball { center: center as u64, radius: radius(distance) }
}

/// Reads `(center,radius)`.
#[pg_extern(sql = "")]
fn hamming_ball_in(text: &core::ffi::CStr) -> Ball {
    let written = text.to_string_lossy();
    let inner = written.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    let numbers = inner.and_then(|inner| inner.split_once(',')).and_then(|(center, distance)| {
        Some((center.trim().parse::<i64>().ok()?, distance.trim().parse::<i32>().ok()?))
    });
    match numbers {
        Some((center, distance)) => hamming_ball(center, distance),
        None => raise(
            PgSqlErrorCode::ERRCODE_INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type hamming_ball: \"{written}\""),
            "Write (center,radius), for example (-7970365395035577973,8).",
        ),
    }
}

/// Writes `(center,radius)`.
#[pg_extern(sql = "")]
fn hamming_ball_out(ball: Ball) -> std::ffi::CString {
    std::ffi::CString::new(format!("({},{})", ball.center as i64, ball.radius)).unwrap_or_default()
}

/// `<@`: whether a fingerprint lies in the ball.
#[pg_extern(sql = "")]
fn within_ball(fp: i64, ball: Ball) -> bool {
    hamming(fp as u64, ball.center) <= ball.radius
}

/// `=~`: whether two fingerprints differ in at most three bits.
#[pg_extern(sql = "")]
fn near(a: i64, b: i64) -> bool {
    hamming(a as u64, b as u64) <= NEAR_DISTANCE
}
