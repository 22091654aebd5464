//! What the planner knows of an expression: the center and the radius of a ball, and the functions that make balls.

use super::ball::{Ball, is_ball};
use super::bits::makes_bit_balls;
use crate::pg::{function_in, node, nth, type_in};
use pgrx::{FromDatum, pg_sys};

/// The distance assumed where it is known only at run time.
pub(super) const UNKNOWN_DISTANCE: i32 = 8;

/// An expression of type `hamming_ball`, or that of a ball of bits, as far as the planner knows it.
pub(super) struct BallExpression {
    /// The expression of the center, `None` if the ball is NULL or not made by its constructor.
    pub(super) center: Option<*mut pg_sys::Node>,
    /// The radius; negative for NULL, because neither contains anything.
    pub(super) radius: Option<i32>,
}

impl BallExpression {
    /// Reads a constant, or a call of the constructor; `None` if the expression is of another type, which an operator of
    /// somebody else's may have.
    ///
    /// # Safety
    /// The expression is one of the planner's.
    pub(super) unsafe fn read(
        root: *mut pg_sys::PlannerInfo,
        ball: *mut pg_sys::Node,
    ) -> Option<BallExpression> {
        // SAFETY: a node's tag says what it is; the type was asked for before the value is read.
        unsafe {
            if !is_ball(pg_sys::exprType(ball)) {
                let call = node::<pg_sys::FuncExpr>(ball).filter(|call| makes_bit_balls(call.funcid))?;
                let radius = nth(call.args, 1).and_then(|radius| constant_distance(root, radius));
                return Some(BallExpression { center: nth(call.args, 0), radius });
            }
            let ball = pg_sys::estimate_expression_value(root, ball);
            if let Some(constant) = node::<pg_sys::Const>(ball) {
                let value = Ball::from_datum(constant.constvalue, constant.constisnull);
                return Some(match value {
                    Some(ball) => {
                        BallExpression { center: Some(bigint(ball.center as i64)), radius: Some(ball.radius) }
                    }
                    None => BallExpression { center: None, radius: Some(-1) },
                });
            }
            let unknown = Some(BallExpression { center: None, radius: None });
            // Other functions may return a ball, with arguments of any meaning.
            let Some(call) = node::<pg_sys::FuncExpr>(ball) else { return unknown };
            let (mut output, mut varlena) = (pg_sys::InvalidOid, false);
            pg_sys::getTypeOutputInfo(call.funcresulttype, &mut output, &mut varlena);
            if constructor(output) != Some(call.funcid) {
                return unknown;
            }
            let radius = nth(call.args, 1).and_then(|radius| constant_distance(root, radius));
            Some(BallExpression { center: nth(call.args, 0), radius })
        }
    }
}

/// A constant of type `bigint`.
fn bigint(value: i64) -> *mut pg_sys::Node {
    // SAFETY: bigint is passed by value.
    unsafe { pg_sys::makeConst(pg_sys::INT8OID, -1, pg_sys::InvalidOid, 8, value.into(), false, true).cast() }
}

/// The value of a distance, if it is a constant; negative for NULL.
///
/// # Safety
/// The expression is one of the planner's, of type `integer`.
pub(super) unsafe fn constant_distance(
    root: *mut pg_sys::PlannerInfo,
    distance: *mut pg_sys::Node,
) -> Option<i32> {
    // SAFETY: the caller's promise; a node's tag says what it is.
    unsafe {
        let constant = node::<pg_sys::Const>(pg_sys::estimate_expression_value(root, distance))?;
        Some(if constant.constisnull { -1 } else { constant.constvalue.value() as i32 })
    }
}

/// The type `hamming_ball` of the extension whose function is `sibling`: the one in the same schema, whatever the search path.
pub(super) fn ball_type(sibling: pg_sys::Oid) -> Option<pg_sys::Oid> {
    type_in(schema_of(sibling), c"hamming_ball")
}

/// The function `hamming_ball(bigint, integer)`, as [`ball_type`].
pub(super) fn constructor(sibling: pg_sys::Oid) -> Option<pg_sys::Oid> {
    function_in(schema_of(sibling), c"hamming_ball", &[pg_sys::INT8OID, pg_sys::INT4OID])
}

pub(super) fn bit_constructor(sibling: pg_sys::Oid) -> Option<pg_sys::Oid> {
    function_in(schema_of(sibling), c"_bit_ball", &[pg_sys::BITOID, pg_sys::INT4OID])
}

fn schema_of(function: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: any oid is answered.
    unsafe { pg_sys::get_func_namespace(function) }
}
