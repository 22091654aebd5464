//! What the planner calls: the support function of `near_dup` and the
//! estimators of `<@` and `=~`.

use crate::pg::planner::{self, Pointer};
use pgrx::prelude::*;

/// Support function of `near_dup(bigint, bigint, integer)`: makes a call an
/// index condition, and says how many rows it keeps.
#[pg_extern(sql = "")]
fn near_dup_support(request: Pointer) -> Pointer {
    planner::answer(&request)
}

/// Restriction estimator of `<@` and `=~`.
#[pg_extern(sql = "")]
fn near_sel(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: declared with the arguments of an estimator.
    unsafe { planner::restriction_selectivity(fcinfo) }
}

/// Join estimator of `<@` and `=~`.
#[pg_extern(sql = "")]
fn near_joinsel(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: declared with the arguments of an estimator.
    unsafe { planner::join_selectivity(fcinfo) }
}
