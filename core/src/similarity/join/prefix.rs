//! The prefix filter: joins one part of the sets with another.

use super::sets::Counts;
use crate::external::Result;
use crate::interrupt::{self, Meter};
use crate::memory::{self, Grow, OrRaise, Room};
use crate::similarity::overlap::{at_least, overlap_needed, shared};
use crate::similarity::{Frequencies, Likeness, sketch};
use rustc_hash::FxHashMap;

/// Two similar texts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarPair {
    /// The smaller id.
    pub a: i64,
    /// The larger id.
    pub b: i64,
    /// How similar they are, above 0, at most 1: the Jaccard coefficient of their n-grams where no weights are known.
    pub similarity: f64,
}

/// Compares two sets that may be similar.
pub trait Compare {
    /// Whether they are compared at all, by their ids.
    fn may(&self, _: i64, _: i64) -> bool {
        true
    }

    /// How similar they are, 0 to 1: the coefficient if no weights are known, and never more than the greater of it and the
    /// cosine.
    fn similarity(&self, _: [i64; 2], likeness: Likeness) -> f64 {
        likeness.jaccard
    }
}

/// By Jaccard's coefficient.
pub struct Jaccard;

impl Compare for Jaccard {}

/// A part in memory: its sets by size, the smallest first.
pub(super) struct Loaded {
    words: Vec<u64>,
    sets: Vec<Set>,
}

#[derive(Clone, Copy)]
struct Set {
    id: i64,
    from: usize,
    size: usize,
    sketch: u128,
    /// The sum of the squares of its weights, if weights are known.
    square: f64,
    /// What its n-grams of each level and above are of it: of their number, and of its length as a vector of weights.
    above: [Share; LEVELS],
}

/// Levels of frequency, each of n-grams twice as frequent as the one below.
const LEVELS: usize = 16;

fn level((count, _): (u32, u64)) -> usize {
    (count.max(1).ilog2() as usize).min(LEVELS - 1)
}

/// Shares in 255ths, no less than they are.
#[derive(Clone, Copy, Default)]
struct Share {
    size: u8,
    length: u8,
}

impl Share {
    fn new(size: f64, square: f64) -> Share {
        let [size, length] = [size, square.max(0.0).sqrt()].map(|share| (share * 255.0 + 1e-3).ceil() as u8);
        Share { size, length }
    }

    fn of(self, size: usize) -> usize {
        (usize::from(self.size) * size).div_ceil(255)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Threshold<'a> {
    pub least: f64,
    pub counts: &'a Counts,
    pub weights: Option<&'a Frequencies>,
}

impl Threshold<'_> {
    /// The n-grams of a set of which it must share one, the rarest first. All of the levels below that which is returned are
    /// among them.
    fn rarest(self, set: &Set, grams: &[u64], ranked: &mut Vec<(u32, u64)>, into: &mut Vec<Rare>) -> usize {
        ranked.clear();
        into.clear();
        ranked.room(grams.len()).or_raise();
        ranked.extend(grams.iter().map(|&gram| self.counts.rank(gram)));
        let prefix = grams.len() - at_least(self.least * grams.len() as f64) + 1;
        into.room(grams.len()).or_raise();
        let Some(weights) = self.weights else {
            let mut cut = LEVELS;
            if prefix < ranked.len() {
                cut = level(*ranked.select_nth_unstable(prefix).1);
                ranked.truncate(prefix);
            }
            ranked.sort_unstable();
            into.extend(ranked.iter().map(|&(_, gram)| Rare { gram, tail: 1.0, square: 0.0 }));
            return cut;
        };
        ranked.sort_unstable();
        let mut left = set.square;
        for (at, &rank) in ranked.iter().enumerate() {
            // As wide as rounding may be.
            let tail = ((left / set.square).max(0.0).sqrt() * (1.0 + 1e-6)) as f32;
            if at >= prefix && f64::from(tail) < self.least {
                return level(rank);
            }
            let square = weights.weight(rank.1).powi(2);
            into.push(Rare { gram: rank.1, tail, square });
            left -= square;
        }
        LEVELS
    }
}

impl Loaded {
    pub(super) fn new(words: Vec<u64>, by: Threshold<'_>) -> Loaded {
        let (mut sets, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let (id, size, from) = (words[at] as i64, words[at + 1] as usize, at + 2);
            let (mut sketch, mut square, mut of_level) = (0, 0.0, [(0.0, 0.0); LEVELS]);
            for &gram in &words[from..from + size] {
                sketch ^= 1 << sketch::bit(gram, 2);
                let own = by.weights.map_or(0.0, |it| it.weight(gram).powi(2));
                // Added up as for any pair, to the last bit: pairs at the limit are found or not as they are judged.
                square += own;
                let (count, sum) = &mut of_level[level(by.counts.rank(gram))];
                *count += 1.0;
                *sum += own;
            }
            let (mut above, mut left) = ([Share::default(); LEVELS], (0.0, 0.0));
            for (share, it) in above.iter_mut().zip(of_level).rev() {
                left = (left.0 + it.0, left.1 + it.1);
                *share = Share::new(left.0 / size as f64, left.1 / square.max(f64::MIN_POSITIVE));
            }
            sets.grow(Set { id, from, size, sketch, square, above }).or_raise();
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
    /// The share of the set's weight that it and those after it have, as a length.
    tail: f32,
}

#[derive(Clone, Copy)]
struct Rare {
    gram: u64,
    tail: f32,
    /// Of its weight.
    square: f64,
}

/// What a set is known to share.
#[derive(Clone, Copy, Default)]
struct Met {
    shared: usize,
    product: f64,
}

/// The prefixes of a part's sets by n-gram.
pub(super) struct Index {
    holders: Vec<Holder>,
    by_gram: FxHashMap<u64, (u32, u32)>,
    /// For each set the level below which all its n-grams are in the prefix.
    cuts: Vec<u8>,
}

impl Index {
    /// `alone`: the part is joined only with itself, where n-grams in the prefix of a single set are useless.
    pub(super) fn new(part: &Loaded, by: Threshold<'_>, alone: bool) -> Index {
        let (mut holders, mut cuts) = (Vec::new(), Vec::new());
        let (mut ranked, mut prefix) = (Vec::new(), Vec::new());
        for (at, set) in part.sets.iter().enumerate() {
            cuts.grow(by.rarest(set, part.grams(set), &mut ranked, &mut prefix) as u8).or_raise();
            holders.room(prefix.len()).or_raise();
            holders.extend(prefix.iter().enumerate().map(|(position, &Rare { gram, tail, .. })| Holder {
                gram,
                set: at as u32,
                size: set.size as u32,
                position: position as u32,
                tail,
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
        Index { holders, by_gram, cuts }
    }

    fn holders(&self, gram: u64) -> &[Holder] {
        self.by_gram.get(&gram).map_or(&[], |&(from, to)| &self.holders[from as usize..to as usize])
    }
}

/// Two parts to be joined, the first by its index.
pub(super) struct Join<'a> {
    pub by: Threshold<'a>,
    pub left: &'a Loaded,
    pub index: &'a Index,
    /// `None`: the left one with itself.
    pub right: Option<&'a Loaded>,
    pub compare: &'a dyn Compare,
}

impl Join<'_> {
    pub(super) fn run(&self, take: &mut dyn FnMut(SimilarPair) -> Result<()>) -> Result<()> {
        let right = self.right.unwrap_or(self.left);
        let mut met = memory::filled(Met::default(), self.left.sets.len())?;
        let (mut ranked, mut prefix, mut candidates, mut squares) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut meter = Meter::new();
        for (number, x) in right.sets.iter().enumerate() {
            let cut = self.by.rarest(x, right.grams(x), &mut ranked, &mut prefix);
            let before = if self.right.is_none() { number } else { self.left.sets.len() };
            meter.work(x.size);
            for (position, rare) in prefix.iter().enumerate() {
                let holders = self.index.holders(rare.gram);
                meter.work(holders.len());
                self.collect(x, (position, rare), before, holders, &mut met, &mut candidates);
            }
            if let Some(weights) = self.by.weights {
                squares.clear();
                squares.room(x.size).or_raise();
                squares.extend(right.grams(x).iter().map(|&gram| weights.weight(gram).powi(2)));
            }
            for y in candidates.drain(..) {
                let (met, other) = (std::mem::take(&mut met[y as usize]), &self.left.sets[y as usize]);
                let cut = cut.min(usize::from(self.index.cuts[y as usize]));
                if !self.may_reach(x, other, met, cut) {
                    continue;
                }
                meter.work(x.size + other.size);
                if !self.compare.may(x.id, other.id) {
                    continue;
                }
                if let Some(pair) = self.compare((right.grams(x), &squares), x, other) {
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
        (position, rare): (usize, &Rare),
        before: usize,
        holders: &[Holder],
        met: &mut [Met],
        candidates: &mut Vec<u32>,
    ) {
        // Sizes do not bound a cosine.
        let weighed = self.by.weights.is_some();
        let smallest = if weighed { 0 } else { at_least(self.by.least * x.size as f64) };
        let first = holders.partition_point(|holder| (holder.size as usize) < smallest);
        // Sets come in order of size: what follows from the size is worked out once for all of one size.
        let (mut known, mut needed) = (0, 0);
        for holder in &holders[first..] {
            let (set, size) = (holder.set as usize, holder.size as usize);
            if size != known {
                if !weighed && at_least(self.by.least * size as f64) > x.size {
                    break;
                }
                (known, needed) = (size, overlap_needed(self.by.least, x.size, size));
            }
            if set >= before {
                break;
            }
            let so_far = &mut met[set];
            if so_far.shared == 0 {
                // A set that was here before shares a rarer n-gram too, so only
                // the first meeting bounds what is left to share.
                let rest = (x.size - position).min(size - holder.position as usize);
                let by_cosine = weighed && f64::from(rare.tail * holder.tail) >= self.by.least;
                let may_overlap = || {
                    let apart = (x.sketch ^ self.left.sets[set].sketch).count_ones() as usize;
                    rest >= needed && x.size + size >= 2 * needed + apart
                };
                if !by_cosine && !may_overlap() {
                    continue;
                }
                candidates.grow(holder.set).or_raise();
            }
            so_far.shared += 1;
            so_far.product += rare.square;
        }
    }

    /// Whether two sets may be similar that share what they do below a level, and anything from it on.
    fn may_reach(&self, x: &Set, other: &Set, met: Met, cut: usize) -> bool {
        let [a, b] = [x, other].map(|set| set.above.get(cut).copied().unwrap_or_default());
        let most = met.shared + a.of(x.size).min(b.of(other.size));
        let lengths = (x.square * other.square).sqrt().max(f64::MIN_POSITIVE);
        // As wide as rounding may be.
        let cosine = met.product / lengths * (1.0 + 1e-6)
            + f64::from(a.length) * f64::from(b.length) / (255.0 * 255.0);
        most >= overlap_needed(self.by.least, x.size, other.size)
            || self.by.weights.is_some() && cosine >= self.by.least
    }

    fn compare(&self, (a, squares): (&[u64], &[f64]), x: &Set, other: &Set) -> Option<SimilarPair> {
        let b = self.left.grams(other);
        let least = self.by.least;
        let (shared, cosine) = match self.by.weights {
            None => (shared(a, b, overlap_needed(least, x.size, other.size))?, None),
            Some(_) => {
                let (both, cosine) = Frequencies::compare((a, squares), b, [x.square, other.square]);
                (both, Some(cosine))
            }
        };
        let jaccard = shared as f64 / (x.size + other.size - shared) as f64;
        let similarity = self.compare.similarity([x.id, other.id], Likeness { jaccard, cosine });
        let (a, b) = (x.id.min(other.id), x.id.max(other.id));
        (similarity >= least).then_some(SimilarPair { a, b, similarity })
    }
}
