//! Letters: what stands in their heads and feet, who is addressed and who signs, does not tell two matters apart.

use super::chinese_words;
use super::tokens::{Form, Letter, Text, Token};
use crate::hash::city64;
use std::ops::Range;

/// Tokens of a letter at least, and those of a run that begins or ends its body.
pub(super) const LETTER: usize = 60;
pub(super) const LETTER_RUN: usize = 6;
/// Words that close a letter by themselves; beside `yours`, and behind words such as `kind`. In small letters ß is ss.
const CLOSING: [&str; 4] = ["此致敬礼", "敬礼", "敬上", "谨上"];
const YOURS: [&str; 4] = ["sincerely", "faithfully", "respectfully", "truly"];
const WISHES: [&str; 4] = ["regards", "wishes", "grüssen", "gruessen"];
const KIND: [&str; 7] = ["kind", "best", "warm", "warmest", "freundlichen", "besten", "herzlichen"];
/// Words that greet, and the first words of a letter among which they are.
const GREETING: [&str; 13] = [
    "dear",
    "hello",
    "hi",
    "greetings",
    "honourable",
    "geehrte",
    "geehrter",
    "尊敬",
    "敬爱",
    "亲爱",
    "您好",
    "你好",
    "领导",
];
const GREETED: usize = 24;
/// Tokens of a foot behind words that end messages too, at most.
const FOOT: usize = 40;
/// Tokens of the head of a letter at most.
const HEAD: usize = 48;

word_sets! {
    /// What stands before a colon and who sends a letter.
    is_from "投诉人 反映人 来信人 写信人 举报人"
    /// What stands before a colon and those who sign it.
    is_signed "signatures 联名人 联署人"
    /// Other words before a colon that are about who sends, to whom and when.
    is_beside_sender "from sender name address tel telephone phone mobile email postcode to date 姓名 电话 联系电话 手机 住址 地址 日期"
    /// Words behind which stands what a letter is about.
    is_about "re subject about regarding concerning 关于 反映 投诉 举报 主题 事由"
}

/// What a word is known by, in a template too.
pub(super) fn hash_of(word: &str) -> u32 {
    city64(word.as_bytes()) as u32
}

/// Where the foot of a letter begins, of so many words: behind a closing formula in its second half.
pub(super) fn foot(count: usize, hash: impl Fn(usize) -> u32) -> usize {
    let (closing, yours, wishes) = (CLOSING.map(hash_of), YOURS.map(hash_of), WISHES.map(hash_of));
    let (kind, your) = (KIND.map(hash_of), hash_of("yours"));
    let closes = |&at: &usize| {
        let own = hash(at);
        closing.contains(&own)
            || yours.contains(&own)
                && (at > 0 && hash(at - 1) == your || at + 1 < count && hash(at + 1) == your)
            || wishes.contains(&own) && at > 0 && at + FOOT >= count && kind.contains(&hash(at - 1))
    };
    (count / 2..count).rev().find(closes).map_or(count, |at| at + 1)
}

/// Whether so many words are a letter: not only long, as a form may be, but with a greeting or a closing formula.
pub(super) fn is_letter(count: usize, hash: impl Fn(usize) -> u32) -> bool {
    let greeting = GREETING.map(hash_of);
    let greets = |at: usize| greeting.contains(&hash(at));
    count >= LETTER && ((0..GREETED).any(greets) || foot(count, &hash) < count)
}

/// What of a text may be a letter; a text is in many pairs.
pub(super) fn letter_of(text: &Text) -> &Letter {
    text.letter.get_or_init(|| {
        let count = text.tokens.len();
        let hash = |at| hash_of(text.word_at(at));
        let is_signed = |&at: &usize| is_signed(label(text, at));
        let signed = (count / 2..count).find(is_signed).unwrap_or(count);
        let closed = foot(count, hash);
        Letter {
            is_one: is_letter(count, hash),
            foot: closed.min(signed),
            sender: sender(text).map(|at| (at, true)).or_else(|| Some((letterhead(text, closed)?, false))),
        }
    })
}

/// The clause before the one that begins with a token.
fn label(text: &Text, at: usize) -> &str {
    let is_break = |at: &usize| text.tokens[*at].form == Form::Break;
    let Some(end) = at.checked_sub(1).filter(is_break) else { return "" };
    let start = (0..end).rev().find(is_break).map_or(0, |at| at + 1);
    text.of(&(start..end))
}

/// Where near its beginning a text names who sends it: I, Ann Bell; 我叫张伟; 投诉人：张伟.
fn sender(text: &Text) -> Option<usize> {
    let is_name = |&at: &usize| {
        let before = |back: usize| at.checked_sub(back).map_or("", |at| text.word_at(at));
        let says = match [before(2), before(1)] {
            ["i" | "我", ","] | ["i", "am"] | ["name", "is"] | ["我", "叫" | "是"] => true,
            [_, word] => ["我叫", "我是", "本人"].contains(&word) || is_from(label(text, at)),
        };
        let name = clause(text, at);
        let name = name.start..name.end.min(at + 4);
        says && (text.tokens[at].form == Form::Capital
            || chinese_words::is_person(text.of(&name), name.clone().map(|at| text.word_at(at))))
    };
    (1..text.tokens.len().min(GREETED)).find(is_name)
}

/// The clause that begins with a token.
pub(super) fn clause(text: &Text, at: usize) -> Range<usize> {
    let is_word = |token: &&Token| token.form != Form::Break;
    at..at + text.tokens[at..].iter().take_while(is_word).count()
}

/// Where a line of a letter greets, which is what its head ends with.
pub(super) fn greeting(text: &Text) -> Option<usize> {
    let greets = |&at: &usize| GREETING.contains(&text.word_at(at)) && begins(text, at);
    (0..text.tokens.len().min(HEAD)).find(greets)
}

fn begins(text: &Text, at: usize) -> bool {
    at == 0 || text.tokens[at - 1].form == Form::Break
}

/// Where a letter begins with a name that signs it too in its foot, perhaps behind *From:*, and a greeting follows.
fn letterhead(text: &Text, foot: usize) -> Option<usize> {
    greeting(text)?;
    let first = clause(text, 0);
    let start = if text.of(&first) == "from" { first.end + 1 } else { 0 };
    let name = text.of(&clause(text, start));
    let signs = |at| begins(text, at) && text.of(&clause(text, at)) == name;
    (!name.is_empty() && (foot..text.tokens.len()).any(signs)).then_some(start)
}

/// Where what says who sends a letter ends at the latest, from a token on: at what it is about, or in a letterhead, which is also
/// told, at a line of prose or the greeting.
pub(super) fn sender_end(text: &Text, from: usize) -> (usize, bool) {
    let greeting = greeting(text).filter(|&at| at > from);
    let is_of_sender = |said: &str| is_from(said) || is_beside_sender(said);
    let is_of_others = |at| {
        let line = clause(text, at);
        let is_small = |at: usize| text.shown_at(at).starts_with(char::is_lowercase);
        let said = text.of(&line);
        match text.is_label(&line) {
            true => !is_of_sender(said),
            false => {
                greeting.is_some_and(|end| at < end)
                    && !is_of_sender(label(text, at))
                    && line.clone().any(is_small)
            }
        }
    };
    let ends = |&at: &usize| is_about(text.word_at(at)) || at > from && begins(text, at) && is_of_others(at);
    let last = greeting.unwrap_or(text.tokens.len());
    ((from..last).find(ends).unwrap_or(last), greeting.is_some())
}
