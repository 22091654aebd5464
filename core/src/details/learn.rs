//! How templates are learned: rows that share a sign are candidates, those of them that are alike are aligned.

use super::align::{self, Replaced};
use super::differences::Differences;
use super::letters::{LETTER, greeting, letter_of};
use super::templates::{
    NONE, SIGNS, Signs, Slot, Template, Templates, VALUE, Word, keys, shared, signs, words_of,
};
use super::tokens::{Ids, Text};
use super::values::again;
use super::{chinese_words, english};
use crate::hash::mix64;
use crate::interrupt::{check, checked, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Result, Room, collect, filled};
use crate::similarity::jaccard;
use crate::text::is_spaceless_char;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// The fewest texts that a template is learned from, and the most that are aligned.
const NEIGHBOURS: (usize, usize) = (8, 24);
/// Texts of one sign that are compared with one of them.
const LOOKED_AT: usize = 64;
/// Texts of one sign in a row that turn out to be of no template, until the others are left alone.
const FAILURES: usize = 3;
/// Texts that are tried in all.
const TRIES: usize = 4000;
/// The least Jaccard coefficient of texts of a template.
const ALIKE: f64 = 0.4;
/// A place of at least so many different values, by the inverse of Simpson's index, is a slot ...
const SLOT: f64 = 1.4;
/// ... and one of fewer than these is of the frame, of which a template has at least this share.
const FRAME: (f64, f64) = (1.2, 0.4);
/// A slot of long texts at least, or a list as a whole, has as many values as this share of them, as forms have a name or a
/// number: where all have fewer, copies of one text were reworded.
const OWN: f64 = 0.5;
/// A word that one in so many texts has in another place is of a list.
const LISTED: usize = 4;
/// Slots that a word is of, and the share of such words in a slot, for answers: which they are tells as a whole.
const ANSWERS: (usize, f64) = (3, 0.8);
/// Words between two stretches of a list at most.
const BETWEEN: usize = 3;
/// Insertions and deletions in the frame of a template that its median text has at most.
const LOOSE: usize = 1;
/// Values of a slot that must be seen, and the share of them that are other names, for a slot of names.
const NAMES: (usize, f64) = (8, 0.8);
/// Words before a value that say whose it is.
const BEFORE: usize = 3;
/// The share of its signs that a text has in common with the template that it is of.
const COVERED: f64 = 0.3;

/// The share of its signs that a text has in common with one that may be alike, and how many of them are looked at.
const NEAR: f64 = 0.2;
const MOST_NEAR: usize = 1024;

/// The texts that are looked at and their signs, in the order of their hashes.
struct Seen<'t> {
    texts: &'t [String],
    signs: Vec<Signs>,
}

/// The templates of some texts, of which the table has more by this share.
pub fn learned_from(texts: &[String], share: f64) -> Templates {
    let signs = collect(checked(texts).map(|text| signs(text))).or_raise();
    let templates = Templates::new(Seen { texts, signs }.templates().or_raise(), FxHashSet::default());
    let again = again(&templates, texts, share);
    Templates::new(templates.all, again)
}

impl Seen<'_> {
    fn templates(&self) -> Result<Vec<Template>> {
        let mut by_sign: Vec<(u64, u32)> = Vec::new();
        for (place, signs) in checked((0..).zip(&self.signs)) {
            by_sign.room(signs.len())?;
            by_sign.extend(keys(signs).map(|key| (key, place)));
        }
        sort_unstable_by(&mut by_sign, Ord::cmp);
        let mut shared: Vec<&[(u64, u32)]> = Vec::new();
        for texts in by_sign.chunk_by(|a, b| a.0 == b.0).filter(|texts| texts.len() >= NEIGHBOURS.0) {
            shared.grow(texts)?;
        }
        sort_unstable_by(&mut shared, |a, b| (b.len(), a[0].0).cmp(&(a.len(), b[0].0)));
        let mut done = filled(false, self.texts.len())?;
        let (mut all, mut tries) = (Vec::new(), 0);
        for texts in shared {
            let mut failures = 0;
            while failures < FAILURES && tries < TRIES {
                check();
                let open = texts.iter().map(|text| text.1).filter(|&place| !done[place as usize]);
                let open: Vec<u32> = collect(open)?;
                if open.len() < NEIGHBOURS.0 {
                    break;
                }
                tries += 1;
                let Some((template, of)) = self.template(&open, &all)? else {
                    done[open[0] as usize] = true;
                    failures += 1;
                    continue;
                };
                for &place in &open {
                    done[place as usize] |= has(&self.signs[place as usize], &template.signs, COVERED);
                }
                of.into_iter().for_each(|place| done[place as usize] = true);
                all.grow(template)?;
            }
        }
        Ok(all)
    }

    /// The template of the first of the texts of these places, if it has one, and the places of those that it was learned
    /// from.
    fn template(&self, open: &[u32], known: &[Template]) -> Result<Option<(Template, Vec<u32>)>> {
        // Texts that are alike share signs: without reading them most that only have a phrase in common are left out.
        let own = &self.signs[open[0] as usize];
        let near = open.iter().skip(1).filter(|&&place| has(&self.signs[place as usize], own, NEAR));
        let near: Vec<u32> = collect(near.copied().take(MOST_NEAR))?;
        if near.len() < NEIGHBOURS.0 {
            return Ok(None);
        }
        let text = |place: u32| &self.texts[place as usize];
        let own = text(open[0]);
        let n = if own.chars().filter(|c| is_spaceless_char(*c)).count() * 6 > own.len() { 2 } else { 3 };
        let (mut texts, mut of) = (vec![own], vec![open[0]]);
        let step = near.len().div_ceil(LOOKED_AT);
        for &place in near.iter().step_by(step) {
            check();
            let other = text(place);
            if jaccard(own, other, n) >= ALIKE {
                texts.push(other);
                of.push(place);
                if of.len() > NEIGHBOURS.1 {
                    break;
                }
            }
        }
        if of.len() <= NEIGHBOURS.0 {
            return Ok(None);
        }
        let mut ids = Ids::default();
        let mut words = |&text: &&String| {
            let words = words_of(&Text::new(text, &mut ids));
            words.into_iter().map(|word| word.1).collect::<Vec<u32>>()
        };
        let own = words(&texts[0]);
        // Texts of one family are to have one template.
        let signs = &self.signs[open[0] as usize];
        let mut known = known.iter().filter(|template| has(signs, &template.signs, SIGNS));
        if known.any(|template| template.slots(&own).is_some()) {
            return Ok(None);
        }
        let words: Vec<Vec<u32>> = texts[1..].iter().map(words).collect();
        let signs = common(of.iter().map(|&place| &self.signs[place as usize]));
        let Some(words) = slots(&own, &words) else { return Ok(None) };
        let template = Template::new(signs, words).with_names(&texts);
        Ok(Some((template, of)))
    }
}

impl Template {
    /// Marks the slots whose values are names of things in the texts that it was learned from.
    fn with_names(mut self, texts: &[&String]) -> Template {
        let is_letter = self.words.len() >= LETTER;
        let (mut ids, open) =
            (Ids::default(), self.telling().map(|tells| !tells || is_letter).collect::<Vec<_>>());
        let mut seen: Vec<Values> = open.iter().map(|_| Values::default()).collect();
        let [own, others @ ..] = texts else { return self };
        for other in others.iter().filter(|_| open.contains(&true)) {
            check();
            let both = Differences::new(own, other, &mut ids);
            let names = both.names();
            let sender = both.letter().and_then(|_| both.sender()).unwrap_or_default();
            let (foot, greeting) = (letter_of(&both.a).foot, greeting(&both.b).unwrap_or(0));
            let read = [&both.a, &both.b].map(|text| self.filled(text, &words_of(text)));
            let [Some(x), Some(y)] = read else { continue };
            for (((x, y), seen), _) in x.iter().zip(&y).zip(&mut seen).zip(&open).filter(|it| *it.1) {
                let word = |at: usize| both.b.word_at(at);
                let said = y.tokens.iter().map(|&at| word(at));
                let is_above = y.tokens.last().is_some_and(|&last| last < greeting);
                let is_of_none = |word: &str| is_number(word) || !is_personal(word);
                let is_title = is_above && said.clone().all(is_of_none) && !said.clone().all(is_number);
                seen.titles += usize::from(is_title);
                let before = y.tokens.first().map_or(0..0, |&at| at.saturating_sub(BEFORE)..at);
                seen.of_people |= before.map(word).chain(said.clone()).any(is_personal);
                seen.values.insert(said.collect::<Vec<_>>().join(" "));
                seen.count += 1;
                seen.sent += usize::from(x.tokens.iter().any(|at| sender.contains(at) || *at >= foot));
                if x.value.is_another(&y.value) {
                    let of_names = x.tokens.iter().any(|at| names.iter().any(|name| name.contains(at)));
                    seen.others += 1;
                    seen.names += usize::from(of_names);
                }
            }
        }
        let spans: Vec<Range<usize>> = self.spans().collect();
        for (span, seen) in spans.into_iter().zip(seen) {
            let kind = if 2 * seen.sent > seen.count { Slot::Sender } else { Slot::Names };
            if kind == Slot::Sender || seen.is_of_things() || seen.is_title() {
                self.words[span].iter_mut().for_each(|word| word.slot = kind);
            }
        }
        Template::new(self.signs, self.words)
    }
}

/// The values of a slot that stands in the head of a letter.
#[derive(Debug, Default)]
struct Values {
    values: FxHashSet<String>,
    count: usize,
    /// Those that are others than that of the first text, and those of them that are other names.
    others: usize,
    names: usize,
    /// Those that say in the head of a letter who sends it.
    sent: usize,
    /// Those that stand above its greeting and are not about people, nor a date.
    titles: usize,
    /// Whether some are about who writes or is written to, or counted.
    of_people: bool,
}

impl Values {
    /// Whether they are names of things, or of few kinds of them, of which each comes again and again.
    fn is_of_things(&self) -> bool {
        let names = self.names as f64 >= NAMES.1 * self.others as f64;
        let kinds = 2 * self.values.len() <= self.count && !self.of_people;
        self.others >= NAMES.0 && (names || kinds)
    }

    /// Whether they say above a letter what it is about.
    fn is_title(&self) -> bool {
        self.others >= NAMES.0 && 2 * self.titles > self.count
    }
}

/// Whether a word says that the value beside it is about who writes or is written to, or is a number.
fn is_personal(word: &str) -> bool {
    english::is_personal(word)
        || chinese_words::addressed(word)
        || chinese_words::personal(word)
        || is_number(word)
}

fn is_number(word: &str) -> bool {
    word.starts_with(chinese_words::is_digit)
}

/// Whether a text has a share of the signs of a template or of another text.
fn has(signs: &Signs, template: &Signs, share: f64) -> bool {
    let (same, all) = shared(signs, template);
    f64::from(same) >= share * f64::from(all)
}

/// The signs that several texts have in common; of each part the most frequent one.
fn common<'s>(all: impl Iterator<Item = &'s Signs> + Clone) -> Signs {
    std::array::from_fn(|part| {
        let mut counts: FxHashMap<u32, usize> = FxHashMap::default();
        for signs in all.clone().filter(|signs| signs[part] != NONE) {
            *counts.entry(signs[part]).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|&(sign, count)| (count, sign));
        most.filter(|most| most.1 > 2).map_or(NONE, |most| most.0)
    })
}

/// The words of a text, and which of them stand in slots, by others; `None`: they have no frame.
fn slots(own: &[u32], others: &[Vec<u32>]) -> Option<Vec<Word>> {
    let beside = Beside::new(own, others);
    let (movable, crossed) = beside.movable();
    let is_listed = |place: usize| LISTED * movable[place] >= others.len();
    let listed: FxHashSet<u32> =
        (0..own.len()).filter(|&place| is_listed(place)).map(|place| own[place]).collect();
    if beside.is_loose(&listed) {
        return None;
    }
    let values = beside.values(&listed);
    let all = (others.len() + 1) as f64;
    let spread = |values: &FxHashMap<u64, usize>| {
        let other: usize = values.values().sum();
        // What one or two have may be a fault.
        if values.len() < 2 && other < 3 {
            return 1.0;
        }
        let squares = values.values().map(|count| (count * count) as f64).sum::<f64>();
        all * all / (squares + (all - other as f64).powi(2))
    };
    let spread: Vec<f64> = values.iter().map(spread).collect();
    let mut is_slot: Vec<bool> = (0..own.len()).map(|at| spread[at] >= SLOT || is_listed(at)).collect();
    // Words of several slots, in which hardly any other stands, as those of answers are: yes and no.
    let mut times: FxHashMap<u64, usize> = FxHashMap::default();
    for at in (0..own.len()).filter(|&at| is_slot[at]) {
        let values: FxHashSet<u64> = values[at].keys().copied().chain([u64::from(own[at])]).collect();
        values.into_iter().for_each(|word| *times.entry(word).or_default() += 1);
    }
    let is_often = |word: u64| times.get(&word).is_some_and(|&times| times >= ANSWERS.0);
    let is_answered = |at: usize| {
        let count = |(word, count): (&u64, &usize)| if is_often(*word) { [*count; 2] } else { [0, *count] };
        let [often, all] =
            values[at].iter().map(count).fold([0, 0], |all, it| [all[0] + it[0], all[1] + it[1]]);
        is_often(u64::from(own[at])) && often > 1 && often as f64 >= ANSWERS.1 * all as f64
    };
    let in_slots = |is_slot: &[bool]| {
        let places: Vec<usize> = (0..own.len()).filter(|&at| is_slot[at]).collect();
        let answers: Vec<usize> = places.iter().copied().filter(|&at| is_answered(at)).collect();
        let is_sheet = answers.len() >= ANSWERS.0 && 2 * answers.len() >= places.len();
        (places, answers, is_sheet)
    };
    // Of a sheet of answers a place tells too where most answer the same.
    if in_slots(&is_slot).2 {
        (0..own.len()).for_each(|at| is_slot[at] |= is_answered(at));
    }
    let (places, answers, is_sheet) = in_slots(&is_slot);
    let answered: FxHashSet<u32> = answers.iter().map(|&at| own[at]).collect();
    // Between two parts of a list, or beside one, most may have the same word in one place.
    let is_part =
        |at: usize| is_slot[at] || answered.contains(&own[at]) || LISTED * crossed[at] >= others.len();
    let parts: Vec<bool> = (0..own.len()).map(is_part).collect();
    for at in (0..own.len()).chain((0..own.len()).rev()) {
        let beside = [at.checked_sub(1), Some(at + 1).filter(|&next| next < own.len())];
        is_slot[at] |= parts[at] && beside.into_iter().flatten().any(|at| is_slot[at]);
    }
    let frame = (0..own.len()).filter(|&at| spread[at] < FRAME.0 && !is_slot[at]).count();
    let least = if own.len() < LETTER { SLOT } else { OWN * all };
    let mut lists = places.chunk_by(|a, b| a + 1 == *b).filter(|run| run.iter().any(|&at| is_listed(at)));
    let is_template = frame as f64 >= FRAME.1 * own.len() as f64
        && (spread.iter().any(|&it| it >= least)
            || lists.any(|list| beside.whole(list) >= least)
            || is_sheet && beside.whole(&answers) >= least);
    let word = |(at, &hash): (usize, &u32)| {
        if is_slot[at] { Word { hash: VALUE, slot: Slot::Any } } else { Word { hash, slot: Slot::None } }
    };
    is_template.then(|| own.iter().enumerate().map(word).collect())
}

/// The words of a text, of others, and what stands in these for what of it.
struct Beside<'w> {
    own: &'w [u32],
    others: &'w [Vec<u32>],
    replaced: Vec<Vec<Replaced>>,
    /// Texts that say something else beside each place or in it.
    touched: Vec<usize>,
}

impl<'w> Beside<'w> {
    fn new(own: &'w [u32], others: &'w [Vec<u32>]) -> Beside<'w> {
        let replaced: Vec<_> = collect(others.iter().map(|other| align::replaced(own, other))).or_raise();
        let mut touched = vec![0; own.len() + 1];
        for (x, _) in replaced.iter().flatten() {
            touched[x.start..=x.end].iter_mut().for_each(|count| *count += 1);
        }
        Beside { own, others, replaced, touched }
    }

    fn each(&self) -> impl Iterator<Item = (&'w [u32], &[Replaced])> {
        self.others.iter().map(Vec::as_slice).zip(self.replaced.iter().map(Vec::as_slice))
    }

    /// How often the word of each place stands in another one, with but few words between, for what is elsewhere fills another
    /// slot; and how often such words moved across a place that stays.
    fn movable(&self) -> (Vec<usize>, Vec<usize>) {
        let [mut movable, mut crossed] = [(); 2].map(|()| vec![0; self.own.len()]);
        for (other, replaced) in self.each() {
            for of in replaced.chunk_by(|(x, _), (next, _)| next.start - x.end <= BETWEEN) {
                let theirs = of
                    .iter()
                    .enumerate()
                    .flat_map(|(part, (_, y))| other[y.clone()].iter().map(move |&word| (word, part)));
                let theirs: FxHashMap<u32, usize> = theirs.collect();
                // Words that went to the right across each place, and to the left.
                let mut moved = vec![(0, 0); of.len()];
                let own =
                    of.iter().enumerate().flat_map(|(part, (x, _))| x.clone().map(move |at| (part, at)));
                for (part, at) in own {
                    let Some(&there) = theirs.get(&self.own[at]) else { continue };
                    movable[at] += 1;
                    moved[part.min(there)..there].iter_mut().for_each(|moved| moved.0 += 1);
                    moved[there..part.max(there)].iter_mut().for_each(|moved| moved.1 += 1);
                }
                for (pair, (right, left)) in of.windows(2).zip(moved) {
                    if right > 0 && left > 0 && right + left > 2 {
                        crossed[pair[0].0.end..pair[1].0.start].iter_mut().for_each(|count| *count += 1);
                    }
                }
            }
        }
        (movable, crossed)
    }

    /// Whether something came or went that is not of a list: where most differ, and what others have elsewhere, belongs to a list,
    /// or to a value of several words.
    fn comes_or_goes(&self, other: &[u32], (x, y): &Replaced, listed: &FxHashSet<u32>) -> bool {
        (x.is_empty() || y.is_empty())
            && self.touched[x.start..=x.end].iter().all(|&count| 2 * count < self.others.len())
            && !self.own[x.clone()].iter().chain(&other[y.clone()]).all(|word| listed.contains(word))
    }

    /// Whether the median text has more of that than a text of a template.
    fn is_loose(&self, listed: &FxHashSet<u32>) -> bool {
        let count = |(other, of): (&[u32], &[Replaced])| {
            of.iter().filter(|it| self.comes_or_goes(other, it, listed)).count()
        };
        let mut loose: Vec<usize> = self.each().map(count).collect();
        loose.sort_unstable();
        loose[loose.len() / 2] > LOOSE
    }

    /// What else stands in each place, and how often.
    fn values(&self, listed: &FxHashSet<u32>) -> Vec<FxHashMap<u64, usize>> {
        let mut values: Vec<FxHashMap<u64, usize>> = vec![FxHashMap::default(); self.own.len()];
        for (other, replaced) in self.each() {
            // What is missing where most differ has moved within a list.
            let is_value = |it: &&Replaced| {
                !it.0.is_empty() && (!it.1.is_empty() || !self.comes_or_goes(other, it, listed))
            };
            for (x, y) in replaced.iter().filter(is_value) {
                let whole = other[y.clone()].iter().fold(1 << 32, |hash: u64, &word| {
                    hash.wrapping_mul(crate::hash::GOLDEN) ^ u64::from(word)
                });
                for (at, place) in x.clone().enumerate() {
                    let value = if x.len() == y.len() { u64::from(other[y.start + at]) } else { whole };
                    *values[place].entry(value).or_default() += 1;
                }
            }
        }
        values
    }

    /// How many values some places have as a whole: a list has few words in each.
    fn whole(&self, places: &[usize]) -> f64 {
        let mut values: FxHashMap<u64, usize> = [(0, 1)].into_iter().collect();
        for (other, replaced) in self.each() {
            let is_within = |x: &Range<usize>| {
                let next = places.partition_point(|&at| at + 1 < x.start);
                places.get(next).is_some_and(|&at| at <= x.end)
            };
            let add = |value, (x, y): &Replaced| {
                let words = other[y.clone()].iter().map(|&word| u64::from(word));
                [x.start as u64, x.end as u64]
                    .into_iter()
                    .chain(words)
                    .fold(value, |value, it| mix64(value ^ it))
            };
            let within = replaced.iter().filter(|(x, _)| is_within(x));
            *values.entry(within.fold(0, add)).or_default() += 1;
        }
        let all = (self.others.len() + 1) as f64;
        all * all / values.values().map(|count| (count * count) as f64).sum::<f64>()
    }
}
