//! The fingerprint of a row: a `bigint`, or `bit` of any length.

use crate::banding::{Ball, ball_of_bits, bits_of, raise_lengths};
use crate::pg::{base_type, raise_mismatch};
use dedup_core::fingerprint::hamming;
use pgrx::{IntoDatum, pg_sys};

pub(super) enum Print {
    Word(u64),
    /// The value, its length and its parts.
    Bits(pg_sys::Datum, i32, Vec<u64>),
}

impl Print {
    /// # Safety
    /// The value is of this type, `bigint`, `bit` or a domain over one, and outlives the fingerprint.
    pub(super) unsafe fn of((value, typoid): (pg_sys::Datum, pg_sys::Oid)) -> Print {
        match typoid {
            pg_sys::INT8OID => Print::Word(value.value() as u64),
            _ if base_type(typoid) == pg_sys::BITOID => {
                // SAFETY: the caller's promise.
                let (length, parts) = unsafe { bits_of(value) };
                Print::Bits(value, length, parts)
            }
            _ if base_type(typoid) == pg_sys::INT8OID => Print::Word(value.value() as u64),
            _ => raise_mismatch("a fingerprint is neither bigint nor bit", ""),
        }
    }

    pub(super) fn distance(&self, other: &Print) -> u32 {
        match (self, other) {
            (Print::Word(a), Print::Word(b)) => hamming(*a, *b),
            (Print::Bits(_, a, parts), Print::Bits(_, b, others)) if a == b => {
                parts.iter().zip(others).map(|(a, b)| hamming(*a, *b)).sum()
            }
            _ => raise_lengths(self.length(), other.length()),
        }
    }

    /// 64 bits that differ in no more bits than the whole.
    pub(super) fn word(&self) -> u64 {
        match self {
            Print::Word(word) => *word,
            Print::Bits(_, _, parts) => parts.first().copied().unwrap_or(0),
        }
    }

    fn length(&self) -> i32 {
        if let Print::Bits(_, length, _) = self { *length } else { 64 }
    }

    /// The type of the last column of an index of it.
    pub(super) fn indexed_as(&self) -> pg_sys::Oid {
        if let Print::Bits(..) = self { pg_sys::BITOID } else { pg_sys::INT8OID }
    }

    /// What is within a distance, as a condition of that index.
    pub(super) fn ball(&self, distance: u32) -> pg_sys::Datum {
        let ball = match self {
            Print::Word(word) => Ball::new(*word, distance as i32).into_datum(),
            // SAFETY: the value is of type bit.
            Print::Bits(value, ..) => unsafe { ball_of_bits(*value, distance as i32) }.into_datum(),
        };
        ball.unwrap_or(pg_sys::Datum::from(0usize))
    }

    /// What is ordered by the distance from it.
    pub(super) fn value(&self) -> pg_sys::Datum {
        match self {
            Print::Word(word) => pg_sys::Datum::from(*word as i64),
            Print::Bits(value, ..) => *value,
        }
    }
}

impl PartialEq for Print {
    fn eq(&self, other: &Print) -> bool {
        self.length() == other.length() && self.distance(other) == 0
    }
}
