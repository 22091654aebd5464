//! Templates: texts of a table that say the same but for some slots, whose values tell them apart.
//!
//! A form that was filled in a hundred times is alike a hundred times, and a hundred matters. What the rows of a table
//! have in common is learned from them: some that share a template are aligned, and where they have many values is a
//! slot. Two texts that have other values in a slot are about two things; what only one of them contains is no
//! difference, and neither is a misspelt value.

use super::align;
use super::chinese_words::{self, is_digit, orders};
use super::english::is_within;
use super::spans::Span;
use super::tokens::{Form, Ids, Text};
use crate::external::Result;
use crate::hash::{city64, mix64};
use crate::interrupt::{check, checked};
use crate::memory::{Grow, OfKey, OrRaise, Room, collect};
use crate::text::{is_chinese, is_spaceless_char};
use rustc_hash::{FxHashMap, FxHashSet};
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
/// Tokens of a letter at least, and those of a run that begins or ends its body.
pub(super) const LETTER: usize = 60;
pub(super) const LETTER_RUN: usize = 6;
/// Words that close a letter by themselves; beside `yours`, and behind words such as `kind`.
const CLOSING: [&str; 4] = ["此致敬礼", "敬礼", "敬上", "谨上"];
const YOURS: [&str; 4] = ["sincerely", "faithfully", "respectfully", "truly"];
const WISHES: [&str; 2] = ["regards", "wishes"];
const KIND: [&str; 4] = ["kind", "best", "warm", "warmest"];
/// Words that greet, and the first words of a letter among which they are.
const GREETING: [&str; 11] =
    ["dear", "hello", "hi", "greetings", "honourable", "尊敬", "敬爱", "亲爱", "您好", "你好", "领导"];
const GREETED: usize = 24;
/// Tokens of the foot of a letter at most.
const FOOT: usize = 40;
/// Words that a value of a free slot has more than the one it was learned by, at most.
const MORE: usize = 2;
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
    /// Whether each slot tells two texts apart wherever it stands.
    pub tells: Vec<bool>,
}

/// The templates of a table. Words are known by their hashes alone.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Templates {
    pub(super) all: Vec<Template>,
    /// Phrases that come again in their slots beside other things, and gaps for such.
    pub(super) again: FxHashSet<u32>,
    /// The templates that have a sign, by its part and itself.
    of_sign: FxHashMap<u64, Vec<u32>>,
}

impl Templates {
    pub(super) fn new(all: Vec<Template>, again: FxHashSet<u32>) -> Templates {
        let mut of_sign: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        for (number, template) in (0..).zip(&all) {
            for key in keys(&template.signs) {
                of_sign.of_key(key).or_raise().grow(number).or_raise();
            }
        }
        Templates { all, again, of_sign }
    }

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
            let word = |word: &[u8]| {
                let (hash, slot) = word.split_first_chunk()?;
                let slots = [Slot::None, Slot::Any, Slot::Names, Slot::Sender, Slot::Told, Slot::Free];
                let slot = *slots.get(usize::from(*slot.first()?))?;
                Some(Word { hash: u32::from_le_bytes(*hash), slot })
            };
            all.grow(Template::new(signs, words.chunks_exact(5).map(word).collect::<Option<_>>()?))
                .or_raise();
            rest = behind;
        }
        let again = rest.chunks(4).map(|mut value| number(&mut value)).collect::<Option<_>>()?;
        Some(Templates::new(all, again))
    }

    /// The templates that a text may be of: it has enough of their signs, of the first one most.
    fn candidates(&self, plain: &str) -> Vec<u32> {
        if self.all.is_empty() {
            return Vec::new();
        }
        let mut votes: FxHashMap<u32, usize> = FxHashMap::default();
        for number in keys(&signs(plain)).filter_map(|key| self.of_sign.get(&key)).flatten() {
            *votes.of_key(*number).or_raise() += 1;
        }
        let enough = |(number, votes): &(u32, usize)| {
            let all = keys(&self.all[*number as usize].signs).count();
            *votes as f64 >= SIGNS * all as f64
        };
        let mut votes: Vec<(u32, usize)> = votes.into_iter().filter(enough).collect();
        votes.sort_unstable_by_key(|&(number, votes)| (std::cmp::Reverse(votes), number));
        votes.into_iter().take(MOST_FITTING).map(|(number, _)| number).collect()
    }

    /// How a text, which `plain` was made into, stands to the templates; `None`: it is of none.
    pub(super) fn read(&self, plain: &str, text: &Text) -> Option<Reading> {
        let candidates = self.candidates(plain);
        if candidates.is_empty() {
            return None;
        }
        let words = words_of(text);
        let hashes: Vec<u32> = collect(words.iter().map(|word| word.1)).or_raise();
        let mut reading: Option<Reading> = None;
        for number in candidates {
            let template = &self.all[number as usize];
            let Some(slots) = template.slots(&hashes) else { continue };
            let filled = words.iter().zip(&slots).filter(|(_, slot)| **slot > 0);
            // The best one says what the values are.
            let reading = reading.get_or_insert_with(|| {
                let mut values = vec![Value::default(); template.spans().count()];
                let mut places = vec![0..0; values.len()];
                for (&(at, hash), &slot) in filled.clone() {
                    let slot = usize::from(slot) - 1;
                    let start = if values[slot].count == 0 { at } else { places[slot].start };
                    places[slot] = start..at + 1;
                    values[slot].add(at, hash, text);
                }
                Reading {
                    slots: vec![Slot::None; text.tokens.len()],
                    places,
                    filling: Filling { template: number, values },
                }
            });
            let mut kinds: Vec<Slot> = template.spans().map(|slot| template.words[slot.start].slot).collect();
            for (slot, (kind, span)) in (1u16..).zip(kinds.iter_mut().zip(template.spans())) {
                let mut tokens = filled.clone().filter(|it| *it.1 == slot).map(|it| it.0.0);
                let first = tokens.next();
                let last = tokens.clone().next_back().or(first);
                let all = first.zip(last).map_or(0..0, |(first, last)| first..last + 1);
                // What stands before a value or behind it, at an end of the text, is none.
                if *kind == Slot::Free && (tokens.count() > span.len() + MORE || text.has_lines(&all)) {
                    *kind = Slot::Any;
                }
            }
            for (word, slot) in filled {
                let place = &mut reading.slots[word.0];
                *place = if *place == Slot::None { kinds[usize::from(*slot) - 1] } else { *place };
            }
        }
        reading
    }

    /// How each of some texts fills the slots of the template that it is of; with `tells` other values tell two texts apart.
    pub fn fill(
        self: &Arc<Self>,
        rows: impl Iterator<Item = usize>,
        tells: bool,
        read: &mut dyn FnMut(usize) -> Result<String>,
    ) -> Result<Fillings> {
        let mut all = Fillings { templates: Arc::clone(self), tells, places: Vec::new(), all: Vec::new() };
        if self.all.is_empty() {
            return Ok(all);
        }
        let mut ids = Ids::default();
        for row in rows {
            check();
            let plain = read(row)?;
            if self.candidates(&plain).is_empty() {
                continue;
            }
            ids.keep_small();
            let text = Text::new(&plain, &mut ids);
            let Some(Reading { filling, .. }) = self.read(&plain, &text) else { continue };
            all.add(row, filling)?;
        }
        Ok(all)
    }

    /// The slots in which two texts have other values for certain.
    fn other_values<'f>(&'f self, a: &'f Filling, b: &'f Filling) -> impl Iterator<Item = usize> + 'f {
        let template = self.all.get(a.template as usize).filter(|_| a.template == b.template);
        let values = move |template: &'f Template| a.values.iter().zip(&b.values).zip(&template.tells);
        let differ = |((a, b), tells): ((&Value, &Value), &bool)| *tells && a.is_another(b);
        let all = template.into_iter().flat_map(move |it| values(it).enumerate());
        all.filter(move |it| differ(it.1)).map(|it| it.0)
    }

    /// The values of a slot in which two texts differ, each with a word that the other lacks there: places of tokens.
    pub(super) fn differing(&self, texts: [&Text; 2], [a, b]: [&Reading; 2]) -> Option<[Range<usize>; 2]> {
        if a.template() != b.template() {
            return None;
        }
        let ((_, x), (_, y)) = self.telling(a).zip(self.telling(b)).find(|((slot, x), (_, y))| {
            let words = [words_in(texts[0], x), words_in(texts[1], y)];
            let own = |own: &[&str], other: &[&str]| {
                own.iter().filter(|word| !other.contains(word)).copied().collect()
            };
            let both: [String; 2] = [own(&words[0], &words[1]), own(&words[1], &words[0])];
            let come_again = |phrases: &[String; 2]| {
                phrases.iter().all(|it| self.again.contains(&(key(a.template(), *slot, it) as u32)))
            };
            if both.iter().any(String::is_empty) {
                return more(texts, [x, y]).is_some_and(|more| come_again(&more));
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
        let tells = &self.all[reading.template() as usize].tells;
        reading.places.iter().enumerate().filter(|(slot, _)| tells[*slot])
    }
}

/// How a text stands to the templates.
#[derive(Debug)]
pub(super) struct Reading {
    /// The slot that each token stands in.
    pub slots: Vec<Slot>,
    /// The tokens of the value in each slot.
    pub places: Vec<Range<usize>>,
    filling: Filling,
}

impl Reading {
    pub fn template(&self) -> u32 {
        self.filling.template
    }
}

/// How a text stands to the templates; `None`: it is of none.
pub(super) type Read = Option<Arc<Reading>>;

#[derive(Debug)]
struct Filling {
    template: u32,
    values: Vec<Value>,
}

/// Words of a value that are known one by one.
const WORDS: usize = 3;

/// What stands in a slot, so far as it can be told from others at a glance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Value {
    /// A bit for each of its words.
    words: u64,
    /// The first of them, and how many there are.
    first: [u32; WORDS],
    count: u16,
    /// How often it has characters, up to three times: two bits for each of 32 kinds.
    characters: u64,
    length: u16,
    /// Whether some of them are of a script that spells, of one without spaces, and others.
    scripts: [bool; 3],
}

impl Value {
    pub(super) fn add(&mut self, at: usize, hash: u32, text: &Text) {
        self.words |= 1 << (hash % 64);
        if let Some(word) = self.first.get_mut(usize::from(self.count)) {
            *word = hash;
        }
        self.count = self.count.saturating_add(1);
        for c in text.word_at(at).chars() {
            let at = u32::from(c) % 32 * 2;
            let often = ((self.characters >> at & 3) + 1).min(3);
            self.characters = self.characters & !(3 << at) | often << at;
            self.length = self.length.saturating_add(1);
            let spaceless = is_spaceless_char(c);
            self.scripts[if spaceless { 1 } else { 2 * usize::from(!c.is_alphabetic()) }] = true;
        }
    }

    /// Whether the other is a value too, has none of its words, and cannot be [one](are_one) with it.
    pub(super) fn is_another(&self, other: &Value) -> bool {
        const LOW: u64 = 0x5555_5555_5555_5555;
        let kinds = |bits: u64| (bits | bits >> 1) & LOW;
        let may_be_one = match (self.scripts, other.scripts) {
            ([true, false, false], [true, false, false]) => {
                let alike = kinds(self.characters ^ other.characters).count_ones() <= 2;
                self.length.abs_diff(other.length) < 2 && alike
            }
            ([false, true, false], [false, true, false]) => {
                let [ours, theirs] = [self, other].map(|it| kinds(it.characters));
                ours & !theirs == 0 || theirs & !ours == 0
            }
            _ => false,
        };
        self.count > 0 && other.count > 0 && self.has_none_of(other) && !may_be_one
    }

    fn has_none_of(&self, other: &Value) -> bool {
        let all = |it: &Value| (usize::from(it.count) <= WORDS).then(|| usize::from(it.count));
        self.words & other.words == 0
            || all(self).zip(all(other)).is_some_and(|(ours, theirs)| {
                !self.first[..ours].iter().any(|word| other.first[..theirs].contains(word))
            })
    }
}

/// How texts fill the slots of the templates that they are of, by their numbers.
#[derive(Debug)]
pub struct Fillings {
    /// The templates.
    pub templates: Arc<Templates>,
    /// Whether other values tell two texts apart.
    tells: bool,
    /// The places in `all`, from 1 on.
    places: Vec<u32>,
    all: Vec<Filling>,
}

impl Fillings {
    fn add(&mut self, row: usize, filling: Filling) -> Result<()> {
        self.all.grow(filling)?;
        self.places.room((row + 1).saturating_sub(self.places.len()))?;
        self.places.resize(row + 1, 0);
        self.places[row] = self.all.len() as u32;
        Ok(())
    }

    /// Whether two of the texts are of one template and have other values in a slot, so that they need not be compared.
    pub fn differ(&self, pair: [u32; 2]) -> bool {
        self.tells && self.differing(pair).next().is_some()
    }

    /// The template of two texts, and the slot of it, if there is one alone in which they have other values.
    pub fn slot(&self, pair: [u32; 2]) -> Option<(u32, usize)> {
        let mut slots = self.differing(pair);
        let slot = slots.next()?;
        slots.next().is_none().then_some((self.template(pair)?, slot))
    }

    fn differing(&self, [a, b]: [u32; 2]) -> impl Iterator<Item = usize> {
        let both = self.of(a).zip(self.of(b));
        both.into_iter().flat_map(|(a, b)| self.templates.other_values(a, b))
    }

    /// The template that two texts are of.
    pub fn template(&self, [a, b]: [u32; 2]) -> Option<u32> {
        let (a, b) = (self.of(a)?, self.of(b)?);
        (a.template == b.template).then_some(a.template)
    }

    /// Whether two texts are of templates.
    pub fn have(&self, rows: [u32; 2]) -> bool {
        rows.iter().all(|&row| self.of(row).is_some())
    }

    fn of(&self, row: u32) -> Option<&Filling> {
        self.all.get((*self.places.get(row as usize)? as usize).wrapping_sub(1))
    }
}

impl Template {
    pub(super) fn new(signs: Signs, words: Vec<Word>) -> Template {
        let mut template = Template { signs, words, tells: Vec::new() };
        template.tells = collect(template.telling()).or_raise();
        template
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

fn hash_of(word: &str) -> u32 {
    city64(word.as_bytes()) as u32
}

/// Where the foot of a letter begins, of so many words: behind a closing formula in its second half.
fn foot(count: usize, hash: impl Fn(usize) -> u32) -> usize {
    let is = |at: usize, words: &[&str]| words.iter().any(|word| hash_of(word) == hash(at));
    let closes = |&at: &usize| {
        let yours = at > 0 && is(at - 1, &["yours"]) || at + 1 < count && is(at + 1, &["yours"]);
        is(at, &CLOSING) || yours && is(at, &YOURS) || at > 0 && is(at, &WISHES) && is(at - 1, &KIND)
    };
    let from = (count / 2).max(count.saturating_sub(FOOT));
    (from..count).rev().find(closes).map_or(count, |at| at + 1)
}

/// Whether so many words are a letter: not only long, as a form may be, but with a greeting or a closing formula.
fn is_letter(count: usize, hash: impl Fn(usize) -> u32) -> bool {
    let greets = |at: usize| GREETING.iter().any(|word| hash_of(word) == hash(at));
    count >= LETTER && ((0..GREETED).any(greets) || foot(count, &hash) < count)
}

pub(super) fn is_letter_of(text: &Text) -> bool {
    is_letter(text.tokens.len(), |at| hash_of(text.word_at(at)))
}

pub(super) fn foot_of(text: &Text) -> usize {
    foot(text.tokens.len(), |at| hash_of(text.word_at(at)))
}

/// Where near its beginning a text names who sends it: I, Ann Bell, and 我叫张伟.
pub(super) fn sender_at(text: &Text) -> Option<usize> {
    let is_name = |&at: &usize| {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| text.word_at(at));
        let says = match [before(2), before(1)] {
            ["i" | "我", ","] | ["i", "am"] | ["name", "is"] | ["我", "叫" | "是"] => true,
            [_, word] => ["我叫", "我是", "本人"].contains(&word),
        };
        let length = text.tokens[at..].iter().take(4).take_while(|token| token.form != Form::Break).count();
        let name = at..at + length;
        says && (text.tokens[at].form == Form::Capital
            || chinese_words::is_person(text.of(&name), name.clone().map(|at| text.word_at(at))))
    };
    (1..text.tokens.len().min(GREETED)).find(is_name)
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

fn words_in<'t>(text: &'t Text, tokens: &Range<usize>) -> Vec<&'t str> {
    let words = tokens.clone().filter(|&at| text.tokens[at].form != Form::Break);
    collect(words.map(|at| text.word_at(at))).or_raise()
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
            _ if is_chinese(c) => letters.push(c),
            _ if !c.is_alphanumeric() => {}
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

/// Signs with their parts.
pub(super) fn keys(signs: &Signs) -> impl Iterator<Item = u64> {
    (0u64..).zip(signs).filter(|(_, sign)| **sign != NONE).map(|(part, sign)| part << 32 | u64::from(*sign))
}
