//! `hamming_ball`: the fingerprints within a distance of one, and the
//! operators that ask whether a fingerprint lies in it.

use crate::pg::{Message, raise};
use dedup_core::signature::hamming;
use pgrx::datum::Internal;
use pgrx::prelude::*;

pub(crate) use crate::pg::ball::Ball;

/// The distance of the operator `=~`.
pub(crate) const NEAR_DISTANCE: u32 = 3;

/// The ball around `center`. One of a negative radius is empty, and no error:
/// `near_dup` with a negative distance becomes a search in it.
#[pg_extern(sql = "")]
fn hamming_ball(center: i64, distance: i32) -> Ball {
    Ball::new(center as u64, distance)
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

/// Reads center and radius, 8 and 4 bytes in network order.
#[pg_extern(sql = "")]
fn hamming_ball_recv(message: Internal) -> Ball {
    let mut message = Message::of(message);
    let center = message.bigint();
    hamming_ball(center, message.integer())
}

/// Writes what [`hamming_ball_recv`] reads.
#[pg_extern(sql = "")]
fn hamming_ball_send(ball: Ball) -> Vec<u8> {
    [ball.center.to_be_bytes().as_slice(), &ball.radius.to_be_bytes()].concat()
}

/// `<@`: whether a fingerprint lies in the ball.
#[pg_extern(sql = "")]
fn within_ball(fp: i64, ball: Ball) -> bool {
    ball.contains(fp as u64)
}

/// `=~`: whether two fingerprints differ in at most three bits.
#[pg_extern(sql = "")]
fn near(a: i64, b: i64) -> bool {
    hamming(a as u64, b as u64) <= NEAR_DISTANCE
}
