//! What the planner calls: the support function of `near_dup` and the estimators of `<@` and `=~`.

use super::WITHIN;
use super::bits::parts_of_expressions;
use super::cost::is_banding;
use super::expression::{
    BallExpression, UNKNOWN_DISTANCE, ball_type, bit_constructor, constant_distance, constructor,
};
use super::selectivity::{self, Comparison};
use crate::pg::{Pointer, node, nth, version};
use pgrx::PgList;
use pgrx::prelude::*;

/// The types of what `near_dup` compares by an index.
const COMPARED: [pg_sys::Oid; 2] = [pg_sys::INT8OID, pg_sys::BITOID];

/// The arguments of a call of `near_dup`, and the type of the first two, if it is one of fingerprints.
///
/// # Safety
/// A list of expressions of the planner's.
unsafe fn near_dup(arguments: *mut pg_sys::List) -> Option<([*mut pg_sys::Node; 3], pg_sys::Oid)> {
    // SAFETY: the caller's promise.
    unsafe {
        let arguments = PgList::<pg_sys::Node>::from_pg(arguments);
        let arguments: [_; 3] = arguments.iter_ptr().collect::<Vec<_>>().try_into().ok()?;
        let types = arguments.map(|it| pg_sys::exprType(it));
        let of = COMPARED.into_iter().find(|of| types == [*of, *of, pg_sys::INT4OID])?;
        Some((arguments, of))
    }
}

/// Support function of `near_dup(bigint, bigint, integer)`, and of `bit`: turns a call into an index condition, and estimates how many rows
/// it keeps; null for any other request.
#[pg_extern(sql = "")]
fn near_dup_support(request: Pointer) -> Pointer {
    let asked = request.0.cast_mut_ptr::<pg_sys::Node>();
    // SAFETY: PostgreSQL passes a request node; its tag says which.
    let answer = unsafe {
        if let Some(request) = node::<pg_sys::SupportRequestIndexCondition>(asked) {
            index_condition(request).map(|conditions| conditions.cast())
        } else if let Some(request) = node::<pg_sys::SupportRequestSelectivity>(asked) {
            selectivity_of(request).map(|share| {
                request.selectivity = share;
                asked
            })
        } else {
            None
        }
    };
    Pointer(pg_sys::Datum::from(answer.unwrap_or(std::ptr::null_mut())))
}

/// `near_dup(column, query, distance)` as the equivalent `column <@ hamming_ball(query, distance)`, of `bit` as
/// `column <@ _bit_ball(query, distance)`.
///
/// # Safety
/// The request is PostgreSQL's.
unsafe fn index_condition(request: &mut pg_sys::SupportRequestIndexCondition) -> Option<*mut pg_sys::List> {
    // SAFETY: the caller's promise; a node's tag says what it is.
    unsafe {
        let call = node::<pg_sys::FuncExpr>(request.node).filter(|_| is_banding(request.index))?;
        let ([one, other, distance], of) = near_dup(call.args)?;
        let (column, query) = match request.indexarg {
            0 => (one, other),
            1 => (other, one),
            _ => return None,
        };
        let is_fixed = |node| pg_sys::is_pseudo_constant_for_index(request.root, node, request.index);
        if !is_fixed(query) || !is_fixed(distance) {
            return None;
        }
        let (ball, constructor) = match of {
            pg_sys::BITOID => (pg_sys::BYTEAOID, bit_constructor(request.funcid)?),
            _ => (ball_type(request.funcid)?, constructor(request.funcid)?),
        };
        let operator = pg_sys::get_opfamily_member(request.opfamily, of, ball, WITHIN as i16);
        // The query has not named the constructor.
        if operator == pg_sys::InvalidOid || !may_call(request.root, constructor) {
            return None;
        }
        let mut center_and_radius = PgList::<pg_sys::Node>::new();
        center_and_radius.push(query);
        center_and_radius.push(distance);
        let (arguments, none) = (center_and_radius.into_pg(), pg_sys::InvalidOid);
        let written = pg_sys::CoercionForm::COERCE_EXPLICIT_CALL;
        let made = pg_sys::makeFuncExpr(constructor, ball, arguments, none, none, written);
        // A ball of constants becomes a constant, so that EXPLAIN shows its numbers; one of bits shows them so.
        let made = match of {
            pg_sys::BITOID => made.cast(),
            _ => pg_sys::eval_const_expressions(request.root, made.cast()),
        };
        let (column, made) = (column.cast(), made.cast());
        let condition = pg_sys::make_opclause(operator, pg_sys::BOOLOID, false, column, made, none, none);
        request.lossy = false;
        let mut conditions = PgList::<pg_sys::Expr>::new();
        conditions.push(condition);
        Some(conditions.into_pg())
    }
}

/// Whether a function that the query does not name may be put into its plan: PostgreSQL asks for EXECUTE when the plan is
/// run, of whoever runs it.
///
/// # Safety
/// Called while planning.
unsafe fn may_call(root: *mut pg_sys::PlannerInfo, function: pg_sys::Oid) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if version::may_execute(function, pg_sys::InvalidOid) {
            return true;
        }
        // A plan that is kept is made anew for another role.
        (*(*root).glob).dependsOnRole = true;
        version::may_execute(function, pg_sys::GetUserId())
    }
}

/// The share of rows, or pairs, that a call of `near_dup` keeps.
///
/// # Safety
/// The request is PostgreSQL's.
unsafe fn selectivity_of(request: &pg_sys::SupportRequestSelectivity) -> Option<f64> {
    // SAFETY: the caller's promise.
    unsafe {
        let ([left, right, distance], _) = near_dup(request.args)?;
        let distance = constant_distance(request.root, distance);
        let comparison = comparison(left, right, distance, request.funcid);
        Some(if request.is_join {
            selectivity::join(request.root, comparison, request.sjinfo, request.jointype)
        } else {
            selectivity::restriction(request.root, comparison, request.varRelid)
        })
    }
}

/// A comparison within a distance. Of several parts, the first one's is estimated: what an index finds is as much.
///
/// # Safety
/// Expressions of the planner's.
unsafe fn comparison(
    left: *mut pg_sys::Node,
    right: *mut pg_sys::Node,
    distance: Option<i32>,
    function: pg_sys::Oid,
) -> Comparison {
    // SAFETY: the caller's promise.
    let parts = unsafe { parts_of_expressions([left, right]) };
    let distance = distance.map_or(UNKNOWN_DISTANCE, |distance| distance.div_euclid(parts));
    Comparison { left, right, distance, function }
}

/// What an operator compares: `fp <@ ball` or `ball =~ ball`; `None` for what else these estimators have been given to.
///
/// # Safety
/// The arguments are what PostgreSQL passes to an estimator of the operator.
unsafe fn compared(
    root: *mut pg_sys::PlannerInfo,
    operator: pg_sys::Oid,
    arguments: *mut pg_sys::List,
) -> Option<Comparison> {
    // SAFETY: the caller's promise.
    unsafe {
        let function = pg_sys::get_opcode(operator);
        let (left, right) = (nth(arguments, 0)?, nth(arguments, 1)?);
        let ball = BallExpression::read(root, right)?;
        // Of two balls, the centers are compared.
        let left = match pg_sys::exprType(left) {
            pg_sys::INT8OID | pg_sys::BITOID => left,
            _ => BallExpression::read(root, left)?.center.unwrap_or(left),
        };
        // A column of balls: nothing is known about their centers.
        Some(comparison(left, ball.center.unwrap_or(right), ball.radius, function))
    }
}

/// Restriction estimator of `<@` and `=~`, called as `(root, operator, arguments, relation)`.
#[pg_extern(sql = "")]
fn hamming_sel(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: declared with the arguments of an estimator, and strict.
    unsafe {
        let argument = |number| pgrx::pg_getarg_datum_raw(fcinfo, number);
        let root = argument(0).cast_mut_ptr();
        let comparison = compared(root, oid(argument(1)), argument(2).cast_mut_ptr());
        comparison.map_or(0.001, |it| selectivity::restriction(root, it, argument(3).value() as i32))
    }
}

/// Join estimator of `<@` and `=~`, called as `(root, operator, arguments, kind of join, the join)`.
#[pg_extern(sql = "")]
fn hamming_joinsel(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: as in `hamming_sel`.
    unsafe {
        let argument = |number| pgrx::pg_getarg_datum_raw(fcinfo, number);
        let root = argument(0).cast_mut_ptr();
        let comparison = compared(root, oid(argument(1)), argument(2).cast_mut_ptr());
        let kind = argument(3).value() as u16 as pg_sys::JoinType::Type;
        comparison.map_or(0.001, |it| selectivity::join(root, it, argument(4).cast_mut_ptr(), kind))
    }
}

fn oid(datum: pg_sys::Datum) -> pg_sys::Oid {
    pg_sys::Oid::from(datum.value() as u32)
}
