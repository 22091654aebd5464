//! Cost of a scan for the planner, from the probe schedule.

use super::bits::parts_of_column;
use super::expression::{BallExpression, UNKNOWN_DISTANCE};
use super::{EQUAL, IndexRelation};
use crate::pg::{node, nth, version};
use dedup_core::banding::{candidates, nearest_distance, parts_cost, passes};
use pgrx::{PgList, pg_guard, pg_sys};
use std::ffi::c_void;

/// Entries of a leaf after a build, for an index whose pages are not counted.
const ENTRIES_PER_LEAF: f64 = 700.0;
/// Entries of a leaf of the tree of NULLs.
const NULLS_PER_LEAF: f64 = 1500.0;
/// Cost of comparing an entry, as a share of an operator call: about a nanosecond against the ten
/// or more of a function called by the executor.
const ENTRY_COST: f64 = 0.1;
/// The same of a row that a pass over a tree puts in order, or has given before.
const ORDERED_COST: f64 = 5.0;

/// Whether the planner's `index` is of this access method.
///
/// # Safety
/// The pointer is to what the planner knows of an index.
pub(super) unsafe fn is_banding(index: *const pg_sys::IndexOptInfo) -> bool {
    // SAFETY: the caller's promise.
    let cost = unsafe { (*index).amcostestimate };
    cost.is_some_and(|cost| cost as usize == amcostestimate as *const () as usize)
}

/// Whether an open index is of this access method.
pub(crate) fn is_banding_relation(index: IndexRelation) -> bool {
    // SAFETY: null, or what the access method has said of itself.
    let cost = unsafe { index.rd_indam.as_ref().and_then(|it| it.amcostestimate) };
    cost.is_some_and(|cost| cost as usize == amcostestimate as *const () as usize)
}

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
    // SAFETY: PostgreSQL gives a path over an index of this access method and places for the results.
    unsafe {
        let index = (*path).indexinfo;
        let conditions = PgList::<pg_sys::IndexClause>::from_pg((*path).indexclauses);
        let ordered = !(*path).indexorderbys.is_null();
        *correlation = 0.0;

        // A scan of all rows in no order is never worthwhile, and the scope has no order.
        let last = (*index).nkeycolumns - 1;
        let order_columns = PgList::<c_void>::from_pg((*path).indexorderbycols);
        let orders_scope = order_columns.iter_int().any(|column| column < last);
        // One that is no longer of one length is not searched.
        let parts = parts_of_column((*index).indexoid, (*index).nkeycolumns as i16);
        let usable = parts.is_some() && (ordered || !conditions.is_empty()) && !orders_scope;
        let Some(parts) = parts.filter(|_| usable) else {
            *startup_cost = f64::INFINITY;
            *total_cost = f64::INFINITY;
            *selectivity = 1.0;
            *pages = (*index).pages.into();
            version::disable(&mut (*path).path);
            return;
        };
        let most = 64 * parts as u32;
        let asked: Vec<Asked> = conditions.iter_ptr().map(|clause| asked(root, index, clause)).collect();
        let distance =
            asked.iter().filter_map(|it| if let Asked::Within(d) = it { Some(*d) } else { None }).min();
        let share = |clauses: *mut pg_sys::List| {
            let (table, inner) = ((*(*index).rel).relid as i32, pg_sys::JoinType::JOIN_INNER);
            let quals = pg_sys::get_quals_from_indexclauses(clauses);
            pg_sys::clauselist_selectivity(root, quals, table, inner, std::ptr::null_mut())
        };
        *selectivity = share((*path).indexclauses);

        // Where the scope is given, its part of the index is searched; else one tree is read whole.
        let columns = (*index).nkeycolumns as usize - 1;
        let given = (0..columns).all(|column| asked.contains(&Asked::Scope(column)));
        let mut of_scope = PgList::<pg_sys::IndexClause>::new();
        // The executor searches once for each element of an array.
        let (mut searches, mut scopes) = (1.0, 1.0);
        for clause in conditions.iter_ptr() {
            let array = array(clause);
            // What selectivities are computed with: ten where PostgreSQL does not know.
            let elements = array.map_or(1.0, |array| version::array_length(root, array).max(1.0));
            searches *= array.and_then(|array| rows_of(root, array)).unwrap_or(elements).max(1.0);
            if given && ((*clause).indexcol as usize) < columns {
                scopes *= elements;
                of_scope.push(clause);
            }
        }
        let part = share(of_scope.into_pg()) / scopes;
        let rows = ((*index).tuples * part).max(1.0);
        let leaves = ((*index).tuples * parts as f64 / ENTRIES_PER_LEAF).max(f64::from((*index).pages) / 4.0);
        let leaves = (leaves * part).max(1.0);

        let (mut random_page_cost, mut seq_page_cost) = (0.0, 0.0);
        pg_sys::get_tablespace_page_costs((*index).reltablespace, &mut random_page_cost, &mut seq_page_cost);
        let search = |distance: u32| {
            let work = parts_cost(parts, distance, rows, leaves);
            let touched = work.leaf_pages + work.inner_pages;
            // Repeated searches find the upper levels and more in memory.
            let fetched = if loop_count * searches > 1.0 {
                let all = (touched * loop_count * searches).ceil();
                pg_sys::index_pages_fetched(all, (*index).pages, (*index).pages.into(), root) / loop_count
            } else {
                touched
            };
            let cpu = searches * (work.entries * ENTRY_COST + touched * 20.0) * pg_sys::cpu_operator_cost;
            // A whole tree is read in the order in which it was built.
            let page_cost = if work.probes == 0 { seq_page_cost } else { random_page_cost };
            (fetched, fetched * page_cost + cpu)
        };
        // A pass is what a search comes to at worst, though of several parts its pages are not read in order.
        let cost = |distance: u32| {
            let (one, pass) = (search(distance), search(most));
            if pass.1 < one.1 { pass } else { one }
        };

        let bound = if given { distance.unwrap_or(most).min(most) } else { most };
        // What is found by its parts is read from the table.
        *selectivity = (*selectivity).max(part * candidates(parts, bound));
        let (fetched, whole) = match asked.contains(&Asked::Null) {
            // Read in order, each leaf once.
            true => {
                let pages = searches + *selectivity * (*index).tuples / NULLS_PER_LEAF;
                (pages, pages * seq_page_cost)
            }
            false => cost(bound),
        };
        *pages = fetched;
        let emitted = *selectivity * (*index).tuples.max(1.0) * pg_sys::cpu_index_tuple_cost;
        if ordered {
            // The first rows come after a search as far as they are, the last ones after the whole search.
            let wanted = rows_wanted(root, path, *selectivity);
            let nearest = match parts {
                1 => nearest_distance(rows, wanted.unwrap_or(1.0).max(1.0), 0),
                _ => most,
            };
            let (_, first) = cost(bound.min(nearest));
            let early = wanted.map_or(0.0, |wanted| early_pages(root, index, wanted, *selectivity));
            *startup_cost = first.min(whole) + early * random_page_cost;
            let kept = *selectivity * (*index).tuples * ORDERED_COST * pg_sys::cpu_operator_cost;
            let later = if parts == 1 { f64::from(passes(rows, bound)) * (whole + kept) } else { 0.0 };
            *total_cost = first + later + emitted + early * random_page_cost;
        } else {
            *startup_cost = 0.0;
            *total_cost = whole + emitted;
        }
    }
}

/// The rows that an ordered scan gives until enough have met the conditions that the index does not know; `None` if all are
/// wanted.
///
/// # Safety
/// A path of the query that `root` plans.
unsafe fn rows_wanted(
    root: *mut pg_sys::PlannerInfo,
    path: *mut pg_sys::IndexPath,
    selectivity: f64,
) -> Option<f64> {
    // SAFETY: the caller's promise.
    unsafe {
        let (limit, table) = ((*root).limit_tuples, (*(*path).indexinfo).rel);
        let parameters = (*path).path.param_info;
        let left = if parameters.is_null() { (*table).rows } else { (*parameters).ppi_rows };
        let given = selectivity * (*table).tuples;
        (limit > 0.0).then(|| limit * (given / left.max(1.0)).max(1.0)).filter(|wanted| *wanted < given)
    }
}

/// Pages of the table that the first rows of an ordered scan read beyond their share of all that it reads, by which
/// PostgreSQL reckons: of the first rows each is on a page of its own, of all only the first on each.
///
/// # Safety
/// An index of a table of the query that `root` plans.
unsafe fn early_pages(
    root: *mut pg_sys::PlannerInfo,
    index: *mut pg_sys::IndexOptInfo,
    wanted: f64,
    selectivity: f64,
) -> f64 {
    // SAFETY: the caller's promise.
    unsafe {
        let (table, given) = ((*index).rel, (selectivity * (*(*index).rel).tuples).max(1.0));
        let read =
            |rows: f64| pg_sys::index_pages_fetched(rows.ceil(), (*table).pages, (*index).pages.into(), root);
        (read(wanted) - read(given) * wanted / given).max(0.0)
    }
}

/// What a condition asks for.
#[derive(PartialEq)]
enum Asked {
    /// Fingerprints within a distance.
    Within(u32),
    /// Rows without one.
    Null,
    /// A value of a column of the scope.
    Scope(usize),
    /// Nothing that the index can search for.
    Other,
}

/// The expression of an index clause.
///
/// # Safety
/// A clause of the planner's.
unsafe fn expression(clause: *mut pg_sys::IndexClause) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller's promise.
    unsafe {
        let quals = PgList::<pg_sys::RestrictInfo>::from_pg((*clause).indexquals);
        quals.get_ptr(0).map(|it| (*it).clause.cast::<pg_sys::Node>()).filter(|it| !it.is_null())
    }
}

/// The array of the values that a clause compares with, one after another.
///
/// # Safety
/// A clause of the planner's.
unsafe fn array(clause: *mut pg_sys::IndexClause) -> Option<*mut pg_sys::Node> {
    // SAFETY: the caller's promise; a node's tag says what it is.
    unsafe { nth(node::<pg_sys::ScalarArrayOpExpr>(expression(clause)?)?.args, 1) }
}

/// The rows that are expected of the query whose results an array is made of: `ARRAY(SELECT …)`, planned before.
///
/// # Safety
/// An expression of the query that `root` plans.
unsafe fn rows_of(root: *mut pg_sys::PlannerInfo, array: *mut pg_sys::Node) -> Option<f64> {
    // SAFETY: the caller's promise; a node's tag says what it is, and a subplan's number which plan it has.
    unsafe {
        let parameter = node::<pg_sys::Param>(array)?;
        let makes = |query: &*mut pg_sys::SubPlan| {
            (**query).subLinkType == pg_sys::SubLinkType::ARRAY_SUBLINK
                && PgList::<c_void>::from_pg((**query).setParam).iter_int().eq([parameter.paramid])
        };
        let query = PgList::<pg_sys::SubPlan>::from_pg((*root).init_plans).iter_ptr().find(makes)?;
        let plans = PgList::<pg_sys::Plan>::from_pg((*(*root).glob).subplans);
        (parameter.paramkind == pg_sys::ParamKind::PARAM_EXEC)
            .then(|| plans.get_ptr((*query).plan_id as usize - 1).map(|plan| (*plan).plan_rows))?
    }
}

/// What a condition asks for, its distance if that is known now; nothing is searched for a negative one.
///
/// # Safety
/// The clause belongs to an index of this access method.
unsafe fn asked(
    root: *mut pg_sys::PlannerInfo,
    index: *mut pg_sys::IndexOptInfo,
    clause: *mut pg_sys::IndexClause,
) -> Asked {
    // SAFETY: an index clause of an operator class of this access method is an operator with the column on the left and a value
    // or an array of them on the right, or a test for NULL; a node's tag says what it is.
    unsafe {
        let unknown = Asked::Within(UNKNOWN_DISTANCE as u32);
        let Some(expression) = expression(clause) else { return unknown };
        let column = (*clause).indexcol as usize;
        let in_scope = column + 1 < (*index).nkeycolumns as usize;
        if let Some(test) = node::<pg_sys::NullTest>(expression) {
            return match test.nulltesttype {
                pg_sys::NullTestType::IS_NULL if in_scope => Asked::Scope(column),
                pg_sys::NullTestType::IS_NULL => Asked::Null,
                _ if in_scope => Asked::Other,
                _ => Asked::Within(u32::MAX),
            };
        }
        let one = node::<pg_sys::OpExpr>(expression).map(|it| (it.opno, it.args));
        let of_many = || node::<pg_sys::ScalarArrayOpExpr>(expression).map(|it| (it.opno, it.args));
        let Some((operator, arguments)) = one.or_else(of_many) else { return unknown };
        match pg_sys::get_op_opfamily_strategy(operator, *(*index).opfamily.add(column)) as u16 {
            EQUAL if in_scope => return Asked::Scope(column),
            _ if in_scope => return Asked::Other,
            EQUAL => return Asked::Within(0),
            _ => {}
        }
        let radius = nth(arguments, 1).and_then(|right| BallExpression::read(root, right)?.radius);
        radius.map_or(unknown, |radius| Asked::Within(radius.max(0) as u32))
    }
}
