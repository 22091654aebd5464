//! The type `bloom`: a filter that can be stored, added to, merged and asked.

use crate::pg::{
    Message, Output, aggregate, raise, raise_invalid, raise_null, raise_representation, within_memory_limit,
};
use dedup_core::memory::{self, OrRaise};
use dedup_detectors::exact::{Bloom, BloomError, Hashing, Rule, Shape};
use pgrx::datum::Internal;
use pgrx::prelude::*;

pub(crate) fn raise_bloom(error: BloomError) -> ! {
    let (code, hint) = match &error {
        BloomError::Range(_) => (
            PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
            "For n texts and an error rate p take -n ln(p) / ln(2)^2 bits: about 10 a text for 1 %.",
        ),
        BloomError::Unlike(..) => (
            PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH,
            "Filters can be merged that were made with the same numbers.",
        ),
        BloomError::Stored(_) => (PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION, ""),
    };
    raise(code, error.to_string(), hint)
}

fn made<T>(result: Result<T, BloomError>) -> T {
    result.unwrap_or_else(|error| raise_bloom(error))
}

pub(crate) fn empty(shape: Result<Shape, BloomError>) -> Bloom {
    let shape = made(shape);
    within_memory_limit(shape.stored_bytes());
    Bloom::new(shape)
}

fn copy(filter: &[u8]) -> Bloom {
    made(Bloom::open(memory::copy(filter).or_raise()))
}

pub(crate) fn hashing(name: &str) -> Hashing {
    HASHINGS.into_iter().find(|it| it.0 == name).map(|it| it.1).unwrap_or_else(|| {
        raise_invalid(
            format!("unknown hash \"{name}\" of a bloom filter"),
            "Known are city64 and, as in the paper, bkdr+ap.",
        )
    })
}

const HASHINGS: [(&str, Hashing); 2] = [("city64", Hashing::City), ("bkdr+ap", Hashing::BkdrAp)];

pub(crate) fn rule(name: &str) -> Rule {
    match name {
        "all" => Rule::All,
        "any" => Rule::Any,
        _ => raise_invalid(
            format!("unknown rule \"{name}\" of a bloom filter"),
            "Known are all and, as the paper prints it, any.",
        ),
    }
}

#[pg_extern(sql = "")]
fn bloom_new(items: i64, error: f64) -> Vec<u8> {
    empty(Shape::for_items(items.max(0) as u64, error)).into_bytes()
}

#[pg_extern(sql = "")]
fn bloom_sized(bits: i64, hashes: i32, hash: &str) -> Vec<u8> {
    empty(Shape::new(bits.max(0) as u64, hashes.max(0) as u32, hashing(hash))).into_bytes()
}

#[pg_extern(sql = "")]
fn bloom_add(filter: &[u8], content: &str) -> Vec<u8> {
    let mut bloom = copy(filter);
    bloom.add(content.as_bytes());
    bloom.into_bytes()
}

#[pg_extern(sql = "")]
fn bloom_merge(a: &[u8], b: &[u8]) -> Vec<u8> {
    let mut bloom = copy(a);
    made(bloom.merge(&made(Bloom::open(b))));
    bloom.into_bytes()
}

#[pg_extern(sql = "")]
fn bloom_contains(filter: &[u8], content: &str) -> bool {
    made(Bloom::open(filter)).contains(content.as_bytes())
}

#[pg_extern(sql = "")]
fn bloom_stats(filter: &[u8], fcinfo: pg_sys::FunctionCallInfo) {
    let bloom = made(Bloom::open(filter));
    let shape = bloom.shape();
    let hash = HASHINGS.into_iter().find(|it| it.1 == shape.hashing()).map(|it| it.0);
    let row = [
        (shape.bits() as i64).into_datum(),
        (shape.hashes() as i32).into_datum(),
        hash.into_datum(),
        (bloom.added() as i64).into_datum(),
        (bloom.ones() as i64).into_datum(),
        bloom.estimated_items().into_datum(),
        bloom.current_error().into_datum(),
    ];
    // SAFETY: the columns are declared so.
    unsafe { Output::begin(fcinfo).add(row) };
}

#[pg_extern(sql = "")]
fn bloom_in(text: &core::ffi::CStr) -> Vec<u8> {
    let read = text.to_bytes().strip_prefix(b"\\x").and_then(|digits| {
        let mut bytes = memory::filled(0, digits.len() / 2).or_raise();
        hex::decode_to_slice(digits, &mut bytes).ok().map(|()| bytes)
    });
    match read {
        Some(bytes) => made(Bloom::open(bytes)).into_bytes(),
        None => raise_representation(
            "invalid input syntax for type bloom",
            "A filter is written as \\x and hexadecimal digits; make one with bloom_new or bloom_agg.",
        ),
    }
}

#[pg_extern(sql = "")]
fn bloom_out(filter: &[u8]) -> std::ffi::CString {
    let digits = 2..2 + 2 * filter.len();
    // With the zero byte at the end.
    let mut written = memory::filled(0, digits.end + 1).or_raise();
    written[..2].copy_from_slice(b"\\x");
    hex::encode_to_slice(filter, &mut written[digits]).expect("two digits for each byte");
    std::ffi::CString::from_vec_with_nul(written).unwrap_or_default()
}

#[pg_extern(sql = "")]
fn bloom_recv(message: Internal) -> Vec<u8> {
    copy(Message::of(message).rest()).into_bytes()
}

#[pg_extern(sql = "")]
fn bloom_send(filter: &[u8]) -> Vec<u8> {
    memory::copy(filter).or_raise()
}

#[pg_extern(sql = "")]
fn bloom_agg_add(
    mut state: Internal,
    content: Option<&str>,
    items: Option<i64>,
    error: Option<f64>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    let make = || {
        let (Some(items), Some(error)) = (items, error) else {
            raise_null(
                "bloom_agg needs the number of items and the error rate, not NULL",
                "For example: bloom_agg(content, 1000000, 0.001).",
            )
        };
        empty(Shape::for_items(items.max(0) as u64, error))
    };
    // SAFETY: every function of this aggregate keeps a `Bloom`.
    let bloom = unsafe { aggregate::state_or_else(&mut state, fcinfo, make) };
    if let Some(content) = content {
        bloom.add(content.as_bytes());
    }
    state
}

#[pg_extern(sql = "")]
fn bloom_agg_combine(mut state: Internal, other: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    // SAFETY: every function of this aggregate keeps a `Bloom`.
    let Some(other) = (unsafe { aggregate::state::<Bloom>(&other) }) else { return state };
    if !state.initialized() {
        return aggregate::new_state(copy(other.bytes()), fcinfo);
    }
    // SAFETY: as above.
    if let Some(bloom) = unsafe { state.get_mut::<Bloom>() } {
        made(bloom.merge(other));
    }
    state
}

#[pg_extern(sql = "")]
fn bloom_agg_serialize(state: Internal) -> Vec<u8> {
    // SAFETY: every function of this aggregate keeps a `Bloom`.
    unsafe { aggregate::state::<Bloom>(&state) }
        .map_or_else(Vec::new, |bloom| memory::copy(bloom.bytes()).or_raise())
}

#[pg_extern(sql = "")]
fn bloom_agg_deserialize(sent: &[u8], _state: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    aggregate::new_state(copy(sent), fcinfo)
}

#[pg_extern(sql = "")]
fn bloom_agg_finish(state: Internal) -> Option<Vec<u8>> {
    // SAFETY: every function of this aggregate keeps a `Bloom`.
    unsafe { aggregate::state::<Bloom>(&state) }.map(|bloom| memory::copy(bloom.bytes()).or_raise())
}
