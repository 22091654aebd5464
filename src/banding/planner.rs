//! What the planner calls: the support function of `near_dup` and the
//! estimators of `<@` and `=~`.

use super::ball::{Ball, is_ball};
use super::selectivity::{self, Comparison};
use super::{WITHIN, is_banding};
use crate::pg::{Pointer, version};
use pgrx::prelude::*;
use pgrx::{PgList, is_a};
use std::ffi::CStr;

/// The distance assumed where it is known only at run time.
pub(crate) const UNKNOWN_DISTANCE: i32 = 8;

/// The types that `near_dup` of fingerprints takes.
pub(super) const NEAR_DUP: [pg_sys::Oid; 3] = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID];

/// An expression of type `hamming_ball`, as far as the planner knows it.
pub(crate) struct BallExpression {
    /// The expression of the center, `None` if the ball is NULL or not made by
    /// its constructor.
    pub(crate) center: Option<*mut pg_sys::Node>,
    /// The radius; negative for NULL, because neither contains anything.
    pub(crate) radius: Option<i32>,
}

impl BallExpression {
    /// Reads a constant, or a call of the constructor; `None` if the expression is of another type, which an operator of
    /// somebody else's may have.
    ///
    /// # Safety
    /// The expression is one of the planner's.
    pub(crate) unsafe fn read(
        root: *mut pg_sys::PlannerInfo,
        ball: *mut pg_sys::Node,
    ) -> Option<BallExpression> {
        // SAFETY: a node's tag says what it is; the type was asked for before the value is read.
        unsafe {
            if !is_ball(pg_sys::exprType(ball)) {
                return None;
            }
            let ball = pg_sys::estimate_expression_value(root, ball);
            if is_a(ball, pg_sys::NodeTag::T_Const) {
                let constant = &*ball.cast::<pg_sys::Const>();
                let value = if constant.constisnull { None } else { Ball::from_datum(constant.constvalue) };
                return Some(match value {
                    Some(ball) => {
                        BallExpression { center: Some(bigint(ball.center as i64)), radius: Some(ball.radius) }
                    }
                    None => BallExpression { center: None, radius: Some(-1) },
                });
            }
            let unknown = Some(BallExpression { center: None, radius: None });
            if !is_a(ball, pg_sys::NodeTag::T_FuncExpr) {
                return unknown;
            }
            // Other functions may return a ball, with arguments of any meaning.
            let call = &*ball.cast::<pg_sys::FuncExpr>();
            let (mut output, mut varlena) = (pg_sys::InvalidOid, false);
            pg_sys::getTypeOutputInfo(call.funcresulttype, &mut output, &mut varlena);
            if constructor(output) != Some(call.funcid) {
                return unknown;
            }
            let arguments = PgList::<pg_sys::Node>::from_pg(call.args);
            let radius = arguments.get_ptr(1).and_then(|radius| constant_distance(root, radius));
            Some(BallExpression { center: arguments.get_ptr(0), radius })
        }
    }
}

/// A constant of type `bigint`.
///
/// # Safety
/// Called while planning.
unsafe fn bigint(value: i64) -> *mut pg_sys::Node {
    // SAFETY: the caller's promise; bigint is passed by value.
    unsafe {
        let value = pg_sys::Datum::from(value);
        pg_sys::makeConst(pg_sys::INT8OID, -1, pg_sys::InvalidOid, 8, value, false, true).cast()
    }
}

/// The arguments of a call, if they are of these types.
///
/// # Safety
/// A list of expressions of the planner's.
pub(super) unsafe fn typed<const N: usize>(
    arguments: *mut pg_sys::List,
    types: [pg_sys::Oid; N],
) -> Option<[*mut pg_sys::Node; N]> {
    // SAFETY: the caller's promise.
    unsafe {
        let arguments = PgList::<pg_sys::Node>::from_pg(arguments);
        let same = arguments.iter_ptr().map(|it| pg_sys::exprType(it)).eq(types);
        if same { arguments.iter_ptr().collect::<Vec<_>>().try_into().ok() } else { None }
    }
}

/// The value of a distance, if it is a constant; negative for NULL.
///
/// # Safety
/// The expression is one of the planner's, of type `integer`.
unsafe fn constant_distance(root: *mut pg_sys::PlannerInfo, distance: *mut pg_sys::Node) -> Option<i32> {
    // SAFETY: the caller's promise; a node's tag says what it is.
    unsafe {
        let distance = pg_sys::estimate_expression_value(root, distance);
        if !is_a(distance, pg_sys::NodeTag::T_Const) {
            return None;
        }
        let constant = &*distance.cast::<pg_sys::Const>();
        Some(if constant.constisnull { -1 } else { constant.constvalue.value() as i32 })
    }
}

/// Answers a request to the support function of `near_dup`; null if there is
/// no answer to it.
pub(crate) fn answer(request: &Pointer) -> Pointer {
    let node = request.0.cast_mut_ptr::<pg_sys::Node>();
    // SAFETY: PostgreSQL passes a request node; its tag says which.
    unsafe {
        if is_a(node, pg_sys::NodeTag::T_SupportRequestIndexCondition) {
            let request = &mut *node.cast::<pg_sys::SupportRequestIndexCondition>();
            let conditions = index_condition(request);
            return Pointer(pg_sys::Datum::from(conditions.unwrap_or(std::ptr::null_mut())));
        }
        if is_a(node, pg_sys::NodeTag::T_SupportRequestSelectivity) {
            let request = &mut *node.cast::<pg_sys::SupportRequestSelectivity>();
            if let Some(share) = selectivity_of(request) {
                request.selectivity = share;
                return Pointer(pg_sys::Datum::from(node));
            }
        }
    }
    Pointer(pg_sys::Datum::from(0usize))
}

/// `near_dup(column, query, distance)` as the equivalent `column <@ hamming_ball(query, distance)`.
///
/// # Safety
/// The request is PostgreSQL's.
unsafe fn index_condition(request: &mut pg_sys::SupportRequestIndexCondition) -> Option<*mut pg_sys::List> {
    // SAFETY: the caller's promise; a node's tag says what it is.
    unsafe {
        if !is_banding(request.index) || !is_a(request.node, pg_sys::NodeTag::T_FuncExpr) {
            return None;
        }
        let call = &*request.node.cast::<pg_sys::FuncExpr>();
        let [one, other, distance] = typed(call.args, NEAR_DUP)?;
        let (column, query) = match request.indexarg {
            0 => (one, other),
            1 => (other, one),
            _ => return None,
        };
        let is_fixed = |node| pg_sys::is_pseudo_constant_for_index(request.root, node, request.index);
        if !is_fixed(query) || !is_fixed(distance) {
            return None;
        }
        let ball = ball_type(request.funcid)?;
        let constructor = constructor(request.funcid)?;
        let operator = pg_sys::get_opfamily_member(request.opfamily, pg_sys::INT8OID, ball, WITHIN as i16);
        // The query has not named the constructor.
        if operator == pg_sys::InvalidOid || !may_call(request.root, constructor) {
            return None;
        }
        let mut center_and_radius = PgList::<pg_sys::Node>::new();
        center_and_radius.push(query);
        center_and_radius.push(distance);
        let made = pg_sys::makeFuncExpr(
            constructor,
            ball,
            center_and_radius.into_pg(),
            pg_sys::InvalidOid,
            pg_sys::InvalidOid,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        );
        // A ball of constants becomes a constant, so that EXPLAIN shows its numbers.
        let made = pg_sys::eval_const_expressions(request.root, made.cast());
        let condition = pg_sys::make_opclause(
            operator,
            pg_sys::BOOLOID,
            false,
            column.cast(),
            made.cast(),
            pg_sys::InvalidOid,
            pg_sys::InvalidOid,
        );
        request.lossy = false;
        let mut conditions = PgList::<pg_sys::Expr>::new();
        conditions.push(condition);
        Some(conditions.into_pg())
    }
}

/// The type `hamming_ball` of the extension whose function is `sibling`: the
/// one in the same schema, whatever the search path.
///
/// # Safety
/// Inside a transaction.
unsafe fn ball_type(sibling: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: the keys are those of the cache, a name and a schema.
    unsafe {
        let found = pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::TYPENAMENSP as i32,
            pg_sys::Anum_pg_type_oid as i16,
            pg_sys::Datum::from(c"hamming_ball".as_ptr()),
            pg_sys::Datum::from(pg_sys::get_func_namespace(sibling)),
            pg_sys::Datum::from(0usize),
            pg_sys::Datum::from(0usize),
        );
        (found != pg_sys::InvalidOid).then_some(found)
    }
}

/// The function `hamming_ball(bigint, integer)`, as [`ball_type`].
///
/// # Safety
/// Inside a transaction.
unsafe fn constructor(sibling: pg_sys::Oid) -> Option<pg_sys::Oid> {
    // SAFETY: the caller's promise.
    unsafe { function_beside(sibling, c"hamming_ball", &[pg_sys::INT8OID, pg_sys::INT4OID]) }
}

/// The function of that name and arguments in the schema of the function `sibling`, whatever the search path.
///
/// # Safety
/// Inside a transaction.
unsafe fn function_beside(sibling: pg_sys::Oid, name: &CStr, types: &[pg_sys::Oid]) -> Option<pg_sys::Oid> {
    // SAFETY: the keys are those of the cache: a name, an array of argument
    // types, and a schema.
    unsafe {
        let signature = pg_sys::buildoidvector(types.as_ptr(), types.len() as i32);
        let found = pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::PROCNAMEARGSNSP as i32,
            pg_sys::Anum_pg_proc_oid as i16,
            pg_sys::Datum::from(name.as_ptr()),
            pg_sys::Datum::from(signature),
            pg_sys::Datum::from(pg_sys::get_func_namespace(sibling)),
            pg_sys::Datum::from(0usize),
        );
        (found != pg_sys::InvalidOid).then_some(found)
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
        let [left, right, distance] = typed(request.args, NEAR_DUP)?;
        let comparison = Comparison {
            left,
            right,
            distance: constant_distance(request.root, distance).unwrap_or(UNKNOWN_DISTANCE),
            function: request.funcid,
        };
        Some(if request.is_join {
            selectivity::join(request.root, comparison, request.sjinfo, request.jointype)
        } else {
            selectivity::restriction(request.root, comparison, request.varRelid)
        })
    }
}

/// What an operator compares: `fp <@ ball` or `ball =~ ball`; `None` for what else these estimators have been
/// given to.
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
        let arguments = PgList::<pg_sys::Node>::from_pg(arguments);
        let (left, right) = (arguments.get_ptr(0)?, arguments.get_ptr(1)?);
        let ball = BallExpression::read(root, right)?;
        // Of two balls, the centers are compared.
        let left = match pg_sys::exprType(left) {
            pg_sys::INT8OID => left,
            _ => BallExpression::read(root, left)?.center.unwrap_or(left),
        };
        Some(Comparison {
            left,
            // A column of balls: nothing is known about their centers.
            right: ball.center.unwrap_or(right),
            distance: ball.radius.unwrap_or(UNKNOWN_DISTANCE),
            function,
        })
    }
}

/// The answer of a restriction estimator, called as `(root, operator,
/// arguments, relation)`.
///
/// # Safety
/// The arguments of the call are PostgreSQL's.
pub(crate) unsafe fn restriction_selectivity(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: the caller's promise; an estimator is strict.
    unsafe {
        let argument = |number| pgrx::pg_getarg_datum_raw(fcinfo, number);
        let root = argument(0).cast_mut_ptr();
        let comparison = compared(root, oid(argument(1)), argument(2).cast_mut_ptr());
        comparison.map_or(0.001, |it| selectivity::restriction(root, it, argument(3).value() as i32))
    }
}

/// The answer of a join estimator, called as `(root, operator, arguments, kind
/// of join, the join)`.
///
/// # Safety
/// The arguments of the call are PostgreSQL's.
pub(crate) unsafe fn join_selectivity(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: the caller's promise; an estimator is strict.
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

/// Support function of `near_dup(bigint, bigint, integer)`: turns a call into an index condition,
/// and estimates how many rows it keeps.
#[pg_extern(sql = "")]
fn near_dup_support(request: Pointer) -> Pointer {
    answer(&request)
}

/// Restriction estimator of `<@` and `=~`.
#[pg_extern(sql = "")]
fn hamming_sel(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: declared with the arguments of an estimator.
    unsafe { restriction_selectivity(fcinfo) }
}

/// Join estimator of `<@` and `=~`.
#[pg_extern(sql = "")]
fn hamming_joinsel(fcinfo: pg_sys::FunctionCallInfo) -> f64 {
    // SAFETY: declared with the arguments of an estimator.
    unsafe { join_selectivity(fcinfo) }
}
