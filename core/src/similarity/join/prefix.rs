//! The prefix filter: joins one part of the sets with another.

use super::sets::Counts;
use crate::external::{Host, Result, on_threads};
use crate::interrupt::{Meter, sort_unstable_by};
use crate::memory::{self, Grow, OrRaise, Room, collect};
use crate::similarity::overlap::{at_least, overlap_needed, shared};
use crate::similarity::{Frequencies, Likeness, sketch};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

/// A part in memory, as the join needs it: its sets by size, the smallest first.
pub(super) struct Loaded {
    words: Vec<u64>,
    sets: Vec<Set>,
}

#[derive(Clone, Copy)]
struct Set {
    id: i64,
    from: usize,
    size: usize,
    /// N-grams of which a similar set shares one, behind all of them.
    rare: usize,
    /// The level below which all n-grams are among those.
    cut: u8,
    sketch: u128,
    /// The sum of the squares of its weights, if weights are known.
    square: f64,
    /// The shares of it that its n-grams of each level and above are.
    above: [u64; LEVELS / PER_WORD],
}

/// Levels of frequency, each of n-grams twice as frequent as the one below.
const LEVELS: usize = 16;

fn level((count, _): (u32, u64)) -> usize {
    (count.max(1).ilog2() as usize).min(LEVELS - 1)
}

/// Of the number of a set's n-grams, and of its length as a vector of weights, in 255ths, no less than they are.
#[derive(Clone, Copy, Default)]
struct Share {
    size: u8,
    length: u8,
}

/// Shares in a word.
const PER_WORD: usize = 4;

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
    fn rarest(self, square: f64, grams: &[u64], ranked: &mut Vec<(u32, u64)>, into: &mut Vec<Rare>) -> usize {
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
        let mut left = square;
        for (at, &rank) in ranked.iter().enumerate() {
            // As wide as rounding may be.
            let tail = ((left / square).max(0.0).sqrt() * (1.0 + 1e-6)) as f32;
            if at >= prefix && f64::from(tail) < self.least {
                return level(rank);
            }
            let own = weights.weight(rank.1).powi(2);
            into.push(Rare { gram: rank.1, tail, square: own as f32 });
            left -= own;
        }
        LEVELS
    }
}

impl Set {
    fn share_above(&self, level: u8) -> Share {
        let level = usize::from(level);
        let word = self.above.get(level / PER_WORD).copied().unwrap_or_default();
        let [size, length, ..] = (word >> (16 * (level % PER_WORD))).to_le_bytes();
        Share { size, length }
    }
}

/// Words of a set before its n-grams.
const HEAD: usize = 7 + LEVELS / PER_WORD;

impl Loaded {
    /// The words of a part from the sets of their n-grams.
    pub(super) fn prepared(words: &[u64], by: Threshold<'_>) -> Result<Vec<u64>> {
        let (mut sets, mut at) = (Vec::new(), 0);
        while at < words.len() {
            let (size, from) = (words[at + 1] as usize, at + 2);
            sets.grow((words[at], &words[from..from + size]))?;
            at = from + size;
        }
        sort_unstable_by(&mut sets, |a, b| (a.1.len(), a.1.as_ptr()).cmp(&(b.1.len(), b.1.as_ptr())));
        let (mut made, mut ranked, mut rare) = (Vec::new(), Vec::new(), Vec::new());
        for (id, grams) in sets {
            let (mut sketch, mut square, mut of_level) = (0u128, 0.0, [(0.0, 0.0); LEVELS]);
            for &gram in grams {
                sketch ^= 1 << sketch::bit(gram, 2);
                let own = by.weights.map_or(0.0, |it| it.weight(gram).powi(2));
                // Added up as for any pair, to the last bit: pairs at the limit are found or not as they are judged.
                square += own;
                let (count, sum) = &mut of_level[level(by.counts.rank(gram))];
                *count += 1.0;
                *sum += own;
            }
            let (mut above, mut left) = ([0; LEVELS / PER_WORD], (0.0, 0.0));
            for (level, it) in of_level.iter().enumerate().rev() {
                left = (left.0 + it.0, left.1 + it.1);
                let Share { size, length } =
                    Share::new(left.0 / grams.len() as f64, left.1 / square.max(f64::MIN_POSITIVE));
                let share = u64::from(u16::from_le_bytes([size, length]));
                above[level / PER_WORD] |= share << (16 * (level % PER_WORD));
            }
            let cut = by.rarest(square, grams, &mut ranked, &mut rare);
            made.room(HEAD + grams.len() + 2 * rare.len())?;
            made.extend([id, grams.len() as u64, rare.len() as u64, cut as u64]);
            made.extend([sketch as u64, (sketch >> 64) as u64, square.to_bits()]);
            made.extend(above);
            made.extend(grams);
            made.extend(rare.iter().flat_map(|rare| rare.words()));
        }
        Ok(made)
    }

    /// As prepared.
    pub(super) fn new(words: Vec<u64>) -> Result<Loaded> {
        let (mut sets, mut at) = (Vec::new(), 0);
        while let Some((&[id, size, rare, cut, low, high, square, ref above @ ..], _)) =
            words[at..].split_first_chunk::<HEAD>()
        {
            let (size, rare, from) = (size as usize, rare as usize, at + HEAD);
            sets.grow(Set {
                id: id as i64,
                from,
                size,
                rare,
                cut: cut as u8,
                sketch: u128::from(low) | u128::from(high) << 64,
                square: f64::from_bits(square),
                above: *above,
            })?;
            at = from + size + 2 * rare;
        }
        Ok(Loaded { words, sets })
    }

    /// How many sets there are.
    pub(super) fn len(&self) -> usize {
        self.sets.len()
    }

    fn grams(&self, set: &Set) -> &[u64] {
        &self.words[set.from..set.from + set.size]
    }

    fn rare(&self, set: &Set) -> impl Iterator<Item = Rare> {
        let from = set.from + set.size;
        self.words[from..from + 2 * set.rare].as_chunks().0.iter().map(Rare::new)
    }
}

/// A set that has an n-gram in its prefix, with the figures that reject most candidates.
#[derive(Clone, Copy)]
struct Holder {
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
    square: f32,
}

impl Rare {
    fn new(&[gram, other]: &[u64; 2]) -> Rare {
        let [tail, square] = [other as u32, (other >> 32) as u32].map(f32::from_bits);
        Rare { gram, tail, square }
    }

    fn words(&self) -> [u64; 2] {
        [self.gram, u64::from(self.tail.to_bits()) | u64::from(self.square.to_bits()) << 32]
    }
}

/// What a set is known to share.
#[derive(Clone, Copy, Default)]
struct Met {
    shared: u32,
    product: f32,
}

/// Sets whose prefixes are looked at together: what is met of them stays in the processor's cache.
pub(super) const BLOCK: usize = 1 << 14;

/// The prefixes of some of a part's sets by n-gram.
pub(super) struct Index {
    sets: Range<usize>,
    holders: Vec<Holder>,
    by_gram: FxHashMap<u64, (u32, u32)>,
}

impl Index {
    /// `alone`: the sets are joined only with each other, where n-grams in the prefix of a single set are useless.
    pub(super) fn new(part: &Loaded, sets: Range<usize>, alone: bool) -> Result<Index> {
        let mut all: Vec<(u64, Holder)> = Vec::new();
        for (at, set) in sets.clone().zip(&part.sets[sets.clone()]) {
            all.room(set.rare)?;
            all.extend(part.rare(set).zip(0..).map(|(Rare { gram, tail, .. }, position)| {
                (gram, Holder { set: at as u32, size: set.size as u32, position, tail })
            }));
        }
        // The number of a set grows with its size.
        sort_unstable_by(&mut all, |a, b| (a.0, a.1.set).cmp(&(b.0, b.1.set)));
        let mut by_gram = FxHashMap::default();
        let mut from = 0;
        for run in all.chunk_by(|a, b| a.0 == b.0) {
            if run.len() > 1 || !alone {
                by_gram.room(1)?;
                by_gram.insert(run[0].0, (from as u32, (from + run.len()) as u32));
            }
            from += run.len();
        }
        let holders = collect(all.into_iter().map(|it| it.1))?;
        Ok(Index { sets, holders, by_gram })
    }

    fn holders(&self, gram: u64) -> &[Holder] {
        self.by_gram.get(&gram).map_or(&[], |&(from, to)| &self.holders[from as usize..to as usize])
    }
}

/// Two parts to be joined, the first by the index of some of its sets.
pub(super) struct Join<'a> {
    pub by: Threshold<'a>,
    pub left: &'a Loaded,
    pub index: &'a Index,
    /// `None`: the left one with itself.
    pub right: Option<&'a Loaded>,
    pub compare: &'a (dyn Compare + Sync),
}

/// Sets that a thread takes at a time.
const STRIDE: usize = 16;
/// Pairs that are found before they are taken, but for those of the sets that threads are at.
const WAITING: usize = 1 << 18;

/// What a thread works with.
pub(super) struct Work {
    met: Vec<Met>,
    candidates: Vec<u32>,
    squares: Vec<f64>,
}

impl Work {
    /// For a join by the index.
    pub(super) fn new(index: &Index) -> Result<Work> {
        Ok(Work {
            met: memory::filled(Met::default(), index.sets.len())?,
            candidates: Vec::new(),
            squares: Vec::new(),
        })
    }
}

impl Join<'_> {
    pub(super) fn run<H: Host>(
        &self,
        works: &mut [Work],
        host: &mut H,
        take: &mut dyn FnMut(SimilarPair, &mut H) -> Result<()>,
    ) -> Result<()> {
        let (from, to) = match self.right {
            Some(right) => (0, right.sets.len()),
            None => (self.index.sets.start, self.left.sets.len()),
        };
        let mut strides = collect((from..to).step_by(STRIDE).map(|at| at..to.min(at + STRIDE)))?;
        while !strides.is_empty() {
            let waiting = AtomicUsize::new(0);
            let find = |work: &mut Work, sets: &Range<usize>| {
                (waiting.load(Relaxed) < WAITING).then(|| {
                    let found = self.find(sets.clone(), work);
                    waiting.fetch_add(found.len(), Relaxed);
                    found
                })
            };
            let found = on_threads(&strides, works, host, find)?;
            let mut later = found.iter().map(Option::is_none);
            strides.retain(|_| later.next() == Some(true));
            for pair in found.into_iter().flatten().flatten() {
                take(pair, host)?;
            }
        }
        Ok(())
    }

    /// The pairs of some sets of the right part with those of the index.
    fn find(&self, sets: Range<usize>, work: &mut Work) -> Vec<SimilarPair> {
        let (mut found, mut meter) = (Vec::new(), Meter::new());
        let right = self.right.unwrap_or(self.left);
        let Work { met, candidates, squares } = work;
        for (number, x) in sets.clone().zip(&right.sets[sets]) {
            let before = if self.right.is_none() { number } else { usize::MAX };
            meter.work(x.size);
            for (position, rare) in right.rare(x).enumerate() {
                let holders = self.index.holders(rare.gram);
                meter.work(holders.len());
                self.collect(x, (position, rare), before, holders, met, candidates);
            }
            squares.clear();
            for y in candidates.drain(..) {
                let other = &self.left.sets[y as usize];
                let met = std::mem::take(&mut met[y as usize - self.index.sets.start]);
                if !self.may_reach(x, other, met) {
                    continue;
                }
                meter.work(x.size + other.size);
                if !self.compare.may(x.id, other.id) {
                    continue;
                }
                if let Some(weights) = self.by.weights.filter(|_| squares.is_empty()) {
                    squares.room(x.size).or_raise();
                    squares.extend(right.grams(x).iter().map(|&gram| weights.weight(gram).powi(2)));
                }
                if let Some(pair) = self.compare((right.grams(x), squares), x, other) {
                    found.grow(pair).or_raise();
                }
            }
        }
        found
    }

    /// The sets among `holders` of an n-gram that may be similar enough to `x`,
    /// whose n-gram number `position` it is.
    fn collect(
        &self,
        x: &Set,
        (position, rare): (usize, Rare),
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
            let so_far = &mut met[set - self.index.sets.start];
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
    fn may_reach(&self, x: &Set, other: &Set, met: Met) -> bool {
        let cut = x.cut.min(other.cut);
        let [a, b] = [x, other].map(|set| set.share_above(cut));
        let most = met.shared as usize + a.of(x.size).min(b.of(other.size));
        let lengths = (x.square * other.square).sqrt().max(f64::MIN_POSITIVE);
        // As wide as rounding may be.
        let cosine = f64::from(met.product) / lengths * (1.0 + 1e-4)
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
