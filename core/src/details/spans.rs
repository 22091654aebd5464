//! Two stretches of texts that stand in each other's place, and what stands around them.

use super::chinese_words::{self as words, Class, Unit};
use super::tokens::{BREAK, Form, Text};
use std::ops::Range;

/// The kinds of details.
pub const NAME: &str = "name";
pub const DATE: &str = "date";
pub const NUMBER: &str = "number";
pub const SLOT: &str = "slot";

/// Tokens around a stretch that are looked at.
pub const AROUND: usize = 6;

/// What two stretches are to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: an addition, another spelling, somebody addressed, something moved.
    Nothing,
    /// Other words; if they are nouns and replaced again and again, a name.
    Words,
    /// Another wording, within which names may stand.
    Wordy,
    Name,
    /// Numbers of two houses or rooms.
    House,
}

/// One of two stretches of which one stands in the other's place.
#[derive(Debug)]
pub struct Side<'t> {
    pub text: &'t Text,
    pub other: &'t Text,
    pub tokens: Range<usize>,
    /// Their words, in small letters.
    pub words: Vec<&'t str>,
    /// Where it differs, without what both begin and end with: bytes of `low`.
    pub differ: Range<usize>,
}

impl<'t> Side<'t> {
    /// What it says and the other does not.
    pub fn says(&self) -> &'t str {
        &self.text.low[self.differ.clone()]
    }

    pub fn whole(&self) -> &'t str {
        self.text.of(&self.tokens)
    }

    pub fn length(&self) -> usize {
        self.whole().chars().count()
    }
}

/// Two stretches of which one stands in the other's place.
#[derive(Debug)]
pub struct Span<'t> {
    /// The stretch of the first text, and that of the second.
    pub sides: [Side<'t>; 2],
    pub before: Vec<&'t str>,
    pub after: Vec<&'t str>,
    /// Whether two characters at least are equal before and behind, or the texts begin or end there. Other words may
    /// differ between, one in the place of another.
    pub stands_in_equal_text: bool,
}

impl<'t> Span<'t> {
    /// The stretches `x` of `a` and `y` of `b`, which are not empty.
    pub fn new(a: &'t Text, b: &'t Text, x: Range<usize>, y: Range<usize>) -> Span<'t> {
        let same = |at: &(usize, usize)| a.tokens[at.0].id == b.tokens[at.1].id;
        let after = (x.end..a.tokens.len()).zip(y.end..b.tokens.len()).take(AROUND);
        let before = (0..x.start).rev().zip((0..y.start).rev()).take(AROUND);
        let length = |(at, _): (usize, usize)| a.word_at(at).chars().count();
        let two_before = before.clone().filter(same).map(length).sum::<usize>() >= 2;
        let two_after = after.clone().filter(same).map(length).sum::<usize>() >= 2;
        let mut before: Vec<_> = before.take_while(same).map(|(at, _)| a.word_at(at)).collect();
        before.reverse();
        let after: Vec<_> = after.take_while(same).map(|(at, _)| a.word_at(at)).collect();
        let begins = x.start == before.len() || y.start == before.len();
        let ends = [(a, x.end), (b, y.end)].iter().any(|(text, end)| end + after.len() == text.tokens.len());
        let (x, y) = (bare(a, x), bare(b, y));
        let (differ_x, differ_y) = trim(a, b, a.bytes(&x), b.bytes(&y));
        let side = |text: &'t Text, other, tokens: Range<usize>, differ| {
            let words = tokens.clone().map(|at| text.word_at(at)).collect();
            Side { text, other, tokens, words, differ }
        };
        Span {
            sides: [side(a, b, x, differ_x), side(b, a, y, differ_y)],
            stands_in_equal_text: (two_before || begins) && (two_after || ends),
            before,
            after,
        }
    }

    pub fn both(&self, holds: impl Fn(&Side<'t>) -> bool) -> bool {
        self.sides.iter().all(holds)
    }

    pub fn any(&self, holds: impl Fn(&Side<'t>) -> bool) -> bool {
        self.sides.iter().any(holds)
    }

    pub fn words(&self) -> impl Iterator<Item = &'t str> {
        self.sides.iter().flat_map(|side| side.words.iter().copied())
    }

    pub fn crosses_a_break(&self) -> bool {
        self.words().any(|word| word == ",")
    }

    fn same_end(&self) -> &'t str {
        let Side { text, tokens, differ, .. } = &self.sides[0];
        &text.low[differ.end..text.tokens[tokens.end - 1].low.end]
    }

    /// The word for a kind of place behind both: what both end with, or the next word or two.
    pub fn unit(&self) -> Option<Unit> {
        let end = self.same_end();
        if !end.is_empty() {
            let behind = words::place_behind(end);
            let before = words::place_before(end);
            let longer = |unit: &Unit| before.is_none_or(|before| before.word.len() <= unit.word.len());
            return behind.filter(longer).or(before);
        }
        // A kind of shop says of which kind the place is: 火锅店.
        let kind = || self.after.first().filter(|word| words::is_common_noun(word));
        self.next(words::place).or_else(|| kind().and_then(|word| words::place_behind(word)))
    }

    /// As [`Span::unit`], or a unit that only numbers stand before: how it is written, and what it is about.
    pub fn unit_or_number(&self) -> Option<(String, Class)> {
        let end = self.same_end();
        if end.is_empty() {
            return self.next(words::unit).map(|unit| (unit.word.to_owned(), unit.class));
        }
        if let Some(unit) = self.unit() {
            return Some((unit.word.to_owned(), unit.class));
        }
        // Another word before the one for a place: 东门|社区.
        let strong = self.after.first().and_then(|word| words::place(word)).filter(|unit| unit.strong);
        strong.filter(|_| end.chars().count() <= 2).map(|unit| (format!("{end}{}", unit.word), unit.class))
    }

    fn next(&self, known: impl Fn(&str) -> Option<Unit>) -> Option<Unit> {
        match self.after[..] {
            [] => None,
            [first] => known(first),
            [first, second, ..] => {
                let behind = || known(second).filter(|_| words::between(first));
                known(first).or_else(|| known(&format!("{first}{second}"))).or_else(behind)
            }
        }
    }
}

/// A stretch of words of letters without the breaks at its ends, which people who shout leave out.
fn bare(text: &Text, mut range: Range<usize>) -> Range<usize> {
    let is_letters = |at: usize| !matches!(text.tokens[at].form, Form::Break | Form::Spaceless);
    while range.len() > 1 && text.tokens[range.end - 1].id == BREAK && is_letters(range.end - 2) {
        range.end -= 1;
    }
    while range.len() > 1 && text.tokens[range.start].id == BREAK && is_letters(range.start + 1) {
        range.start += 1;
    }
    range
}

/// Two stretches without what both begin and end with.
fn trim(a: &Text, b: &Text, x: Range<usize>, y: Range<usize>) -> (Range<usize>, Range<usize>) {
    let (one, other) = (&a.low[x.clone()], &b.low[y.clone()]);
    let same = |(x, y): &(char, char)| x == y;
    let length = |(c, _): (char, char)| c.len_utf8();
    let end: usize = one.chars().rev().zip(other.chars().rev()).take_while(same).map(length).sum();
    let (one, other) = (&one[..one.len() - end], &other[..other.len() - end]);
    let start: usize = one.chars().zip(other.chars()).take_while(same).map(length).sum();
    (x.start + start..x.end - end, y.start + start..y.end - end)
}
