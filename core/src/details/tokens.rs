//! The tokens of a text: words of jieba, words of other scripts, numbers, and breaks.

use crate::interrupt::{Meter, checked};
use crate::memory::{self, Grow, OrRaise, Room};
use crate::text::Segmenter;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;
use std::sync::OnceLock;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The number of every break: punctuation that ends a clause, or the end of a line.
pub const BREAK: u32 = 0;

#[derive(Debug, Clone)]
pub struct Token {
    /// Equal tokens of the two texts have the same number.
    pub id: u32,
    /// Its bytes in [`Text::low`].
    pub low: Range<usize>,
    /// Its bytes in [`Text::shown`].
    shown: Range<usize>,
    pub form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Punctuation that ends a clause, or the end of a line.
    Break,
    /// Digits, perhaps with a decimal point.
    Number,
    /// A word of Chinese or another script without spaces.
    Spaceless,
    /// A word of letters in small ones, in a sentence that has capitals too.
    Letters,
    /// A word of letters where capitals say nothing: the first of a sentence, in a title, in small letters throughout.
    Unsure,
    /// A word of letters with a capital in the middle of a sentence that has small letters too.
    Capital,
}

#[derive(Debug, Default)]
pub struct Text {
    pub tokens: Vec<Token>,
    /// The tokens in small letters: words of letters apart by a space, all others joined.
    pub low: String,
    /// The text in compatible characters (NFKC), as it is shown.
    shown: String,
    bigrams: OnceLock<FxHashSet<(char, char)>>,
    /// Once it is asked for.
    pub letter: OnceLock<Letter>,
}

/// What of a text may be a letter.
#[derive(Debug)]
pub struct Letter {
    /// Whether it has a greeting or a closing formula.
    pub is_one: bool,
    /// Where its foot begins.
    pub foot: usize,
    /// Where near its beginning it names who sends it, and whether it says that of the name.
    pub sender: Option<(usize, bool)>,
}

/// Bytes of texts whose clauses are remembered, about a tenth of the memory of that.
const KEPT: usize = 1 << 20;

/// What texts that are compared have in common: numbers for words, and the words of clauses that were cut before.
#[derive(Debug, Default)]
pub struct Ids {
    words: FxHashMap<String, u32>,
    clauses: FxHashMap<String, Vec<(u32, Range<usize>)>>,
    /// Of all these.
    bytes: usize,
}

impl Ids {
    /// Forgets words and clauses if they are many; whether it did.
    pub fn keep_small(&mut self) -> bool {
        let is_large = self.bytes > KEPT;
        if is_large {
            *self = Ids::default();
        }
        is_large
    }

    fn of(&mut self, word: &str) -> u32 {
        if let Some(&id) = self.words.get(word) {
            return id;
        }
        self.words.room(1).or_raise();
        let id = self.words.len() as u32 + 1;
        self.bytes += word.len();
        self.words.insert(memory::copy_str(word).or_raise(), id);
        id
    }

    /// The words of a clause of Chinese and the like: number and bytes of each.
    fn cut(&mut self, clause: &str) -> &[(u32, Range<usize>)] {
        if !self.clauses.contains_key(clause) {
            let mut cut = Vec::new();
            Segmenter::shared().words(clause, false, |word| {
                let start = word.as_ptr().addr() - clause.as_ptr().addr();
                cut.grow((self.of(word), start..start + word.len())).or_raise();
            });
            self.clauses.room(1).or_raise();
            self.bytes += clause.len();
            self.clauses.insert(memory::copy_str(clause).or_raise(), cut);
        }
        &self.clauses[clause]
    }
}

/// What a character does to a token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Digit,
    Letter,
    Spaceless,
    Break,
    Space,
    /// An apostrophe or an invisible character: nothing.
    Nothing,
}

fn kind(c: char) -> Kind {
    match c {
        '0'..='9' => Kind::Digit,
        'a'..='z' | 'A'..='Z' => Kind::Letter,
        '。' | '、' | '.' | ',' | ';' | ':' | '!' | '?' | '\n' | '\r' => Kind::Break,
        '\'' => Kind::Nothing,
        '\u{0}'..='\u{7F}' => Kind::Space,
        '\u{4E00}'..='\u{9FFF}' => Kind::Spaceless,
        _ if crate::text::is_nothing(c) => Kind::Nothing,
        _ if c.is_numeric() && !c.is_alphabetic() => Kind::Digit,
        _ if c.is_alphabetic() || is_combining_mark(c) => {
            if crate::text::is_spaceless_char(c) {
                Kind::Spaceless
            } else {
                Kind::Letter
            }
        }
        _ => Kind::Space,
    }
}

impl Text {
    pub fn new(text: &str, ids: &mut Ids) -> Text {
        let shown = compatible(text);
        let mut meter = Meter::new();
        let mut made = Text::default();
        made.low.room(shown.len()).or_raise();
        let (mut rest, mut sentence) = (0, 0);
        while let Some(c) = shown[rest..].chars().next() {
            meter.work(4);
            let first = kind(c);
            let mut end = rest + c.len_utf8();
            match first {
                Kind::Nothing | Kind::Space => {}
                Kind::Break if c == '.' && made.ends_in_title() => {}
                Kind::Break => {
                    if matches!(c, '。' | '.' | '!' | '?' | '\n' | '\r') {
                        weigh_capitals(&mut made.tokens[sentence..]);
                        sentence = made.tokens.len();
                    }
                    if made.tokens.last().is_some_and(|last| last.form != Form::Break) {
                        made.push(",", BREAK, rest..end, Form::Break);
                    }
                }
                Kind::Digit => {
                    end = number(&shown, rest);
                    made.number(&shown, rest..end, ids);
                }
                Kind::Letter | Kind::Spaceless => {
                    let more =
                        |c: char| kind(c) == first || first == Kind::Letter && kind(c) == Kind::Nothing;
                    end = shown[rest..].find(|c| !more(c)).map_or(shown.len(), |length| rest + length);
                    if first == Kind::Letter {
                        made.word(&shown, rest..end, ids);
                    } else {
                        made.words(&shown, rest..end, ids);
                    }
                }
            }
            rest = end;
        }
        weigh_capitals(&mut made.tokens[sentence..]);
        made.shown = shown;
        made
    }

    /// Whether the last word is a title that is written with a full stop.
    fn ends_in_title(&self) -> bool {
        self.tokens.last().is_some_and(|last| {
            matches!(&self.low[last.low.clone()], "dr" | "mr" | "mrs" | "ms" | "prof" | "st")
        })
    }

    fn push(&mut self, low: &str, id: u32, shown: Range<usize>, form: Form) {
        let apart = matches!(form, Form::Letters | Form::Number)
            && self.tokens.last().is_some_and(|last| {
                !matches!(last.form, Form::Spaceless | Form::Break) && last.shown.end < shown.start
            });
        if apart {
            self.low.push(' ');
        }
        let start = self.low.len();
        self.low.room(low.len() + 1).or_raise();
        self.low.push_str(low);
        self.tokens.grow(Token { id, low: start..self.low.len(), shown, form }).or_raise();
    }

    fn words(&mut self, text: &str, range: Range<usize>, ids: &mut Ids) {
        for (id, word) in ids.cut(&text[range.clone()]) {
            let word = range.start + word.start..range.start + word.end;
            self.push(&text[word.clone()], *id, word, Form::Spaceless);
        }
    }

    fn word(&mut self, text: &str, range: Range<usize>, ids: &mut Ids) {
        let low: String = text[range.clone()]
            .chars()
            .filter(|&c| kind(c) == Kind::Letter)
            .flat_map(crate::text::fold)
            .collect();
        let form =
            if text[range.clone()].starts_with(char::is_uppercase) { Form::Capital } else { Form::Letters };
        // Whether the capital says something is seen at the end of the sentence.
        let at = self.tokens.len();
        self.push(&low, ids.of(&low), range, Form::Letters);
        self.tokens[at].form = form;
    }

    fn number(&mut self, text: &str, range: Range<usize>, ids: &mut Ids) {
        let digit = |c: char| match c {
            'l' | 'I' => '1',
            'o' | 'O' => '0',
            c => c,
        };
        let low: String = text[range.clone()].chars().filter(|c| *c != ',').map(digit).collect();
        self.push(&low, ids.of(&low), range, Form::Number);
    }

    /// The bytes of a range of tokens in [`Text::low`].
    pub fn bytes(&self, range: &Range<usize>) -> Range<usize> {
        match (self.tokens.get(range.start), range.end.checked_sub(1)) {
            (Some(first), Some(last)) if range.start < range.end => {
                first.low.start..self.tokens[last].low.end
            }
            _ => 0..0,
        }
    }

    /// The tokens of a range, in small letters, as they follow each other.
    pub fn of(&self, range: &Range<usize>) -> &str {
        &self.low[self.bytes(range)]
    }

    /// The token of a byte of [`Text::low`], or the next one.
    pub fn at(&self, low: usize) -> usize {
        self.tokens.partition_point(|token| token.low.end <= low)
    }

    pub fn word_at(&self, at: usize) -> &str {
        &self.low[self.tokens[at].low.clone()]
    }

    /// Whether a range of tokens goes over the end of a line.
    pub fn has_lines(&self, range: &Range<usize>) -> bool {
        let shown = range.clone().map(|at| &self.tokens[at].shown);
        let (first, last) = (shown.clone().next(), shown.last());
        first.zip(last).is_some_and(|(first, last)| self.shown[first.start..last.end].contains(['\n', '\r']))
    }

    /// Whether a part of the text as it is shown has something of a token.
    pub fn is_in(&self, at: usize, part: &str) -> bool {
        let start = part.as_ptr().addr() - self.shown.as_ptr().addr();
        self.tokens[at].shown.start < start + part.len() && start < self.tokens[at].shown.end
    }

    /// The text as it is shown, up to a token.
    pub fn shown_until(&self, at: usize) -> &str {
        &self.shown[..self.tokens.get(at).map_or(self.shown.len(), |token| token.shown.start)]
    }

    /// Whether nothing stands between a token and the next one.
    pub fn is_joined(&self, at: usize) -> bool {
        self.tokens.get(at + 1).is_some_and(|next| next.shown.start == self.tokens[at].shown.end)
    }

    pub fn is_marked(&self, at: usize) -> bool {
        self.shown[..self.tokens[at].shown.start].ends_with('#')
    }

    /// Whether three tokens from one on are a date: 2024-03-05, 2024/3/5.
    pub fn is_iso_date(&self, at: usize) -> bool {
        let Some([year, month, day]) = self.tokens.get(at..at + 3) else { return false };
        let value = |token: &Token| self.low[token.low.clone()].parse().unwrap_or(0);
        let sign =
            |from: &Token, to: &Token| matches!(&self.shown[from.shown.end..to.shown.start], "-" | "/");
        sign(year, month)
            && sign(month, day)
            && matches!((value(year), value(month), value(day)), (1900..=2100, 1..=12, 1..=31))
    }

    /// A token as it is shown.
    pub fn shown_at(&self, at: usize) -> &str {
        &self.shown[self.tokens[at].shown.clone()]
    }

    /// Whether a colon follows a range of tokens.
    pub fn is_label(&self, range: &Range<usize>) -> bool {
        self.tokens.get(range.end).is_some_and(|behind| self.shown[behind.shown.start..].starts_with(':'))
    }

    /// Whether a token is a word or a number without a small letter.
    pub fn is_shouted(&self, at: usize) -> bool {
        let shown = self.shown_at(at);
        shown.chars().any(char::is_alphanumeric) && !shown.contains(char::is_lowercase)
    }

    /// The tokens of a range as the text has them, shortened in the middle; `None` if there are but breaks.
    pub fn passage(&self, range: &Range<usize>) -> Option<String> {
        let is_word = |at: &usize| self.tokens[*at].form != Form::Break;
        let (first, last) = (range.clone().find(is_word)?, range.clone().rfind(is_word)?);
        Some(shortened(&self.shown[self.tokens[first].shown.start..self.tokens[last].shown.end]))
    }

    /// Characters of `low` that belong to a token, as the text has them; those of a Chinese word one by one.
    pub fn shown_part(&self, low: &Range<usize>) -> String {
        let mut out = String::new();
        let first = self.at(low.start);
        for token in self.tokens[first..].iter().take_while(|token| token.low.start < low.end) {
            let Range { start: mut from, end: mut to } = token.shown;
            if token.form == Form::Spaceless {
                from += low.start.saturating_sub(token.low.start);
                to -= token.low.end.saturating_sub(low.end);
            }
            if !out.is_empty() && self.low[..token.low.start].ends_with(' ') {
                out.push(' ');
            }
            out.push_str(&self.shown[from..to]);
        }
        out
    }

    /// Whether `part`, in small letters, stands anywhere.
    pub fn has(&self, part: &str) -> bool {
        self.share(part) >= 1.0 && self.low.contains(part)
    }

    /// The share of the pairs of characters of `part` that the text has; of a single character: whether it has it.
    pub fn share(&self, part: &str) -> f64 {
        let all = self.bigrams.get_or_init(|| {
            let mut all = FxHashSet::default();
            let mut meter = Meter::new();
            for pair in self.low.chars().zip(self.low.chars().skip(1)) {
                meter.work(4);
                all.grow(pair).or_raise();
            }
            all
        });
        let pairs = || part.chars().zip(part.chars().skip(1));
        match pairs().count() {
            0 => f64::from(u8::from(self.low.contains(part))),
            count => pairs().filter(|pair| all.contains(pair)).count() as f64 / count as f64,
        }
    }
}

/// `text` in compatible characters (NFKC).
fn compatible(text: &str) -> String {
    // What most characters of English and Chinese become, whatever stands before them.
    let simple = |c: char| match c {
        '\u{0}'..='\u{7F}' | '\u{4E00}'..='\u{9FFF}' | '、' | '。' | '《' | '》' | '“' | '”' => {
            Some(c)
        }
        // Full-width ASCII lies in the same order as ASCII.
        '！'..='～' => char::from_u32(c as u32 - '！' as u32 + '!' as u32),
        _ => None,
    };
    let (mut out, mut rest) = (String::new(), text);
    while !rest.is_empty() {
        let odd = checked(rest.char_indices()).find(|it| simple(it.1).is_none());
        let odd = odd.map_or(rest.len(), |(at, _)| at);
        // A character is composed with what follows it, never with a simple one.
        let start = if odd < rest.len() { rest.floor_char_boundary(odd.saturating_sub(1)) } else { odd };
        out.room(start).or_raise();
        out.extend(rest[..start].chars().filter_map(simple));
        let end = checked(rest[odd..].char_indices()).find(|it| simple(it.1).is_some());
        let end = end.map_or(rest.len(), |(at, _)| odd + at);
        for c in checked(rest[start..end].nfkc()) {
            out.room(4).or_raise();
            out.push(c);
        }
        rest = &rest[end..];
    }
    out
}

/// A passage on one line, shortened in the middle.
fn shortened(text: &str) -> String {
    /// Characters of a passage, and of either end of one that is shortened.
    const LONG: usize = 80;
    const END: usize = 36;
    let front = text.char_indices().nth(END).map_or(text.len(), |(at, _)| at);
    let back = text.char_indices().nth_back(END).map_or(0, |(at, _)| at);
    let long = text.char_indices().nth(LONG).is_some();
    let shown = if long { format!("{} … {}", &text[..front], &text[back..]) } else { text.to_owned() };
    shown.replace(char::is_control, " ")
}

/// Where the number ends that begins at `start`: digits, with commas between thousands and a decimal point. A scanner reads
/// 4711 as 47l1: letters that look like digits are some between others.
fn number(text: &str, start: usize) -> usize {
    let digit = |c: char| kind(c) == Kind::Digit;
    let digits = |from: usize| {
        let mut rest = text[from..].trim_start_matches(digit);
        while rest.len() < text.len() - from
            && rest.trim_start_matches(['l', 'I', 'o', 'O']).starts_with(digit)
        {
            rest = rest.trim_start_matches(['l', 'I', 'o', 'O']).trim_start_matches(digit);
        }
        text.len() - rest.len()
    };
    let mut end = digits(start);
    while text[end..].starts_with(',') && digits(end + 1) == end + 4 {
        end += 4;
    }
    if text[end..].starts_with('.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    end
}

/// Looks back at the words of a sentence: capitals say nothing at its beginning, nor in one all of capitals.
fn weigh_capitals(sentence: &mut [Token]) {
    let long = |token: &&Token| token.low.len() >= 4;
    let capitals = sentence.iter().filter(long).filter(|token| token.form == Form::Capital).count();
    let small = sentence.iter().filter(long).filter(|token| token.form == Form::Letters).count();
    let is_letters = |token: &Token| matches!(token.form, Form::Capital | Form::Letters);
    let first = sentence.iter().position(|token| is_letters(token) || token.form == Form::Spaceless);
    // A title where every word has one, shouting, or somebody who writes none.
    let says_nothing = capitals > 1 && capitals >= 2 * small
        || first.is_some_and(|first| sentence[first].form == Form::Letters) && capitals == 0;
    for (at, token) in sentence.iter_mut().enumerate() {
        if is_letters(token) && (says_nothing || Some(at) == first) {
            token.form = Form::Unsure;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// The short way is the table's: marks are composed with what is before them, however it is written.
        #[test]
        fn compatible_is_nfkc(text in "[ -~水，。！～、《“a=ＡＺ３\u{301}\u{338}\u{327}\u{3099}カかｶ㎡①ﬁ가ᄀ\u{1161}…—\u{3000}]{0,12}") {
            prop_assert_eq!(compatible(&text), text.nfkc().collect::<String>());
        }
    }

    #[test]
    fn every_character_alone() {
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            assert_eq!(compatible(&text), text.nfkc().collect::<String>(), "{c:?}");
        }
    }
}
