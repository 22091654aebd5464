//! Whether two stretches of Chinese that stand in each other's place name two things.
//!
//! Names are told by where they stand (before a word for a kind of place), by the dictionary (names of places and
//! people, characters that form no word), and by being foreign: what the other text says elsewhere is only moved.
//! Misspelt and shortened names, people addressed, and other wordings are no other names.

use super::align;
use super::chinese_words::{self as words, Class, Unit, is_function, is_verb, single};
use super::spans::{NAME, NUMBER, Side, Span, Verdict};
use super::tokens::Text;
use crate::text::{is_spaceless_char, tag as part_of_speech};
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
    let [x, y] = span.sides.each_ref().map(Side::says);
    // Where no word can be told, as in Tibetan, no name can.
    let untold = |side: &Side| side.says().chars().any(|c| is_spaceless_char(c) && !is_told(c));
    if span.any(untold) {
        return Verdict::Nothing;
    }
    let of_numbers = |side: &Side| side.says().chars().all(|c| c.is_ascii_digit() || " 年月日号".contains(c));
    if x.is_empty() || y.is_empty() || span.both(of_numbers) || numbered(span) {
        return Verdict::Nothing;
    }
    if span.crosses_a_break() {
        return Verdict::Wordy;
    }
    if let (Some(one), Some(other)) = (single(x), single(y)) {
        return ordered(span, one, other);
    }
    let lengths = [x, y].map(|says| says.chars().count());
    if lengths.iter().any(|length| *length > LONGEST_NAME) {
        return Verdict::Wordy;
    }
    if let Some(verdict) = code(span) {
        return verdict;
    }
    let unit = span.unit();
    if addressed(span, unit) || span.any(|side| generic(&side.words)) {
        return Verdict::Nothing;
    }
    let absent = unit.is_some() && !span.any(|side| side.other.has(side.says()));
    let limit = if absent { FOREIGN_PLACE } else { FOREIGN };
    if span.any(|side| side.other.share(side.says()) > limit)
        || 2 * common(x, y) >= lengths[0].min(lengths[1])
    {
        return Verdict::Nothing;
    }
    if span.words().any(is_function) {
        return Verdict::Wordy;
    }
    name(span, unit)
}

/// Names, of what is foreign and no other spelling.
fn name(span: &Span, unit: Option<Unit>) -> Verdict {
    let strong = is_strong(unit) || unit.is_none() && span.both(is_estate);
    let times = |side: &Side| side.words.iter().filter(|word| words::is_time(word)).count();
    if span.any(|side| single(side.says()).is_some() || times(side) == side.words.len())
        || !strong && span.any(|side| times(side) > 0)
    {
        return Verdict::Nothing;
    }
    if span.any(|side| side.length() > 6 && side.words.iter().any(|word| is_verb(word))) {
        return Verdict::Wordy;
    }
    if strong {
        let wordings = span.both(|side| only_verbs(&side.words));
        return if wordings { Verdict::Words } else { Verdict::Name };
    }
    let named = |side: &Side| has_name(&side.words);
    let place = |side: &Side| {
        let long = || words::place_behind(side.whole()).filter(|unit| words::is_long(unit.word));
        let common_noun = side.words.len() == 1 && words::is_common_noun(side.words[0]);
        words::place_behind(side.says()).or_else(long).is_some() && !common_noun
    };
    // What both say behind 在 and the like is where it is: the name of a shop or a school whose kind nobody tells.
    let there = |side: &Side| {
        let general = |word: &&str| words::place(word).is_some() || words::is_common_noun(word);
        let is_general = words::is_locative(side.whole()) || !named(side) && side.words.iter().all(general);
        (2..=6).contains(&side.length()) && !is_general
    };
    let is_where = span.before.last().is_some_and(|word| words::before_where(word));
    if unit.is_none() && is_where && span.stands_in_equal_text && span.any(named) && span.both(there) {
        Verdict::Name
    } else if !span.both(|side| nominal(&side.words)) {
        Verdict::Words
    } else if unit.is_some() {
        if span.any(named) { Verdict::Name } else { Verdict::Words }
    } else if span.both(place) {
        Verdict::Name
    } else if span.both(|side| words::is_person(side.says(), side.words.iter().copied())) {
        let before = || span.before.iter().rev();
        let subject = before().take(2).any(|word| words::before_person(word))
            && !before().take(4).any(|word| words::personal(word));
        if subject { Verdict::Name } else { Verdict::Nothing }
    } else if !span.both(|side| named(side) || place(side))
        || span.words().any(|word| is_verb(word) || digits(word))
    {
        Verdict::Words
    } else if span.stands_in_equal_text {
        Verdict::Name
    } else {
        Verdict::Nothing
    }
}

/// Whether a character is of a script whose words are told: Chinese, Japanese.
fn is_told(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{31F0}'..='\u{31FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// Whether what stands before a word for a place is nearly always a name.
fn is_strong(unit: Option<Unit>) -> bool {
    unit.is_some_and(|unit| unit.strong)
}

/// Whether a side names an estate, or a phase of one.
fn is_estate(side: &Side) -> bool {
    let whole = side.whole();
    let name = whole.strip_suffix('期').map_or(whole, |it| it.trim_end_matches(words::is_digit));
    words::place_behind(name)
        .is_some_and(|unit| unit.strong && unit.class == Class::Estate && unit.word.len() < name.len())
}

/// Characters that two names have in common, in their order.
fn common(a: &str, b: &str) -> usize {
    let characters = |text: &str| text.chars().collect::<Vec<char>>();
    align::common(&characters(a), &characters(b))
}

fn digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether only a number differs, before a word that makes it a name: 3号线, 第二小学.
fn numbered(span: &Span) -> bool {
    let Side { text, differ, .. } = &span.sides[0];
    let tail = text.low[differ.end..].trim_start_matches(words::is_part);
    words::numbered_before(tail).is_some() && span.both(|side| side.says().chars().all(words::is_part))
}

/// What a number (bytes of `low`) is by the words around it, unless `other` has the name elsewhere: then it may have moved.
pub fn number(text: &Text, other: &Text, number: &Range<usize>) -> Option<&'static str> {
    let whole = &text.low[number.clone()];
    let before = (0..text.at(number.start)).rev().take(4);
    let coded = with_letters(text, number.clone());
    let road = coded.start < number.start
        && text.at(coded.start).checked_sub(1).is_some_and(|at| words::before_road(text.word_at(at)));
    if road && !other.has(&text.low[coded]) {
        return Some(NAME);
    }
    if whole.len() >= 4 && !other.has(whole) && before.map(|at| text.word_at(at)).any(words::before_number) {
        return Some(NAME);
    }
    // A day: 5月3号楼道停电.
    let unit = words::numbered_before(&text.low[number.end..])
        .filter(|_| !text.low[..number.start].ends_with('月'))?;
    let name = format!("{}{}", &text.low[with_letters(text, number.clone())], unit.word);
    let is_name = unit.class != Class::House && !other.has(&name);
    Some(if is_name { NAME } else { NUMBER })
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
    by_sign(span).unwrap_or(Verdict::Nothing)
}

/// Codes of letters and digits before a word for a place: A3区 and B7区.
fn code(span: &Span) -> Option<Verdict> {
    let is_code =
        |side: &Side| side.differ.len() <= 6 && side.says().bytes().all(|byte| byte.is_ascii_alphanumeric());
    if span.both(is_code) { by_sign(span) } else { None }
}

/// Names of what the word behind says, if one of a place stands there, unless one has moved.
fn by_sign(span: &Span) -> Option<Verdict> {
    let (behind, class) = span.unit_or_number()?;
    let moved = span.any(|side| side.other.has(&format!("{}{behind}", side.says())));
    Some(match class {
        _ if moved => Verdict::Nothing,
        Class::House => Verdict::House,
        _ => Verdict::Name,
    })
}

/// Whether the stretches speak to or of somebody addressed.
fn addressed(span: &Span, unit: Option<Unit>) -> bool {
    if is_strong(unit) {
        let general = |word: &&str| words::addressed(word) || words::place(word).is_some();
        return span.any(|side| side.words.iter().all(general));
    }
    let next = || span.after.iter().find(|word| **word != ",").is_some_and(|word| words::addressed(word));
    let within =
        |side: &Side| side.words.iter().any(|word| words::addressed(word) && side.says().contains(word));
    // An estate that is the title of a letter is not whom it greets.
    span.any(within) || unit.is_none() && next() && !span.both(is_estate)
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
    if span.unit().is_some() || !span.any(|side| area(side.says())) {
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
    if span.any(|side| side.length() > LONGEST_CLAUSE) {
        return None;
    }
    let next = span.after.first().filter(|word| words::place(word).is_some());
    let [one, other] = span.sides.each_ref().map(|side| {
        let words: Vec<&str> = side.words.iter().chain(next).copied().collect();
        let foreign = |name: &str| !side.other.has(name) && side.other.share(name) <= FOREIGN_PLACE;
        names(&words).into_iter().filter(|(name, _)| foreign(name)).collect::<Vec<_>>()
    });
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
