//! The prefix filter: joins one part of the sets with another.

use super::sets::Frequencies;
use crate::external::Result;
use crate::interrupt::{self, Meter};
use crate::memory::{self, OrRaise, Room};
use crate::similarity::overlap::{at_least, overlap_needed, shared};
use crate::similarity::sketch;
use rustc_hash::FxHashMap;

/// Two similar texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarPair {
    /// The smaller id.
    pub a: i64,
    /// The larger id.
    pub b: i64,
    /// The Jaccard similarity of their n-grams, above 0, at most 1.
    pub similarity: f64,
}

/// A part in memory: its sets by size, the smallest first.
pub(super) struct Loaded {
    words: Vec<u64>,
    sets: Vec<Set>,
}

#[derive(Clone, Copy)]
struct Set {
    id: i64,
    /// Where its n-grams begin.
    from: usize,
    size: usize,
    sketch: u128,
}

impl Loaded {
    pub(super) fn new(words: Vec<u64>) -> Loaded {
        let (mut sets, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let (id, size, from) = (words[at] as i64, words[at + 1] as usize, at + 2);
            let sketch =
                words[from..from + size].iter().fold(0, |sketch, &gram| sketch ^ 1 << sketch::bit(gram, 2));
            sets.room(1).or_raise();
            sets.push(Set { id, from, size, sketch });
            at = from + size;
        }
        sets.sort_unstable_by_key(|set| (set.size, set.from));
        Loaded { words, sets }
    }

    fn grams(&self, set: &Set) -> &[u64] {
        &self.words[set.from..set.from + set.size]
    }
}

/// A set that has an n-gram in its prefix, with the figures that reject most candidates.
#[derive(Clone, Copy)]
struct Holder {
    gram: u64,
    set: u32,
    size: u32,
    /// Of the n-gram in the set, the rarest being the first.
    position: u32,
}

/// The prefixes of a part's sets by n-gram.
pub(super) struct Index {
    holders: Vec<Holder>,
    by_gram: FxHashMap<u64, (u32, u32)>,
}

impl Index {
    /// `alone`: the part is joined only with itself, where n-grams in the prefix of a single set are useless.
    pub(super) fn new(part: &Loaded, threshold: f64, frequencies: &Frequencies, alone: bool) -> Index {
        let mut holders = Vec::new();
        let mut prefix = Vec::new();
        for (at, set) in part.sets.iter().enumerate() {
            rarest(part.grams(set), threshold, frequencies, &mut prefix);
            holders.room(prefix.len()).or_raise();
            holders.extend(prefix.iter().enumerate().map(|(position, &(_, gram))| Holder {
                gram,
                set: at as u32,
                size: set.size as u32,
                position: position as u32,
            }));
        }
        // The number of a set grows with its size.
        interrupt::sort_unstable_by(&mut holders, |a, b| (a.gram, a.set).cmp(&(b.gram, b.set)));
        let mut by_gram = FxHashMap::default();
        let mut from = 0;
        for run in holders.chunk_by(|a, b| a.gram == b.gram) {
            if run.len() > 1 || !alone {
                by_gram.room(1).or_raise();
                by_gram.insert(run[0].gram, (from as u32, (from + run.len()) as u32));
            }
            from += run.len();
        }
        Index { holders, by_gram }
    }

    fn holders(&self, gram: u64) -> &[Holder] {
        self.by_gram.get(&gram).map_or(&[], |&(from, to)| &self.holders[from as usize..to as usize])
    }
}

/// The n-grams of a set of which it must share one, the rarest first.
fn rarest(grams: &[u64], threshold: f64, frequencies: &Frequencies, into: &mut Vec<(u32, u64)>) {
    into.clear();
    into.room(grams.len()).or_raise();
    into.extend(grams.iter().map(|&gram| frequencies.rank(gram)));
    let prefix = grams.len() - at_least(threshold * grams.len() as f64) + 1;
    if prefix < into.len() {
        into.select_nth_unstable(prefix);
        into.truncate(prefix);
    }
    into.sort_unstable();
}

/// Two parts to be joined, the first by its index.
pub(super) struct Join<'a> {
    pub threshold: f64,
    pub frequencies: &'a Frequencies,
    pub left: &'a Loaded,
    pub index: &'a Index,
    /// `None`: the left one with itself.
    pub right: Option<&'a Loaded>,
    /// Whether two sets are compared at all, by their ids.
    pub may: &'a dyn Fn(i64, i64) -> bool,
}

impl Join<'_> {
    /// Passes the pairs to `take`.
    pub(super) fn run(&self, take: &mut dyn FnMut(SimilarPair) -> Result<()>) -> Result<()> {
        let right = self.right.unwrap_or(self.left);
        let mut seen = memory::filled(false, self.left.sets.len())?;
        let (mut prefix, mut candidates, mut meter) = (Vec::new(), Vec::new(), Meter::new());
        for (number, x) in right.sets.iter().enumerate() {
            rarest(right.grams(x), self.threshold, self.frequencies, &mut prefix);
            let before = if self.right.is_none() { number } else { self.left.sets.len() };
            meter.work(x.size);
            for (position, &(_, gram)) in prefix.iter().enumerate() {
                let holders = self.index.holders(gram);
                meter.work(holders.len());
                self.collect(x, position, before, holders, &mut seen, &mut candidates);
            }
            for y in candidates.drain(..) {
                seen[y as usize] = false;
                let other = &self.left.sets[y as usize];
                meter.work(x.size + other.size);
                if !(self.may)(x.id, other.id) {
                    continue;
                }
                if let Some(pair) = self.compare(right, x, other) {
                    take(pair)?;
                }
            }
        }
        Ok(())
    }

    /// The sets among `holders` of an n-gram that may be similar enough to `x`,
    /// whose n-gram number `position` it is.
    fn collect(
        &self,
        x: &Set,
        position: usize,
        before: usize,
        holders: &[Holder],
        seen: &mut [bool],
        candidates: &mut Vec<u32>,
    ) {
        let smallest = at_least(self.threshold * x.size as f64);
        let first = holders.partition_point(|holder| (holder.size as usize) < smallest);
        // Sets come in order of size: what follows from the size is worked out once for all of one size.
        let (mut known, mut needed) = (0, 0);
        for holder in &holders[first..] {
            let (set, size) = (holder.set as usize, holder.size as usize);
            if size != known {
                if at_least(self.threshold * size as f64) > x.size {
                    break;
                }
                (known, needed) = (size, overlap_needed(self.threshold, x.size, size));
            }
            if set >= before {
                break;
            }
            // A set that was here before shares a rarer n-gram too, so only
            // the first meeting bounds what is left to share.
            let rest = (x.size - position).min(size - holder.position as usize);
            if seen[set] || rest < needed {
                continue;
            }
            let apart = (x.sketch ^ self.left.sets[set].sketch).count_ones() as usize;
            if x.size + size >= 2 * needed + apart {
                seen[set] = true;
                candidates.room(1).or_raise();
                candidates.push(holder.set);
            }
        }
    }

    fn compare(&self, right: &Loaded, x: &Set, other: &Set) -> Option<SimilarPair> {
        let needed = overlap_needed(self.threshold, x.size, other.size);
        let shared = shared(right.grams(x), self.left.grams(other), needed)?;
        let similarity = shared as f64 / (x.size + other.size - shared) as f64;
        let (a, b) = (x.id.min(other.id), x.id.max(other.id));
        (similarity >= self.threshold).then_some(SimilarPair { a, b, similarity })
    }
}
