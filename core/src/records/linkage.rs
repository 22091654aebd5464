//! Average linkage: rows are of one group while pairs between its parts, candidates or not, speak for it on average.

use crate::groups::UnionFind;
use crate::interrupt::{check, checked};
use crate::memory::{OrRaise, Room, filled};

/// Rows of which all pairs are scored, at most. More than these are divided as they are found.
const WHOLE: usize = 1000;
/// What a single pair says at most, in nats.
const CLIP: f64 = 12.0;

/// Groups of two rows and more, of so many rows, of which `likely` pairs are more likely of one thing than not.
pub(super) fn linked(
    rows: usize,
    likely: &[[u32; 2]],
    score: &mut dyn FnMut([u32; 2]) -> f64,
) -> Vec<Vec<u32>> {
    let mut sets = UnionFind::new(rows);
    checked(likely).for_each(|&[a, b]| {
        sets.union(a, b);
    });
    let mut by_set: Vec<(u32, u32)> = Vec::new();
    let mut is_paired = filled(false, rows).or_raise();
    likely.iter().flatten().for_each(|&row| is_paired[row as usize] = true);
    for row in checked(0..rows).filter(|&row| is_paired[row]) {
        by_set.room(1).or_raise();
        by_set.push((sets.find(row as u32), row as u32));
    }
    by_set.sort_unstable();
    let mut groups = Vec::new();
    for set in by_set.chunk_by(|a, b| a.0 == b.0) {
        check();
        let rows: Vec<u32> = set.iter().map(|it| it.1).collect();
        match rows.len() {
            2 => groups.push(rows),
            ..=WHOLE => groups.extend(divided(&rows, score)),
            _ => rows.chunks(WHOLE).for_each(|rows| groups.extend(divided(rows, score))),
        }
    }
    groups
}

fn divided(rows: &[u32], score: &mut dyn FnMut([u32; 2]) -> f64) -> Vec<Vec<u32>> {
    let count = rows.len();
    let mut sums = filled(f64::NEG_INFINITY, count * count).or_raise();
    for b in 0..count {
        check();
        for a in 0..b {
            let share = score([rows[a], rows[b]]).clamp(1e-9, 1.0 - 1e-9);
            let odds = (share / (1.0 - share)).ln().clamp(-CLIP, CLIP);
            (sums[a * count + b], sums[b * count + a]) = (odds, odds);
        }
    }
    let mut parts: Vec<Vec<u32>> = rows.iter().map(|&row| vec![row]).collect();
    let mut open: Vec<usize> = (0..count).collect();
    let best_of = |at: usize, open: &[usize], sums: &[f64]| {
        let others =
            open.iter().copied().filter(|&other| other != at).map(|other| (sums[at * count + other], other));
        others
            .reduce(|best, next| if next.0 > best.0 { next } else { best })
            .unwrap_or((f64::NEG_INFINITY, at))
    };
    let mut best: Vec<(f64, usize)> = (0..count).map(|at| best_of(at, &open, &sums)).collect();
    while open.len() > 1 {
        check();
        let next = open.iter().copied().reduce(|most, at| if best[at].0 > best[most].0 { at } else { most });
        let Some(into) = next.filter(|&at| best[at].0 >= 0.0) else { break };
        let from = best[into].1;
        let sizes = [into, from].map(|at| parts[at].len() as f64);
        let moved = std::mem::take(&mut parts[from]);
        parts[into].extend(moved);
        open.retain(|&at| at != from);
        for &other in open.iter().filter(|&&other| other != into) {
            let mean = (sizes[0] * sums[into * count + other] + sizes[1] * sums[from * count + other])
                / (sizes[0] + sizes[1]);
            (sums[into * count + other], sums[other * count + into]) = (mean, mean);
        }
        best[into] = best_of(into, &open, &sums);
        for &other in open.iter().filter(|&&other| other != into) {
            let mean = sums[other * count + into];
            if best[other].1 == into || best[other].1 == from {
                best[other] = best_of(other, &open, &sums);
            } else if mean > best[other].0 {
                best[other] = (mean, into);
            }
        }
    }
    parts.retain(|part| part.len() > 1);
    parts
}
