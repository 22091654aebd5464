//! Two texts side by side: where they differ, and what of it is a detail.

use super::align::{self, Replaced};
use super::chinese_words as words;
use super::letters::{LETTER, LETTER_RUN, clause, letter_of, sender_end};
use super::spans::{DATE, NAME, NUMBER, SLOT, Side, Span, Verdict};
use super::templates::{Read, Slot, is_one_value};
use super::tokens::{BREAK, Form, Ids, Text, Token};
use super::{chinese, codes, english, numbers};
use crate::interrupt::check;
use crate::memory::{self, Grow, OrRaise};
use rustc_hash::FxHashSet;
use std::ops::Range;
use std::sync::Arc;

/// Which details count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Kinds {
    /// Names of places, companies, people and products, and numbers that are names, as of a bus line.
    pub names: bool,
    /// Numbers of years, months, days and hours.
    pub dates: bool,
    /// Other numbers: of houses, of money, of things counted.
    pub numbers: bool,
    /// What stands in the slots of the table's templates.
    pub slots: bool,
}

impl Kinds {
    /// All of them.
    pub const ALL: Kinds = Kinds { names: true, dates: true, numbers: true, slots: true };
    /// Texts about one matter rarely differ in these.
    pub const NAMES: Kinds = Kinds { names: true, dates: false, numbers: false, slots: false };

    /// The kinds of these names, `name`, `date`, `number`, `slot`, or the first that is none of them.
    pub fn parse<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Kinds, &'a str> {
        let mut kinds = Kinds::default();
        for name in names {
            *kinds.of(name).ok_or(name)? = true;
        }
        Ok(kinds)
    }

    /// Whether a kind counts.
    pub fn has(mut self, kind: &str) -> bool {
        self.of(kind).is_some_and(|counts| *counts)
    }

    fn of(&mut self, kind: &str) -> Option<&mut bool> {
        match kind {
            NAME => Some(&mut self.names),
            DATE => Some(&mut self.dates),
            NUMBER => Some(&mut self.numbers),
            SLOT => Some(&mut self.slots),
            _ => None,
        }
    }
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// `name`, `date`, `number` or `slot`.
    pub kind: &'static str,
    /// In the first text.
    pub a: String,
    /// In its place in the second text.
    pub b: String,
}

/// A stretch of two texts: one that both have, or one that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// What the first text says, shortened in the middle if it is long; `None`: nothing.
    pub a: Option<String>,
    /// What the second text says.
    pub b: Option<String>,
    /// Whether both say the same.
    pub shared: bool,
    /// The kind of detail in which they differ: `name`, `date` or `number`.
    pub detail: Option<&'static str>,
}

/// More stretches than this are looked at in no pair of texts: they are not nearly equal.
const MOST_SPANS: usize = 1000;

/// Tokens of the longest stretch that is looked at.
const LONGEST_STRETCH: usize = 64;

/// The share of a letter that is its body.
const LETTER_SHARE: f64 = 0.8;

pub(super) struct Differences {
    pub a: Arc<Text>,
    pub b: Arc<Text>,
    replaced: Vec<Replaced>,
    /// The same within sentences that have moved.
    moved: Vec<Replaced>,
    /// How either stands to the templates.
    pub readings: [Read; 2],
}

impl Differences {
    pub fn new(a: &str, b: &str, ids: &mut Ids) -> Differences {
        Differences::of([a, b].map(|text| Arc::new(Text::new(text, ids))), [None, None])
    }

    /// Of two texts whose words have the same numbers.
    pub fn of([a, b]: [Arc<Text>; 2], readings: [Read; 2]) -> Differences {
        let numbers = |text: &Text| memory::collect(text.tokens.iter().map(|token| token.id)).or_raise();
        let (of_a, of_b) = (numbers(&a), numbers(&b));
        let replaced = align::replaced(&of_a, &of_b);
        let moved = parts(&a, &b, joined(&a, &b, moved(&of_a, &of_b, &replaced)));
        let replaced = parts(&a, &b, joined(&a, &b, replaced));
        Differences { a, b, replaced, moved, readings }
    }

    /// The stretches that stand in each other's place and may hold details.
    fn spans(&self) -> impl Iterator<Item = (usize, Span<'_>)> {
        let short = |range: &Range<usize>| (1..=LONGEST_STRETCH).contains(&range.len());
        // What moved comes after all that is in its place.
        let moved = self.moved.iter().map(|span| (self.replaced.len(), span));
        let all = self.replaced.iter().enumerate().chain(moved);
        let both = all.filter(move |(_, (x, y))| short(x) && short(y));
        both.take(MOST_SPANS).map(|(at, (x, y))| (at, Span::new(&self.a, &self.b, x.clone(), y.clone())))
    }

    /// The details that count, up to `most` of them.
    pub fn found(&self, kinds: Kinds, most: usize) -> Vec<Detail> {
        let mut found: Vec<Detail> = Vec::new();
        self.judge(&mut |_, mut new| {
            // A number that is a name is a number still.
            if !kinds.names
                && [&new.a, &new.b].iter().all(|it| it.starts_with(words::is_part))
                && new.kind == NAME
            {
                new.kind = NUMBER;
            }
            if kinds.has(new.kind) && !found.contains(&new) {
                found.push(new);
            }
            found.len() < most
        });
        found
    }

    /// The details, each with the number of its stretch.
    fn judged(&self) -> Vec<(usize, Detail)> {
        let mut found = Vec::new();
        self.judge(&mut |at, new| {
            found.push((at, new));
            true
        });
        found
    }

    /// Hands out the details, each with the number of its stretch, for as long as `more` are asked for.
    fn judge(&self, more: &mut dyn FnMut(usize, Detail) -> bool) {
        let mut again: Vec<[&str; 2]> = Vec::new();
        let letter = self.letter();
        let sender = letter.as_ref().and_then(|_| self.sender()).unwrap_or_default();
        let feet = [&self.a, &self.b].map(|text| letter_of(text).foot);
        // What each side's other text says in its slots.
        let said = [(&self.b, &self.readings[1]), (&self.a, &self.readings[0])].map(|(text, read)| {
            let slots = read.iter().flat_map(|read| text.tokens.iter().zip(&read.slots));
            slots.filter(|it| *it.1 != Slot::None).map(|it| it.0.id).collect::<FxHashSet<u32>>()
        });
        for (at, span) in self.spans() {
            check();
            let span = &span;
            let slot = self.slot(span);
            if slot == Slot::Free {
                continue;
            }
            let english = english::judge(span);
            let mut verdict = english.unwrap_or_else(|| chinese::judge(span));
            let noun = |side: &Side| side.words.last().is_some_and(|word| chinese::is_noun(word));
            if english.is_none() && matches!(verdict, Verdict::Words | Verdict::Name) && span.both(noun) {
                let pair = span.sides.each_ref().map(Side::says);
                if again.contains(&pair) {
                    verdict = Verdict::Name;
                }
                again.push(pair);
            }
            let new = match verdict {
                Verdict::Name if english.is_none() && chinese::is_level_above(span) => None,
                Verdict::Name => Some(self.named(span, NAME)),
                Verdict::House => Some(self.named(span, NUMBER)),
                Verdict::Wordy => chinese::wordy(span).map(|(a, b)| Detail { kind: NAME, a, b }),
                Verdict::Nothing | Verdict::Words => None,
            };
            // Who signs, and where he lives, is not what a letter is about.
            let in_foot = sender.contains(&span.sides[0].tokens.start)
                || span.sides.iter().zip(feet).all(|(side, foot)| side.tokens.start >= foot);
            let mut of_span: Vec<Detail> = Vec::new();
            let numbers = numbers::differences(span);
            for new in new.into_iter().chain(numbers.into_iter().map(|numbers| self.number(numbers))) {
                if new.a != new.b && !(new.kind == NAME && in_foot) && !of_span.contains(&new) {
                    of_span.push(new);
                }
            }
            let [x, _] = span.sides.each_ref().map(|side| &side.tokens);
            let in_letter = letter.as_ref().is_none_or(|letter| x.start < letter.end && letter.start < x.end);
            let counts = slot == Slot::Told || slot != Slot::None && in_letter && !in_foot;
            // What the other text says in another place of its slots is no value of its own, nor is a comma that became a word.
            let has_own = |(side, said): (&Side, &FxHashSet<u32>)| {
                let mut words = side.tokens.clone().map(|at| &side.text.tokens[at]);
                words.any(|word| word.form != Form::Break && !said.contains(&word.id))
            };
            if counts && span.sides.iter().zip(&said).all(has_own) && !is_one_value(span) {
                of_span.push(self.named(span, SLOT));
            }
            if !of_span.into_iter().all(|new| more(at, new)) {
                return;
            }
        }
    }

    /// The tokens of the first text that name something else than the second does in their place.
    pub fn names(&self) -> Vec<Range<usize>> {
        let names = self.judged().into_iter().filter(|(_, detail)| detail.kind == NAME);
        names.filter_map(|(at, _)| self.replaced.get(at).map(|both| both.0.clone())).collect()
    }

    /// The slot that a stretch stands in: a free one only if all of it does.
    fn slot(&self, span: &Span) -> Slot {
        let sides = span.sides.iter().zip(&self.readings).zip([&self.a, &self.b]);
        let slots = sides.flat_map(|((side, read), text)| {
            let words = side.tokens.clone().filter(|&at| text.tokens[at].form != Form::Break);
            words.map(|at| read.as_ref().map_or(Slot::None, |read| read.slots[at]))
        });
        let both = |one: Slot, other: Slot| match (one, other) {
            (Slot::Told, _) | (_, Slot::Told) => Slot::Told,
            (Slot::Free, Slot::Free) => Slot::Free,
            (Slot::None | Slot::Free, Slot::None | Slot::Free) => Slot::None,
            _ => Slot::Any,
        };
        slots.reduce(both).unwrap_or(Slot::None)
    }

    /// The closed shapes in which the texts differ, but for what stands in slots that tell nothing.
    pub fn shapes(&self) -> Option<Detail> {
        let free = self.readings.each_ref().map(|read| {
            let slots = read.iter().flat_map(|read| read.slots.iter().enumerate());
            slots.filter(|it| *it.1 == Slot::Free).map(|it| it.0).collect()
        });
        let [a, b] = codes::differing([&self.a, &self.b], &free)?.map(str::to_owned);
        Some(Detail { kind: NAME, a, b })
    }

    /// What of the first text stands between the head and the foot of a letter that both texts are, if they are one: who is
    /// addressed and who signs, with what telephone and on what day, does not tell two matters apart.
    pub fn letter(&self) -> Option<Range<usize>> {
        let longest = self.a.tokens.len().max(self.b.tokens.len());
        let shortest = self.a.tokens.len().min(self.b.tokens.len());
        let ends = self.replaced.iter().map(|(x, _)| x.start).chain([self.a.tokens.len()]);
        let starts = [0].into_iter().chain(self.replaced.iter().map(|(x, _)| x.end));
        let mut runs = starts.zip(ends).filter(|(start, end)| end - start >= LETTER_RUN);
        let (start, first_end) = runs.next()?;
        let end = runs.last().map_or(first_end, |run| run.1);
        let is_letter = shortest >= LETTER && (end - start) as f64 >= LETTER_SHARE * longest as f64;
        (is_letter && [&self.a, &self.b].into_iter().all(|text| letter_of(text).is_one)).then_some(start..end)
    }

    /// What of the first text says in the head of a letter who sends it, from another name on: I, Ann Bell, of 3 Elm Road, ask you.
    pub fn sender(&self) -> Option<Range<usize>> {
        let ((start, is_said), _) = letter_of(&self.a).sender.zip(letter_of(&self.b).sender)?;
        let (last, in_letterhead) = sender_end(&self.a, start);
        let mut behind = self.replaced.iter().map(|(x, _)| x).filter(|x| x.end > start).peekable();
        // One firm writes about many.
        behind.peek().filter(|x| is_said || x.start < clause(&self.a, start).end)?;
        let step = |end, x: &Range<usize>| {
            let follows = in_letterhead || x.start < end + LETTER_RUN;
            if follows && x.end <= last { Ok(x.end) } else { Err(end) }
        };
        Some(start..behind.try_fold(start, step).unwrap_or_else(|end| end))
    }

    pub fn passages(&self) -> Vec<Passage> {
        let mut judged = self.judged().into_iter().peekable();
        let (mut x, mut y) = (0, 0);
        let mut all = Vec::new();
        let mut push = |a: Option<String>, b: Option<String>, shared, detail| {
            if a.is_some() || b.is_some() {
                all.grow(Passage { a, b, shared, detail }).or_raise();
            }
        };
        let end = (self.a.tokens.len()..self.a.tokens.len(), self.b.tokens.len()..self.b.tokens.len());
        for (at, (from, to)) in self.replaced.iter().chain([&end]).enumerate() {
            check();
            push(self.a.passage(&(x..from.start)), self.b.passage(&(y..to.start)), true, None);
            let mut whole = Some((self.a.passage(from), self.b.passage(to)));
            while let Some((_, Detail { kind, a, b })) = judged.next_if(|&(of, _)| of == at) {
                if kind == NAME || at == self.replaced.len() {
                    whole = None;
                    push(Some(a), Some(b), false, Some(kind));
                } else if let Some((a, b)) = whole.take() {
                    push(a, b, false, Some(kind));
                }
            }
            if let Some((a, b)) = whole {
                push(a, b, false, None);
            }
            (x, y) = (from.end, to.end);
        }
        all
    }

    /// What stands in each other's place, with the word for a place behind it.
    fn named(&self, span: &Span, kind: &'static str) -> Detail {
        let [x, y] = span.sides.each_ref().map(|side| side.differ.clone());
        let unit = span.unit_or_number().map(|(unit, _)| unit).unwrap_or_default();
        self.with_unit(kind, x, y, &unit)
    }

    /// Numbers, with the word behind them that makes them a name.
    fn number(&self, (kind, x, y): numbers::Difference) -> Detail {
        match words::numbered_before(&self.a.low[x.end..]).filter(|_| kind != DATE) {
            None if kind != NAME => Detail { kind, a: self.a.shown_part(&x), b: self.b.shown_part(&y) },
            unit => self.with_unit(kind, x, y, unit.map_or("", |unit| unit.word)),
        }
    }

    fn with_unit(&self, kind: &'static str, x: Range<usize>, y: Range<usize>, unit: &str) -> Detail {
        let both = [&self.a.low[x.end..], &self.b.low[y.end..]].iter().all(|tail| tail.starts_with(unit));
        let unit = if both { unit.len() } else { 0 };
        let (x, y) = (chinese::with_letters(&self.a, x), chinese::with_letters(&self.b, y));
        Detail {
            kind,
            a: self.a.shown_part(&(x.start..x.end + unit)),
            b: self.b.shown_part(&(y.start..y.end + unit)),
        }
    }
}

/// The fewest tokens of a sentence that may have moved, and how many such stretches of each text are looked at.
const MOVED: (usize, usize) = (6, 12);

/// The stretches in which sentences differ that one text has in another place: each of the long stretches that only one
/// text has is compared with each that only the other has.
fn moved(a: &[u32], b: &[u32], replaced: &[Replaced]) -> Vec<Replaced> {
    let long = |range: &Range<usize>| (MOVED.0..=8 * LONGEST_STRETCH).contains(&range.len());
    let of = |side: fn(&Replaced) -> &Range<usize>| {
        let all = replaced.iter().map(side).enumerate().filter(|(_, range)| long(range));
        all.take(MOVED.1).collect::<Vec<_>>()
    };
    let mut all = Vec::new();
    let (ours, theirs) = (of(|(x, _)| x), of(|(_, y)| y));
    for (at, x) in ours {
        for &(_, y) in theirs.iter().filter(|(other, _)| *other != at) {
            check();
            let inner = align::replaced(&a[x.clone()], &b[y.clone()]);
            let equal = x.len() - inner.iter().map(|(x, _)| x.len()).sum::<usize>();
            if equal >= MOVED.0 && 2 * equal >= x.len().min(y.len()) {
                let from = |start: usize, range: Range<usize>| start + range.start..start + range.end;
                inner
                    .into_iter()
                    .for_each(|(one, other)| all.grow((from(x.start, one), from(y.start, other))).or_raise());
            }
        }
    }
    all
}

/// Stretches as one that have but a character between them, which is equal by accident, or a word or numbers over which a
/// number has moved: 12 34 and 15 12.
fn joined(a: &Text, b: &Text, replaced: Vec<Replaced>) -> Vec<Replaced> {
    let number = |token: &Token| token.form == Form::Number;
    let has = |text: &Text, range: &Range<usize>| text.tokens[range.clone()].iter().any(number);
    let mut all: Vec<Replaced> = Vec::new();
    for (x, y) in replaced {
        let joins = |last: &Replaced| {
            let between = a.tokens.get(last.0.end..x.start).unwrap_or_default();
            let [first, rest @ ..] = between else { return false };
            if y.start.checked_sub(last.1.end) != Some(between.len()) || first.id == BREAK {
                return false;
            }
            let numbers = [has(a, &last.0), has(b, &last.1), has(a, &x), has(b, &y)];
            let moved = matches!(numbers, [true, false, false, true] | [false, true, true, false]);
            let one = last.0.is_empty() || last.1.is_empty() || x.is_empty() || y.is_empty();
            if moved && rest.is_empty() || one && between.iter().all(number) {
                return true;
            }
            // What a number counts is no accident.
            let counts = last.0.end > 0 && number(&a.tokens[last.0.end - 1]);
            let word = a.word_at(last.0.end);
            rest.is_empty() && !counts && words::single(word).is_some() && !words::holds_apart(word)
        };
        match all.last_mut() {
            Some(last) if joins(last) => *last = (last.0.start..x.end, last.1.start..y.end),
            _ => all.grow((x, y)).or_raise(),
        }
    }
    all
}

/// Stretches cut at their breaks where both have as many.
fn parts(a: &Text, b: &Text, replaced: Vec<Replaced>) -> Vec<Replaced> {
    let breaks = |text: &Text, range: &Range<usize>| -> Vec<usize> {
        memory::collect(range.clone().filter(|&at| text.tokens[at].id == BREAK)).or_raise()
    };
    let mut all = Vec::new();
    for (x, y) in replaced {
        check();
        let (in_x, in_y) = (breaks(a, &x), breaks(b, &y));
        let (mut from_x, mut from_y) = (x.start, y.start);
        if in_x.len() == in_y.len() {
            for (at_x, at_y) in in_x.into_iter().zip(in_y) {
                all.grow((from_x..at_x, from_y..at_y)).or_raise();
                (from_x, from_y) = (at_x + 1, at_y + 1);
            }
        }
        all.grow((from_x..x.end, from_y..y.end)).or_raise();
    }
    all
}
