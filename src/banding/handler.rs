//! The handler function: the properties of the access method and its callbacks.

use super::{EQUAL, build, cost, insert, options, scan, vacuum, validate};
use crate::pg::version;
use pgrx::{PgBox, pg_extern, pg_sys};

/// The routine: copied for each caller, until 19 takes it as it is.
static ROUTINE: pg_sys::IndexAmRoutine = {
    // SAFETY: zero is a legal value of every field: false, no function.
    let mut am: pg_sys::IndexAmRoutine = unsafe { std::mem::zeroed() };
    am.type_ = pg_sys::NodeTag::T_IndexAmRoutine;
    am.amstrategies = EQUAL;
    am.amsupport = 1;
    am.amcanmulticol = true;
    am.amcanorderbyop = true;
    // A nearest-neighbour scan has no condition.
    am.amoptionalkey = true;
    am.amsearchnulls = true;
    am.ampredlocks = true;
    am.amkeytype = pg_sys::InvalidOid;
    // Dead entries are found on every page by one worker or another.
    am.amparallelvacuumoptions =
        (pg_sys::VACUUM_OPTION_PARALLEL_BULKDEL | pg_sys::VACUUM_OPTION_PARALLEL_CLEANUP) as u8;
    version::can_build_on_workers(&mut am);
    am.ambuild = Some(build::ambuild);
    am.ambuildempty = Some(build::ambuildempty);
    am.aminsert = Some(insert::aminsert);
    am.ambulkdelete = Some(vacuum::ambulkdelete);
    am.amvacuumcleanup = Some(vacuum::amvacuumcleanup);
    am.amcostestimate = Some(cost::amcostestimate);
    am.amoptions = Some(options::amoptions);
    am.ambuildphasename = Some(build::ambuildphasename);
    am.amvalidate = Some(validate::amvalidate);
    am.ambeginscan = Some(scan::ambeginscan);
    am.amrescan = Some(scan::amrescan);
    am.amgettuple = Some(scan::amgettuple);
    am.amgetbitmap = Some(scan::amgetbitmap);
    am.amendscan = Some(scan::amendscan);
    am
};

#[pg_extern(sql = "")]
fn banding_handler(_fcinfo: pg_sys::FunctionCallInfo) -> PgBox<pg_sys::IndexAmRoutine> {
    // SAFETY: the node is as large as the routine and is filled whole; what is static is not written to.
    unsafe {
        #[cfg(feature = "pg19")]
        return PgBox::from_pg((&raw const ROUTINE).cast_mut());
        #[cfg(not(feature = "pg19"))]
        {
            let mut am = PgBox::<pg_sys::IndexAmRoutine>::alloc_node(pg_sys::NodeTag::T_IndexAmRoutine);
            *am = ROUTINE;
            am.into_pg_boxed()
        }
    }
}
