//! The pairs of rows that distinct fingerprints stand for.

use super::connected::Connected;
use super::pair::{Pair, Sink};
use super::rows::{Hit, Row, Rows};
use super::union_find::UnionFind;
use crate::external::Result;
use crate::fingerprint::hamming;
use crate::interrupt::{Meter, checked};

/// Rows of one fingerprint that are connected one to the next first.
const MANY: usize = 1 << 6;

pub(super) fn equal_pairs<H>(
    rows: &Rows,
    sets: Option<&UnionFind>,
    host: &mut H,
    sink: Sink<'_, H>,
) -> Result<()> {
    let mut meter = Meter::new();
    for number in 0..rows.fps.len() {
        let run = rows.run(number);
        let sets = sets.filter(|_| run.len() >= MANY);
        let are_known = |one: &Row, other: &Row| {
            sets.is_some_and(|sets| sets.find(one.id as u32) == sets.find(other.id as u32))
        };
        if sets.is_some() {
            for two in run.windows(2) {
                meter.work(1);
                sink.take(Pair::new(two[0].id, two[1].id, 0), host)?;
            }
            sink.settle(host)?;
            if checked(run).all(|row| are_known(row, &run[0])) {
                continue;
            }
        }
        for (i, one) in run.iter().enumerate() {
            meter.work(1);
            for other in &run[i + 1..] {
                meter.work(1);
                if !are_known(one, other) {
                    sink.take(Pair::new(one.id, other.id, 0), host)?;
                }
            }
        }
    }
    if sets.is_some() { sink.settle(host) } else { Ok(()) }
}

/// The pairs of rows that hits of distinct fingerprints stand for.
pub(super) fn all_of<H>(
    [left, right]: [&Rows; 2],
    connected: Option<Connected<'_>>,
    hits: &[Hit],
    host: &mut H,
    sink: Sink<'_, H>,
) -> Result<()> {
    let mut meter = Meter::new();
    for &(l, r) in hits {
        let distance = hamming(left.fps[l as usize], right.fps[r as usize]);
        for one in left.run(l as usize) {
            if connected.is_some_and(|connected| connected.is_known((l, r))) {
                break;
            }
            for other in right.run(r as usize) {
                meter.work(1);
                sink.take(Pair::new(one.id, other.id, distance), host)?;
            }
        }
    }
    Ok(())
}
