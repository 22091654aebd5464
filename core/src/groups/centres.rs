//! Centres of groups in memory, found by their distance.
//!
//! A multi-index hash table: each is under the values of its four blocks, and a search reads, for distance 0, 1, 2 … in
//! turn, the buckets in which a centre at that distance must be. A bucket that grows large is hashed again by its other
//! bits.

use crate::fingerprint::hamming;
use crate::memory::{OrRaise, Room};
use rustc_hash::FxHashMap;

/// Centres beyond which a list is hashed.
const HOT: usize = 256;
const BLOCKS: usize = 4;

/// Fingerprints with their numbers, which are found by distance.
#[derive(Debug)]
pub(crate) struct Centres {
    index: Index,
    /// How many there are.
    pub(crate) len: usize,
    /// How many are hashed at most.
    most: usize,
    /// Those beyond.
    rest: Vec<(u64, u32)>,
}

/// Bytes of a centre that is hashed: in the list of all and in four buckets, as measured.
pub(crate) const BYTES_PER_CENTRE: usize = 120;

impl Centres {
    /// None yet. `memory`: bytes for hashing them; those beyond are compared one by one.
    pub(crate) fn new(memory: usize) -> Centres {
        Centres { index: Index::List(Vec::new()), len: 0, most: memory / BYTES_PER_CENTRE, rest: Vec::new() }
    }

    pub(crate) fn add(&mut self, fp: u64, number: u32) {
        if self.len < self.most.max(HOT) {
            self.index.add((fp, number), u64::MAX);
        } else {
            self.rest.room(1).or_raise();
            self.rest.push((fp, number));
        }
        self.len += 1;
    }

    /// The nearest within a distance, with how far it is; of those equally near the one of the least number.
    pub(crate) fn nearest(&self, fp: u64, distance: u32) -> Option<(u32, u32)> {
        let mut nearest = Nearest { reach: distance, best: None };
        self.seek(fp, &mut nearest);
        nearest.best
    }

    /// All within a distance, with how far they are, in order.
    pub(crate) fn within(&self, fp: u64, distance: u32, found: &mut Vec<(u32, u32)>) {
        found.clear();
        self.seek(fp, &mut Within { distance, found });
        found.sort_unstable();
        // A bucket of each block may have the same.
        found.dedup();
    }

    fn seek(&self, fp: u64, wanted: &mut impl Wanted) {
        self.index.seek(fp, 0, wanted);
        scan(&self.rest, fp, wanted);
    }
}

/// What a search is for.
trait Wanted {
    /// The greatest distance that still matters.
    fn reach(&self) -> u32;
    /// Takes one at most so far away, perhaps again.
    fn take(&mut self, apart: u32, number: u32);
}

struct Nearest {
    reach: u32,
    best: Option<(u32, u32)>,
}

impl Wanted for Nearest {
    fn reach(&self) -> u32 {
        self.reach
    }

    fn take(&mut self, apart: u32, number: u32) {
        if self.best.is_none_or(|best| (apart, number) < best) {
            (self.reach, self.best) = (apart, Some((apart, number)));
        }
    }
}

struct Within<'f> {
    distance: u32,
    found: &'f mut Vec<(u32, u32)>,
}

impl Wanted for Within<'_> {
    fn reach(&self) -> u32 {
        self.distance
    }

    fn take(&mut self, apart: u32, number: u32) {
        self.found.room(1).or_raise();
        self.found.push((apart, number));
    }
}

/// Some centres: fingerprint and number.
#[derive(Debug)]
enum Index {
    List(Vec<(u64, u32)>),
    Hashed(Box<Hashed>),
}

#[derive(Debug)]
struct Hashed {
    masks: [u64; BLOCKS],
    buckets: [FxHashMap<u64, Index>; BLOCKS],
    /// How many centres: for small shares of a large distance a scan is cheaper.
    all: Vec<(u64, u32)>,
}

impl Index {
    /// `free`: the bits that are not constant here.
    fn add(&mut self, centre: (u64, u32), free: u64) {
        match self {
            Index::List(list) => {
                list.room(1).or_raise();
                list.push(centre);
                // A bucket with few free bits cannot be divided further.
                if list.len() > HOT && list.len().is_power_of_two() && free.count_ones() >= 16 {
                    let mut hashed = Box::new(Hashed::new(list, free));
                    list.drain(..).for_each(|centre| hashed.add(centre, free));
                    *self = Index::Hashed(hashed);
                }
            }
            Index::Hashed(hashed) => hashed.add(centre, free),
        }
    }

    /// Gives what is wanted. `spent`: bits known to differ outside the free ones.
    fn seek(&self, fp: u64, spent: u32, wanted: &mut impl Wanted) {
        match self {
            Index::List(list) => scan(list, fp, wanted),
            Index::Hashed(hashed) => hashed.seek(fp, spent, wanted),
        }
    }
}

fn scan(list: &[(u64, u32)], fp: u64, wanted: &mut impl Wanted) {
    for &(centre, number) in list {
        let apart = hamming(centre, fp);
        if apart <= wanted.reach() {
            wanted.take(apart, number);
        }
    }
}

impl Hashed {
    /// Divides the bits that distinguish these centres best among the blocks.
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

    fn add(&mut self, centre: (u64, u32), free: u64) {
        self.all.room(1).or_raise();
        self.all.push(centre);
        for (mask, buckets) in self.masks.iter().zip(&mut self.buckets) {
            buckets.room(1).or_raise();
            buckets
                .entry(centre.0 & mask)
                .or_insert_with(|| Index::List(Vec::new()))
                .add(centre, free & !mask);
        }
    }

    fn seek(&self, fp: u64, spent: u32, wanted: &mut impl Wanted) {
        let mut looked_into = 0;
        // All less than `spent + apart` away have been seen.
        for apart in 0.. {
            if spent + apart > wanted.reach() {
                return;
            }
            // The pigeonhole's radii grow one block at a time.
            let (block, ones) = (apart as usize % BLOCKS, apart / BLOCKS as u32);
            let mask = self.masks[block];
            looked_into += binomial(mask.count_ones(), ones);
            if looked_into > self.all.len() / 2 {
                return scan(&self.all, fp, wanted);
            }
            subsets(mask, ones, &mut |flipped| {
                if let Some(bucket) = self.buckets[block].get(&((fp ^ flipped) & mask)) {
                    bucket.seek(fp, spent + ones, wanted);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;

    /// Protects what a search gives: each once, in order, whatever was hashed, hashed again or left in the list. Bits of
    /// seldom ones make large buckets.
    #[test]
    fn equals_comparing_with_each() {
        for (few, memory) in
            [(0, usize::MAX), (2, usize::MAX), (3, usize::MAX), (2, 1000 * BYTES_PER_CENTRE), (0, 0)]
        {
            let mut random = SplitMix64::new(7);
            let mut fp = || (0..few).fold(random.next(), |bits, _| bits & random.next());
            let mut centres = Centres::new(memory);
            let (mut all, mut found): (Vec<u64>, _) = (Vec::new(), Vec::new());
            for number in 0..4000u32 {
                // Some are near an earlier one, and some equal it.
                let new = if number % 3 == 0 {
                    fp()
                } else {
                    all[number as usize / 2] ^ (fp() & fp() & fp() & fp())
                };
                if number % 50 == 0 {
                    for distance in [0, 3, 7, 10, 20, 40, 64] {
                        let mut expected: Vec<(u32, u32)> =
                            (0..).zip(&all).map(|(number, &fp)| (hamming(fp, new), number)).collect();
                        expected.retain(|found| found.0 <= distance);
                        expected.sort_unstable();
                        centres.within(new, distance, &mut found);
                        assert_eq!(found, expected, "{few} {memory} {distance}");
                        assert_eq!(centres.nearest(new, distance), expected.first().copied());
                    }
                }
                centres.add(new, number);
                all.push(new);
            }
        }
    }
}
