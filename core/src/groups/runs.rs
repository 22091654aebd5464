//! The pairs of rows that distinct fingerprints stand for.

use super::blocking::{Blocking, Span};
use super::connected::Connected;
use super::mark::{Apart, Mark};
use super::pair::{Pair, PairSearch, Sink};
use super::parallel::Task;
use super::rows::{Hit, Row, Rows};
use super::union_find::UnionFind;
use crate::external::{Host, Result};
use crate::fingerprint::hamming;
use crate::interrupt::{Meter, checked};

/// Rows of one fingerprint that are connected one to the next first.
const MANY: usize = 1 << 6;

/// The place of a join in the whole work.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub search: PairSearch,
    /// A block of a blocking, if it joins by one alone.
    pub cut: Option<(&'a Blocking, usize)>,
    pub span: Span,
    /// What is connected already, if only pairs are wanted that connect something.
    pub sets: Option<&'a UnionFind>,
    /// What tells rows apart, by their ids.
    pub marks: Option<&'a [Mark]>,
}

impl Place<'_> {
    /// Passes on the pairs of rows with others, or with each other.
    pub fn join<H: Host>(
        self,
        left: &Rows,
        right: Option<&Rows>,
        host: &mut H,
        sink: Sink<'_, H>,
    ) -> Result<()> {
        let Place { search: PairSearch { distance, threads, .. }, cut, span, sets, marks } = self;
        // Equal rows are near in every block that is used, and found in the first.
        if right.is_none() && cut.is_none_or(|(_, block)| block == 0) {
            equal_pairs(left, (sets, marks), host, sink)?;
        }
        let numbers = |rows: &Rows| sets.map(|sets| rows.numbers(sets)).transpose();
        let (mine, theirs) = (numbers(left)?, right.map(numbers).transpose()?.flatten());
        let connected = sets.zip(mine.as_deref()).map(|(sets, mine)| Connected {
            sets,
            left: mine,
            right: theirs.as_deref().unwrap_or(mine),
        });
        let others = right.unwrap_or(left);
        let known = |rows: &Rows| marks.map(|marks| rows.marks(marks)).transpose();
        let (ours, others_known) = (known(left)?, right.map(known).transpose()?.flatten());
        let apart =
            ours.as_deref().map(|left| Apart { left, right: others_known.as_deref().unwrap_or(left) });
        let right = right.map(|right| &right.fps[..]);
        let task = Task { left: &left.fps, right, distance, threads, span, connected, apart };
        let take =
            &mut |host: &mut H, hits: &[_]| all_of([left, others], (connected, marks), hits, host, sink);
        match cut {
            Some((cut, block)) => task.run_block(cut, block, host, take),
            None => task.run(host, take),
        }
    }
}

fn equal_pairs<H>(
    rows: &Rows,
    (sets, marks): (Option<&UnionFind>, Option<&[Mark]>),
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
                if !are_apart(marks, &two[0], &two[1]) {
                    sink.take(Pair::new(two[0].id, two[1].id, 0), host)?;
                }
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
                if !are_apart(marks, one, other) && !are_known(one, other) {
                    sink.take(Pair::new(one.id, other.id, 0), host)?;
                }
            }
        }
    }
    if sets.is_some() { sink.settle(host) } else { Ok(()) }
}

fn are_apart(marks: Option<&[Mark]>, one: &Row, other: &Row) -> bool {
    marks.is_some_and(|marks| marks[one.id as usize].is_apart(&marks[other.id as usize]))
}

/// The pairs of rows that hits of distinct fingerprints stand for.
fn all_of<H>(
    [left, right]: [&Rows; 2],
    (connected, marks): (Option<Connected<'_>>, Option<&[Mark]>),
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
                if !are_apart(marks, one, other) {
                    sink.take(Pair::new(one.id, other.id, distance), host)?;
                }
            }
        }
    }
    Ok(())
}
