//! Lets conditions such as `fp <~> q <= 8` and `hamming(fp, q) <= 8` use an index: they are planned as `near_dup(fp, q, 8)`,
//! which is true, false or NULL of the same rows.
//!
//! A support function can make an index condition of calls of its own function only; here the outermost function is
//! PostgreSQL's `int4le`. So the comparison itself is replaced, when the planner looks up the last table of a query:
//! after the conditions have been simplified, before they are distributed to tables and joins. `hamming` has a support
//! function only so that this library is loaded by then, and to tell which function it is.
//!
//! Only comparisons for which a table has a `banding` index are replaced. Others stay as they are written, for a B-tree on
//! the distance, a partial index, a CHECK constraint or a partition's bound may serve them. A partitioned table, a parent
//! and UNION ALL have no index of their own: their comparisons are replaced when the first member with an index is looked
//! up, which is after pruning, and before that member takes them over. Members that come after it, with or without an
//! index, get them replaced.

use super::is_banding;
use super::planner::{NEAR_DUP, bigint, function_beside, may_call, typed};
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
            let call = &*(*node.cast::<pg_sys::SupportRequestSimplify>()).fcall;
            if typed(call.args, [pg_sys::INT8OID; 2]).is_some() {
                HAMMING.set(call.funcid);
            }
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
            (Rewriter { hamming, root, rel, members: members(&*root, &*rel) }).table();
        }
    }
}

/// How `rel` is a member of a member … of the table or UNION ALL that the query names, from itself upwards.
///
/// # Safety
/// Called by the planner's hook.
unsafe fn members(root: &pg_sys::PlannerInfo, rel: &pg_sys::RelOptInfo) -> Vec<*mut pg_sys::AppendRelInfo> {
    let mut members = Vec::new();
    let mut relid = rel.relid;
    while !root.append_rel_array.is_null() {
        // SAFETY: the array is as long as that of the tables; an entry is null or valid.
        unsafe {
            let member = *root.append_rel_array.add(relid as usize);
            if member.is_null() {
                break;
            }
            relid = (*member).parent_relid;
            members.push(member);
        }
    }
    members
}

/// Replaces comparisons of `hamming` by `near_dup`.
struct Rewriter {
    hamming: pg_sys::Oid,
    root: *mut pg_sys::PlannerInfo,
    /// The table that is being looked up; it is not yet in the planner's array.
    rel: *mut pg_sys::RelOptInfo,
    members: Vec<*mut pg_sys::AppendRelInfo>,
}

impl Rewriter {
    /// What has to be replaced when the table is looked up.
    ///
    /// # Safety
    /// Called by the planner's hook.
    unsafe fn table(&self) {
        // SAFETY: arrays of the planner are as long as it says, from 1; a node's tag says what it is.
        unsafe {
            let (root, rel) = (&*self.root, &*self.rel);
            if self.members.is_empty() {
                let jointree = (*root.parse).jointree.cast();
                if self.all_known(jointree) {
                    self.joins(jointree);
                }
            }
            for (level, &member) in self.members.iter().enumerate() {
                if let Some(whole) = (*root.simple_rel_array.add((*member).parent_relid as usize)).as_ref() {
                    if level == 0 {
                        self.condition(whole.baserestrictinfo.cast());
                    }
                    self.condition(whole.joininfo.cast());
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

    /// Whether all tables of a tree of joins have been looked up.
    ///
    /// # Safety
    /// A node of the join tree of a query that is being planned, or null.
    unsafe fn all_known(&self, node: *mut pg_sys::Node) -> bool {
        // SAFETY: the caller's promise; a node's tag says what it is.
        unsafe {
            if node.is_null() {
                return true;
            }
            pg_sys::check_stack_depth();
            if is_a(node, pg_sys::NodeTag::T_FromExpr) {
                let from = &*node.cast::<pg_sys::FromExpr>();
                PgList::<pg_sys::Node>::from_pg(from.fromlist).iter_ptr().all(|item| self.all_known(item))
            } else if is_a(node, pg_sys::NodeTag::T_JoinExpr) {
                let join = &*node.cast::<pg_sys::JoinExpr>();
                self.all_known(join.larg) && self.all_known(join.rarg)
            } else {
                let at = (*node.cast::<pg_sys::RangeTblRef>()).rtindex as usize;
                let is_table =
                    (**(*self.root).simple_rte_array.add(at)).rtekind == pg_sys::RTEKind::RTE_RELATION;
                !is_table || !self.known(at as u32).is_null()
            }
        }
    }

    /// What the planner knows of a table, or null.
    ///
    /// # Safety
    /// A number of a table of the query that is being planned.
    unsafe fn known(&self, table: u32) -> *mut pg_sys::RelOptInfo {
        // SAFETY: the caller's promise.
        unsafe {
            if (*self.rel).relid == table {
                self.rel
            } else {
                *(*self.root).simple_rel_array.add(table as usize)
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
            } else if is_a(node, pg_sys::NodeTag::T_RestrictInfo) {
                let info = &mut *node.cast::<pg_sys::RestrictInfo>();
                // Of one with two sides the planner has noted what they are.
                if !info.can_join {
                    info.clause = self.condition(info.clause.cast()).cast();
                    info.orclause = self.condition(info.orclause.cast()).cast();
                }
            } else if is_a(node, pg_sys::NodeTag::T_OpExpr) {
                return self.comparison(&*node.cast()).unwrap_or(node);
            }
            node
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
            if !(self.searchable(one, other, limit) || self.searchable(other, one, limit)) {
                return None;
            }
            let near_dup = function_beside(self.hamming, c"near_dup", &NEAR_DUP)?;
            // The query has not named it.
            may_call(self.root, near_dup).then(|| call(near_dup, pg_sys::BOOLOID, &[one, other, limit]))
        }
    }

    /// Whether an index on `fingerprint` can be searched: a table has one, and query and limit are not of that table.
    ///
    /// # Safety
    /// Expressions of the planner.
    unsafe fn searchable(
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
                && self.is_indexed(fingerprint, table as u32)
        }
    }

    /// Whether `table` has a `banding` index on an expression of it: itself, or where it is one that the table being
    /// looked up is a member of, that member.
    ///
    /// # Safety
    /// An expression of the planner, of that table alone.
    unsafe fn is_indexed(&self, fingerprint: *mut pg_sys::Node, table: u32) -> bool {
        // SAFETY: the caller's promise; the members' levels are applied from the table downwards.
        unsafe {
            let Some(level) = self.members.iter().position(|&member| (*member).parent_relid == table) else {
                return has_index(self.root, self.known(table), fingerprint);
            };
            let mut fingerprint = fingerprint;
            for member in self.members[..=level].iter().rev() {
                let mut member = *member;
                fingerprint = pg_sys::adjust_appendrel_attrs(self.root, fingerprint, 1, &mut member);
            }
            has_index(self.root, self.rel, fingerprint)
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

/// Whether a table has a `banding` index on an expression of it. One that has members is asked through them.
///
/// # Safety
/// What the planner knows of a table, or null; an expression of the planner.
unsafe fn has_index(
    root: *mut pg_sys::PlannerInfo,
    rel: *mut pg_sys::RelOptInfo,
    fingerprint: *mut pg_sys::Node,
) -> bool {
    // SAFETY: the caller's promise; the planner lists only indexes that are valid.
    unsafe {
        let Some(rel) = rel.as_ref() else { return false };
        !(**(*root).simple_rte_array.add(rel.relid as usize)).inh
            && PgList::<pg_sys::IndexOptInfo>::from_pg(rel.indexlist).iter_ptr().any(|index| {
                let last = (*index).nkeycolumns - 1;
                is_banding(index) && pg_sys::match_index_to_operand(fingerprint, last, index)
            })
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

/// The distance that a limit allows, as an integer: the limit itself, or one less where the distance must be below it.
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
            return limit_at_run_time(limit, typoid, below);
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
        Some(integer(value.saturating_sub(i64::from(below)).clamp(-1, 64) as i32))
    }
}

/// [`limit_of`] for a limit that is not known yet, such as a parameter of a generic plan: with functions that are NULL for
/// NULL, and cannot overflow.
///
/// # Safety
/// An expression of that type.
unsafe fn limit_at_run_time(
    limit: *mut pg_sys::Node,
    typoid: pg_sys::Oid,
    below: bool,
) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller's promise; the functions are PostgreSQL's, with the arguments that they have.
    unsafe {
        let function =
            |number: u32, result, arguments: &[_]| call(pg_sys::Oid::from(number), result, arguments);
        let limit = match typoid {
            pg_sys::INT2OID => function(pg_sys::F_INT4_INT2, pg_sys::INT4OID, &[limit]),
            pg_sys::INT4OID => limit,
            pg_sys::INT8OID => {
                let least = function(pg_sys::F_INT8LARGER, typoid, &[limit, bigint(-1)]);
                let limit = function(pg_sys::F_INT8SMALLER, typoid, &[least, bigint(65)]);
                function(pg_sys::F_INT4_INT8, pg_sys::INT4OID, &[limit])
            }
            _ => return None,
        };
        if !below {
            return Some(limit);
        }
        let limit = function(pg_sys::F_INT4LARGER, pg_sys::INT4OID, &[limit, integer(0)]);
        Some(function(pg_sys::F_INT4MI, pg_sys::INT4OID, &[limit, integer(1)]))
    }
}

/// A call of a function of that result.
///
/// # Safety
/// Arguments of the function's types.
unsafe fn call(
    function: pg_sys::Oid,
    result: pg_sys::Oid,
    arguments: &[*mut pg_sys::Node],
) -> *mut pg_sys::Node {
    let mut list = PgList::<pg_sys::Node>::new();
    for &argument in arguments {
        list.push(argument);
    }
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::makeFuncExpr(
            function,
            result,
            list.into_pg(),
            pg_sys::InvalidOid,
            pg_sys::InvalidOid,
            pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
        )
        .cast()
    }
}

/// A constant of type `integer`.
///
/// # Safety
/// Called while planning.
unsafe fn integer(value: i32) -> *mut pg_sys::Node {
    // SAFETY: the caller's promise; integer is passed by value.
    unsafe {
        pg_sys::makeConst(pg_sys::INT4OID, -1, pg_sys::InvalidOid, 4, pg_sys::Datum::from(value), false, true)
            .cast()
    }
}
