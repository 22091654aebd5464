//! `hamming_ball`: the fingerprints within a distance of one, and the operators that ask whether a fingerprint lies in it.

use super::bits::is_at;
use crate::pg::{Message, raise_representation};
use dedup_core::fingerprint::hamming;
use pgrx::callconv::{BoxRet, FcInfo};
use pgrx::datum::{Datum, Internal};
use pgrx::prelude::*;

/// The fingerprints within `radius` of `center`, as it is stored: 16 bytes, aligned to 8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Ball {
    pub(crate) center: u64,
    /// The largest distance, 0 to 64; -1 for a ball that holds nothing.
    pub(crate) radius: i32,
    zero: u32,
}

impl Ball {
    /// The ball around `center` of a radius that may be out of range.
    pub(crate) fn new(center: u64, radius: i32) -> Ball {
        Ball { center, radius: radius.clamp(-1, 64), zero: 0 }
    }

    /// The radius, unless nothing is within it.
    pub(crate) fn reach(&self) -> Option<u32> {
        u32::try_from(self.radius).ok()
    }

    pub(crate) fn contains(&self, fingerprint: u64) -> bool {
        hamming(fingerprint, self.center) as i32 <= self.radius
    }
}

/// Whether a type is `hamming_ball` or a domain over it: a type whose values this extension writes.
pub(super) fn is_ball(typoid: pg_sys::Oid) -> bool {
    let (mut output, mut varlena) = (pg_sys::InvalidOid, false);
    // SAFETY: a look-up in the catalogue.
    unsafe { pg_sys::getTypeOutputInfo(typoid, &mut output, &mut varlena) };
    is_at(output, hamming_ball_out_wrapper as *const ())
}

impl FromDatum for Ball {
    unsafe fn from_polymorphic_datum(datum: pg_sys::Datum, is_null: bool, _: pg_sys::Oid) -> Option<Ball> {
        // SAFETY: the caller's promise: a value of type `hamming_ball`.
        unsafe { datum.cast_mut_ptr::<Ball>().as_ref().filter(|_| !is_null).copied() }
    }
}

impl IntoDatum for Ball {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        // SAFETY: the memory is as large as what is written to it.
        unsafe {
            let stored = pg_sys::palloc(size_of::<Ball>()).cast::<Ball>();
            stored.write(self);
            Some(pg_sys::Datum::from(stored))
        }
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::InvalidOid
    }
}

crate::pg::argument!(Ball);

// SAFETY: the datum made is of the declared type.
unsafe impl BoxRet for Ball {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        match self.into_datum() {
            // SAFETY: the datum was allocated for this call's result.
            Some(datum) => unsafe { fcinfo.return_raw_datum(datum) },
            None => fcinfo.return_null(),
        }
    }
}

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
        None => raise_representation(
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

#[pg_extern(sql = "")]
fn hamming_ball_send(ball: Ball) -> Vec<u8> {
    [ball.center.to_be_bytes().as_slice(), &ball.radius.to_be_bytes()].concat()
}

#[pg_extern(sql = "")]
fn hamming_in_ball(fp: i64, ball: Ball) -> bool {
    ball.contains(fp as u64)
}

#[pg_extern(sql = "")]
fn hamming_balls_near(a: Ball, b: Ball) -> bool {
    a.contains(b.center) && b.contains(a.center)
}
