//! Single-Pass clustering (P4, 3.3): a row joins the cluster whose center is
//! nearest, if it is within the distance, else it is the center of a new one.
//!
//! The paper compares a row with every center. Here centers are kept in a multi-index hash table (each under
//! the values of its four blocks), and a search reads, for distance 0, 1, 2 … in turn, the buckets in which a
//! center at that distance must be. A bucket that grows large is hashed again by its other bits.

use dedup_core::fingerprint::hamming;
use dedup_core::memory::{OrRaise, Room};
use rustc_hash::FxHashMap;

/// The center of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Center {
    /// The number of the center's row, from 0 in the order of input.
    pub row: u32,
    /// Its Hamming distance; 0 for the center itself.
    pub distance: u32,
}

/// Assigns rows to centers, one after the other.
///
/// A row is assigned to the nearest center within the distance, the oldest of those equally near; "within" means
/// at most (P4 says "≤" in its algorithm and "<" in its
/// evaluation). The result depends on the order of the rows.
#[derive(Debug)]
pub struct SinglePass {
    distance: u32,
    rows: u32,
    index: Index,
}

impl SinglePass {
    /// No rows yet; clusters of radius `distance`, 0 to 64.
    pub fn new(distance: u32) -> SinglePass {
        SinglePass { distance, rows: 0, index: Index::List(Vec::new()) }
    }

    /// Assigns the next row to its center, which may be itself.
    pub fn assign(&mut self, fp: u64) -> Center {
        let row = self.rows;
        self.rows += 1;
        let mut best = None;
        self.index.nearest(fp, self.distance, 0, &mut best);
        if let Some((distance, row)) = best {
            return Center { row, distance };
        }
        self.index.add((fp, row), u64::MAX);
        Center { row, distance: 0 }
    }

    /// Skips a row that is in no cluster; it takes a number.
    pub fn skip(&mut self) {
        self.rows += 1;
    }
}

/// Centers beyond which a list is hashed.
const HOT: usize = 256;
const BLOCKS: usize = 4;

/// Some centers: fingerprint and row.
#[derive(Debug)]
enum Index {
    List(Vec<(u64, u32)>),
    Hashed(Box<Hashed>),
}

#[derive(Debug)]
struct Hashed {
    masks: [u64; BLOCKS],
    buckets: [FxHashMap<u64, Index>; BLOCKS],
    /// How many centers: for small shares of a large distance a scan is cheaper.
    all: Vec<(u64, u32)>,
}

impl Index {
    /// `free`: the bits that are not constant here.
    fn add(&mut self, center: (u64, u32), free: u64) {
        match self {
            Index::List(list) => {
                list.room(1).or_raise();
                list.push(center);
                // A bucket with few free bits cannot be divided further.
                if list.len() > HOT && list.len().is_power_of_two() && free.count_ones() >= 16 {
                    let mut hashed = Box::new(Hashed::new(list, free));
                    list.drain(..).for_each(|center| hashed.add(center, free));
                    *self = Index::Hashed(hashed);
                }
            }
            Index::Hashed(hashed) => hashed.add(center, free),
        }
    }

    /// Improves `best` by centers at most `distance` away. `spent`: bits known
    /// to differ outside the free ones.
    fn nearest(&self, fp: u64, distance: u32, spent: u32, best: &mut Option<(u32, u32)>) {
        match self {
            Index::List(list) => scan(list, fp, distance, best),
            Index::Hashed(hashed) => hashed.nearest(fp, distance, spent, best),
        }
    }
}

fn scan(list: &[(u64, u32)], fp: u64, distance: u32, best: &mut Option<(u32, u32)>) {
    for &(center, row) in list {
        let apart = hamming(center, fp);
        if apart <= distance && best.is_none_or(|best| (apart, row) < best) {
            *best = Some((apart, row));
        }
    }
}

impl Hashed {
    /// Divides the bits that distinguish these centers best among the blocks.
    fn new(sample: &[(u64, u32)], free: u64) -> Hashed {
        let balance = |bit: &u32| {
            let ones = sample.iter().filter(|(fp, _)| fp >> bit & 1 == 1).count();
            ones.min(sample.len() - ones)
        };
        let mut bits: Vec<u32> = (0..64).filter(|bit| free >> bit & 1 == 1).collect();
        bits.sort_by_cached_key(|bit| std::cmp::Reverse(balance(bit)));
        let mut masks = [0; BLOCKS];
        // At most 16 bits per block, the best ones distributed evenly.
        for (i, bit) in bits.into_iter().take(16 * BLOCKS).enumerate() {
            masks[i % BLOCKS] |= 1 << bit;
        }
        Hashed { masks, buckets: Default::default(), all: Vec::new() }
    }

    fn add(&mut self, center: (u64, u32), free: u64) {
        self.all.room(1).or_raise();
        self.all.push(center);
        for (mask, buckets) in self.masks.iter().zip(&mut self.buckets) {
            buckets.room(1).or_raise();
            let bucket = buckets.entry(center.0 & mask).or_insert_with(|| Index::List(Vec::new()));
            bucket.add(center, free & !mask);
        }
    }

    fn nearest(&self, fp: u64, distance: u32, spent: u32, best: &mut Option<(u32, u32)>) {
        let mut looked_into = 0;
        for apart in 0..=distance.saturating_sub(spent) {
            // All at most spent + apart - 1 away have been seen.
            if best.is_some_and(|(found, _)| found < spent + apart) {
                return;
            }
            // The pigeonhole's radii grow one block at a time.
            let (block, ones) = (apart as usize % BLOCKS, apart / BLOCKS as u32);
            let mask = self.masks[block];
            looked_into += binomial(mask.count_ones(), ones);
            if looked_into > self.all.len() / 2 {
                return scan(&self.all, fp, distance, best);
            }
            subsets(mask, ones, &mut |flipped| {
                if let Some(bucket) = self.buckets[block].get(&((fp ^ flipped) & mask)) {
                    bucket.nearest(fp, distance, spent + ones, best);
                }
            });
        }
    }
}

fn binomial(n: u32, k: u32) -> usize {
    (0..k).fold(1, |product, i| product * (n.saturating_sub(i)) as usize / (i + 1) as usize)
}

/// Calls `each` with every set of `ones` bits of `mask`.
fn subsets(mask: u64, ones: u32, each: &mut dyn FnMut(u64)) {
    fn go(mut mask: u64, ones: u32, chosen: u64, each: &mut dyn FnMut(u64)) {
        if ones == 0 {
            return each(chosen);
        }
        while mask.count_ones() >= ones {
            let bit = mask & mask.wrapping_neg();
            mask ^= bit;
            go(mask, ones - 1, chosen | bit, each);
        }
    }
    go(mask, ones, 0, each)
}
