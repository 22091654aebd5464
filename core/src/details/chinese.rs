//! Whether two stretches of Chinese that stand in each other's place name two things.
//!
//! Names are told by where they stand (before a word for a kind of place), by the dictionary (names of places and
//! people, characters that form no word), and by being foreign: what the other text says elsewhere is only moved.
//! Misspelt and shortened names, people addressed, and other wordings are no other names.

use super::numbers::{self, Kind};
use super::spans::{Span, Verdict, common};
use super::tokens::Text;
use super::words::{self, Class, Unit, is_function, is_verb, single};
use crate::text::tag as part_of_speech;
use std::ops::Range;

/// Characters of the longest stretch that is one name.
const LONGEST_NAME: usize = 14;
/// Characters of the longest stretch that names are looked for in.
const LONGEST_CLAUSE: usize = 40;
/// The largest share of a name's pairs of characters that the other text may have, without and with a word for a
/// place behind it.
const FOREIGN: f64 = 0.34;
const FOREIGN_PLACE: f64 = 0.5;

/// What two stretches are to each other.
pub fn judge(span: &Span) -> Verdict {
    let (x, y) = (span.x(), span.y());
    if x.is_empty() || y.is_empty() || digits(x) && digits(y) || numbered(span) {
        return Verdict::Nothing;
    }
    if span.crosses_a_break() {
        return Verdict::Wordy;
    }
    if let (Some(one), Some(other)) = (single(x), single(y)) {
        return ordered(span, one, other);
    }
    let (long_x, long_y) = (x.chars().count(), y.chars().count());
    if long_x.max(long_y) > LONGEST_NAME {
        return Verdict::Wordy;
    }
    if let Some(verdict) = code(span) {
        return verdict;
    }
    let unit = span.unit();
    let strong = unit.is_some_and(|unit| unit.strong);
    if addressed(span, unit, strong) || generic(&span.words_x) || generic(&span.words_y) {
        return Verdict::Nothing;
    }
    let absent = unit.is_some() && !span.b.has(x) && !span.a.has(y);
    let limit = if absent { FOREIGN_PLACE } else { FOREIGN };
    if span.b.share(x) > limit || span.a.share(y) > limit || 2 * common(x, y) >= long_x.min(long_y) {
        return Verdict::Nothing;
    }
    if span.words().any(is_function) {
        return Verdict::Wordy;
    }
    name(span, unit, [long_x, long_y])
}

/// Names, of what is foreign and no other spelling.
fn name(span: &Span, unit: Option<Unit>, lengths: [usize; 2]) -> Verdict {
    let (x, y) = (span.x(), span.y());
    let (words_x, words_y) = (&span.words_x[..], &span.words_y[..]);
    let strong = unit.is_some_and(|unit| unit.strong);
    let times = |words: &[&str]| words.iter().filter(|word| words::is_time(word)).count();
    let (times_x, times_y) = (times(words_x), times(words_y));
    let only_times = times_x == words_x.len() || times_y == words_y.len();
    if lengths.contains(&1) || only_times || !strong && times_x + times_y > 0 {
        return Verdict::Nothing;
    }
    let says = |words: &[&str], length: usize| length > 6 && words.iter().any(|word| is_verb(word));
    if says(words_x, span.length_x()) || says(words_y, span.length_y()) {
        return Verdict::Wordy;
    }
    if strong {
        let wordings = only_verbs(words_x) && only_verbs(words_y);
        return if wordings { Verdict::Words } else { Verdict::Name };
    }
    if !nominal(words_x) || !nominal(words_y) {
        return Verdict::Words;
    }
    let (named_x, named_y) = (has_name(words_x), has_name(words_y));
    if unit.is_some() {
        return if named_x || named_y { Verdict::Name } else { Verdict::Words };
    }
    let ends = |trimmed: &str, whole: &str| {
        words::place_behind(trimmed)
            .or_else(|| words::place_behind(whole).filter(|unit| words::is_long(unit.word)))
    };
    let common_noun = |words: &[&str]| words.len() == 1 && words::is_common_noun(words[0]);
    let place_x = ends(x, span.whole_x()).is_some() && !common_noun(words_x);
    let place_y = ends(y, span.whole_y()).is_some() && !common_noun(words_y);
    if place_x && place_y {
        return Verdict::Name;
    }
    if words::is_person(x, words_x.iter().copied()) && words::is_person(y, words_y.iter().copied()) {
        let subject = span.before.iter().rev().take(2).any(|word| words::before_person(word));
        return if subject { Verdict::Name } else { Verdict::Nothing };
    }
    if !(named_x || place_x)
        || !(named_y || place_y)
        || span.words().any(|word| is_verb(word) || digits(word))
    {
        return Verdict::Words;
    }
    if span.stands_in_equal_text { Verdict::Name } else { Verdict::Nothing }
}

fn digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether only a number differs, before a word that makes it a name: 3号线, 第二小学.
fn numbered(span: &Span) -> bool {
    let tail = span.a.low[span.differ.0.end..].trim_start_matches(numbers::is_part);
    words::numbered_before(tail).is_some() && span.x().chars().chain(span.y().chars()).all(numbers::is_part)
}

/// What a number (bytes of `low`) is by the words around it, unless `other` has the name elsewhere: then it may have moved.
pub fn number(text: &Text, other: &Text, number: &Range<usize>) -> Option<Kind> {
    let whole = &text.low[number.clone()];
    let before = (0..text.at(number.start)).rev().take(4);
    if whole.len() >= 4 && !other.has(whole) && before.map(|at| text.word_at(at)).any(words::before_number) {
        return Some(Kind::Name);
    }
    // A day: 5月3号楼道停电.
    let unit = words::numbered_before(&text.low[number.end..])
        .filter(|_| !text.low[..number.start].ends_with('月'))?;
    let name = format!("{}{}", &text.low[with_letters(text, number.clone())], unit.word);
    let is_name = unit.class != Class::House && !other.has(&name);
    Some(if is_name { Kind::Name } else { Kind::Number })
}

/// A number (bytes of `low`) with the letters before it, which belong to it.
pub fn with_letters(text: &Text, number: Range<usize>) -> Range<usize> {
    let letters = text.low[..number.start].bytes().rev().take_while(u8::is_ascii_alphanumeric).count();
    number.start - letters..number.end
}

/// One character in the place of another: 东区 and 西区, A栋 and B栋.
fn ordered(span: &Span, one: char, other: char) -> Verdict {
    let order = words::orders(one) && words::orders(other);
    let letters = one.is_ascii_alphanumeric() && other.is_ascii_alphanumeric();
    if !order && !letters {
        return Verdict::Nothing;
    }
    match span.unit_or_number() {
        Some((behind, class)) => by_sign(span, &behind, class),
        None => Verdict::Nothing,
    }
}

/// Codes of letters and digits before a word for a place: A3区 and B7区.
fn code(span: &Span) -> Option<Verdict> {
    let is_code = |text: &str| text.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_code(span.x()) || !is_code(span.y()) || span.x().len().max(span.y().len()) > 6 {
        return None;
    }
    let (behind, class) = span.unit_or_number()?;
    Some(by_sign(span, &behind, class))
}

fn by_sign(span: &Span, behind: &str, class: Class) -> Verdict {
    let (one, other) = (format!("{}{behind}", span.x()), format!("{}{behind}", span.y()));
    if span.b.has(&one) || span.a.has(&other) {
        Verdict::Nothing
    } else if class == Class::House {
        Verdict::House
    } else {
        Verdict::Name
    }
}

/// Whether the stretches speak to or of somebody addressed.
fn addressed(span: &Span, unit: Option<Unit>, strong: bool) -> bool {
    if strong {
        let general =
            |words: &[&str]| words.iter().all(|word| words::addressed(word) || words::place(word).is_some());
        return general(&span.words_x) || general(&span.words_y);
    }
    let within =
        |words: &[&str], text: &str| words.iter().any(|word| words::addressed(word) && text.contains(word));
    within(&span.words_x, span.x())
        || within(&span.words_y, span.y())
        || unit.is_none()
            && span.after.iter().find(|word| **word != ",").is_some_and(|word| words::addressed(word))
}

/// Whether words stand in the stead of a name: 贵县, 我市, 本小区.
fn generic(words: &[&str]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let after = |word: &&str| words::place(word).is_some() || words::is_common_noun(word);
    words::generic(first) && rest.iter().all(after)
        || words.len() == 1
            && first.starts_with(['贵', '本', '我', '该', '全'])
            && words::place_behind(first).is_some()
}

fn only_verbs(words: &[&str]) -> bool {
    let verb = |word: &&str| {
        words::is_long(word) && part_of_speech(word).is_some_and(|part| part.starts_with(['v', 'a']))
    };
    words.iter().all(verb)
}

/// Whether a word may be one of a name.
fn nominal(words: &[&str]) -> bool {
    words.iter().any(|word| {
        (words::place(word).is_none() || words.len() == 1)
            && (part_of_speech(word).is_none_or(|part| part.starts_with(['n', 'j', 's']))
                || single(word).is_some() && !is_function(word))
    })
}

/// Whether some of the words look like a name: one that the dictionary says is, or characters that form no word.
fn has_name(words: &[&str]) -> bool {
    let character = |word: &&str| single(word).is_some_and(|c| !c.is_ascii()) && !is_function(word);
    words.iter().enumerate().any(|(at, word)| {
        if words::is_long(word) {
            return !word.is_ascii() && part_of_speech(word).is_none_or(words::is_name);
        }
        let beside = words.get(at + 1).is_some_and(character) || at > 0 && character(&words[at - 1]);
        character(word) && words::place(word).is_none() && beside
    })
}

/// Whether a stretch may be replaced again and again because it is a name.
pub fn is_noun(word: &str) -> bool {
    part_of_speech(word).is_none_or(|part| part.starts_with('n'))
        || single(word).is_some() && !is_function(word)
}

/// Whether the stretch is a level above a name that both texts have: another or a wrong city of the same place.
pub fn is_level_above(span: &Span) -> bool {
    let area = |text: &str| words::place_behind(text).is_some_and(|unit| unit.class == Class::Area);
    if span.unit().is_some() || !area(span.x()) && !area(span.y()) {
        return false;
    }
    let named = |word: &str| words::is_long(word) && part_of_speech(word).is_none_or(words::is_name);
    let character = |word: &&str| single(word).is_some() && *word != "," && !is_function(word);
    match span.after[..] {
        [first, ..] if named(first) => true,
        [first, second, ..] => character(&first) && character(&second) && !first.is_ascii(),
        _ => false,
    }
}

/// The names of one class that only their own text has, of two wordings of which one stands in the other's place.
pub fn wordy(span: &Span) -> Option<(String, String)> {
    if span.length_x() > LONGEST_CLAUSE || span.length_y() > LONGEST_CLAUSE {
        return None;
    }
    let next = span.after.first().filter(|word| words::place(word).is_some());
    let of = |words: &[&str], other: &Text| {
        let words: Vec<&str> = words.iter().chain(next).copied().collect();
        let foreign = |(name, _): &(String, Unit)| !other.has(name) && other.share(name) <= FOREIGN_PLACE;
        names(&words).into_iter().filter(foreign).collect::<Vec<_>>()
    };
    let (one, other) = (of(&span.words_x, span.b), of(&span.words_y, span.a));
    let mut pairs = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let (one, other) = pairs.find(|((one, unit), (other, other_unit))| {
        let length = one.chars().count().min(other.chars().count());
        unit.class == other_unit.class && 2 * common(one, other) < length
    })?;
    let whole = |(name, unit): &(String, Unit)| format!("{name}{}", unit.word);
    Some((whole(one), whole(other)))
}

/// The names before words for a place.
fn names(words: &[&str]) -> Vec<(String, Unit)> {
    /// Characters of the longest name that is looked for backwards.
    const LONGEST: usize = 6;
    let compared = |unit: &Unit| match unit.class {
        Class::Estate | Class::Hospital => true,
        Class::Road | Class::Village | Class::Town | Class::School | Class::Company => unit.strong,
        _ => false,
    };
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(unit) = words::place(word).filter(compared) else { continue };
        let mut length = 0;
        let before = words[..at].iter().rev().take_while(|word| {
            length += word.chars().count();
            let other = **word == "," || is_function(word) || is_verb(word) || words::addressed(word);
            length <= LONGEST && !other && words::place(word).is_none()
        });
        let parts = &words[at - before.count()..at];
        let name = parts.concat();
        if name.chars().count() >= 2
            && (has_name(parts) || parts.len() > 1 && nominal(parts) && !only_verbs(parts))
        {
            found.push((name, unit));
        }
    }
    found
}
