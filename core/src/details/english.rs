//! Whether two stretches of English that stand in each other's place name two things.
//!
//! Names are told by capitals in the middle of a sentence and by words for streets, schools and companies behind;
//! where capitals say nothing, by those words alone. Misspelt and shortened names are no other names, nor are people
//! addressed. A number is a name only behind a word such as *route*; behind one such as *order* that also says how many,
//! only if it has three digits or a sign that it is a number.

use super::spans::{AROUND, NAME, NUMBER, Side, Span, Verdict};
use super::tokens::{Form, Text, Token};
use crate::interrupt::checked;
use std::ops::Range;

/// Words of the longest name.
const LONGEST_NAME: usize = 6;
/// Digits of a number that looks like that of a thing.
const LONG: usize = 3;

word_sets! {
    /// Words behind a name.
    is_place "street st road rd avenue ave lane ln drive close court ct square sq terrace crescent boulevard blvd \
        gardens park row mews grove walk way highway parkway place hill green bridge estate house tower towers apartments flats \
        building buildings quarter village town county borough district parish school academy college university kindergarten \
        nursery hospital clinic surgery pharmacy station airport library museum hotel restaurant cafe pub supermarket market \
        church bank ltd limited inc llc plc corp corporation company co group airlines airways stadium theatre mall centre center"
    /// Words before a number that is the name of a thing.
    is_numbered "flight line route bus tram train district zone platform gate terminal junction highway ward"
    /// Words before a number that is one if it looks so: one orders 3 pizzas.
    is_filed "order invoice ticket case reference ref account policy booking permit licence license contract parcel \
        tracking shipment claim application incident complaint"
    /// Words that say of a number that it is one; a # does as well.
    is_sign "no nr number id"
    /// Words before the number of a house or a room.
    is_house "flat room apartment house unit floor block building number"
    /// Words before a letter or a Roman numeral that is the name of a thing.
    is_lettered "part phase stage section chapter volume book block wing hall type class grade group level plan option annex \
        appendix form vitamin hepatitis exit pier lot"
    /// Words between those and the number, besides the signs.
    is_between "is was my the"
    /// People addressed, words for offices, days and months, and words that are common whatever their capitals.
    is_common "i we you he she it they me us them my our your his her its their this that these those a an the and or but nor of \
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
        afternoon week month year"
    /// Words of amounts.
    is_count "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen \
        nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion"
    /// Common words that names begin with.
    is_first "old new upper lower north south east west great little high long big"
    /// Words before who writes or who is written to.
    is_of_people "attention attn regards sincerely faithfully yours thanks signed name called am im"
    /// Words that greet.
    is_greeting "dear hi hello"
}

/// What two stretches are to each other; `None` if they do not stand among words of letters.
pub fn judge(span: &Span) -> Option<Verdict> {
    let latin = |token: &Token| token.form != Form::Spaceless;
    let in_letters = |Side { text, tokens, .. }: &Side| {
        let beside = tokens.start.saturating_sub(1)..text.tokens.len().min(tokens.end + 1);
        text.tokens[beside].iter().all(latin)
    };
    if !span.both(in_letters) {
        return None;
    }
    if span.crosses_a_break() || span.any(|side| side.tokens.len() > LONGEST_NAME) {
        return Some(Verdict::Nothing);
    }
    let whole = name(span);
    if whole == Verdict::Name {
        return Some(whole);
    }
    // Other words beside two names, which differ as well.
    let core = |Side { text, tokens, .. }: &Side| {
        let beside = |at: &usize| {
            matches!(text.tokens[*at].form, Form::Letters | Form::Number) || is_common(text.word_at(*at))
        };
        let end = tokens.clone().rev().find(|at| !beside(at))? + 1;
        Some(tokens.clone().find(|at| !beside(at))?..end)
    };
    let [a, b] = &span.sides;
    Some(match (core(a), core(b)) {
        (Some(x), Some(y)) => name(&Span::new(a.text, b.text, x, y)),
        _ => whole,
    })
}

/// What a number (bytes of `low`) is by the words around it, unless `other` has the name elsewhere: then it may have moved.
pub fn number(text: &Text, other: &Text, number: &Range<usize>) -> Option<&'static str> {
    let at = text.at(number.start);
    let id = text.tokens[at].id;
    let is_number = |at: &usize| text.tokens[*at].form == Form::Number;
    // Numbers side by side are one.
    let first = (0..=at).rev().take(AROUND).take_while(is_number).last().unwrap_or(at);
    let end = (at..text.tokens.len()).take(AROUND).take_while(is_number).last().unwrap_or(at) + 1;
    let looks_so = text.of(&(first..end)).bytes().filter(u8::is_ascii_digit).count() >= LONG;
    let mut is_said = looks_so || text.is_marked(first);
    let mut before = (0..first).rev().take(AROUND).map(|at| text.word_at(at)).peekable();
    let house = before.peek().is_some_and(|word| is_house(word));
    let before = before.find(|word| {
        let sign = is_sign(word);
        is_said |= sign;
        word.len() > 2 && !sign && !is_between(word) || word.starts_with(|c: char| c.is_ascii_digit())
    });
    let before = before.unwrap_or_default();
    let named = is_numbered(before) || is_said && is_filed(before);
    if named && !other.tokens.iter().any(|token| token.id == id) {
        return Some(NAME);
    }
    // The road behind an article: the A38.
    let road = |letter: usize| {
        let article =
            letter.checked_sub(1).is_some_and(|at| matches!(text.word_at(at), "the" | "junction" | "road"));
        article && text.is_joined(letter) && text.word_at(letter).len() == 1 && text.is_shouted(letter)
    };
    if at.checked_sub(1).is_some_and(road) && !other.tokens.iter().any(|token| token.id == id) {
        return Some(NAME);
    }
    let mut after = (at + 2..text.tokens.len()).take(2).map(|at| text.word_at(at));
    (house || after.any(is_place)).then_some(NUMBER)
}

/// The word that a side is, if it is a Roman numeral or a single letter in capitals.
fn counted<'t>(side: &Side<'t>) -> Option<&'t str> {
    let [word] = side.words[..] else { return None };
    let roman = word.len() < 6 && word.bytes().all(|byte| b"ivx".contains(&byte));
    let counts = roman || word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    (counts && side.text.is_shouted(side.tokens.start)).then_some(word)
}

fn name(span: &Span) -> Verdict {
    // Part II and Part IV, Building A and Building B.
    if let [Some(a), Some(b)] = span.sides.each_ref().map(counted)
        && a != b
        && let Some(before) = span.before.last()
        && (is_house(before) || is_lettered(before) || is_numbered(before))
    {
        return if is_house(before) { Verdict::House } else { Verdict::Name };
    }
    let personal = |Side { text, tokens, .. }: &Side| {
        let mut before = (0..tokens.start).rev().take(3).map(|at| text.word_at(at));
        // Whom a letter greets ends with the clause.
        let greeted = before.clone().take_while(|word| *word != ",").any(is_greeting);
        greeted || before.any(is_of_people)
    };
    let common = |Side { text, tokens, .. }: &Side| {
        tokens.clone().any(|at| {
            let word = text.word_at(at);
            let begins = text.tokens[at].form == Form::Capital && at + 1 < tokens.end && is_first(word);
            is_common(word) && !begins
        })
    };
    if span.any(|side| personal(side) || common(side)) {
        return Verdict::Nothing;
    }
    let behind = span.after.iter().take(2).position(|word| is_place(word));
    // The last word for a place belongs to no name, and every street is one: it makes no name known.
    let name = |Side { text, tokens, .. }: &Side| {
        let place = is_place(text.word_at(tokens.end - 1)) && (tokens.len() > 1 || behind.is_none());
        tokens.start..tokens.end - usize::from(place)
    };
    let has_letters = |side: &Side| name(side).any(|at| side.text.word_at(at).contains(char::is_alphabetic));
    if !span.both(has_letters) {
        return Verdict::Nothing;
    }
    let foreign = |side: &Side| {
        let known = |at: &usize| side.other.tokens.iter().any(|there| there.id == side.text.tokens[*at].id);
        3 * name(side).filter(known).count() <= name(side).len()
    };
    let [a, b] = &span.sides;
    if !span.any(foreign) || same_name(a.whole(), b.whole()) {
        return Verdict::Nothing;
    }
    let unit = match behind {
        Some(at) => Some(a.tokens.end + at),
        None => Some(a.tokens.end - 1)
            .filter(|_| span.both(|side| side.words.last().is_some_and(|word| is_place(word)))),
    };
    let written = |side: &Side, form: fn(Form) -> bool| {
        side.text.tokens[side.tokens.clone()].iter().all(|token| form(token.form))
    };
    let place = unit.is_some_and(|at| a.text.tokens[at].form != Form::Letters)
        && span.both(|side| written(side, |form| form != Form::Letters));
    // In capitals throughout a name shows no capital of its own, but the other text's does.
    let capital = |side: &Side| written(side, |form| matches!(form, Form::Capital | Form::Number));
    let shouted = |side: &Side| side.tokens.clone().all(|at| side.text.is_shouted(at));
    let capitals = span.any(capital) && span.both(|side| capital(side) || shouted(side));
    // A name that the other text has elsewhere may have moved, unless all around it is equal.
    let stands = span.stands_in_equal_text;
    if place && (stands || span.both(foreign)) || capitals && stands {
        Verdict::Name
    } else {
        Verdict::Nothing
    }
}

/// Whether a word is common whatever its capitals, an office, or stands before who writes or is written to.
pub fn is_personal(word: &str) -> bool {
    is_common(word) || is_of_people(word)
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
pub fn is_within(most: usize, a: &[char], b: &[char]) -> bool {
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
    use crate::records::edits;

    /// Letters that change places are one mistake.
    #[test]
    fn what_is_within_is_what_the_whole_table_says() {
        let letters = |word: &str| word.chars().collect::<Vec<_>>();
        assert_eq!(edits(&letters("grove"), &letters("gorve")), 1);
        let mut random = crate::random::SplitMix64::new(5);
        for _ in 0..20_000 {
            let mut word =
                || (0..random.below(7)).map(|_| ['a', 'b', 'c'][random.below(3)]).collect::<Vec<_>>();
            let (a, b) = (word(), word());
            for most in 0..4 {
                assert_eq!(is_within(most, &a, &b), edits(&a, &b) <= most, "{a:?} {b:?}");
            }
        }
    }
}
