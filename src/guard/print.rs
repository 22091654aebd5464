//! The fingerprint of a row: a `bigint`, or `bit` of any length.

use crate::banding::{Ball, ball_of_bits, bits_of, raise_lengths};
use crate::pg::{base_type, raise_mismatch};
use dedup_core::fingerprint::hamming;
use pgrx::{IntoDatum, pg_sys};

pub(super) struct Print {
    /// What is ordered by the distance from it.
    pub(super) value: pg_sys::Datum,
    /// The type of the last column of an index of it, `bigint` or `bit`.
    pub(super) of: pg_sys::Oid,
    length: i32,
    parts: Vec<u64>,
}

impl Print {
    pub(super) fn of_word(word: u64) -> Print {
        Print { value: (word as i64).into(), of: pg_sys::INT8OID, length: 64, parts: vec![word] }
    }

    /// # Safety
    /// The value is of this type, `bigint`, `bit` or a domain over one, and outlives the fingerprint.
    pub(super) unsafe fn of((value, typoid): (pg_sys::Datum, pg_sys::Oid)) -> Print {
        // Most often it is no domain.
        match if typoid == pg_sys::INT8OID { typoid } else { base_type(typoid) } {
            pg_sys::INT8OID => Print::of_word(value.value() as u64),
            of @ pg_sys::BITOID => {
                // SAFETY: the caller's promise.
                let (length, parts) = unsafe { bits_of(value) };
                Print { value, of, length, parts }
            }
            _ => raise_mismatch("a fingerprint is neither bigint nor bit", ""),
        }
    }

    pub(super) fn distance(&self, other: &Print) -> u32 {
        if self.length != other.length {
            raise_lengths(self.length, other.length)
        }
        self.parts.iter().zip(&other.parts).map(|(a, b)| hamming(*a, *b)).sum()
    }

    /// 64 bits that differ in no more bits than the whole.
    pub(super) fn word(&self) -> u64 {
        self.parts.first().copied().unwrap_or(0)
    }

    /// What is within a distance, as a condition of an index.
    pub(super) fn ball(&self, distance: u32) -> pg_sys::Datum {
        let ball = match self.of {
            // SAFETY: the value is of type bit.
            pg_sys::BITOID => unsafe { ball_of_bits(self.value, distance as i32) }.into_datum(),
            _ => Ball::new(self.word(), distance as i32).into_datum(),
        };
        ball.unwrap_or(pg_sys::Datum::from(0usize))
    }
}

impl PartialEq for Print {
    fn eq(&self, other: &Print) -> bool {
        self.length == other.length && self.parts == other.parts
    }
}
