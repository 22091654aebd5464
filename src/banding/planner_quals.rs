//! Lets conditions such as `fp <~> q <= 8` and `hamming(fp, q) <= 8` use an index: they are planned as `near_dup(fp, q, 8)`,
//! which is true, false or NULL of the same rows.
//!
//! A support function can make an index condition of calls of its own function only; here the outermost function is
//! PostgreSQL's `int4le`. So the comparison itself is replaced, when the planner looks up the first table of a query:
//! after the conditions have been simplified, before they are distributed to tables and joins. `hamming` has a support
//! function only so that this library is loaded by then, and to tell which function it is.

use super::planner::function_beside;
use crate::pg::Pointer;
use pgrx::prelude::*;
use pgrx::{PgList, is_a};
use std::cell::Cell;
use std::sync::OnceLock;

thread_local! {
    /// The function `hamming`, once a call of it has been planned in this process.
    static HAMMING: Cell<pg_sys::Oid> = const { Cell::new(pg_sys::InvalidOid) };
}

/// The hook that was there before.
static PREVIOUS: OnceLock<pg_sys::get_relation_info_hook_type> = OnceLock::new();

/// Has the planner ask [`relation_info`]. Called once, when the library is loaded.
pub(crate) fn install() {
    // SAFETY: a process has one thread while it loads libraries.
    unsafe {
        PREVIOUS.get_or_init(|| pg_sys::get_relation_info_hook);
        pg_sys::get_relation_info_hook = Some(relation_info);
    }
}

/// Support function of `hamming(bigint, bigint)`: remembers it, and simplifies nothing.
#[pg_extern(sql = "")]
fn hamming_support(request: Pointer) -> Pointer {
    let node = request.0.cast_mut_ptr::<pg_sys::Node>();
    // SAFETY: PostgreSQL passes a request node; its tag says which.
    unsafe {
        if is_a(node, pg_sys::NodeTag::T_SupportRequestSimplify) {
            let request = &*node.cast::<pg_sys::SupportRequestSimplify>();
            HAMMING.set((*request.fcall).funcid);
        }
    }
    Pointer(pg_sys::Datum::from(0usize))
}

/// Called for each table of a query when the planner looks it up.
#[pg_guard]
unsafe extern "C-unwind" fn relation_info(
    root: *mut pg_sys::PlannerInfo,
    table: pg_sys::Oid,
    inherited: bool,
    rel: *mut pg_sys::RelOptInfo,
) {
    // SAFETY: the planner's own nodes, passed on as they came.
    unsafe {
        if let Some(previous) = PREVIOUS.get().copied().flatten() {
            previous(root, table, inherited, rel);
        }
        let hamming = HAMMING.get();
        if hamming != pg_sys::InvalidOid {
            (Rewriter { hamming, root }).table(&*root, &*rel);
        }
    }
}

/// Replaces comparisons of `hamming` by `near_dup`.
struct Rewriter {
    hamming: pg_sys::Oid,
    root: *mut pg_sys::PlannerInfo,
}

impl Rewriter {
    /// What has to be replaced when `rel` is looked up.
    ///
    /// # Safety
    /// Called by the planner's hook.
    unsafe fn table(&self, root: &pg_sys::PlannerInfo, rel: &pg_sys::RelOptInfo) {
        // SAFETY: arrays of the planner are as long as it says, from 1; a node's tag says what it is.
        unsafe {
            let entry = |at: u32| *root.simple_rel_array.add(at as usize);
            if rel.reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL {
                let is_table = |other: *mut pg_sys::RelOptInfo| {
                    !other.is_null()
                        && !std::ptr::eq(other, rel)
                        && (*other).reloptkind == pg_sys::RelOptKind::RELOPT_BASEREL
                        && (*other).rtekind == pg_sys::RTEKind::RTE_RELATION
                };
                // The first table of the query: its conditions are those of all.
                if !(1..root.simple_rel_array_size as u32).any(|at| is_table(entry(at))) {
                    self.joins((*root.parse).jointree.cast());
                }
            } else if !root.append_rel_array.is_null() {
                // A member of UNION ALL: the conditions are already those of the whole, and about to be copied.
                let member = *root.append_rel_array.add(rel.relid as usize);
                if !member.is_null() {
                    let whole = entry((*member).parent_relid);
                    if !whole.is_null() && (*whole).rtekind == pg_sys::RTEKind::RTE_SUBQUERY {
                        self.distributed((*whole).baserestrictinfo);
                        self.distributed((*whole).joininfo);
                    }
                }
            }
            // Conditions of row-level security, and of partial indexes, which are compared with those of the query.
            let table = *root.simple_rte_array.add(rel.relid as usize);
            self.condition((*table).securityQuals.cast());
            for index in PgList::<pg_sys::IndexOptInfo>::from_pg(rel.indexlist).iter_ptr() {
                self.condition((*index).indpred.cast());
            }
        }
    }

    /// The conditions of a tree of joins.
    ///
    /// # Safety
    /// A node of the join tree of a query that is being planned, or null.
    unsafe fn joins(&self, node: *mut pg_sys::Node) {
        // SAFETY: the caller's promise; a node's tag says what it is.
        unsafe {
            if node.is_null() {
                return;
            }
            pg_sys::check_stack_depth();
            if is_a(node, pg_sys::NodeTag::T_FromExpr) {
                let from = &mut *node.cast::<pg_sys::FromExpr>();
                for item in PgList::<pg_sys::Node>::from_pg(from.fromlist).iter_ptr() {
                    self.joins(item);
                }
                from.quals = self.condition(from.quals);
            } else if is_a(node, pg_sys::NodeTag::T_JoinExpr) {
                let join = &mut *node.cast::<pg_sys::JoinExpr>();
                self.joins(join.larg);
                self.joins(join.rarg);
                join.quals = self.condition(join.quals);
            }
        }
    }

    /// The condition with its comparisons replaced, in place where it has parts.
    ///
    /// # Safety
    /// An expression that the planner may change, or null.
    unsafe fn condition(&self, node: *mut pg_sys::Node) -> *mut pg_sys::Node {
        // SAFETY: the caller's promise; a node's tag says what it is.
        unsafe {
            if node.is_null() {
                return node;
            }
            pg_sys::check_stack_depth();
            if is_a(node, pg_sys::NodeTag::T_List) {
                let list = &*node.cast::<pg_sys::List>();
                for at in 0..list.length as usize {
                    let cell = &mut *list.elements.add(at);
                    cell.ptr_value = self.condition(cell.ptr_value.cast()).cast();
                }
            } else if is_a(node, pg_sys::NodeTag::T_BoolExpr) {
                self.condition((*node.cast::<pg_sys::BoolExpr>()).args.cast());
            } else if is_a(node, pg_sys::NodeTag::T_OpExpr) {
                return self.comparison(&*node.cast()).unwrap_or(node);
            }
            node
        }
    }

    /// Conditions that have been distributed.
    ///
    /// # Safety
    /// A list of `RestrictInfo`.
    unsafe fn distributed(&self, conditions: *mut pg_sys::List) {
        // SAFETY: the caller's promise.
        unsafe {
            for condition in PgList::<pg_sys::RestrictInfo>::from_pg(conditions).iter_ptr() {
                let condition = &mut *condition;
                // Those with OR are there twice; they stay as they are.
                if condition.orclause.is_null() {
                    condition.clause = self.condition(condition.clause.cast()).cast();
                }
            }
        }
    }

    /// `near_dup(a, b, limit)` for `hamming(a, b) <= limit` and what says the same.
    ///
    /// # Safety
    /// An operator with its function.
    unsafe fn comparison(&self, operator: &pg_sys::OpExpr) -> Option<*mut pg_sys::Node> {
        // SAFETY: the caller's promise; a node's tag says what it is.
        unsafe {
            let arguments = PgList::<pg_sys::Node>::from_pg(operator.args);
            let (left, right) = (arguments.get_ptr(0)?, arguments.get_ptr(1)?);
            let (distance, limit, below) = match function_of(operator).to_u32() {
                pg_sys::F_INT4LE | pg_sys::F_INT42LE | pg_sys::F_INT48LE => (left, right, false),
                pg_sys::F_INT4LT | pg_sys::F_INT42LT | pg_sys::F_INT48LT => (left, right, true),
                pg_sys::F_INT4GE | pg_sys::F_INT24GE | pg_sys::F_INT84GE => (right, left, false),
                pg_sys::F_INT4GT | pg_sys::F_INT24GT | pg_sys::F_INT84GT => (right, left, true),
                _ => return None,
            };
            let fingerprints = self.call(distance)?;
            let limit = limit_of(limit, below)?;
            let (one, other) = (fingerprints.get_ptr(0)?, fingerprints.get_ptr(1)?);
            if !(self.of_one_table(one, other, limit) || self.of_one_table(other, one, limit)) {
                return None;
            }
            let types = [pg_sys::INT8OID, pg_sys::INT8OID, pg_sys::INT4OID];
            let near_dup = function_beside(self.hamming, c"near_dup", &types)?;
            let mut with_limit = PgList::<pg_sys::Node>::new();
            with_limit.push(one);
            with_limit.push(other);
            with_limit.push(limit);
            let call = pg_sys::makeFuncExpr(
                near_dup,
                pg_sys::BOOLOID,
                with_limit.into_pg(),
                pg_sys::InvalidOid,
                pg_sys::InvalidOid,
                pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
            );
            Some(call.cast())
        }
    }

    /// Whether an index on `fingerprint` can be searched: it is of one table, of which query and limit are not. Other
    /// comparisons stay, because an index on the distance itself may serve them.
    ///
    /// # Safety
    /// Expressions of the planner.
    unsafe fn of_one_table(
        &self,
        fingerprint: *mut pg_sys::Node,
        query: *mut pg_sys::Node,
        limit: *mut pg_sys::Node,
    ) -> bool {
        // SAFETY: the caller's promise; the root is that of the query being planned.
        unsafe {
            let mut table = 0;
            let tables = |node| pg_sys::pull_varnos(self.root, node);
            pg_sys::bms_get_singleton_member(tables(fingerprint), &mut table)
                && !pg_sys::bms_is_member(table, tables(query))
                && !pg_sys::bms_is_member(table, tables(limit))
        }
    }

    /// The arguments of a call of `hamming`, as a function or as `<~>`.
    ///
    /// # Safety
    /// An expression of the planner.
    unsafe fn call(&self, node: *mut pg_sys::Node) -> Option<PgList<pg_sys::Node>> {
        // SAFETY: the caller's promise; a node's tag says what it is.
        unsafe {
            let (function, arguments) = if is_a(node, pg_sys::NodeTag::T_FuncExpr) {
                let call = &*node.cast::<pg_sys::FuncExpr>();
                (call.funcid, call.args)
            } else if is_a(node, pg_sys::NodeTag::T_OpExpr) {
                let call = &*node.cast::<pg_sys::OpExpr>();
                (function_of(call), call.args)
            } else {
                return None;
            };
            (function == self.hamming).then(|| PgList::from_pg(arguments))
        }
    }
}

/// The function of an operator, which the planner does not fill in where it negates one.
///
/// # Safety
/// Inside a transaction.
unsafe fn function_of(operator: &pg_sys::OpExpr) -> pg_sys::Oid {
    if operator.opfuncid != pg_sys::InvalidOid {
        return operator.opfuncid;
    }
    // SAFETY: the caller's promise.
    unsafe { pg_sys::get_opcode(operator.opno) }
}

/// The distance that a limit allows: the limit itself, or one less where the distance must be below it. Only a constant
/// can be changed to another number or type.
///
/// # Safety
/// An expression of type smallint, integer or bigint.
unsafe fn limit_of(limit: *mut pg_sys::Node, below: bool) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller's promise; a node's tag says what it is.
    unsafe {
        let typoid = pg_sys::exprType(limit);
        if typoid == pg_sys::INT4OID && !below {
            return Some(limit);
        }
        if !is_a(limit, pg_sys::NodeTag::T_Const) {
            return None;
        }
        let constant = &*limit.cast::<pg_sys::Const>();
        let value = match typoid {
            _ if constant.constisnull => return None,
            pg_sys::INT2OID => i64::from(constant.constvalue.value() as i16),
            pg_sys::INT4OID => i64::from(constant.constvalue.value() as i32),
            pg_sys::INT8OID => constant.constvalue.value() as i64,
            _ => return None,
        };
        // All limits below 0 are met by nothing, all from 64 on by everything.
        let value = value.saturating_sub(i64::from(below)).clamp(-1, 64);
        let value = pg_sys::Datum::from(value as i32);
        Some(pg_sys::makeConst(pg_sys::INT4OID, -1, pg_sys::InvalidOid, 4, value, false, true).cast())
    }
}
