//! Cost of a scan for the planner, from the probe schedule.

use super::ball::NEAR_DISTANCE;
use super::nulls::may_be_null;
use super::planner::{BallExpression, UNKNOWN_DISTANCE};
use dedup_core::banding::search_cost;
use pgrx::{PgList, is_a, pg_guard, pg_sys};

/// The distance at which a nearest-neighbour scan usually has its first rows.
const FIRST_NEIGHBOURS: u32 = 7;
/// Entries of a leaf after a build, for an index whose pages are not counted.
const ENTRIES_PER_LEAF: f64 = 700.0;
/// Cost of comparing an entry, as a share of an operator call: about a nanosecond against the ten
/// or more of a function called by the executor.
const ENTRY_COST: f64 = 0.1;

/// Estimates a scan.
#[pg_guard]
#[expect(clippy::too_many_arguments, reason = "PostgreSQL's signature")]
pub(super) unsafe extern "C-unwind" fn amcostestimate(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    loop_count: f64,
    startup_cost: *mut pg_sys::Cost,
    total_cost: *mut pg_sys::Cost,
    selectivity: *mut pg_sys::Selectivity,
    correlation: *mut f64,
    pages: *mut f64,
) {
    // SAFETY: PostgreSQL gives a path over an index of this access method and
    // places for the results.
    unsafe {
        let index = (*path).indexinfo;
        let conditions = PgList::<pg_sys::IndexClause>::from_pg((*path).indexclauses);
        let ordered = !(*path).indexorderbys.is_null();
        *correlation = 0.0;

        // A scan of all rows in no order is never worthwhile.
        if conditions.is_empty() && !ordered {
            *startup_cost = f64::INFINITY;
            *total_cost = f64::INFINITY;
            *selectivity = 1.0;
            *pages = (*index).pages.into();
            #[cfg(feature = "pg18")]
            {
                (*path).path.disabled_nodes = 2;
            }
            return;
        }

        let rows = (*index).tuples.max(1.0);
        let leaves = (rows / ENTRIES_PER_LEAF).max(f64::from((*index).pages) / 4.0).max(1.0);
        let distances = conditions.iter_ptr().map(|clause| distance_of(root, clause));
        let distance = distances.map(|distance| distance.unwrap_or(UNKNOWN_DISTANCE as u32)).min();
        let quals = pg_sys::get_quals_from_indexclauses((*path).indexclauses);
        *selectivity = pg_sys::clauselist_selectivity(
            root,
            quals,
            (*(*index).rel).relid as i32,
            pg_sys::JoinType::JOIN_INNER,
            std::ptr::null_mut(),
        );

        let (mut random_page_cost, mut seq_page_cost) = (0.0, 0.0);
        pg_sys::get_tablespace_page_costs((*index).reltablespace, &mut random_page_cost, &mut seq_page_cost);
        let cost = |distance: u32| {
            let work = search_cost(distance, rows, leaves);
            let touched = work.leaf_pages + work.inner_pages;
            // Repeated searches find the upper levels and more in memory.
            let fetched = if loop_count > 1.0 {
                let all = (touched * loop_count).ceil();
                pg_sys::index_pages_fetched(all, (*index).pages, (*index).pages.into(), root) / loop_count
            } else {
                touched
            };
            let cpu = work.entries * pg_sys::cpu_operator_cost * ENTRY_COST
                + touched * 20.0 * pg_sys::cpu_operator_cost;
            (fetched, fetched * random_page_cost + cpu)
        };

        let bound = distance.unwrap_or(64);
        let (fetched, whole) = cost(bound);
        *pages = fetched;
        let emitted = *selectivity * rows * pg_sys::cpu_index_tuple_cost;
        if ordered {
            // The first rows come after a small search, the last ones after the whole search.
            let (_, first) = cost(bound.min(FIRST_NEIGHBOURS));
            *startup_cost = first.min(whole);
            *total_cost = first + whole + emitted;
            if conditions.is_empty() {
                *total_cost += cost_of_nulls(root, index);
            }
        } else {
            *startup_cost = 0.0;
            *total_cost = whole + emitted;
        }
    }
}

/// Cost of reading the rows without a fingerprint from the table.
///
/// # Safety
/// The index is one of a table that `root` plans to read.
unsafe fn cost_of_nulls(root: *mut pg_sys::PlannerInfo, index: *const pg_sys::IndexOptInfo) -> f64 {
    // SAFETY: the caller's promise; the planner has locked both relations.
    unsafe {
        let table = &*(*index).rel;
        if !(*index).hypothetical {
            let lock = pg_sys::NoLock as i32;
            let opened = pg_sys::index_open((*index).indexoid, lock);
            let heap = pg_sys::table_open((*(*opened).rd_index).indrelid, lock);
            let may_be_null = may_be_null(heap, opened);
            pg_sys::table_close(heap, lock);
            pg_sys::index_close(opened, lock);
            if !may_be_null {
                return 0.0;
            }
        }
        let (mut random_page_cost, mut seq_page_cost) = (0.0, 0.0);
        pg_sys::get_tablespace_page_costs(table.reltablespace, &mut random_page_cost, &mut seq_page_cost);
        let (mut expression, mut predicate) = (pg_sys::QualCost::default(), pg_sys::QualCost::default());
        pg_sys::cost_qual_eval(&mut expression, (*index).indexprs, root);
        pg_sys::cost_qual_eval(&mut predicate, (*index).indpred, root);
        let row = pg_sys::cpu_tuple_cost + expression.per_tuple + predicate.per_tuple;
        f64::from(table.pages) * seq_page_cost + table.tuples.max(0.0) * row
    }
}

/// The distance that a condition allows, if it is known now; nothing is
/// searched for a negative one.
///
/// # Safety
/// The clause belongs to an index of this access method.
unsafe fn distance_of(root: *mut pg_sys::PlannerInfo, clause: *mut pg_sys::IndexClause) -> Option<u32> {
    // SAFETY: an index clause of an operator class of this access method is an
    // operator with the column on the left; a node's tag says what it is.
    unsafe {
        let quals = PgList::<pg_sys::RestrictInfo>::from_pg((*clause).indexquals);
        let expression = (*quals.get_ptr(0)?).clause.cast::<pg_sys::Node>();
        if !is_a(expression, pg_sys::NodeTag::T_OpExpr) {
            return None;
        }
        let arguments = PgList::<pg_sys::Node>::from_pg((*expression.cast::<pg_sys::OpExpr>()).args);
        let right = arguments.get_ptr(1)?;
        if pg_sys::exprType(right) == pg_sys::INT8OID {
            return Some(NEAR_DISTANCE);
        }
        BallExpression::read(root, right).radius.map(|radius| radius.clamp(0, 64) as u32)
    }
}
