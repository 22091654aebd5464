//! Slots that somebody names, by the words around them: `my name is ___`.

use super::templates::{Reading, Slot, Template, Templates, VALUE, Word, words_of};
use super::tokens::{Ids, Text};
use crate::external::Result;
use crate::interrupt::check;
use crate::memory::{OfKey, OrRaise, collect};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Words of a slot that is none without its name, if words behind it are named.
const LONGEST: usize = 16;
/// Words before and behind a slot that a name of it has at most.
const NAMED: usize = 6;
/// Words around it at least, if there are so many.
const LEAST: usize = 2;

fn is_blank(c: char) -> bool {
    matches!(c, '_' | '＿')
}

/// The words before and behind the blank in the name of a slot; `None`: this names none.
pub fn around(name: &str) -> Option<[&str; 2]> {
    let (before, behind) = name.split_once(is_blank)?;
    let behind = behind.trim_start_matches(is_blank);
    let says = |part: &str| part.contains(char::is_alphanumeric);
    (!behind.contains(is_blank) && (says(before) || says(behind))).then_some([before, behind])
}

/// The words around a slot.
type Around = [Vec<u32>; 2];

fn hashes(around: [&str; 2], ids: &mut Ids) -> Around {
    around.map(|part| {
        let words = words_of(&Text::new(part, ids));
        collect(words.into_iter().map(|word| word.1)).or_raise()
    })
}

impl Templates {
    /// Has slots tell two texts apart wherever they stand, or never, by their names. One that tells may be a place in which
    /// the texts hardly ever differ. Of names that fit one place the longest counts. Returns which fit none.
    pub(super) fn name(&mut self, names: &[(String, bool)]) -> Vec<bool> {
        let (mut ids, mut unknown) = (Ids::default(), vec![false; names.len()]);
        let named = names.iter().zip(&mut unknown);
        let named = named.filter_map(|(it, unknown)| Some((hashes(around(&it.0)?, &mut ids), it.1, unknown)));
        let mut named: Vec<(Around, bool, &mut bool)> = named.collect();
        named.sort_by_key(|(around, ..)| around.iter().map(Vec::len).sum::<usize>());
        for (around, tells, unknown) in named {
            let fits = self.all.iter_mut().filter_map(|it| it.name(&around, tells).then_some(()));
            *unknown = fits.count() == 0;
        }
        unknown
    }

    /// The name of the slot in which two texts of one template have other values, if a few words tell it from all other
    /// slots.
    pub(super) fn named(&self, texts: [&Text; 2], readings: [&Reading; 2]) -> Option<String> {
        self.name_of(self.differs_in(texts, readings)?, texts[0], readings[0])
    }

    fn name_of(&self, slot: usize, text: &Text, reading: &Reading) -> Option<String> {
        let template = &self.all[reading.template() as usize];
        let (span, place) = (template.spans().nth(slot)?, &reading.places[slot]);
        let frame = |at: &usize| reading.slots[*at] == Slot::None;
        let before = (0..place.start).rev().take_while(frame).take(NAMED).count();
        let behind = (place.end..text.tokens.len()).take_while(frame).take(NAMED).count();
        let mut ids = Ids::default();
        let words = |range| text.passage(&range).unwrap_or_default();
        let counts = (0..=behind).flat_map(|behind| (0..=before).map(move |before| (before, behind)));
        // A single word stands in many places.
        let names = counts.filter(|it| it.0 + it.1 >= LEAST.min(before + behind)).map(|(before, behind)| {
            let [before, behind] =
                [place.start - before..place.start, place.end..place.end + behind].map(words);
            format!("{before} ___ {behind}").trim().to_owned()
        });
        let mut names = names.filter(|name| {
            let Some(around) = around(name).map(|it| hashes(it, &mut ids)) else { return false };
            let elsewhere = self.all.iter().filter(|it| !it.places(&around, false).is_empty()).count() > 1;
            !elsewhere && template.places(&around, false) == [span.clone()]
        });
        names.next()
    }

    /// A template as people see it, by texts of it.
    pub fn show(&self, template: u32, texts: impl Iterator<Item = Result<String>>) -> Result<Shown> {
        let mut ids = Ids::default();
        let mut shown = Shown { rows: 0, parts: Vec::new() };
        let mut values: Vec<FxHashMap<String, u64>> = Vec::new();
        for plain in texts {
            check();
            ids.keep_small();
            let plain = plain?;
            let text = Text::new(&plain, &mut ids);
            let Some(reading) = self.read(&plain, &text).filter(|it| it.template() == template) else {
                continue;
            };
            if values.is_empty() {
                values.resize_with(reading.places.len(), FxHashMap::default);
                shown.parts = self.parts(&text, &reading);
            }
            for (values, place) in values.iter_mut().zip(&reading.places) {
                if let Some(value) = text.passage(place) {
                    *values.of_key(value)? += 1;
                }
            }
        }
        for part in &mut shown.parts {
            let Part::Slot { slot, values: said, .. } = part else { continue };
            *said = collect(std::mem::take(&mut values[*slot]))?;
            said.sort_unstable_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        }
        Ok(shown)
    }

    fn parts(&self, text: &Text, reading: &Reading) -> Vec<Part> {
        let known = self.known(reading.template());
        let (mut parts, mut end) = (Vec::new(), 0);
        for (slot, place) in reading.places.iter().enumerate().filter(|(_, place)| !place.is_empty()) {
            parts.extend(text.passage(&(end..place.start)).map(Part::Frame));
            let name = self.name_of(slot, text, reading);
            let said = text.passage(place).unwrap_or_default();
            parts.push(Part::Slot { slot, name, tells: known[slot].tells, said, values: Vec::new() });
            end = place.end;
        }
        parts.extend(text.passage(&(end..text.tokens.len())).map(Part::Frame));
        parts
    }
}

/// A template as people see it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    /// How many rows are of it.
    pub rows: u64,
    /// In the order of a text of it.
    pub parts: Vec<Part>,
}

/// A part of a template, as a text has it.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Words that all texts have.
    Frame(String),
    /// A slot.
    Slot {
        /// Its number among those of the template.
        slot: usize,
        /// Its [name](around), if a few words tell it from all others.
        name: Option<String>,
        /// Whether other values tell two texts apart.
        tells: bool,
        /// What the text has there.
        said: String,
        /// What the texts looked at have there and how many of them, the commonest first.
        values: Vec<(String, u64)>,
    },
}

impl Template {
    /// The slots that stand between these words, and with `tells` such that would be some.
    fn places(&self, [before, behind]: &Around, tells: bool) -> Vec<Range<usize>> {
        let is = |words: &[Word], said: &[u32]| {
            words.len() == said.len() && words.iter().zip(said).all(|(word, hash)| word.hash == *hash)
        };
        let words = &self.words;
        let follows = |end: &usize| words.get(*end..end + behind.len()).is_some_and(|it| is(it, behind));
        let most = if before.is_empty() || behind.is_empty() { 1 } else { LONGEST };
        let place = |start: usize| {
            let slot = words[start..].iter().take_while(|word| word.is_slot()).count();
            let mut ends = match slot {
                0 if tells => start + 1..(start + most).min(words.len()) + 1,
                0 => 0..0,
                _ => start + slot..start + slot + 1,
            };
            Some(start..ends.find(follows)?)
        };
        let begins = |&start: &usize| {
            let goes_on = words[start].is_slot() && start > 0 && words[start - 1].is_slot();
            !goes_on && is(&words[start - before.len()..start], before)
        };
        (before.len()..words.len()).filter(begins).filter_map(place).collect()
    }

    fn name(&mut self, around: &Around, tells: bool) -> bool {
        let places = self.places(around, tells);
        let slot = if tells { Slot::Told } else { Slot::Free };
        for place in places.iter().cloned() {
            self.words[place].fill(Word { hash: VALUE, slot });
        }
        self.know();
        !places.is_empty()
    }
}
