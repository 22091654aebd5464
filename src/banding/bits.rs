//! Distances of fingerprints, and `bit`: fingerprints of any length and balls of them, which only plans have.

use crate::pg::{raise, raise_invalid};
use dedup_core::fingerprint::{self, Bands, BandsError};
use pgrx::prelude::*;

/// A value of type `bit`.
pub(super) struct Bits<'a> {
    length: i32,
    bytes: &'a [u8],
}

crate::pg::argument!(Bits<'a>, Bits::of, 'a);

impl<'a> Bits<'a> {
    /// # Safety
    /// A value of type `bit`, not compressed; it is not freed before this.
    unsafe fn of(value: *mut pg_sys::varlena) -> Bits<'a> {
        // SAFETY: the caller's promise.
        Bits::read(unsafe { pgrx::varlena_to_byte_slice(value) })
    }

    /// The length and the bits, as PostgreSQL stores them.
    fn read(stored: &[u8]) -> Bits<'_> {
        let (length, bytes) = stored.split_first_chunk().unwrap_or((&[0; 4], &[]));
        Bits { length: i32::from_ne_bytes(*length), bytes }
    }

    fn hamming(&self, other: &Bits<'_>) -> u32 {
        if self.length != other.length {
            raise_lengths(self.length, other.length)
        }
        let ((a, end_a), (b, end_b)) = (self.bytes.as_chunks(), other.bytes.as_chunks());
        let words =
            a.iter().zip(b).map(|(a, b)| (u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b)).count_ones());
        words.sum::<u32>() + end_a.iter().zip(end_b).map(|(a, b)| (a ^ b).count_ones()).sum::<u32>()
    }

    fn ball(&self, radius: i32) -> Vec<u8> {
        [&radius.to_ne_bytes(), &self.length.to_ne_bytes(), self.bytes].concat()
    }

    /// Parts of 64 bits, of which the last may be shorter.
    fn parts(&self) -> Vec<u64> {
        let (parts, end) = self.bytes.as_chunks();
        let mut last = [0; 8];
        last[..end.len()].copy_from_slice(end);
        let last = (!end.is_empty()).then_some(last);
        parts.iter().copied().chain(last).map(u64::from_be_bytes).collect()
    }

    /// The parts of what is stored or searched in an index of so many.
    fn parts_for(&self, parts: usize) -> Vec<u64> {
        if self.length as usize != 64 * parts {
            raise(
                PgSqlErrorCode::ERRCODE_STRING_DATA_LENGTH_MISMATCH,
                format!("a bit string of {} bits does not fit an index of {}", self.length, 64 * parts),
                "Hashes of one kind have one length, as bit(256) says of a column.",
            )
        }
        self.parts()
    }
}

/// Raises 22026 for bit strings of two lengths.
pub(crate) fn raise_lengths(one: i32, other: i32) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_STRING_DATA_LENGTH_MISMATCH,
        format!("cannot compare bit strings of {one} and {other} bits"),
        "Hashes of one kind have one length, as bit(256) says of a column.",
    )
}

/// The length and the parts of a value.
///
/// # Safety
/// The value is of type `bit`.
pub(crate) unsafe fn bits_of(value: pg_sys::Datum) -> (i32, Vec<u64>) {
    // SAFETY: the caller's promise; a value is as long as it says.
    unsafe { read(value, |bits| (bits.length, bits.parts())) }
}

/// The value that [`bit_ball`] makes.
///
/// # Safety
/// The center is of type `bit`.
pub(crate) unsafe fn ball_of_bits(center: pg_sys::Datum, radius: i32) -> Vec<u8> {
    // SAFETY: the caller's promise.
    unsafe { read(center, |bits| bits.ball(radius)) }
}

/// The parts of a value for an index of so many, or of any length.
///
/// # Safety
/// The value is of type `bit`.
pub(super) unsafe fn parts_of(value: pg_sys::Datum, parts: Option<usize>) -> Vec<u64> {
    // SAFETY: the caller's promise.
    unsafe { read(value, |bits| parts.map_or_else(|| bits.parts(), |parts| bits.parts_for(parts))) }
}

/// What `get` gives of a value.
///
/// # Safety
/// The value is of type `bit`.
unsafe fn read<T>(value: pg_sys::Datum, get: impl FnOnce(&Bits<'_>) -> T) -> T {
    let stored = value.cast_mut_ptr();
    // SAFETY: the caller's promise; a copy is freed when it has been read.
    unsafe {
        let plain = pg_sys::pg_detoast_datum(stored);
        let read = get(&Bits::of(plain));
        if plain != stored {
            pg_sys::pfree(plain.cast());
        }
        read
    }
}

/// The number of parts of the values of a column of type `bit`, 1 of any other; `None` if it cannot be indexed.
pub(crate) fn parts_of_column(relation: pg_sys::Oid, column: i16) -> Option<usize> {
    let (mut of, mut length, mut collation) = (pg_sys::InvalidOid, -1, pg_sys::InvalidOid);
    // SAFETY: look-ups in the catalogue.
    unsafe {
        pg_sys::get_atttypetypmodcoll(relation, column, &mut of, &mut length, &mut collation);
        match pg_sys::getBaseTypeAndTypmod(of, &mut length) {
            pg_sys::BITOID => matches!(length, 64 | 128 | 256).then(|| length as usize / 64),
            pg_sys::VARBITOID => None,
            _ => Some(1),
        }
    }
}

/// The number of parts of what is compared, as far as the types say.
///
/// # Safety
/// Expressions of the planner's.
pub(super) unsafe fn parts_of_expressions(compared: [*mut pg_sys::Node; 2]) -> i32 {
    // SAFETY: the caller's promise.
    let bits = compared.map(|it| unsafe {
        let it = pg_sys::strip_implicit_coercions(it);
        let mut bits = pg_sys::exprTypmod(it);
        (pg_sys::getBaseTypeAndTypmod(pg_sys::exprType(it), &mut bits) == pg_sys::BITOID).then_some(bits)
    });
    bits.into_iter().flatten().max().map_or(1, |bits| (bits / 64).max(1))
}

/// A ball of bits: on no disk; the radius, and the center as PostgreSQL stores it.
pub(super) struct BitBall<'a> {
    center: Bits<'a>,
    radius: i32,
}

impl BitBall<'_> {
    fn read(ball: &[u8]) -> Option<BitBall<'_>> {
        let (radius, center) = ball.split_first_chunk()?;
        let center = Bits::read(center);
        let is_whole = center.length >= 0 && center.bytes.len() == (center.length as usize).div_ceil(8);
        is_whole.then(|| BitBall { center, radius: i32::from_ne_bytes(*radius) })
    }

    /// The parts of the center, which an index of so many has, and the radius; `None` if nothing is within it.
    ///
    /// # Safety
    /// A value of type `bytea`.
    pub(super) unsafe fn for_index(value: pg_sys::Datum, parts: usize) -> Option<(Vec<u64>, u32)> {
        // SAFETY: the caller's promise.
        let stored = unsafe { Vec::<u8>::from_datum(value, false) }.unwrap_or_default();
        let ball = BitBall::read(&stored).unwrap_or_else(|| no_ball());
        let center = ball.center.parts_for(parts);
        let radius = u32::try_from(ball.radius).ok()?;
        Some((center, radius.min(64 * parts as u32)))
    }
}

fn no_ball() -> ! {
    raise_invalid("this is no ball of bits", "Write near_dup(hash, query, distance).")
}

/// Whether a function makes balls of bits.
pub(super) fn makes_bit_balls(function: pg_sys::Oid) -> bool {
    is_at(function, bit_ball_wrapper as *const ())
}

/// Whether a function of the catalogue is this one of the library.
pub(super) fn is_at(function: pg_sys::Oid, wrapper: *const ()) -> bool {
    let mut info = pg_sys::FmgrInfo::default();
    // SAFETY: a look-up in the catalogue.
    unsafe { pg_sys::fmgr_info(function, &mut info) };
    info.fn_addr.is_some_and(|it| it as usize == wrapper as usize)
}

#[pg_extern(sql = "")]
fn hamming_bits(a: Bits, b: Bits) -> i32 {
    a.hamming(&b) as i32
}

#[pg_extern(sql = "")]
fn near_dup_bits(a: Bits, b: Bits, distance: i32) -> bool {
    i64::from(a.hamming(&b)) <= i64::from(distance)
}

#[pg_extern(sql = "")]
fn bit_ball(center: Bits, radius: i32) -> Vec<u8> {
    center.ball(radius)
}

#[pg_extern(sql = "")]
fn bit_in_ball(fp: Bits, ball: &[u8]) -> bool {
    let ball = BitBall::read(ball).unwrap_or_else(|| no_ball());
    i64::from(fp.hamming(&ball.center)) <= i64::from(ball.radius)
}

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
