//! Whether two stretches of English that stand in each other's place name two things.
//!
//! Names are told by capitals in the middle of a sentence and by words for streets, schools and companies behind;
//! where capitals say nothing, by those words alone. Misspelt and shortened names are no other names, nor are people
//! addressed, and a number is a name only behind a word such as *order* or *route*.

use super::numbers::Kind;
use super::spans::{AROUND, Span, Verdict};
use super::tokens::{Form, Text, Token};
use crate::interrupt::checked;
use std::ops::Range;

/// Words of the longest name.
const LONGEST_NAME: usize = 6;

/// Words behind a name.
const PLACES: &str = " street st road rd avenue ave lane ln drive close court ct square sq terrace crescent boulevard blvd \
    gardens park row mews grove walk way highway parkway place hill green bridge estate house tower towers apartments flats \
    building buildings quarter village town county borough district parish school academy college university kindergarten \
    nursery hospital clinic surgery pharmacy station airport library museum hotel restaurant cafe pub supermarket market \
    church bank ltd limited inc llc plc corp corporation company co group airlines airways stadium theatre mall centre center ";
/// Words before a number that is the name of a thing.
const NUMBERED: &str = " order invoice ticket case reference ref account policy booking permit flight line route bus tram train \
    licence license contract parcel tracking shipment claim application incident complaint district zone platform gate \
    terminal junction highway ward ";
/// Words before the number of a house or a room.
const HOUSES: &str = " flat room apartment house unit floor block building number ";
/// Words between those and the number.
const BETWEEN: &str = " no nr number id is was my the ";
/// People addressed, words for offices, days and months, and words that are common whatever their capitals.
const COMMON: &str = " i we you he she it they me us them my our your his her its their this that these those a an the and or but nor of \
    in on at to from by for with about as is are was were be been being am do does did have has had will would can could may \
    might must shall should not no yes if when while where why how who whom which what there here then than so very too also \
    just only again still now already since until after before during between because all any some each every both few many \
    much more most other another same such own first second third last next new old main big small long short high low good \
    bad whole front back upper lower local nearby private public primary secondary busy quiet left right north south east west \
    dear sir madam mayor councillor mr mrs ms dr hello hi greetings team support service services customer manager director \
    office officer council authority city government department police ministry management minister president company \
    council's please thanks thank regards sincerely \
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october \
    november december jan feb mar apr jun jul aug sep sept oct nov dec today yesterday tomorrow morning evening night \
    afternoon week month year ";
/// Common words that names begin with.
const FIRST: &str = " old new upper lower north south east west great little high long big ";
/// Words before who writes or who is written to.
const PERSONAL: &str =
    " dear attention attn regards sincerely faithfully yours thanks signed name called am im hi hello ";

fn among(words: &str, word: &str) -> bool {
    words.match_indices(word).any(|(at, _)| {
        words[..at].ends_with(' ') && words[at + word.len()..].starts_with(' ') && !word.is_empty()
    })
}

/// What two stretches are to each other; `None` if they do not stand among words of letters.
pub fn judge(span: &Span) -> Option<Verdict> {
    let (x, y) = (&span.tokens.0, &span.tokens.1);
    let latin = |token: &Token| token.form != Form::Spaceless;
    let around = |text: &Text, range: &Range<usize>| {
        let beside = [range.start.checked_sub(1), Some(range.end)];
        let beside = beside.into_iter().flatten().filter_map(|at| text.tokens.get(at));
        text.tokens[range.clone()].iter().chain(beside).all(latin)
    };
    if !around(span.a, x) || !around(span.b, y) {
        return None;
    }
    let tokens = [&span.a.tokens[x.clone()], &span.b.tokens[y.clone()]];
    if span.crosses_a_break() || tokens.iter().any(|tokens| tokens.len() > LONGEST_NAME) {
        return Some(Verdict::Nothing);
    }
    let whole = name(span);
    if whole == Verdict::Name {
        return Some(whole);
    }
    // Other words beside two names, which differ as well.
    let core = |text: &Text, range: &Range<usize>| {
        let beside = |at: &usize| {
            matches!(text.tokens[*at].form, Form::Letters | Form::Number) || among(COMMON, text.word_at(*at))
        };
        let end = range.clone().rev().find(|at| !beside(at))? + 1;
        Some(range.clone().find(|at| !beside(at))?..end)
    };
    Some(match (core(span.a, x), core(span.b, y)) {
        (Some(x), Some(y)) => name(&Span::new(span.a, span.b, x, y)),
        _ => whole,
    })
}

/// What a number (bytes of `low`) is by the words around it, unless `other` has the name elsewhere: then it may have moved.
pub fn number(text: &Text, other: &Text, number: &Range<usize>) -> Option<Kind> {
    let at = text.at(number.start);
    let id = text.tokens[at].id;
    let is_number = |at: &usize| text.tokens[*at].form == Form::Number;
    let mut before = (0..at).rev().take(AROUND).skip_while(is_number).map(|at| text.word_at(at)).peekable();
    let house = before.peek().is_some_and(|word| among(HOUSES, word));
    let stops = |word: &&str| {
        word.len() > 2 && !among(BETWEEN, word) || word.starts_with(|c: char| c.is_ascii_digit())
    };
    let before = before.find(stops).unwrap_or_default();
    if among(NUMBERED, before) && !other.tokens.iter().any(|token| token.id == id) {
        return Some(Kind::Name);
    }
    let mut after = (at + 2..text.tokens.len()).take(2).map(|at| text.word_at(at));
    (house || after.any(|word| among(PLACES, word))).then_some(Kind::Number)
}

fn name(span: &Span) -> Verdict {
    let tokens = [&span.a.tokens[span.tokens.0.clone()], &span.b.tokens[span.tokens.1.clone()]];
    let after_person =
        |text: &Text, at: usize| (0..at).rev().take(3).any(|at| among(PERSONAL, text.word_at(at)));
    let personal = after_person(span.a, span.tokens.0.start) || after_person(span.b, span.tokens.1.start);
    let common = |text: &Text, range: &Range<usize>| {
        range.clone().any(|at| {
            let word = text.word_at(at);
            let begins = text.tokens[at].form == Form::Capital && at + 1 < range.end && among(FIRST, word);
            among(COMMON, word) && !begins
        })
    };
    if personal || common(span.a, &span.tokens.0) || common(span.b, &span.tokens.1) {
        return Verdict::Nothing;
    }
    let at_end = |words: &[&str]| words.last().is_some_and(|word| among(PLACES, word));
    let behind = span.after.iter().take(2).position(|word| among(PLACES, word));
    // The last word for a place belongs to no name, and every street is one: it makes no name known.
    let name = |text: &Text, range: &Range<usize>| {
        let place = among(PLACES, text.word_at(range.end - 1)) && (range.len() > 1 || behind.is_none());
        range.start..range.end - usize::from(place)
    };
    let (name_x, name_y) = (name(span.a, &span.tokens.0), name(span.b, &span.tokens.1));
    let is_word = |text: &Text, name: &Range<usize>| {
        name.clone().any(|at| text.word_at(at).contains(char::is_alphabetic))
    };
    if !is_word(span.a, &name_x) || !is_word(span.b, &name_y) {
        return Verdict::Nothing;
    }
    let foreign = |text: &Text, name: &Range<usize>, other: &Text| {
        let known = |at: &usize| other.tokens.iter().any(|there| there.id == text.tokens[*at].id);
        3 * name.clone().filter(known).count() <= name.len()
    };
    let (x, y) = (foreign(span.a, &name_x, span.b), foreign(span.b, &name_y, span.a));
    if !x && !y || same_name(span.whole_x(), span.whole_y()) {
        return Verdict::Nothing;
    }
    let unit = match behind {
        Some(at) => Some(span.a.tokens[span.tokens.0.end + at].form),
        None if at_end(&span.words_x) && at_end(&span.words_y) => tokens[0].last().map(|token| token.form),
        None => None,
    };
    let written =
        |form: fn(Form) -> bool| tokens.iter().all(|tokens| tokens.iter().all(|token| form(token.form)));
    let may_be = written(|form| form != Form::Letters);
    let place = unit.is_some_and(|unit| unit != Form::Letters) && may_be;
    // In capitals throughout a name shows no capital of its own, but the other text's does.
    let capital =
        |tokens: &[Token]| tokens.iter().all(|token| matches!(token.form, Form::Capital | Form::Number));
    let shouted = |text: &Text, range: &Range<usize>| range.clone().all(|at| text.is_shouted(at));
    let capitals = match tokens.map(capital) {
        [true, true] => true,
        [true, false] => shouted(span.b, &span.tokens.1),
        [false, true] => shouted(span.a, &span.tokens.0),
        [false, false] => false,
    };
    // A name that the other text has elsewhere may have moved, unless all around it is equal.
    let stands = span.stands_in_equal_text;
    if (place && (x && y || stands)) || capitals && stands { Verdict::Name } else { Verdict::Nothing }
}

/// Whether two names are one: misspelt, or one of them short for the other.
fn same_name(x: &str, y: &str) -> bool {
    let (long, short) = if x.len() < y.len() { (y, x) } else { (x, y) };
    let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<Vec<char>>();
    let (long, short) = (letters(long), letters(short));
    let mut rest = long.iter();
    let abbreviated = short.first() == long.first() && short.iter().all(|c| rest.any(|other| other == c));
    abbreviated || is_within(2.min(long.len() / 3), &long, &short)
}

/// Whether so many insertions, deletions, replacements and swaps of neighbours make one word of the other (Damerau and
/// Levenshtein, restricted). Takes time of the words' length, however long they are.
fn is_within(most: usize, a: &[char], b: &[char]) -> bool {
    let same = checked(a.iter().zip(b)).take_while(|(x, y)| x == y).count();
    let (a, b) = (&a[same..], &b[same..]);
    if a.len().abs_diff(b.len()) > most {
        return false;
    }
    let ([x, after_x @ ..], [y, after_y @ ..]) = (a, b) else { return true };
    let Some(left) = most.checked_sub(1) else { return false };
    let swapped = |x: &char, y: &char| match (after_x, after_y) {
        ([second_x, a @ ..], [second_y, b @ ..]) if x == second_y && y == second_x => is_within(left, a, b),
        _ => false,
    };
    is_within(left, after_x, after_y)
        || is_within(left, after_x, b)
        || is_within(left, a, after_y)
        || swapped(x, y)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the table of all prefixes.
    fn distance(a: &[char], b: &[char]) -> usize {
        let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
        for i in 0..=a.len() {
            for j in 0..=b.len() {
                rows[i][j] = match (i, j) {
                    (0, n) | (n, 0) => n,
                    _ => (rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]))
                        .min(rows[i - 1][j] + 1)
                        .min(rows[i][j - 1] + 1),
                };
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    rows[i][j] = rows[i][j].min(rows[i - 2][j - 2] + 1);
                }
            }
        }
        rows[a.len()][b.len()]
    }

    #[test]
    fn letters_that_change_places_are_one_mistake() {
        for (a, b, expected) in
            [("", "", 0), ("ab", "ba", 1), ("oak", "elm", 3), ("grove", "gorve", 1), ("abc", "", 3)]
        {
            let (x, y) = (a.chars().collect::<Vec<_>>(), b.chars().collect::<Vec<_>>());
            assert_eq!(distance(&x, &y), expected, "{a} {b}");
            for most in 0..4 {
                assert_eq!(is_within(most, &x, &y), expected <= most, "{a} {b}");
                assert_eq!(is_within(most, &y, &x), expected <= most, "{b} {a}");
            }
        }
    }

    #[test]
    fn what_is_within_is_what_the_whole_table_says() {
        let mut random = crate::random::SplitMix64::new(5);
        for _ in 0..20_000 {
            let mut word =
                || (0..random.below(7)).map(|_| ['a', 'b', 'c'][random.below(3)]).collect::<Vec<_>>();
            let (a, b) = (word(), word());
            for most in 0..4 {
                assert_eq!(is_within(most, &a, &b), distance(&a, &b) <= most, "{a:?} {b:?}");
            }
        }
    }
}
