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
