//! What is found by text, in the order in which rows are kept.

use super::Standing;
use crate::external::Result;
use crate::groups::{Pair, UnionFind};
use crate::interrupt::{checked, sort_unstable_by};
use crate::memory::{Room, filled};

/// A similarity as a distance, by which the most similar are the nearest.
pub fn nearness(similarity: f64) -> u32 {
    ((1.0 - similarity.clamp(0.0, 1.0)) * f64::from(1 << 24)).round() as u32
}

/// Texts, each the first of those that equal it, numbered by the best of their rows: so that whoever goes through them
/// in order keeps the best first.
pub struct Ranked {
    /// The text at each place.
    texts: Vec<u32>,
    /// The place of each text.
    place: Vec<u32>,
}

impl Ranked {
    /// The texts of rows by what is kept of them. `first_equal`: the text of each row.
    ///
    /// # Errors
    /// There is no memory.
    pub fn new(first_equal: &[u32], standing: impl Fn(usize) -> Standing) -> Result<Ranked> {
        let mut rows: Vec<(Standing, u32)> = Vec::new();
        rows.room(first_equal.len())?;
        rows.extend(first_equal.iter().enumerate().map(|(row, &first)| (standing(row), first)));
        sort_unstable_by(&mut rows, Ord::cmp);
        let mut place = filled(u32::MAX, first_equal.len())?;
        let mut texts = Vec::new();
        for &(_, first) in checked(&rows) {
            if place[first as usize] == u32::MAX {
                place[first as usize] = texts.len() as u32;
                texts.room(1)?;
                texts.push(first);
            }
        }
        Ok(Ranked { texts, place })
    }

    /// A pair of texts by their places, the better first.
    pub fn pair(&self, a: u32, b: u32, distance: u32) -> Pair {
        let (a, b) = (self.place[a as usize], self.place[b as usize]);
        Pair { a: i64::from(a.min(b)), b: i64::from(a.max(b)), distance }
    }

    /// The texts in order.
    pub fn texts(&self) -> &[u32] {
        &self.texts
    }

    /// The text at a place.
    pub fn text(&self, place: u32) -> u32 {
        self.texts[place as usize]
    }

    /// Groups of places as groups of rows.
    pub fn rows(&self, mut places: UnionFind) -> UnionFind {
        let mut rows = UnionFind::new(self.place.len());
        for (place, &text) in checked(self.texts.iter().enumerate()) {
            let centre = places.find(place as u32);
            rows.union(self.text(centre), text);
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::MemoryHost;
    use crate::groups::{Linkage, Linker};
    use crate::similarity::{jaccard, similar_pairs};
    use proptest::prelude::*;

    #[test]
    fn the_most_similar_are_the_nearest() {
        assert_eq!((nearness(1.0), nearness(0.0)), (0, 1 << 24));
        assert!(nearness(0.5) < nearness(0.4999));
    }

    proptest! {
        /// Whatever the ranks and copies: by text each row goes to the most similar of the rows that are kept before it,
        /// the best of those, and one that is similar to none is kept.
        #[test]
        fn each_row_repeats_the_most_similar_that_is_kept(
            texts in prop::collection::vec("[停水电路]{1,5}", 1..30),
            ranks in prop::collection::vec(0i64..4, 30),
            threshold in prop::sample::select(vec![0.3, 0.5, 0.8]),
        ) {
            let class: Vec<u32> = texts.iter().map(|text| texts.iter().position(|other| other == text).unwrap_or(0) as u32).collect();
            let standing = |row: usize| (ranks[row], row as i64);
            let ranked = Ranked::new(&class, standing).unwrap();
            let mut host = MemoryHost;
            let mut linker = Linker::new(Linkage::SinglePass, 1 << 20, &mut host);
            let firsts: Vec<u32> = (0..texts.len() as u32).filter(|&row| class[row as usize] == row).collect();
            for pair in similar_pairs(firsts.iter().map(|&row| texts[row as usize].as_str()), 1, threshold) {
                let (a, b) = (firsts[pair.a as usize], firsts[pair.b as usize]);
                linker.add(ranked.pair(a, b, nearness(pair.similarity))).unwrap();
            }
            let places = linker.finish(&vec![0; texts.len()], &mut host, |_, pairs| Ok(vec![true; pairs.len()])).unwrap();
            let mut found = ranked.rows(places);
            let mut order: Vec<usize> = (0..texts.len()).collect();
            order.sort_by_key(|&row| standing(row));
            let mut kept: Vec<usize> = Vec::new();
            let mut keeper = vec![usize::MAX; texts.len()];
            for row in order {
                // Copies go with the best of them.
                let placed = |copy: &usize| class[*copy] == class[row] && keeper[*copy] < texts.len();
                if let Some(copy) = (0..texts.len()).find(placed) {
                    keeper[row] = keeper[copy];
                    continue;
                }
                let alike = |other: &usize| jaccard(&texts[*other], &texts[row], 1);
                let near = kept.iter().copied().filter(|other| alike(other) >= threshold);
                let best = near.min_by(|a, b| alike(b).total_cmp(&alike(a)).then(standing(*a).cmp(&standing(*b))));
                keeper[row] = best.unwrap_or(row);
                if best.is_none() {
                    kept.push(row);
                }
            }
            for a in 0..texts.len() {
                for b in 0..a {
                    let same = found.find(class[a]) == found.find(class[b]);
                    prop_assert_eq!(same, keeper[a] == keeper[b], "{} {}", texts[a], texts[b]);
                }
            }
        }
    }
}
