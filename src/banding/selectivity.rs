//! Selectivity of comparisons of fingerprints, from the statistics that ANALYZE has collected.

use super::bits::parts_of;
use crate::pg::{base_type, node};
use dedup_core::banding::Sample;
use pgrx::{PgList, pg_sys};

/// A comparison of two fingerprints within a distance, as the planner sees it.
#[derive(Clone, Copy)]
pub(crate) struct Comparison {
    pub(crate) left: *mut pg_sys::Node,
    pub(crate) right: *mut pg_sys::Node,
    /// The distance, or the one assumed if it is known only at run time.
    pub(crate) distance: i32,
    pub(crate) function: pg_sys::Oid,
}

/// What the planner knows about one side of a comparison.
enum Side {
    Known(u64),
    Null,
    /// It is like a column of that many rows.
    Like(Sample, f64),
}

/// The share of rows of `relation` (0: of its only one) that the comparison keeps.
///
/// # Safety
/// The arguments are what the planner gives to an estimator.
pub(crate) unsafe fn restriction(
    root: *mut pg_sys::PlannerInfo,
    comparison: Comparison,
    relation: i32,
) -> f64 {
    // SAFETY: the caller's promise; the list is the planner's to free.
    unsafe {
        let mut sides = PgList::<pg_sys::Node>::new();
        sides.push(comparison.left);
        sides.push(comparison.right);
        let mut variable = pg_sys::VariableStatData::default();
        let (of, mut other, mut on_left) = (&mut variable, std::ptr::null_mut(), false);
        let list = sides.as_ptr();
        if !pg_sys::get_restriction_variable(root, list, relation, of, &mut other, &mut on_left) {
            // Two columns of one row.
            return Sample::default().between(&Sample::default(), comparison.distance).clamp(1e-6, 1.0);
        }
        let sample = sample(&mut variable, comparison.function);
        release(&mut variable);
        match side(root, other, comparison.function) {
            Side::Null => 0.0,
            Side::Known(query) => sample.around(query, comparison.distance),
            Side::Like(queries, _) => {
                // A parameter is assumed to be distributed like the column it is compared with.
                let unknown = queries.common.is_empty() && queries.others.is_empty();
                let queries = if unknown { sample.clone() } else { queries };
                // Averaged over the queries that are not NULL.
                let present = (1.0 - queries.nulls).max(1e-9);
                (sample.between(&queries, comparison.distance) / present).min(1.0)
            }
        }
    }
}

/// The share of pairs that the comparison keeps or, of a semi-join, of rows of the outer side.
///
/// # Safety
/// As [`restriction`].
pub(crate) unsafe fn join(
    root: *mut pg_sys::PlannerInfo,
    comparison: Comparison,
    join: *mut pg_sys::SpecialJoinInfo,
    kind: pg_sys::JoinType::Type,
) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        let Comparison { left, right, distance, function } = comparison;
        let (Side::Like(left, left_rows), Side::Like(right, right_rows)) =
            (side(root, left, function), side(root, right, function))
        else {
            return restriction(root, comparison, 0);
        };
        match kind {
            pg_sys::JoinType::JOIN_SEMI | pg_sys::JoinType::JOIN_ANTI => {
                let varnos = pg_sys::pull_varnos(root, comparison.left);
                let outer_is_left = join.is_null() || pg_sys::bms_overlap(varnos, (*join).syn_lefthand);
                if outer_is_left {
                    left.with_partner(&right, right_rows, distance)
                } else {
                    right.with_partner(&left, left_rows, distance)
                }
            }
            _ => left.between(&right, distance),
        }
    }
}

/// What the planner knows about the expression `of`.
///
/// # Safety
/// The node is an expression of the query that `root` plans.
unsafe fn side(root: *mut pg_sys::PlannerInfo, of: *mut pg_sys::Node, function: pg_sys::Oid) -> Side {
    // SAFETY: the caller's promise; a node's tag says what it is.
    unsafe {
        let of = pg_sys::estimate_expression_value(root, of);
        if let Some(constant) = node::<pg_sys::Const>(of) {
            return match constant.constisnull {
                true => Side::Null,
                false => Side::Known(first_part(constant.constvalue, constant.consttype)),
            };
        }
        let mut variable = pg_sys::VariableStatData::default();
        pg_sys::examine_variable(root, of, 0, &mut variable);
        let rows = variable.rel.as_ref().map_or(1.0, |rel| rel.rows);
        let sample = sample(&mut variable, function);
        release(&mut variable);
        Side::Like(sample, rows)
    }
}

/// `ReleaseVariableStats`, which is a macro.
///
/// # Safety
/// The variable was examined.
unsafe fn release(variable: &mut pg_sys::VariableStatData) {
    if let (false, Some(free)) = (variable.statsTuple.is_null(), variable.freefunc) {
        // SAFETY: the tuple is that of the variable, released once.
        unsafe { free(variable.statsTuple) };
        variable.statsTuple = std::ptr::null_mut();
    }
}

/// The statistics of an examined variable, as far as the user may know them.
///
/// # Safety
/// The variable was examined and not released.
unsafe fn sample(variable: &mut pg_sys::VariableStatData, function: pg_sys::Oid) -> Sample {
    // SAFETY: the caller's promise; the tuple, if there is one, is of pg_statistic.
    unsafe {
        let rows = variable.rel.as_ref().map_or(1.0, |rel| rel.tuples).max(1.0);
        let mut is_default = false;
        let distinct = pg_sys::get_variable_numdistinct(variable, &mut is_default);
        let mut sample = Sample { distinct: if is_default { rows } else { distinct }, ..Sample::default() };
        let tuple = variable.statsTuple;
        if tuple.is_null() {
            return sample;
        }
        let row = pg_sys::heap_tuple_get_struct::<pg_sys::FormData_pg_statistic>(tuple);
        sample.nulls = f64::from((*row).stanullfrac);
        if !pg_sys::statistic_proc_security_check(variable, function) {
            return sample;
        }
        let both = pg_sys::ATTSTATSSLOT_VALUES | pg_sys::ATTSTATSSLOT_NUMBERS;
        if let Some((values, numbers)) = slot(tuple, pg_sys::STATISTIC_KIND_MCV, both) {
            sample.common = values.into_iter().zip(numbers).collect();
        }
        if let Some((values, _)) = slot(tuple, pg_sys::STATISTIC_KIND_HISTOGRAM, pg_sys::ATTSTATSSLOT_VALUES)
        {
            sample.others = values;
        }
        sample.thinned()
    }
}

/// A fingerprint, of `bit` its first part.
///
/// # Safety
/// The value is of this type.
unsafe fn first_part(value: pg_sys::Datum, of: pg_sys::Oid) -> u64 {
    match base_type(of) {
        // SAFETY: the caller's promise.
        pg_sys::BITOID => unsafe { parts_of(value, None) }.first().copied().unwrap_or(0),
        _ => value.value() as u64,
    }
}

/// One kind of statistics of a column of fingerprints.
///
/// # Safety
/// The tuple is of pg_statistic.
unsafe fn slot(tuple: pg_sys::HeapTuple, kind: u32, parts: u32) -> Option<(Vec<u64>, Vec<f64>)> {
    // SAFETY: the slot is filled if the function says so, with as many values and numbers as it says; it is freed once.
    unsafe {
        let mut slot = pg_sys::AttStatsSlot::default();
        if !pg_sys::get_attstatsslot(&mut slot, tuple, kind as i32, pg_sys::InvalidOid, parts as i32) {
            return None;
        }
        // A domain over bigint has its own type, but values like any bigint.
        let readable = matches!(base_type(slot.valuetype), pg_sys::INT8OID | pg_sys::BITOID);
        let values = (0..slot.nvalues as usize).map(|at| first_part(*slot.values.add(at), slot.valuetype));
        let numbers = (0..slot.nnumbers as usize).map(|at| f64::from(*slot.numbers.add(at)));
        let read = readable.then(|| (values.collect(), numbers.collect()));
        pg_sys::free_attstatsslot(&mut slot);
        read
    }
}
