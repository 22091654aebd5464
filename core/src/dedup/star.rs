//! The order in which rows are kept. Single-Pass in this order gives stars: its centres are the rows that are kept,
//! and every other row was verified against the one that is kept for it.

use super::Standing;
use crate::groups::{Pair, UnionFind};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{OrRaise, collect, filled};

/// Rows of distinct texts, ordered by what is kept of each.
#[derive(Debug)]
pub struct Order {
    /// The place of a text's first row.
    place: Vec<u32>,
    /// The first row at a place.
    row_at: Vec<u32>,
}

impl Order {
    /// `first_equal`: the first row of equal text, for each row. A text stands where the best of its rows does.
    pub fn new(first_equal: &[u32], standing: impl Fn(usize) -> Standing) -> Order {
        let mut row_at = collect(0..first_equal.len() as u32).or_raise();
        sort_unstable_by(&mut row_at, |&a, &b| standing(a as usize).cmp(&standing(b as usize)));
        let mut place = filled(u32::MAX, row_at.len()).or_raise();
        let mut places = 0;
        for at in checked(0..row_at.len()) {
            let first = first_equal[row_at[at] as usize];
            if place[first as usize] == u32::MAX {
                place[first as usize] = places;
                row_at[places as usize] = first;
                places += 1;
            }
        }
        row_at.truncate(places as usize);
        Order { place, row_at }
    }

    /// A pair of rows as one of places.
    pub fn pair(&self, pair: Pair) -> Pair {
        let [a, b] = [pair.a, pair.b].map(|row| i64::from(self.place[row as usize]));
        Pair { a: a.min(b), b: a.max(b), distance: pair.distance }
    }

    /// The row at a place.
    pub fn row(&self, place: u32) -> u32 {
        self.row_at[place as usize]
    }

    /// Sets of places as sets of rows.
    pub fn sets(&self, mut places: UnionFind) -> UnionFind {
        let mut rows = UnionFind::new(self.place.len());
        for (place, &row) in checked(&self.row_at).enumerate() {
            rows.union(row, self.row(places.find(place as u32)));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::MemoryHost;
    use crate::groups::{Linkage, Linker};
    use proptest::prelude::*;

    proptest! {
        /// Whatever the ranks, copies and near pairs: each row is verified against the row that is kept for it, or
        /// equals it; of two that are kept none repeats the other; the row that is kept is the best of its group; and
        /// each goes to the nearest that is kept.
        #[test]
        fn every_row_is_verified_against_the_row_that_is_kept(
            ranks in prop::collection::vec(0i64..6, 1..50),
            copies in prop::collection::vec(0usize..50, 50),
            near in prop::collection::vec((0usize..50, 0usize..50, 0u32..4, any::<bool>()), 0..300),
        ) {
            let rows = ranks.len();
            // Some rows equal an earlier one.
            let mut class: Vec<u32> = Vec::new();
            for row in 0..rows {
                class.push(if copies[row] < row { class[copies[row]] } else { row as u32 });
            }
            let standing = |row: usize| (ranks[row], row as i64);
            let best = |text: u32| (0..rows).filter(|&row| class[row] == text).map(standing).min().unwrap();
            let mut pairs: Vec<(u32, u32, u32, bool)> = Vec::new();
            for (a, b, distance, verified) in near {
                let (a, b) = (class[a % rows], class[b % rows]);
                if a != b && !pairs.iter().any(|pair| (pair.0, pair.1) == (a.min(b), a.max(b))) {
                    pairs.push((a.min(b), a.max(b), distance, verified));
                }
            }
            let verified = |a: u32, b: u32| pairs.iter().any(|p| (p.0, p.1) == (a.min(b), a.max(b)) && p.3);
            let order = Order::new(&class, standing);
            let mut linker = Linker::new(Linkage::SinglePass, 1 << 10, &mut MemoryHost);
            for &(a, b, distance, _) in &pairs {
                linker.add(order.pair(Pair { a: i64::from(a), b: i64::from(b), distance })).unwrap();
            }
            let verify = |_: &mut MemoryHost, asked: &[(u32, u32)]| {
                Ok(asked.iter().map(|&(a, b)| verified(order.row(a), order.row(b))).collect())
            };
            let places = linker.finish(&vec![0; rows], &mut MemoryHost, verify).unwrap();
            let mut sets = order.sets(places);
            let group: Vec<u32> = (0..rows).map(|row| sets.find(class[row])).collect();
            let keeper = |row: usize| (0..rows).filter(|&other| group[other] == group[row]).min_by_key(|&row| standing(row)).unwrap();
            let kept: Vec<u32> = (0..rows).filter(|&row| keeper(row) == row).map(|row| class[row]).collect();
            for row in 0..rows {
                let own = class[row];
                let text = class[keeper(row)];
                prop_assert!(own == text || verified(own, text));
                if own == text {
                    prop_assert!(!kept.iter().any(|&other| best(other) < best(own) && verified(own, other)));
                } else {
                    // Of what is kept and stands before it, the nearest, the best of those equally near.
                    let apart = |other: u32| pairs.iter().find(|p| (p.0, p.1) == (own.min(other), own.max(other))).unwrap().2;
                    let nearest = kept.iter().filter(|&&other| best(other) < best(own) && verified(own, other));
                    prop_assert_eq!(nearest.map(|&other| (apart(other), best(other), other)).min().unwrap().2, text);
                }
            }
        }
    }
}
