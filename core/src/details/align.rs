//! Which stretches of two sequences stand in each other's place: what a longest common subsequence leaves over.
//!
//! Sequences of up to some thousand elements are aligned exactly, by a bit-parallel recurrence (Hyyrö 2004) whose
//! rows are kept. Longer ones are first cut at elements that both have just once (the patience difference), so that
//! time and memory stay near linear.

use crate::interrupt::check;
use crate::memory::{self, Grow, OfKey, OrRaise, Room};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// A stretch of the first sequence and the one of the second that stands in its place; either may be empty.
pub type Replaced = (Range<usize>, Range<usize>);

/// Pairs of elements up to which two stretches are aligned exactly: eight megabytes of bits.
const EXACT: usize = 1 << 26;

/// How often a stretch is cut at single elements before what is left is given up as replaced.
const CUTS: usize = 16;

/// The stretches in which `a` and `b` differ, in their order.
pub fn replaced(a: &[u32], b: &[u32]) -> Vec<Replaced> {
    let mut equal = Vec::new();
    align(a, b, (0, 0), 0, &mut equal);
    between(&equal, a.len(), b.len())
}

/// Notes what is equal in two stretches that begin at `origin` and were cut out of longer ones so many times.
fn align(a: &[u32], b: &[u32], origin: (usize, usize), cuts: usize, equal: &mut Vec<Run>) {
    check();
    let (front, back) = same_ends(a, b);
    push_run(equal, (origin.0, origin.1, front));
    let (x, y) = (&a[front..a.len() - back], &b[front..b.len() - back]);
    let start = (origin.0 + front, origin.1 + front);
    let pairs = x.len().saturating_mul(y.len());
    if (1..=EXACT).contains(&pairs) {
        exact(x, y, start, equal);
    } else if pairs > 0 && cuts < CUTS {
        let places = anchors(x, y);
        // Nothing to cut at: the whole stretch is replaced.
        let end = Some((x.len(), y.len())).filter(|_| !places.is_empty());
        let mut from = (0, 0);
        for to in places.into_iter().chain(end) {
            let place = (start.0 + from.0, start.1 + from.1);
            align(&x[from.0..to.0], &y[from.1..to.1], place, cuts + 1, equal);
            from = to;
        }
    }
    push_run(equal, (start.0 + x.len(), start.1 + y.len(), back));
}

/// Equal elements from a place of either sequence on.
type Run = (usize, usize, usize);

fn push_run(equal: &mut Vec<Run>, run: Run) {
    if run.2 == 0 {
        return;
    }
    match equal.last_mut() {
        Some(last) if last.0 + last.2 == run.0 && last.1 + last.2 == run.1 => last.2 += run.2,
        _ => equal.grow(run).or_raise(),
    }
}

/// How many elements two sequences begin with in common, and how many of the others they end with.
pub fn same_ends<T: PartialEq>(a: &[T], b: &[T]) -> (usize, usize) {
    let same = |(x, y): &(&T, &T)| x == y;
    let front = a.iter().zip(b).take_while(same).count();
    (front, a[front..].iter().rev().zip(b[front..].iter().rev()).take_while(same).count())
}

/// Elements that two short sequences have in common, in their order.
pub fn common<T: PartialEq>(a: &[T], b: &[T]) -> usize {
    let mut row = vec![0; b.len() + 1];
    for x in a {
        let mut corner = 0;
        for (at, y) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if x == y { corner + 1 } else { above.max(row[at]) };
            corner = above;
        }
    }
    row[b.len()]
}

/// The longest common subsequence of two stretches that begin at `origin`.
fn exact(a: &[u32], b: &[u32], origin: (usize, usize), equal: &mut Vec<Run>) {
    const NONE: u32 = u32::MAX;
    let words = a.len().div_ceil(64);
    // The last place in `a` of each element, and the one before each place.
    let mut last: FxHashMap<u32, u32> = FxHashMap::default();
    let mut before: Vec<u32> = memory::with_capacity(a.len()).or_raise();
    for (at, &id) in crate::interrupt::checked(a).enumerate() {
        last.room(1).or_raise();
        before.push(last.insert(id, at as u32).unwrap_or(NONE));
    }
    let before = &before[..];
    let places = |id: &u32| {
        let earlier = |at: &u32| Some(before[*at as usize]).filter(|&at| at != NONE);
        std::iter::successors(last.get(id).copied(), earlier).map(|at| at as usize)
    };
    // Bit i of row j is 0 where b[..=j] has one more element in common with a[..=i] than with a[..i].
    let mut rows: Vec<u64> = memory::filled(!0, words * (b.len() + 1)).or_raise();
    let mut matches: Vec<u64> = memory::filled(0, words).or_raise();
    for (j, id) in b.iter().enumerate() {
        check();
        let (above, below) = rows.split_at_mut((j + 1) * words);
        let above = &above[j * words..];
        places(id).for_each(|at| matches[at / 64] |= 1 << (at % 64));
        let mut carry = false;
        for (word, row) in below[..words].iter_mut().enumerate() {
            let old = above[word];
            let (sum, over) = old.overflowing_add(old & matches[word]);
            let (sum, over_too) = sum.overflowing_add(u64::from(carry));
            carry = over || over_too;
            *row = sum | (old & !matches[word]);
        }
        places(id).for_each(|at| matches[at / 64] = 0);
    }
    let gains = |row: usize, column: usize| rows[row * words + column / 64] >> (column % 64) & 1 == 0;
    let mut pairs = memory::with_capacity(a.len().min(b.len())).or_raise();
    let (mut row, mut column) = (b.len(), a.len());
    while row > 0 && column > 0 {
        if !gains(row, column - 1) {
            column -= 1;
        } else if row > 1 && gains(row - 1, column - 1) {
            row -= 1;
        } else {
            (row, column) = (row - 1, column - 1);
            pairs.push((column, row));
        }
    }
    for &(x, y) in pairs.iter().rev() {
        push_run(equal, (origin.0 + x, origin.1 + y, 1));
    }
}

/// Places where both stretches may be cut: of elements that both have just once, or of some in a row.
fn anchors(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let single = once(a, b, 1);
    if single.is_empty() { once(a, b, 8) } else { single }
}

/// Places of `row` elements in a row that both stretches have just once, as many as follow each other in both.
fn once(a: &[u32], b: &[u32], row: usize) -> Vec<(usize, usize)> {
    const TWICE: u32 = u32::MAX;
    // Two rows of one hash are cut apart where they need not be, no more.
    let hash = |row: &[u32]| row.iter().fold(0, |hash, &id| crate::hash::mix64(hash ^ u64::from(id)));
    let mut at: FxHashMap<u64, [u32; 2]> = FxHashMap::default();
    for (side, text) in [a, b].into_iter().enumerate() {
        for (place, ids) in crate::interrupt::checked(text.windows(row)).enumerate() {
            // 0: not there; places are counted from 1.
            let seen = &mut at.of_key(hash(ids)).or_raise()[side];
            *seen = if *seen == 0 { place as u32 + 1 } else { TWICE };
        }
    }
    let once = |place: u32| place != 0 && place != TWICE;
    let mut pairs: Vec<(u32, u32)> = Vec::new();
    for ids in crate::interrupt::checked(a.windows(row)) {
        let [x, y] = at[&hash(ids)];
        if once(x) && once(y) {
            pairs.grow((x - 1, y - 1)).or_raise();
        }
    }
    rising(&pairs)
}

/// A longest part of `pairs`, which rise in the first number, that rises in the second as well.
fn rising(pairs: &[(u32, u32)]) -> Vec<(usize, usize)> {
    // The pair that ends the best row of each length, and the one before each pair.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<usize> = memory::with_capacity(pairs.len()).or_raise();
    for (number, &(_, y)) in crate::interrupt::checked(pairs).enumerate() {
        let length = ends.partition_point(|&end| pairs[end].1 < y);
        before.push(if length == 0 { usize::MAX } else { ends[length - 1] });
        if length == ends.len() {
            ends.grow(number).or_raise();
        } else {
            ends[length] = number;
        }
    }
    let mut row = memory::with_capacity(ends.len()).or_raise();
    let mut next = ends.last().copied().unwrap_or(usize::MAX);
    while let Some(&(x, y)) = pairs.get(next) {
        row.push((x as usize, y as usize));
        next = before[next];
    }
    row.reverse();
    row
}

fn between(equal: &[Run], a: usize, b: usize) -> Vec<Replaced> {
    let (mut x, mut y) = (0, 0);
    let mut found = Vec::new();
    for &(at_x, at_y, length) in equal.iter().chain([&(a, b, 0)]) {
        if x < at_x || y < at_y {
            found.grow((x..at_x, y..at_y)).or_raise();
        }
        (x, y) = (at_x + length, at_y + length);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What is not replaced is equal; its length.
    fn kept(a: &[u32], b: &[u32], replaced: &[Replaced]) -> usize {
        let (mut x, mut y, mut kept) = (0, 0, 0);
        for (from, to) in replaced.iter().chain([&(a.len()..a.len(), b.len()..b.len())]) {
            assert_eq!(&a[x..from.start], &b[y..to.start]);
            kept += from.start - x;
            (x, y) = (from.end, to.end);
        }
        kept
    }

    proptest! {
        #[test]
        fn short_sequences_are_aligned_exactly(
            a in prop::collection::vec(0u32..9, 0..180), b in prop::collection::vec(0u32..9, 0..180),
        ) {
            prop_assert_eq!(kept(&a, &b, &replaced(&a, &b)), common(&a, &b));
        }

        /// Long sequences with few differences lose little to the cuts, whatever the differences are.
        #[test]
        fn long_sequences_are_aligned_in_pieces(
            changes in prop::collection::vec((0usize..20_000, 0usize..3, 0u32..50_000), 0..40), vocabulary in 100u64..60_000,
        ) {
            let a: Vec<u32> = (0..20_000).map(|n| (crate::hash::mix64(n) % vocabulary) as u32).collect();
            let mut b = a.clone();
            for &(at, what, with) in &changes {
                match what {
                    0 => b[at.min(19_000)] = with,
                    1 => b.insert(at.min(19_000), with),
                    _ => drop(b.remove(at.min(19_000))),
                }
            }
            let kept = kept(&a, &b, &replaced(&a, &b));
            prop_assert!(kept + 40 * changes.len() >= a.len(), "{} of {}", kept, a.len());
        }
    }
}
