//! Names of groups that are formed anew.

use super::union_find::UnionFind;
use crate::interrupt::checked;
use crate::memory::{self, Room};
use std::collections::HashSet;

/// The names of `parts`, at the number of each one's first row. Rows are in the order of `arrivals`; `before` are the
/// names of the groups that they were in.
///
/// A name stays with the part that has the oldest row of its group; a part that has several keeps the oldest name, and
/// one that has none is named by its first row. As long as all names are given so or by [`IncrementalClusters`], no two
/// groups have the same one, whatever rows leave.
///
/// # Errors
/// There is no memory.
///
/// [`IncrementalClusters`]: super::IncrementalClusters
pub fn names(parts: &mut UnionFind, arrivals: &[i64], before: &[i64]) -> memory::Result<Vec<i64>> {
    let mut names = memory::copy(arrivals)?;
    let mut taken: HashSet<i64> = HashSet::new();
    for (row, &name) in checked((0u32..).zip(before)) {
        taken.room(1)?;
        if taken.insert(name) {
            let first = parts.find(row) as usize;
            names[first] = names[first].min(name);
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::super::IncrementalClusters;
    use super::*;
    use crate::fingerprint::hamming;
    use proptest::prelude::*;

    #[derive(Debug, Clone, Copy)]
    struct Row {
        arrival: i64,
        fp: u64,
        component: i64,
        group: i64,
    }

    /// Pairs within the distance and the diameter, as places in the list.
    fn near(rows: &[Row], distance: u32, diameter: u32) -> Vec<(u32, usize, usize)> {
        let mut pairs = Vec::new();
        for b in 0..rows.len() {
            for a in 0..b {
                let apart = hamming(rows[a].fp, rows[b].fp);
                if apart <= distance.min(diameter) {
                    pairs.push((apart, a, b));
                }
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// The definition: from the nearest pair to the farthest, groups are joined unless two of their rows are
    /// farther apart than the diameter. Each row's group by the arrival of its first row.
    fn defined(rows: &[Row], distance: u32, diameter: u32) -> Vec<i64> {
        let mut group: Vec<usize> = (0..rows.len()).collect();
        for (_, a, b) in near(rows, distance, diameter) {
            let (a, b) = (group[a], group[b]);
            let fits = (0..rows.len()).filter(|&i| group[i] == a).all(|i| {
                (0..rows.len())
                    .filter(|&j| group[j] == b)
                    .all(|j| hamming(rows[i].fp, rows[j].fp) <= diameter)
            });
            if a != b && fits {
                group.iter_mut().filter(|of| **of == a || **of == b).for_each(|of| *of = a.min(b));
            }
        }
        group.into_iter().map(|first| rows[first].arrival).collect()
    }

    /// Forms the groups of some components anew. With `split` these may fall apart first.
    fn regroup(rows: &mut [Row], of: &[i64], split: bool, distance: u32, diameter: u32) {
        let some: Vec<usize> = (0..rows.len()).filter(|&row| of.contains(&rows[row].component)).collect();
        let chosen: Vec<Row> = some.iter().map(|&row| rows[row]).collect();
        let arrivals: Vec<i64> = chosen.iter().map(|row| row.arrival).collect();
        if split {
            let mut parts = UnionFind::new(chosen.len());
            near(&chosen, distance, diameter).iter().for_each(|&(_, a, b)| {
                parts.union(a as u32, b as u32);
            });
            let before: Vec<i64> = chosen.iter().map(|row| row.component).collect();
            let named = names(&mut parts, &arrivals, &before).unwrap();
            for (at, &row) in some.iter().enumerate() {
                rows[row].component = named[parts.find(at as u32) as usize];
            }
        }
        let groups = defined(&chosen, distance, diameter);
        some.iter().zip(groups).for_each(|(&row, group)| rows[row].group = group);
    }

    proptest! {
        /// Rows come in batches and leave in any order; only the components that they touch are grouped anew. With a
        /// diameter the groups are those of all present rows at once; without, each component has one name, that of
        /// its oldest row's component before.
        #[test]
        fn groups_after_any_history_are_those_of_the_rows_that_are_there(
            steps in prop::collection::vec((prop::collection::vec(0u64..256, 0..8), prop::collection::vec(any::<u16>(), 0..4)), 1..10),
            distance in 0u32..5,
            diameter in 0u32..7,
        ) {
            let mut rows: Vec<Row> = Vec::new();
            let mut arrived = 0;
            for (new, gone) in steps {
                let base = rows.len();
                for fp in new {
                    arrived += 1;
                    rows.push(Row { arrival: arrived, fp, component: 0, group: 0 });
                }
                let mut growing = IncrementalClusters::new(rows.len() - base);
                for (_, a, b) in near(&rows, distance, diameter).into_iter().filter(|pair| pair.2 >= base) {
                    let a = if a < base { growing.cluster(rows[a].component) } else { (a - base) as u32 };
                    growing.join(a, (b - base) as u32, ());
                }
                let touched = growing.clusters();
                for row in &mut rows[..base] {
                    if touched.contains(&row.component) {
                        let node = growing.cluster(row.component);
                        row.component = growing.name(node).unwrap();
                    }
                }
                let mut formed = Vec::new();
                for row in base..rows.len() {
                    let number = (row - base) as u32;
                    let root = growing.root(number) as usize;
                    rows[row].component = growing.name(number).unwrap_or_else(|| rows[base + root].arrival);
                    formed.push(rows[row].component);
                }
                regroup(&mut rows, &formed, false, distance, diameter);
                let mut damaged = Vec::new();
                for place in gone {
                    if !rows.is_empty() {
                        let row = rows.remove(usize::from(place) % rows.len());
                        damaged.push(row.component);
                    }
                }
                let before = rows.clone();
                regroup(&mut rows, &damaged, true, distance, diameter);
                prop_assert_eq!(rows.iter().map(|row| row.group).collect::<Vec<_>>(), defined(&rows, distance, diameter));
                let mut sets = UnionFind::new(rows.len());
                near(&rows, distance, diameter).iter().for_each(|&(_, a, b)| {
                    sets.union(a as u32, b as u32);
                });
                for b in 0..rows.len() {
                    for a in 0..b {
                        let same = sets.find(a as u32) == sets.find(b as u32);
                        prop_assert_eq!(rows[a].component == rows[b].component, same);
                    }
                    // The oldest of its component keeps the name.
                    if (0..b).all(|a| before[a].component != before[b].component) {
                        prop_assert_eq!(rows[b].component, before[b].component);
                    }
                }
            }
        }

        /// Whatever the parts: those of different rows have different names.
        #[test]
        fn parts_have_names_of_their_own(
            before in prop::collection::vec(0i64..30, 1..30),
            joins in prop::collection::vec((0u32..30, 0u32..30), 0..30),
        ) {
            let rows = before.len() as u32;
            let arrivals: Vec<i64> = (0..i64::from(rows)).collect();
            // A row that a group is named by is in no other.
            let before: Vec<i64> = before.iter().zip(&arrivals).map(|(&name, &row)| {
                if name <= row && before[name as usize] == name { name } else { row }
            }).collect();
            let mut parts = UnionFind::new(before.len());
            joins.iter().for_each(|&(a, b)| { parts.union(a % rows, b % rows); });
            let named = names(&mut parts, &arrivals, &before).unwrap();
            let roots: Vec<usize> = (0..rows).map(|row| parts.find(row) as usize).collect();
            for a in 0..before.len() {
                for b in 0..before.len() {
                    prop_assert_eq!(named[roots[a]] == named[roots[b]], roots[a] == roots[b]);
                }
            }
        }
    }
}
