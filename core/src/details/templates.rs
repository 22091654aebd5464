//! Templates: texts of a table that say the same but for some slots, whose values tell them apart.
//!
//! A form that was filled in a hundred times is alike a hundred times, and a hundred matters. What the rows of a table
//! have in common is learned from them: some that share a template are aligned, and where they have many values is a
//! slot. Two texts that have other values in a slot are about two things; what only one of them contains is no
//! difference, and neither is a misspelt value.

use super::align;
use super::chinese_words::{is_digit, orders};
use super::english::{is_count, is_within};
use super::filling::{Filled, Filling, Value};
use super::letters::{LETTER_RUN, foot, hash_of, is_letter};
use super::spans::Span;
use super::tokens::{Form, Text};
use crate::hash::{city64, mix64};
use crate::interrupt::checked;
use crate::memory::{Grow, OrRaise, Room, collect};
use crate::text::{is_alphanumeric, is_chinese, is_spaceless_char};
use rustc_hash::FxHashSet;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

/// Parts that the runs of characters of a text are divided into. The least of each part is a sign of the text: texts
/// that share a template share most of their signs.
const PARTS: usize = 16;
/// Bytes of a run at least: nine Latin letters, three of Chinese.
const RUN: usize = 9;
/// The sign of a part that no run is in.
pub(super) const NONE: u32 = u32::MAX;
/// Templates that a text is compared with at most.
const MOST_FITTING: usize = 3;
/// The share of a template's signs that a text of it has.
pub(super) const SIGNS: f64 = 0.1;
/// The share of a template's frame that a text of it has.
const FRAME: f64 = 0.7;
/// Words that a value of a free slot has more than the one it was learned by, at most.
const MORE: usize = 3;
/// Items of a list at least.
const ITEMS: usize = 3;
/// Letters of a value that may be misspelt.
const LONG: usize = 4;

pub(super) type Signs = [u32; PARTS];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    pub hash: u32,
    pub slot: Slot,
}

/// What stands in the place of a word of a template.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    None,
    Any,
    /// Names of things: they tell two letters apart in their heads too.
    Names,
    /// Who sends a letter, in its head: that never tells.
    Sender,
    /// By its [name](super::named), what tells wherever it stands, and what never does.
    Told,
    Free,
}

impl Word {
    pub fn is_slot(&self) -> bool {
        self.slot != Slot::None
    }
}

/// Written behind the templates, before what comes again in their slots.
const AGAIN: u32 = u32::MAX;

/// What stands for a word of a slot: no word that others have is known by it.
pub(super) const VALUE: u32 = 0;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pub signs: Signs,
    pub words: Vec<Word>,
    /// Its slots.
    pub known: Vec<Known>,
}

/// What is known of a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// Its first word, which stays where others are named.
    pub start: usize,
    /// Whether it tells two texts apart wherever it stands.
    pub tells: bool,
    /// Whether the order of its words does.
    ordered: bool,
}

/// The templates of a table. Words are known by their hashes alone.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Templates {
    pub(super) all: Vec<Template>,
    /// Phrases that come again in their slots beside other things, and gaps for such.
    again: FxHashSet<u32>,
}

/// What comes again in a slot of which the order tells.
pub(super) const ORDER: &str = "\0\0";

impl Templates {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        for Template { signs, words, .. } in &self.all {
            bytes.room(4 * (1 + PARTS) + 5 * words.len()).or_raise();
            bytes.extend((words.len() as u32).to_le_bytes());
            bytes.extend(signs.iter().flat_map(|sign| sign.to_le_bytes()));
            for word in words {
                bytes.extend(word.hash.to_le_bytes());
                bytes.push(word.slot as u8);
            }
        }
        let mut again: Vec<u32> = collect(self.again.iter().copied()).or_raise();
        again.sort_unstable();
        bytes.room(4 * (again.len() + 1)).or_raise();
        bytes.extend([AGAIN].iter().chain(&again).flat_map(|value| value.to_le_bytes()));
    }

    /// Reads what was written; `None`: these are none.
    pub(super) fn read_all(bytes: &[u8]) -> Option<Templates> {
        let (mut all, mut rest) = (Vec::new(), bytes);
        let number = |bytes: &mut &[u8]| {
            let (first, rest) = bytes.split_first_chunk()?;
            *bytes = rest;
            Some(u32::from_le_bytes(*first))
        };
        while !rest.is_empty() {
            let count = number(&mut rest)?;
            if count == AGAIN {
                break;
            }
            let mut signs = [NONE; PARTS];
            for sign in &mut signs {
                *sign = number(&mut rest)?;
            }
            let (words, behind) = rest.split_at_checked((count as usize).checked_mul(5)?)?;
            let word = |&[a, b, c, d, slot]: &[u8; 5]| {
                let slots = [Slot::None, Slot::Any, Slot::Names, Slot::Sender, Slot::Told, Slot::Free];
                let slot = *slots.get(usize::from(slot))?;
                Some(Word { hash: u32::from_le_bytes([a, b, c, d]), slot })
            };
            let words = words.as_chunks().0.iter().map(word).collect::<Option<_>>()?;
            all.grow(Template::new(signs, words)).or_raise();
            rest = behind;
        }
        let again = rest.chunks(4).map(|mut value| number(&mut value)).collect::<Option<_>>()?;
        Some(Templates::new(all, again))
    }

    pub(super) fn new(mut all: Vec<Template>, again: FxHashSet<u32>) -> Templates {
        for (number, template) in (0..).zip(&mut all) {
            for known in &mut template.known {
                known.ordered = again.contains(&(key(number, known.start, ORDER) as u32));
            }
        }
        Templates { all, again }
    }

    /// What is known of the slots of a template.
    pub(super) fn known(&self, template: u32) -> &[Known] {
        &self.all[template as usize].known
    }

    /// The templates that a text may be of: it has enough of their signs, of the first one most.
    pub(super) fn candidates(&self, plain: &str) -> Vec<u32> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let own = signs(plain);
        let enough = |(number, template): (u32, &Template)| {
            let (same, all) = shared(&own, &template.signs);
            (same > 0 && f64::from(same) >= SIGNS * f64::from(all)).then_some((Reverse(same), number))
        };
        let mut votes: Vec<(Reverse<u32>, u32)> = (0..).zip(&self.all).filter_map(enough).collect();
        votes.sort_unstable();
        votes.into_iter().take(MOST_FITTING).map(|it| it.1).collect()
    }

    /// How a text, which `plain` was made into, stands to the templates; `None`: it is of none.
    pub(super) fn read(&self, plain: &str, text: &Text) -> Option<Reading> {
        let candidates = self.candidates(plain);
        if candidates.is_empty() {
            return None;
        }
        let words = words_of(text);
        let mut reading: Option<Reading> = None;
        for number in candidates {
            let template = &self.all[number as usize];
            let Some(filled) = template.filled(text, &words) else { continue };
            // The best one says what the values are.
            let reading = reading.get_or_insert_with(|| Reading {
                slots: vec![Slot::None; text.tokens.len()],
                places: filled.iter().map(Filled::place).collect(),
                filling: Filling {
                    template: number,
                    values: filled.iter().map(|it| it.value.clone()).collect(),
                },
            });
            for (span, it) in template.spans().zip(&filled) {
                let kind = match template.words[span.start].slot {
                    // What stands before a value or behind it, at an end of the text, is none.
                    Slot::Free if it.tokens.len() > span.len() + MORE || text.has_lines(&it.place()) => {
                        Slot::Any
                    }
                    kind => kind,
                };
                for &at in &it.tokens {
                    let slot = &mut reading.slots[at];
                    *slot = if *slot == Slot::None { kind } else { *slot };
                }
            }
        }
        reading
    }

    /// The values of a slot in which two texts differ, each with a word that the other lacks there: places of tokens.
    pub(super) fn differing(&self, texts: [&Text; 2], [a, b]: [&Reading; 2]) -> Option<[Range<usize>; 2]> {
        if a.template() != b.template() {
            return None;
        }
        // A form that nobody filled in is no copy of those that are.
        let filled =
            |text: &Text, reading| self.telling(reading).position(|(_, it)| !words_in(text, it).is_empty());
        let [of_a, of_b] = [filled(texts[0], a), filled(texts[1], b)];
        if of_a.is_some() != of_b.is_some() {
            let at = of_a.or(of_b)?;
            let place = |reading| self.telling(reading).nth(at).map(|it| it.1.clone());
            return Some([place(a)?, place(b)?]);
        }
        let ((_, x), (_, y)) = self.telling(a).zip(self.telling(b)).find(|((slot, x), (_, y))| {
            let known = self.known(a.template())[*slot];
            if known.differ([a, b].map(|it| &it.filling.values[*slot])) {
                return true;
            }
            let words = [words_in(texts[0], x), words_in(texts[1], y)];
            if known.ordered && are_moved(&words) || are_exchanged(texts, [x, y]) {
                return true;
            }
            let own = |own: &[&str], other: &[&str]| {
                own.iter().filter(|word| !other.contains(word)).copied().collect()
            };
            let both: [String; 2] = [own(&words[0], &words[1]), own(&words[1], &words[0])];
            let come_again = |phrases: &[String; 2]| {
                phrases.iter().all(|it| self.again.contains(&(key(a.template(), known.start, it) as u32)))
            };
            if both.iter().any(String::is_empty) {
                return match amounts(words) {
                    Some([ours, theirs]) => ours != theirs,
                    None => {
                        is_phase(&both.concat()) || more(texts, [x, y]).is_some_and(|more| come_again(&more))
                    }
                };
            }
            !are_one(&both[0], &both[1]) || come_again(&both)
        })?;
        Some([x.clone(), y.clone()])
    }

    /// The first slot that tells and in which two texts of one template have values that are not one.
    pub(super) fn differs_in(&self, texts: [&Text; 2], [a, b]: [&Reading; 2]) -> Option<usize> {
        let values = |x, y| [words_in(texts[0], x).concat(), words_in(texts[1], y).concat()];
        let mut both = self.telling(a).zip(self.telling(b)).filter(|_| a.template() == b.template());
        let differ = |[x, y]: [String; 2]| !x.is_empty() && !y.is_empty() && x != y && !are_one(&x, &y);
        both.find(|((_, x), (_, y))| differ(values(x, y))).map(|((slot, _), _)| slot)
    }

    /// The slots that tell a text apart, each with its tokens.
    pub(super) fn telling<'r>(
        &'r self,
        reading: &'r Reading,
    ) -> impl Iterator<Item = (usize, &'r Range<usize>)> {
        let known = self.known(reading.template());
        reading.places.iter().enumerate().filter(|(slot, _)| known[*slot].tells)
    }
}

/// How a text stands to the templates.
#[derive(Debug)]
pub(super) struct Reading {
    /// The slot that each token stands in.
    pub slots: Vec<Slot>,
    /// The tokens of the value in each slot.
    pub places: Vec<Range<usize>>,
    pub filling: Filling,
}

impl Reading {
    pub fn template(&self) -> u32 {
        self.filling.template
    }
}

/// How a text stands to the templates; `None`: it is of none.
pub(super) type Read = Option<Arc<Reading>>;

impl Known {
    /// Whether two values of it are others for certain.
    pub(super) fn differ(&self, [a, b]: [&Value; 2]) -> bool {
        a.is_another(b) || self.ordered && a.is_reordered(b)
    }
}

impl Template {
    pub(super) fn new(signs: Signs, words: Vec<Word>) -> Template {
        let mut template = Template { signs, words, known: Vec::new() };
        template.know();
        template
    }

    /// Its slots anew; what is ordered stays so.
    pub(super) fn know(&mut self) {
        let ordered = |start| self.known.iter().any(|known| known.start == start && known.ordered);
        let slots = self.spans().map(|slot| slot.start).zip(self.telling());
        let known = slots.map(|(start, tells)| Known { start, tells, ordered: ordered(start) });
        self.known = collect(known).or_raise();
    }

    /// Its slots: words in slots that follow each other.
    pub(super) fn spans(&self) -> impl Iterator<Item = Range<usize>> + Clone {
        let starts = (0..self.words.len()).filter(|&at| {
            self.words[at].is_slot() && at.checked_sub(1).is_none_or(|before| !self.words[before].is_slot())
        });
        starts
            .map(|start| start..start + self.words[start..].iter().take_while(|word| word.is_slot()).count())
    }

    /// Whether each slot tells two texts apart wherever it stands: in a letter those in its body do, and those of names.
    pub(super) fn telling(&self) -> impl Iterator<Item = bool> {
        let is_letter = is_letter(self.words.len(), |at| self.words[at].hash);
        let frame = |at: usize| self.words[at..].iter().take_while(|word| !word.is_slot()).count();
        let mut runs = (0..self.words.len()).filter(move |&at| frame(at) >= LETTER_RUN);
        let first = runs.clone().next().unwrap_or(self.words.len());
        let last = runs.next_back().unwrap_or(0);
        let foot = foot(self.words.len(), |at| self.words[at].hash);
        self.spans().map(move |slot| {
            let is = |kind| self.words[slot.clone()].iter().any(|word| word.slot == kind);
            let of_names = is(Slot::Names);
            let by_place = slot.start < foot
                && !is(Slot::Sender)
                && (!is_letter || of_names || slot.start > first && slot.end <= last);
            is(Slot::Told) || !is(Slot::Free) && by_place
        })
    }

    /// What stands in each slot, of a text of these words; `None`: it is no text of this template.
    pub(super) fn filled(&self, text: &Text, words: &[(usize, u32)]) -> Option<Vec<Filled>> {
        let hashes: Vec<u32> = collect(words.iter().map(|word| word.1)).or_raise();
        let slots = self.slots(&hashes)?;
        let mut filled: Vec<Filled> = self.spans().map(|_| Filled::default()).collect();
        for (&(at, hash), slot) in words.iter().zip(slots).filter(|it| it.1 > 0) {
            let it = &mut filled[usize::from(slot) - 1];
            it.tokens.grow(at).or_raise();
            it.value.add(at, hash, text);
        }
        Some(filled)
    }

    /// The slot, from 1 on, that each word of a text stands in; 0: none. `None`: it is no text of this template.
    pub(super) fn slots(&self, words: &[u32]) -> Option<Vec<u16>> {
        let own: Vec<u32> = collect(self.words.iter().map(|word| word.hash)).or_raise();
        let is_frame = |word: &&Word| !word.is_slot();
        let whole = self.words.iter().filter(is_frame).count();
        let replaced = align::replaced(&own, words);
        let missing = replaced.iter().flat_map(|(own, _)| &self.words[own.clone()]).filter(is_frame).count();
        if ((whole - missing) as f64) < FRAME * whole as f64 {
            return None;
        }
        let mut slots = vec![0; words.len()];
        for (own, theirs) in replaced.iter().filter(|(_, theirs)| !theirs.is_empty()) {
            // What is inserted stands in the slot beside it.
            let beside = usize::from(own.is_empty());
            let range = own.start.saturating_sub(beside)..(own.end + beside).min(self.words.len());
            let around = &self.words[range.clone()];
            let Some(first) = around.iter().position(Word::is_slot) else { continue };
            // Words of the frame at the ends of the stretch were replaced by as many.
            let before = first * (1 - beside);
            let behind = around.iter().rev().take_while(is_frame).count() * (1 - beside);
            let start = before.min(theirs.len() - 1);
            let end = (theirs.len().saturating_sub(behind)).max(start + 1);
            // Of several the first that is not free: what differs in one of them may tell.
            let within =
                self.spans().enumerate().filter(|(_, slot)| slot.start < range.end && range.start < slot.end);
            let is_free = |(_, slot): &(usize, Range<usize>)| self.words[slot.start].slot == Slot::Free;
            let slot = within.clone().find(|it| !is_free(it)).or_else(|| within.clone().next());
            let slot = slot.map_or(0, |it| it.0) + 1;
            slots[theirs.start + start..theirs.start + end].fill(slot as u16);
        }
        Some(slots)
    }
}

/// Whether a word can be told from a misspelt one: several letters of a script that spells.
fn may_be_misspelt(word: &str) -> bool {
    let spelled = |c: char| c.is_alphabetic() && !crate::text::is_spaceless_char(c);
    word.chars().count() >= LONG && word.chars().all(spelled)
}

/// Whether the values of a slot in which two texts differ are one.
pub(super) fn is_one_value(span: &Span) -> bool {
    let [a, b] = span.sides.each_ref().map(|side| side.whole().replace(' ', ""));
    are_one(&a, &b)
}

/// Whether two values are one, misspelt in one of them or, in a script without spaces, with something more that neither counts nor
/// orders.
fn are_one(a: &str, b: &str) -> bool {
    if [a, b].iter().all(|value| value.chars().all(is_spaceless_char)) {
        let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
        let mut rest = short.chars().peekable();
        let more = long.chars().filter(|c| rest.next_if_eq(c).is_none()).all(|c| !is_digit(c) && !orders(c));
        return more && rest.peek().is_none();
    }
    let letters = |word: &str| may_be_misspelt(word).then(|| word.chars().collect::<Vec<char>>());
    letters(a).zip(letters(b)).is_some_and(|(a, b)| is_within(1, &a, &b))
}

/// Whether a word more makes another place of one: the second phase of an estate.
fn is_phase(more: &str) -> bool {
    more.strip_suffix('期').is_some_and(|number| !number.is_empty() && number.chars().all(is_digit))
}

fn words_in<'t>(text: &'t Text, tokens: &Range<usize>) -> Vec<&'t str> {
    let words = tokens.clone().filter(|&at| text.tokens[at].form != Form::Break);
    collect(words.map(|at| text.word_at(at))).or_raise()
}

/// Whether of as many words one stands in the place of another one, and both have both.
fn are_moved([a, b]: &[Vec<&str>; 2]) -> bool {
    let is_of = |words: &[&str], word: &&str| words.contains(word);
    a.len() == b.len() && a.iter().zip(b).any(|(x, y)| x != y && is_of(a, y) && is_of(b, x))
}

/// Whether two lists of as many articles say other things with words that both have: three nuts and two pears, two nuts and three pears.
fn are_exchanged(texts: [&Text; 2], places: [&Range<usize>; 2]) -> bool {
    let items = |text, place| {
        let words = pieces(text, place);
        let items = words.split(|word| *word == ",").filter(|item| !item.is_empty());
        let mut items: Vec<Vec<&str>> = collect(items.map(<[_]>::to_vec)).or_raise();
        items.iter_mut().for_each(|item| item.sort_unstable());
        items.sort_unstable();
        items
    };
    let both = [items(texts[0], places[0]), items(texts[1], places[1])];
    let words = both.each_ref().map(|items| items.iter().flatten().copied().collect::<FxHashSet<&str>>());
    let [a, b] = both;
    let as_many = a.iter().flatten().count() == b.iter().flatten().count();
    // A word that one lacks is in the place of one that both have, unless it is that, misspelt.
    let is_misspelt = |word: &str| words.iter().flatten().any(|other| *other != word && are_one(word, other));
    let is_other = |word: &&str| word.starts_with(is_digit) || as_many && !is_misspelt(word);
    let mut own = words[0].symmetric_difference(&words[1]);
    a.len() == b.len() && a.len() >= ITEMS && a != b && own.all(is_other)
}

/// Two amounts in words, of which each word counts: two thousand, two thousand and two.
fn amounts(values: [Vec<&str>; 2]) -> Option<[Vec<&str>; 2]> {
    let words = values.map(|words| words.into_iter().filter(|word| *word != "and").collect::<Vec<_>>());
    let is_amount = |words: &Vec<&str>| !words.is_empty() && words.iter().all(|word| is_count(word));
    words.iter().all(is_amount).then_some(words)
}

pub(super) fn key(template: u32, slot: usize, words: &str) -> u64 {
    mix64(city64(words.as_bytes()) ^ u64::from(template) << 32 ^ slot as u64)
}

/// The words of a slot, and breaks, which end a value.
pub(super) fn pieces<'t>(text: &'t Text, tokens: &Range<usize>) -> Vec<&'t str> {
    collect(tokens.clone().map(|at| text.word_at(at))).or_raise()
}

/// A place behind two words and before one, at which something may stand.
pub(super) fn gap(words: &[&str], at: usize) -> String {
    let word = |at: usize| words.get(at).map_or("", |word| word.trim_matches(','));
    format!("{} {}\0{}", word(at.wrapping_sub(2)), word(at.wrapping_sub(1)), word(at))
}

/// What one of two values says where the other has but a place for it.
fn more(texts: [&Text; 2], [a, b]: [&Range<usize>; 2]) -> Option<[String; 2]> {
    let [a, b] = &[pieces(texts[0], a), pieces(texts[1], b)];
    let (short, long) = if a.len() < b.len() { (a, b) } else { (b, a) };
    let start = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    let end = start + long.len() - short.len();
    (!short.is_empty() && start < end && short[start..] == long[end..])
        .then(|| [long[start..end].concat(), gap(short, start)])
}

/// The words of a text without breaks: the number of each token and its hash.
pub(super) fn words_of(text: &Text) -> Vec<(usize, u32)> {
    let words = checked(text.tokens.iter().enumerate()).filter(|(_, token)| token.form != Form::Break);
    collect(words.map(|(at, _)| (at, hash_of(text.word_at(at))))).or_raise()
}

/// The letters and digits of a text, in small letters.
pub(super) fn letters(text: &str) -> String {
    let mut letters = String::new();
    letters.room(text.len()).or_raise();
    for c in checked(text.chars()) {
        match c {
            _ if c.is_ascii_alphanumeric() => letters.push(c.to_ascii_lowercase()),
            _ if is_chinese(c) => letters.push(c),
            _ if !is_alphanumeric(c) => {}
            _ => letters.extend(c.to_lowercase()),
        }
    }
    letters
}

pub(super) fn signs(text: &str) -> Signs {
    let mut signs = [NONE; PARTS];
    let plain = letters(text);
    let bytes = plain.as_bytes();
    for start in checked(0..bytes.len()).filter(|&at| plain.is_char_boundary(at)) {
        let end = plain.ceil_char_boundary((start + RUN).min(bytes.len()));
        if end - start < RUN && start > 0 {
            break;
        }
        let hash = city64(&bytes[start..end]);
        let sign = &mut signs[hash as usize % PARTS];
        *sign = (*sign).min((hash >> 32) as u32);
    }
    signs
}

/// How many signs a text has of those of a template or of another text, and how many those are.
pub(super) fn shared(signs: &Signs, of: &Signs) -> (u32, u32) {
    let both = signs.iter().zip(of).filter(|(_, sign)| **sign != NONE);
    both.fold((0, 0), |(same, all), (a, b)| (same + u32::from(a == b), all + 1))
}

/// Signs with their parts.
pub(super) fn keys(signs: &Signs) -> impl Iterator<Item = u64> {
    (0u64..).zip(signs).filter(|(_, sign)| **sign != NONE).map(|(part, sign)| part << 32 | u64::from(*sign))
}
