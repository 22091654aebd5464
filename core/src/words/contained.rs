//! Texts that stand in longer ones: a record, and the same record with an abstract.
//!
//! Compared are words, each weighted by how rare it is among the texts: ln(N / df). The *share* is the weight of the words
//! that both have over that of the lighter text. A common word tells little, and a long text has many words by chance; so
//! both must share more than chance explains, too (`EVIDENCE`).

use super::{Lists, Words, words_of};
use crate::hash::city64;
use crate::interrupt::{self, Meter, checked};
use crate::memory::{Grow, OrRaise, collect, filled, with_capacity};
use crate::text::normalize_into;
use std::ops::Range;

/// Times ln N that the words shared must weigh: at 2, one of N² pairs of texts whose words are independent has so much in
/// common.
const EVIDENCE: f64 = 3.0;
/// Times √N texts may have a word by which a text is looked for.
const RARE: f64 = 2.0;
/// Share of what must be shared that is sought among the rarest words, before texts are compared word by word: many share a
/// word, few share so much.
const BEYOND: f64 = 0.5;
/// Texts that one may be a part of, or have as parts: beyond, it is a phrase or a collection.
pub(crate) const PARTNERS: u32 = 2;

/// A text and a longer one in which it stands.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Contained {
    /// The lighter text.
    pub part: u32,
    /// The heavier one.
    pub whole: u32,
    pub share: f64,
}

#[derive(Debug, Default)]
pub(crate) struct Texts {
    normal: String,
    words: Words,
}

impl Texts {
    /// Adds a text; they are numbered in order.
    pub(crate) fn add(&mut self, text: &str) {
        normalize_into(text, &mut self.normal);
        words_of(&self.normal, |word| self.words.add(city64(word.as_bytes())));
        self.words.end();
    }

    pub(crate) fn weigh(self) -> Weighed {
        // The rarest words get the least numbers, whatever the order of texts was.
        let frequencies = self.words.frequencies();
        let (words, keys) = self.words.ranked(|hash, word| (frequencies[word as usize], hash));
        let frequencies: Vec<u32> = collect(keys.into_iter().map(|key| key.0)).or_raise();
        let texts = words.count().max(1) as f64;
        let weights = checked(&frequencies).map(|&frequency| (texts / f64::from(frequency)).ln());
        Weighed { weights: collect(weights).or_raise(), frequencies, words }
    }
}

#[derive(Debug)]
pub(crate) struct Weighed {
    /// The words of each text by number, the rarest first.
    words: Lists,
    frequencies: Vec<u32>,
    weights: Vec<f64>,
}

impl Weighed {
    fn texts(&self) -> usize {
        self.words.count()
    }

    fn of(&self, text: u32) -> &[u32] {
        self.words.get(text as usize)
    }

    fn weight(&self, words: &[u32]) -> f64 {
        words.iter().map(|&word| self.weights[word as usize]).sum()
    }

    /// The share of the lighter of two texts that the other has; 0 if what they share may be chance.
    pub(crate) fn share(&self, a: u32, b: u32) -> f64 {
        let [light, heavy] = [a, b].map(|text| self.weight(self.of(text)));
        if light <= heavy { self.share_of(a, b, light, 0.0) } else { self.share_of(b, a, heavy, 0.0) }
    }

    /// As `share`; 0 as soon as it cannot be `least`.
    fn share_of(&self, part: u32, whole: u32, light: f64, least: f64) -> f64 {
        let (x, y) = (self.of(part), self.of(whole));
        let mean = self.words.all().len() as f64 / self.texts() as f64;
        // A text twice as long has a word by chance twice as often.
        let longer = (y.len() as f64 / mean).ln().max(0.0);
        let (mut shared, mut evidence) = (0.0, 0.0);
        let mut spare = (1.0 - least) * light + 1e-9;
        let (mut i, mut j, mut meter) = (0, 0, Meter::new());
        while let (Some(a), Some(b)) = (x.get(i), y.get(j)) {
            meter.work(1);
            let weight = self.weights[*a as usize];
            if a == b {
                shared += weight;
                evidence += (weight - longer).max(0.0);
            } else if a < b {
                spare -= weight;
                if spare < 0.0 {
                    return 0.0;
                }
            }
            i += usize::from(a <= b);
            j += usize::from(b <= a);
        }
        let tells = light > 0.0 && evidence >= EVIDENCE * (self.texts() as f64).ln();
        if tells { (shared / light).min(1.0) } else { 0.0 }
    }

    /// Every pair of the texts that `among` names, one of which stands in the other by a share of at least `least`, and
    /// of which neither has more than `most` partners: is a part of many or made of many. A text is looked for by its rarest
    /// words; one without enough rare words is not found.
    ///
    /// A text that has more is *full*: two full ones need not be compared, and a pair with one is forgotten. So rows of one
    /// template, each contained in all others, cost a few comparisons each.
    pub(crate) fn pairs(&self, most: u32, least: f64, among: impl Fn(u32) -> bool) -> Vec<Contained> {
        // The lighter text of a pair comes first; the texts are called by their places in this order.
        let texts = checked(0..self.texts() as u32).filter(|&text| among(text));
        let mut order: Vec<(f64, u32)> =
            collect(texts.map(|text| (self.weight(self.of(text)), text))).or_raise();
        interrupt::sort_unstable_by(&mut order, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let most_texts = (RARE * (self.texts() as f64).sqrt()).max(8.0) as u32;
        let up_to = |most: u32| self.frequencies.partition_point(|&frequency| frequency <= most);
        let (rare, common) = (up_to(1)..up_to(most_texts), up_to(most_texts));
        let mut holders = Holders::new(self, rare, order.iter().map(|&(_, text)| text));
        let mut partners = filled(0u32, order.len()).or_raise();
        // The texts that share a word with this one, and the weight of the words looked at that they share.
        let mut shared = filled((u32::MAX, 0.0), order.len()).or_raise();
        let mut sharing = with_capacity(order.len()).or_raise();
        let (mut found, mut meter) = (Vec::new(), Meter::new());
        for (&(weight, part), at) in order.iter().zip(0u32..) {
            meter.work(1);
            // Of the words up to `end` so much is shared as they weigh more than may be missing, or too little of the whole is:
            // so no pair is lost by looking at these first.
            let (mut spare, mut end) = ((1.0 - least) * weight + 1e-9, 0);
            let words = self.of(part);
            while spare >= -BEYOND * least * weight && end < words.len() && (words[end] as usize) < common {
                spare -= self.weights[words[end] as usize];
                end += 1;
            }
            if spare >= 0.0 {
                continue;
            }
            for &word in &words[..end] {
                let weight = self.weights[word as usize];
                holders.visit(word, at, most, &partners, |whole| {
                    meter.work(1);
                    let (of, sum) = &mut shared[whole as usize];
                    if *of != at {
                        (*of, *sum) = (at, 0.0);
                        sharing.push(whole);
                    }
                    *sum += weight;
                });
            }
            for whole in sharing.drain(..) {
                meter.work(1);
                let both = [at, whole];
                let full = both.iter().all(|&text| partners[text as usize] > most);
                // Sums are rounded, the larger the more.
                if full || shared[whole as usize].1 < -spare - (1e-6 + 1e-9 * weight) {
                    continue;
                }
                let share = self.share_of(part, order[whole as usize].1, weight, least);
                if share < least {
                    continue;
                }
                both.iter()
                    .for_each(|&text| partners[text as usize] = partners[text as usize].saturating_add(1));
                if both.iter().all(|&text| partners[text as usize] <= most) {
                    found.grow((at, whole, share)).or_raise();
                }
            }
        }
        found.retain(|(part, whole, _)| [*part, *whole].iter().all(|&text| partners[text as usize] <= most));
        let named = |(part, whole, share): (u32, u32, f64)| {
            let [part, whole] = [part, whole].map(|text| order[text as usize].1);
            Contained { part, whole, share }
        };
        collect(found.into_iter().map(named)).or_raise()
    }
}

/// The texts that have a rare word, by their places in the order of weights. Those that are full stand behind the others, and
/// those that have been looked for are gone.
struct Holders {
    rare: Range<usize>,
    lists: Vec<List>,
    texts: Vec<u32>,
}

/// Where the texts of a word begin, the full ones among them, and where they end.
#[derive(Clone, Copy, Default)]
struct List {
    start: usize,
    full: usize,
    end: usize,
}

impl Holders {
    fn new(of: &Weighed, rare: Range<usize>, order: impl Iterator<Item = u32> + Clone) -> Holders {
        let mut meter = Meter::new();
        let mut each = |take: &mut dyn FnMut(usize, u32)| {
            for (text, at) in order.clone().zip(0..) {
                let words = of.of(text);
                meter.work(1 + words.len());
                let rare = words.iter().map(|&word| word as usize).filter(|word| rare.contains(word));
                rare.for_each(|word| take(word, at));
            }
        };
        let mut lists = filled(List::default(), rare.len()).or_raise();
        each(&mut |word, _| lists[word - rare.start].full += 1);
        let mut length = 0;
        for list in checked(&mut lists) {
            let start = length;
            length += list.full;
            *list = List { start, full: length, end: start };
        }
        let mut texts = filled(0u32, length).or_raise();
        each(&mut |word, at| {
            let List { end, .. } = &mut lists[word - rare.start];
            texts[*end] = at;
            *end += 1;
        });
        Holders { lists, rare, texts }
    }

    /// Calls `each` for the texts behind `at` that have the word: all that are not full, and while `at` is not full the full
    /// ones too.
    fn visit(&mut self, word: u32, at: u32, most: u32, partners: &[u32], mut each: impl FnMut(u32)) {
        let Some(list) = Some(word as usize).filter(|word| self.rare.contains(word)) else { return };
        let (List { start, full, end }, texts) = (&mut self.lists[list - self.rare.start], &mut self.texts);
        let mut next = *start;
        while next < *full {
            let text = texts[next];
            if text > at && partners[text as usize] <= most {
                each(text);
                next += 1;
                continue;
            }
            *full -= 1;
            texts.swap(next, *full);
            if text <= at {
                *end -= 1;
                texts.swap(*full, *end);
            }
        }
        while next < *end && partners[at as usize] <= most {
            let text = texts[next];
            if text > at {
                each(text);
                next += 1;
            } else {
                *end -= 1;
                texts.swap(next, *end);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::testing::{checks, interrupted_after};
    use crate::random::SplitMix64;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    fn weighed<T: AsRef<str>>(texts: &[T]) -> Weighed {
        let mut all = Texts::default();
        texts.iter().for_each(|text| all.add(text.as_ref()));
        all.weigh()
    }

    /// `count` texts of so many words, each out of as many.
    fn texts(seed: u64, count: usize, length: usize, of: usize) -> Vec<String> {
        let mut random = SplitMix64::new(seed);
        let mut text = || (0..length).map(|_| format!("w{}", random.below(of))).collect::<Vec<_>>().join(" ");
        (0..count).map(|_| text()).collect()
    }

    proptest! {
        /// The share is that of the definition; and what is found are all pairs of enough share of which the lighter
        /// text has enough rare words, but for those with a text that has more partners than it may, in whatever order the
        /// texts come.
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
            let mut expected: Vec<(u32, u32)> = Vec::new();
            for a in 0..sets.len() {
                for b in 0..sets.len() {
                    let (light, heavy) = (weight(&sets[a]), weight(&sets[b]));
                    let equal = sets[a] == sets[b];
                    // Sums of the same weights in another order are the same but for rounding.
                    if !equal && (light - heavy).abs() < 1e-9 {
                        let close = [share(&sets[a], &sets[b]), share(&sets[b], &sets[a])];
                        prop_assume!(close.iter().all(|share| *share < least - 1e-9));
                        continue;
                    }
                    if light < heavy || equal && a < b {
                        let share = share(&sets[a], &sets[b]);
                        prop_assume!((share - least).abs() > 1e-9);
                        prop_assert!((weighed.share(a as u32, b as u32) - share).abs() < 1e-9);
                        let looked_for: f64 = sets[a].iter().filter(|word| frequency[word] <= rare).map(of).sum();
                        let spare = looked_for - (1.0 - least) * light;
                        prop_assume!(share < least || spare.abs() > 1e-6);
                        if share > least && spare > 0.0 {
                            expected.push((a as u32, b as u32));
                        }
                    }
                }
            }
            let mut partners: BTreeMap<u32, u32> = BTreeMap::new();
            expected.iter().for_each(|&(a, b)| [a, b].iter().for_each(|text| *partners.entry(*text).or_default() += 1));
            for most in [u32::MAX, 3, 2, 1] {
                let found = weighed.pairs(most, least, |_| true);
                prop_assert!(most > 3 || found.len() * 2 <= sets.len() * most as usize);
                prop_assert!(found.iter().all(|it| weighed.share(it.part, it.whole) == it.share));
                let mut found: Vec<(u32, u32)> = found.iter().map(|it| (it.part, it.whole)).collect();
                found.sort_unstable();
                let few = |&&(a, b): &&(u32, u32)| partners[&a] <= most && partners[&b] <= most;
                prop_assert_eq!(found, expected.iter().filter(few).copied().collect::<Vec<_>>(), "{}", most);
            }
        }
    }

    /// Rows of a template, each of which stands in all others: little is compared, and nothing of it kept.
    #[test]
    fn rows_of_one_template_cost_little() {
        let rows = |templates: usize| -> Vec<String> {
            let bodies = texts(7, templates, 30, 3000);
            (0..20_000).map(|row| format!("{} case {row}", bodies[row % templates])).collect()
        };
        let work = |templates: usize| {
            let weighed = weighed(&rows(templates));
            let mut left = 0;
            let steps = checks(|| left = weighed.pairs(PARTNERS, 0.7, |_| true).len());
            assert_eq!(left, 0, "{templates}");
            steps
        };
        // 280 rows of each template would be 139 comparisons for each row.
        let (many, few) = (work(5000), work(72));
        assert!(few < 4 * many, "{few} {many}");
    }

    #[test]
    fn can_be_interrupted() {
        let all = texts(8, 3000, 20, 2000);
        let run = || drop(weighed(&all).pairs(PARTNERS, 0.5, |_| true));
        let all = checks(run);
        assert!(all > 30, "{all}");
        for passed in [0, all / 10, all / 2, all - 1] {
            assert!(interrupted_after(passed, run), "{passed}");
        }
    }

    #[test]
    fn few_texts_are_no_error() {
        for texts in [&[][..], &["a b"], &["a b", ""], &["a b", "a b c"], &["…", "!"]] {
            assert_eq!(weighed(texts).pairs(PARTNERS, 0.7, |_| true), []);
        }
    }
}
