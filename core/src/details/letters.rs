//! Letters: what stands in their heads and feet, who is addressed and who signs, does not tell two matters apart.

use super::chinese_words;
use super::tokens::{Form, Letter, Text};
use crate::hash::city64;

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

/// What a word is known by, in a template too.
pub(super) fn hash_of(word: &str) -> u32 {
    city64(word.as_bytes()) as u32
}

/// Where the foot of a letter begins, of so many words: behind a closing formula in its second half.
pub(super) fn foot(count: usize, hash: impl Fn(usize) -> u32) -> usize {
    let is = |at: usize, words: &[&str]| words.iter().any(|word| hash_of(word) == hash(at));
    let closes = |&at: &usize| {
        let yours = at > 0 && is(at - 1, &["yours"]) || at + 1 < count && is(at + 1, &["yours"]);
        is(at, &CLOSING) || yours && is(at, &YOURS) || at > 0 && is(at, &WISHES) && is(at - 1, &KIND)
    };
    let from = (count / 2).max(count.saturating_sub(FOOT));
    (from..count).rev().find(closes).map_or(count, |at| at + 1)
}

/// Whether so many words are a letter: not only long, as a form may be, but with a greeting or a closing formula.
pub(super) fn is_letter(count: usize, hash: impl Fn(usize) -> u32) -> bool {
    let greets = |at: usize| GREETING.iter().any(|word| hash_of(word) == hash(at));
    count >= LETTER && ((0..GREETED).any(greets) || foot(count, &hash) < count)
}

/// What of a text may be a letter; a text is in many pairs.
pub(super) fn letter_of(text: &Text) -> &Letter {
    text.letter.get_or_init(|| {
        let count = text.tokens.len();
        let hash = |at| hash_of(text.word_at(at));
        Letter { is_one: is_letter(count, hash), foot: foot(count, hash), sender: sender(text) }
    })
}

/// Where near its beginning a text names who sends it: I, Ann Bell, and 我叫张伟.
fn sender(text: &Text) -> Option<usize> {
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
