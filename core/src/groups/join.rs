//! Near pairs between two lists of fingerprints.
//!
//! A blocking sorts both lists into buckets, and only buckets near each other are compared: all pairs if they
//! are small, else by a blocking of the remaining bits. That keeps a hot bucket (hundreds of thousands of rows
//! of one template) from taking quadratic time.

use super::blocking::{BLOCKS, Blocking, ball};
use super::connected::{Connected, Rest};
use super::mark::Apart;
use super::rows::{Hit, ROWS_PER_CHECK, Side};
use crate::fingerprint::{LANES, any_near};
use crate::memory::{Grow, OrRaise, Room, filled};
use multiversion::multiversion;

/// Lists of fewer pairs than this are compared pair by pair.
const SMALL: usize = 1 << 15;
/// Hits that are delivered together.
const FULL: usize = 4096;
/// Comparisons after which hits are delivered in any case, so that the work can be interrupted.
const LONG: usize = 1 << 22;
/// Lists of fewer pairs are compared without a look at what is connected.
const WORTH_A_LOOK: usize = 1 << 10;
/// Rows after which what is connected has changed; then as many again, and so on.
const RENEWED: usize = 1 << 8;
/// From this distance on whole fingerprints are compared, not halves first.
const WHOLE: u32 = 8;

/// The work must end: an error, or no more hits are wanted.
#[derive(Debug)]
pub(super) struct Stop;

/// A side sorted by the value of a block.
pub(super) struct Split {
    fps: Vec<u64>,
    at: Vec<u32>,
    starts: Vec<u32>,
}

impl Split {
    /// Sorts `fps` by block `block`; `number` gives the number of a row. `check` is called every few
    /// milliseconds and ends the work by an error.
    pub fn new<E>(
        cut: &Blocking,
        block: usize,
        fps: &[u64],
        number: impl Fn(usize) -> u32,
        mut check: impl FnMut() -> Result<(), E>,
    ) -> Result<Split, E> {
        let block = &cut.blocks[block];
        let mut starts = vec![0u32; (1 << cut.width) + 2];
        for part in fps.chunks(ROWS_PER_CHECK) {
            part.iter().for_each(|&fp| starts[block.value(fp) + 2] += 1);
            check()?;
        }
        for i in 2..starts.len() {
            starts[i] += starts[i - 1];
        }
        let mut split =
            Split { fps: filled(0, fps.len()).or_raise(), at: filled(0, fps.len()).or_raise(), starts };
        for (i, &fp) in fps.iter().enumerate() {
            if i % ROWS_PER_CHECK == 0 {
                check()?;
            }
            let next = &mut split.starts[block.value(fp) + 1];
            split.fps[*next as usize] = fp;
            split.at[*next as usize] = number(i);
            *next += 1;
        }
        Ok(split)
    }

    #[inline]
    pub fn bucket(&self, value: usize) -> Side<'_> {
        let range = self.starts[value] as usize..self.starts[value + 1] as usize;
        Side { fps: &self.fps[range.clone()], at: &self.at[range] }
    }

    pub fn buckets(&self) -> usize {
        self.starts.len() - 2
    }
}

pub(super) type Deliver<'d> = dyn FnMut(&mut Vec<Hit>) -> Result<(), Stop> + 'd;

/// One thread's state of a join.
pub(super) struct Joiner<'d> {
    distance: u32,
    connected: Option<Connected<'d>>,
    apart: Option<Apart<'d>>,
    /// The blockings above, and the current block of each.
    pub path: Vec<(Blocking, usize)>,
    hits: Vec<Hit>,
    compared: usize,
    /// One half of each fingerprint on the right.
    halves: Vec<u32>,
    out: &'d mut Deliver<'d>,
}

impl<'d> Joiner<'d> {
    /// Pairs that would connect nothing may be left out, and those that are apart are.
    pub fn new(
        distance: u32,
        (connected, apart): (Option<Connected<'d>>, Option<Apart<'d>>),
        out: &'d mut Deliver<'d>,
    ) -> Self {
        Joiner {
            distance,
            connected,
            apart,
            path: Vec::new(),
            hits: Vec::new(),
            compared: 0,
            halves: Vec::new(),
            out,
        }
    }

    pub fn flush(&mut self) -> Result<(), Stop> {
        self.compared = 0;
        (self.out)(&mut self.hits)
    }

    /// Joins bucket `value` of the left with those near it on the right.
    /// `same`: left and right are the same list, and each pair is wanted once.
    pub fn bucket(
        &mut self,
        left: &Split,
        right: &Split,
        value: usize,
        near: &[u32],
        same: bool,
    ) -> Result<(), Stop> {
        let mine = left.bucket(value);
        if mine.fps.is_empty() {
            return Ok(());
        }
        self.compared += near.len();
        for &flipped in near {
            let other = value ^ flipped as usize;
            if same && other < value {
                continue;
            }
            let theirs = right.bucket(other);
            if !theirs.fps.is_empty() {
                self.join(mine, theirs, same && other == value)?;
            }
        }
        Ok(())
    }

    /// All pairs of two lists (of one list with itself: `same`).
    pub fn join(&mut self, left: Side<'_>, right: Side<'_>, same: bool) -> Result<(), Stop> {
        let pairs = left.fps.len() * right.fps.len();
        if let Some(connected) = self.connected.filter(|_| pairs >= WORTH_A_LOOK)
            && connected.are_known(left, right)
        {
            self.compared += left.fps.len() + right.fps.len();
            return if self.compared >= LONG { self.flush() } else { Ok(()) };
        }
        if pairs <= SMALL {
            return self.compare(left, right, same);
        }
        let used = self.used();
        // Within a bucket the used bits are constant on either side, but may differ between the sides; the
        // other bits may differ by so many fewer.
        let spent = ((left.fps[0] ^ right.fps[0]) & used).count_ones();
        let Some(budget) = self.distance.checked_sub(spent) else { return Ok(()) };
        let free = varying(left.fps, right.fps) & !used;
        match Blocking::choose(free, budget, left.fps.len(), right.fps.len()) {
            Some(cut) => self.join_by(cut, left, right, same),
            None => self.compare(left, right, same),
        }
    }

    fn used(&self) -> u64 {
        self.path.iter().fold(0, |used, (cut, block)| used | cut.blocks[*block].mask)
    }

    fn join_by(&mut self, cut: Blocking, left: Side<'_>, right: Side<'_>, same: bool) -> Result<(), Stop> {
        for block in (0..BLOCKS).filter(|block| cut.radii[*block] >= 0) {
            let near = ball(cut.width, cut.radii[block]);
            let mine = Split::new(&cut, block, left.fps, |i| left.at[i], || self.flush())?;
            let theirs = match same {
                true => None,
                false => Some(Split::new(&cut, block, right.fps, |i| right.at[i], || self.flush())?),
            };
            self.path.push((cut.clone(), block));
            for value in 0..mine.buckets() {
                self.bucket(&mine, theirs.as_ref().unwrap_or(&mine), value, &near, same)?;
            }
            self.path.pop();
        }
        Ok(())
    }

    /// Compares all pairs. Half of the bits decide most of them, [`LANES`] at a time.
    pub fn compare(&mut self, left: Side<'_>, right: Side<'_>, same: bool) -> Result<(), Stop> {
        // The half of which the blockings above have used less.
        let used = self.used();
        let shift = if (used as u32).count_ones() <= ((used >> 32) as u32).count_ones() { 0 } else { 32 };
        let mut halves = std::mem::take(&mut self.halves);
        halve(right.fps, (self.distance, shift), &mut halves);
        let all = Lanes { side: right, halves: &halves, shift };
        match self.connected {
            Some(connected) if left.fps.len() >= LANES && right.fps.len() >= RENEWED => {
                self.compare_sparing(left, all, same, connected)?;
            }
            _ => {
                let rows = (LONG / right.fps.len().max(1)).max(1);
                for from in (0..left.fps.len()).step_by(rows) {
                    let some = left.part(from, (from + rows).min(left.fps.len()));
                    self.compare_some(some, all, if same { from + 1 } else { 0 }, same)?;
                }
            }
        }
        self.halves = halves;
        Ok(())
    }

    /// As [`Joiner::compare`]; who is in the largest set of the right is compared with the rest only.
    fn compare_sparing(
        &mut self,
        left: Side<'_>,
        all: Lanes<'_>,
        same: bool,
        connected: Connected<'_>,
    ) -> Result<(), Stop> {
        let (mut rest, mut halves, mut renewed) = (Rest::default(), Vec::new(), 0);
        for i in 0..left.fps.len() {
            let one = left.part(i, i + 1);
            let from = if same { i + 1 } else { 0 };
            if i >= renewed {
                rest.renew(&connected, all.side);
                halve(&rest.fps, (self.distance, all.shift), &mut halves);
                renewed = RENEWED.max(2 * i);
                self.compared += all.side.fps.len();
            }
            if rest.suffices(&connected, one.at[0]) {
                let from = rest.places.partition_point(|&place| (place as usize) < from);
                let side = Side { fps: &rest.fps, at: &rest.at };
                self.compare_some(one, Lanes { side, halves: &halves, ..all }, from, false)?;
            } else {
                self.compare_some(one, all, from, false)?;
            }
        }
        Ok(())
    }

    /// Compares some, the first with those on the right from the place `from` on; the next ones with all of them, or, if
    /// both are of the `same` list, each from one place further on.
    #[inline]
    fn compare_some(
        &mut self,
        left: Side<'_>,
        right: Lanes<'_>,
        from: usize,
        same: bool,
    ) -> Result<(), Stop> {
        let Lanes { side, halves, shift } = right;
        let next = if same { from } else { 0 };
        let mut at = (0, from);
        loop {
            at = next_candidates(left.fps, (side.fps, halves), at, (next, same), (self.distance, shift));
            let (i, from) = at;
            let Some(&fp) = left.fps.get(i) else { break };
            let to = (from + LANES).min(side.fps.len());
            for j in from..to {
                self.consider(fp ^ side.fps[j], (left.at[i], side.at[j]));
            }
            if self.hits.len() >= FULL {
                self.flush()?;
            }
            at = (i, to);
        }
        self.compared += left.fps.len() * (side.fps.len() + 1);
        if self.compared >= LONG { self.flush() } else { Ok(()) }
    }

    /// Takes a pair if it is near and no earlier block of the path finds it.
    #[inline]
    fn consider(&mut self, differing: u64, hit: Hit) {
        if differing.count_ones() <= self.distance
            && !self.apart.is_some_and(|apart| apart.are(hit))
            && self.path.iter().all(|(cut, block)| cut.first(differing) == Some(*block))
            && !self.connected.is_some_and(|connected| connected.is_known(hit))
        {
            self.hits.grow(hit).or_raise();
        }
    }
}

/// A side with one half of each fingerprint, which begins at the bit `shift`.
#[derive(Clone, Copy)]
struct Lanes<'a> {
    side: Side<'a>,
    halves: &'a [u32],
    shift: u32,
}

/// One half of each fingerprint, and what no fingerprint is near beyond the last; none where they would decide little.
fn halve(fps: &[u64], (distance, shift): (u32, u32), halves: &mut Vec<u32>) {
    let half = |fp: u64| (fp >> shift) as u32;
    halves.clear();
    if distance >= WHOLE {
        return;
    }
    halves.room(fps.len() + LANES).or_raise();
    halves.extend(fps.iter().map(|&fp| half(fp)));
    halves.extend(std::iter::repeat_n(fps.first().map_or(0, |&fp| !half(fp)), LANES));
}

/// The next of the fingerprints on the left, from a place of either side on, and the place on the right, in steps of
/// [`LANES`], where one of the lanes may be within `distance` of it; the end of the left if there is none. Another on
/// the left begins on the right at the place `next`, or at that and its own. On the right the halves, padded, are given
/// too.
#[multiversion(targets(
    "x86_64+avx2+bmi1+bmi2+popcnt+avx512f+avx512vl+avx512vpopcntdq",
    "x86_64+avx2+bmi1+bmi2+popcnt"
))]
fn next_candidates(
    left: &[u64],
    right: (&[u64], &[u32]),
    at: (usize, usize),
    next: (usize, bool),
    near: (u32, u32),
) -> (usize, usize) {
    let ((fps, halves), (mut i, mut from), (distance, shift)) = (right, at, near);
    while let Some(&fp) = left.get(i) {
        let half = (fp >> shift) as u32;
        while from < fps.len() {
            let lanes = || halves[from..].first_chunk::<LANES>().expect("padded by the caller");
            let found = match distance {
                0 => any_within::<0>(half, lanes()),
                1 => any_within::<1>(half, lanes()),
                2 => any_within::<2>(half, lanes()),
                3 => any_within::<3>(half, lanes()),
                4..WHOLE => {
                    lanes().iter().fold(false, |any, lane| any | ((lane ^ half).count_ones() <= distance))
                }
                _ => match (fps[from..].first_chunk::<LANES>(), fps.last_chunk::<LANES>()) {
                    (Some(lanes), _) => any_near(fp, lanes, distance),
                    // Some of these were compared before.
                    (None, Some(lanes)) => any_near(fp, lanes, distance),
                    (None, None) => any_near(fp, &fps[from..], distance),
                },
            };
            if found {
                return (i, from);
            }
            from += LANES;
        }
        i += 1;
        from = if next.1 { next.0 + i } else { next.0 };
    }
    (i, from)
}

/// Whether any lane differs from `half` in at most `D` bits: clear the lowest
/// set bit `D` times and see whether nothing is left.
#[inline(always)]
fn any_within<const D: u32>(half: u32, lanes: &[u32; LANES]) -> bool {
    lanes.iter().fold(false, |any, lane| {
        let mut differing = lane ^ half;
        for _ in 0..D {
            differing &= differing.wrapping_sub(1);
        }
        any | (differing == 0)
    })
}

/// The bits that are not the same in all of both lists.
pub(super) fn varying(left: &[u64], right: &[u64]) -> u64 {
    let first = left.first().or(right.first()).copied().unwrap_or(0);
    left.iter().chain(right).fold(0, |varying, fp| varying | (fp ^ first))
}
