//! Window functions that group rows by their fingerprints: `single_pass` and `near_dup_component`.

use crate::pg::{
    Progress, QueryHost, Window, raise_invalid, required, threads, unwrap_or_raise, within_memory_limit,
    work_memory,
};
use dedup_core::dedup::Limits;
use dedup_core::memory::{OrRaise, filled, with_capacity};
use dedup_detectors::components::components;
use dedup_detectors::single_pass::SinglePass;
use pgrx::prelude::*;

/// The row number, from 1, of the center of the current row's cluster; NULL
/// for a row without a fingerprint. Arguments: fp, distance.
#[pg_extern(sql = "")]
fn single_pass(fcinfo: pg_sys::FunctionCallInfo) -> Option<i64> {
    let window = Window::of(fcinfo);
    // SAFETY: declared as (bigint, integer); this function keeps a `SinglePass`.
    let (clusters, fp) = unsafe {
        let clusters = window.state(|| SinglePass::new(checked_distance(window.argument(1), "distance")));
        (clusters, window.argument::<i64>(0))
    };
    window.forget_earlier();
    match fp {
        Some(fp) => Some(i64::from(clusters.assign(fp as u64).row) + 1),
        None => {
            clusters.skip();
            None
        }
    }
}

/// The row number, from 1, of the first row of the current row's component;
/// NULL for a row without a fingerprint. Arguments: fp, distance[, diameter].
#[pg_extern(sql = "")]
fn near_dup_component(fcinfo: pg_sys::FunctionCallInfo) -> Option<i64> {
    let window = Window::of(fcinfo);
    // SAFETY: this function keeps a vector of components.
    let components = unsafe { window.state(|| partition_components(&window)) };
    components.get(window.position() as usize).copied().flatten().map(|row| i64::from(row) + 1)
}

/// Bytes per row while the components of a partition are computed.
const BYTES_PER_ROW: usize = 72;

fn partition_components(window: &Window) -> Vec<Option<u32>> {
    let progress = Progress::new("near_dup_component");
    progress.stage("reading", "rows", None);
    let rows = window.rows();
    within_memory_limit(rows as usize * BYTES_PER_ROW);
    let rows_all = rows as usize;
    let (mut fps, mut of) = (with_capacity(rows_all).or_raise(), with_capacity(rows_all).or_raise());
    for row in 0..rows {
        // SAFETY: declared as bigint.
        if let Some(fp) = unsafe { window.argument_at::<i64>(0, row) } {
            fps.push(fp as u64);
            of.push(row as u32);
        }
        progress.step();
    }
    // SAFETY: declared as integer, integer.
    let (near, diameter) = unsafe { (window.argument(1), window.argument::<i32>(2)) };
    let near = checked_distance(near, "distance");
    let diameter = diameter.map(|diameter| checked_distance(Some(diameter), "diameter"));
    progress.stage("finding near rows", "rows", None);
    let limits = Limits { memory: work_memory(), sketches: 0, threads: threads() };
    let mut host = QueryHost::reporting(&progress);
    let found = unwrap_or_raise(components(&fps, near, diameter, limits, &mut host));
    let mut all = filled(None, rows_all).or_raise();
    for (&row, component) in of.iter().zip(found) {
        all[row as usize] = Some(of[component as usize]);
    }
    all
}

/// A Hamming distance given by a user. Raises an error if it is NULL or not 0 to 64.
fn checked_distance(given: Option<i32>, name: &str) -> u32 {
    const HINT: &str = "A Hamming distance of fingerprints is 0 to 64.";
    match required(given, name, HINT) {
        distance @ 0..=64 => distance as u32,
        distance => raise_invalid(format!("{name} {distance} is out of range"), HINT),
    }
}
