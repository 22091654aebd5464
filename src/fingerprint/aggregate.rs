//! `simhash_agg`: the fingerprint of features that are rows, in parallel too.

use crate::pg::{aggregate, raise, raise_invalid};
use dedup_core::fingerprint::{SimHash, Weight};
use dedup_core::hash::city64;
use pgrx::datum::Internal;
use pgrx::prelude::*;

#[pg_extern(sql = "")]
fn simhash_agg_add(
    mut state: Internal,
    feature: Option<&str>,
    weight: Option<f64>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> Internal {
    // SAFETY: every function of this aggregate keeps a `SimHash`.
    let sums: &mut SimHash = unsafe { aggregate::state_or_else(&mut state, fcinfo, SimHash::new) };
    if let (Some(feature), Some(weight)) = (feature, weight) {
        let weight = Weight::new(weight).unwrap_or_else(|error| {
            raise_invalid(error.to_string(), format!("A weight is a number from 0 to {}.", Weight::MAX))
        });
        sums.add(city64(feature.as_bytes()), weight);
    }
    state
}

#[pg_extern(sql = "")]
fn simhash_agg_combine(mut state: Internal, other: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    // SAFETY: every function of this aggregate keeps a `SimHash`.
    let sums: &mut SimHash = unsafe { aggregate::state_or_else(&mut state, fcinfo, SimHash::new) };
    // SAFETY: as above.
    if let Some(other) = unsafe { aggregate::state(&other) } {
        sums.merge(other);
    }
    state
}

#[pg_extern(sql = "")]
fn simhash_agg_serialize(state: Internal) -> Vec<u8> {
    // SAFETY: every function of this aggregate keeps a `SimHash`.
    unsafe { aggregate::state::<SimHash>(&state) }.cloned().unwrap_or_default().to_bytes()
}

#[pg_extern(sql = "")]
fn simhash_agg_deserialize(sent: &[u8], _state: Internal, fcinfo: pg_sys::FunctionCallInfo) -> Internal {
    match SimHash::from_bytes(sent) {
        Some(sums) => aggregate::new_state(sums, fcinfo),
        None => raise(PgSqlErrorCode::ERRCODE_INVALID_BINARY_REPRESENTATION, "not a partial simhash_agg", ""),
    }
}

#[pg_extern(sql = "")]
fn simhash_agg_finish(state: Internal) -> Option<i64> {
    // The state may be read again (by a growing window frame), so it is not changed. SAFETY: every
    // function of this aggregate keeps a `SimHash`.
    unsafe { aggregate::state::<SimHash>(&state) }.cloned()?.finish().map(|bits| bits as i64)
}
