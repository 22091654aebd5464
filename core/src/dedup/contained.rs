//! Texts that stand in longer ones: a record, and the same record with an abstract.
//!
//! Compared are words, each weighted by how rare it is among the texts: ln(N / df). The *share* is the weight of the words
//! that both have over that of the lighter text. A common word tells little, and a long text has many words by chance; so
//! both must share more than chance explains, too (`EVIDENCE`).

use crate::hash::city64;
use crate::interrupt::{self, Meter, checked};
use crate::memory::{OrRaise, Room, filled};
use crate::text::{is_spaceless_char, normalize_into};
use rustc_hash::FxHashMap;

/// Times ln N that the words shared must weigh: at 2, one of N² pairs of texts whose words are independent has so much in
/// common.
const EVIDENCE: f64 = 3.0;
/// Times √N texts may have a word by which a text is looked for.
const RARE: f64 = 2.0;
/// Texts that one may be a part of, or have as parts: beyond, it is a phrase or a collection.
const PARTNERS: u32 = 2;

/// A text and a longer one in which it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contained {
    /// The lighter text.
    pub part: u32,
    /// The heavier one.
    pub whole: u32,
    /// The share.
    pub share: f64,
}

/// The words of texts.
#[derive(Debug, Default)]
pub struct Words {
    normal: String,
    hashes: Vec<u64>,
    ends: Vec<usize>,
}

impl Words {
    /// Bytes per word, at most.
    pub const BYTES: usize = 40;

    /// Adds a text; they are numbered in order. A run without spaces counts by its pairs of characters.
    pub fn add(&mut self, text: &str) {
        normalize_into(text, &mut self.normal);
        let from = self.hashes.len();
        let mut meter = Meter::new();
        for word in self.normal.split(' ').filter(|word| !word.is_empty()) {
            meter.work(word.len());
            if word.contains(is_spaceless_char) {
                crate::text::char_ngrams(word, 2, |pair| {
                    self.hashes.room(1).or_raise();
                    self.hashes.push(city64(pair.as_bytes()));
                });
            } else {
                self.hashes.room(1).or_raise();
                self.hashes.push(city64(word.as_bytes()));
            }
        }
        interrupt::sort_unstable_by(&mut self.hashes[from..], Ord::cmp);
        let mut kept = from;
        for at in from..self.hashes.len() {
            if at == from || self.hashes[at] != self.hashes[at - 1] {
                self.hashes[kept] = self.hashes[at];
                kept += 1;
            }
        }
        self.hashes.truncate(kept);
        self.ends.room(1).or_raise();
        self.ends.push(kept);
    }

    /// How many words all texts have.
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there is no word.
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The words weighed.
    pub fn weigh(self) -> Weighed {
        let Words { hashes, ends, .. } = self;
        let mut number: FxHashMap<u64, u32> = FxHashMap::default();
        let mut frequencies: Vec<u32> = Vec::new();
        let mut words: Vec<u32> = Vec::new();
        words.room(hashes.len()).or_raise();
        for hash in checked(&hashes) {
            number.room(1).or_raise();
            let at = *number.entry(*hash).or_insert(frequencies.len() as u32);
            if at as usize == frequencies.len() {
                frequencies.room(1).or_raise();
                frequencies.push(0);
            }
            frequencies[at as usize] += 1;
            words.push(at);
        }
        drop((number, hashes));
        // The rarest words get the least numbers.
        let mut order: Vec<u32> = crate::memory::collect(0..frequencies.len() as u32).or_raise();
        interrupt::sort_unstable_by(&mut order, |a, b| {
            (frequencies[*a as usize], *a).cmp(&(frequencies[*b as usize], *b))
        });
        let mut rank = filled(0u32, order.len()).or_raise();
        checked(order.iter().enumerate()).for_each(|(at, &word)| rank[word as usize] = at as u32);
        let texts = ends.len().max(1) as f64;
        let weight = |&word: &u32| (texts / f64::from(frequencies[word as usize])).ln();
        let weights = crate::memory::collect(order.iter().map(weight)).or_raise();
        let sorted = crate::memory::collect(order.iter().map(|&word| frequencies[word as usize])).or_raise();
        checked(&mut words).for_each(|word| *word = rank[*word as usize]);
        let mut from = 0;
        for &end in &ends {
            interrupt::sort_unstable_by(&mut words[from..end], Ord::cmp);
            from = end;
        }
        Weighed { words, ends, weights, frequencies: sorted }
    }
}

/// The words of texts by number, the rarest first, and what they weigh.
#[derive(Debug)]
pub struct Weighed {
    words: Vec<u32>,
    ends: Vec<usize>,
    weights: Vec<f64>,
    frequencies: Vec<u32>,
}

impl Weighed {
    fn texts(&self) -> usize {
        self.ends.len()
    }

    fn of(&self, text: u32) -> &[u32] {
        let at = text as usize;
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.words[from..self.ends[at]]
    }

    fn weight(&self, words: &[u32]) -> f64 {
        words.iter().map(|&word| self.weights[word as usize]).sum()
    }

    /// The share of the lighter of two texts that the other has; 0 if what they share may be chance.
    pub fn share(&self, a: u32, b: u32) -> f64 {
        let [light, heavy] = [a, b].map(|text| self.weight(self.of(text)));
        if light <= heavy { self.share_of(a, b, light) } else { self.share_of(b, a, heavy) }
    }

    fn share_of(&self, part: u32, whole: u32, light: f64) -> f64 {
        let (x, y) = (self.of(part), self.of(whole));
        let mean = self.words.len() as f64 / self.texts() as f64;
        // A text twice as long has a word by chance twice as often.
        let longer = (y.len() as f64 / mean).ln().max(0.0);
        let (mut shared, mut evidence) = (0.0, 0.0);
        let (mut i, mut j, mut meter) = (0, 0, Meter::new());
        while let (Some(a), Some(b)) = (x.get(i), y.get(j)) {
            meter.work(1);
            if a == b {
                let weight = self.weights[*a as usize];
                shared += weight;
                evidence += (weight - longer).max(0.0);
            }
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
        let tells = light > 0.0 && evidence >= EVIDENCE * (self.texts() as f64).ln();
        if tells { (shared / light).min(1.0) } else { 0.0 }
    }

    /// Every pair of the texts that `among` names, one of which stands in the other by a share of at least `least`, and
    /// of which neither is a part of many or made of many.
    pub fn pairs(&self, least: f64, among: impl Fn(u32) -> bool) -> Vec<Contained> {
        let mut found = self.all_pairs(least, among);
        let mut partners = filled(0u32, self.texts()).or_raise();
        for pair in checked(&found) {
            [pair.part, pair.whole].iter().for_each(|&text| partners[text as usize] += 1);
        }
        found.retain(|pair| [pair.part, pair.whole].iter().all(|&text| partners[text as usize] <= PARTNERS));
        found
    }

    /// Every pair of enough share. A text is looked for by its rarest words; one without enough rare words is not found.
    fn all_pairs(&self, least: f64, among: impl Fn(u32) -> bool) -> Vec<Contained> {
        let texts = self.texts();
        let rare = (RARE * (texts as f64).sqrt()).max(8.0) as u32;
        let common = self.frequencies.partition_point(|&frequency| frequency <= rare);
        // The texts of each rare word.
        let mut starts = filled(0usize, common + 1).or_raise();
        for &word in checked(&self.words).filter(|&&word| (word as usize) < common) {
            starts[word as usize + 1] += 1;
        }
        (0..common).for_each(|at| starts[at + 1] += starts[at]);
        let mut holders = filled(0u32, starts[common]).or_raise();
        let mut next = crate::memory::copy(&starts).or_raise();
        for text in checked(0..texts as u32).filter(|&text| among(text)) {
            for &word in self.of(text).iter().take_while(|&&word| (word as usize) < common) {
                holders[next[word as usize]] = text;
                next[word as usize] += 1;
            }
        }
        let mut weights = Vec::new();
        weights.room(texts).or_raise();
        weights.extend(checked(0..texts as u32).map(|text| self.weight(self.of(text))));
        let mut seen = filled(u32::MAX, texts).or_raise();
        let (mut found, mut meter) = (Vec::new(), Meter::new());
        for part in checked(0..texts as u32).filter(|&text| among(text)) {
            let weight = weights[part as usize];
            // One of the words up to here is shared, or too little is.
            let (mut spare, mut end) = ((1.0 - least) * weight + 1e-9, 0);
            let words = self.of(part);
            while spare >= 0.0 && end < words.len() && (words[end] as usize) < common {
                spare -= self.weights[words[end] as usize];
                end += 1;
            }
            if spare >= 0.0 {
                continue;
            }
            for &word in &words[..end] {
                let word = word as usize;
                for &whole in &holders[starts[word]..next[word]] {
                    meter.work(1);
                    let lighter = (weight, part) < (weights[whole as usize], whole);
                    if !lighter || std::mem::replace(&mut seen[whole as usize], part) == part {
                        continue;
                    }
                    let share = self.share_of(part, whole, weight);
                    if share >= least {
                        found.room(1).or_raise();
                        found.push(Contained { part, whole, share });
                    }
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix64;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn weighed<T: AsRef<str>>(texts: &[T]) -> Weighed {
        let mut words = Words::default();
        texts.iter().for_each(|text| words.add(text.as_ref()));
        words.weigh()
    }

    /// `count` texts of so many words, each out of as many.
    fn texts(seed: u64, count: usize, length: usize, of: usize) -> Vec<String> {
        let mut random = SplitMix64::new(seed);
        let mut text = || (0..length).map(|_| format!("w{}", random.below(of))).collect::<Vec<_>>().join(" ");
        (0..count).map(|_| text()).collect()
    }

    proptest! {
        /// The share is that of the definition; and what is found are all pairs of enough share of which the lighter
        /// text has enough rare words, in whatever order the texts come.
        #[test]
        fn equals_the_definition(
            texts in prop::collection::vec(prop::collection::vec(0u8..60, 0..9), 2..60),
            least in 0.5f64..0.95,
        ) {
            let lines: Vec<String> =
                texts.iter().map(|text| text.iter().map(|word| format!("w{word} ")).collect()).collect();
            let sets: Vec<BTreeSet<u8>> = texts.iter().map(|text| text.iter().copied().collect()).collect();
            let n = sets.len() as f64;
            let mut frequency: BTreeMap<u8, f64> = BTreeMap::new();
            sets.iter().flatten().for_each(|word| *frequency.entry(*word).or_default() += 1.0);
            let of = |word: &u8| (n / frequency[word]).ln();
            let weight = |set: &BTreeSet<u8>| set.iter().map(of).sum::<f64>();
            let mean = sets.iter().map(BTreeSet::len).sum::<usize>() as f64 / n;
            let share = |part: &BTreeSet<u8>, whole: &BTreeSet<u8>| {
                let longer = (whole.len() as f64 / mean).ln().max(0.0);
                let both = || part.intersection(whole).map(of);
                let tells = both().map(|weight| (weight - longer).max(0.0)).sum::<f64>() >= EVIDENCE * n.ln();
                if tells { both().sum::<f64>() / weight(part) } else { 0.0 }
            };
            let weighed = weighed(&lines);
            let rare = (RARE * n.sqrt()).max(8.0);
            let mut expected = Vec::new();
            for a in 0..sets.len() {
                for b in 0..sets.len() {
                    let (light, heavy) = (weight(&sets[a]), weight(&sets[b]));
                    // Sums of the same weights in another order are the same but for rounding.
                    if a == b || (light - heavy).abs() < 1e-9 {
                        continue;
                    }
                    if light < heavy {
                        let share = share(&sets[a], &sets[b]);
                        prop_assert!((weighed.share(a as u32, b as u32) - share).abs() < 1e-9 || (share - least).abs() < 1e-9);
                        let looked_for: f64 = sets[a].iter().filter(|word| frequency[word] <= rare).map(of).sum();
                        if share > least + 1e-9 && looked_for > (1.0 - least) * light + 1e-6 {
                            expected.push((a as u32, b as u32));
                        }
                    }
                }
            }
            let found: BTreeSet<(u32, u32)> = weighed.all_pairs(least, |_| true).iter().map(|it| (it.part, it.whole)).collect();
            for pair in &expected {
                prop_assert!(found.contains(pair), "{pair:?}");
            }
            for (part, whole) in found {
                prop_assert!(weighed.share(part, whole) >= least);
            }
        }
    }

    /// What it is for: records of which one has an abstract.
    #[test]
    fn a_record_is_found_in_a_longer_one() {
        let mut all = texts(1, 1000, 12, 3000);
        let abstracts = texts(2, 20, 80, 3000);
        for (at, text) in abstracts.iter().enumerate() {
            all.push(format!("{} {text}", all[at]));
        }
        let found: BTreeSet<(u32, u32)> =
            weighed(&all).pairs(0.7, |_| true).iter().map(|pair| (pair.part, pair.whole)).collect();
        assert_eq!(found, (0..20).map(|at| (at, 1000 + at)).collect());
    }

    /// A title that many have is no part of them, and a list of titles is no copy of each.
    #[test]
    fn what_stands_in_many_or_has_many_says_nothing() {
        let mut all = texts(3, 500, 10, 3000);
        all.push(all[..9].join(" "));
        let title = all[20].clone();
        all.extend(texts(4, 9, 30, 3000).iter().map(|text| format!("{title} {text}")));
        assert_eq!(weighed(&all).pairs(0.8, |_| true), []);
    }

    /// Texts out of the same few sentences have no word that tells.
    #[test]
    fn texts_made_of_the_same_sentences_are_not_looked_for() {
        let sentences = texts(5, 12, 9, 3000);
        let mut random = SplitMix64::new(6);
        let mut pick = || (0..6).map(|_| sentences[random.below(12)].clone()).collect::<Vec<_>>().join(" ");
        let all: Vec<String> = (0..400).map(|_| pick()).collect();
        assert_eq!(weighed(&all).all_pairs(0.7, |_| true), []);
    }

    #[test]
    fn few_texts_are_no_error() {
        for texts in [&[][..], &["a b"], &["a b", ""], &["a b", "a b c"], &["…", "!"]] {
            assert_eq!(weighed(texts).pairs(0.7, |_| true), []);
        }
    }
}
