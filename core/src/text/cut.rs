//! The cut of jieba: of all ways to cut a run of characters into words of the dictionary, the most probable one.
//!
//! Equal to what jieba-rs cuts, to the last tie of two probabilities, on every text (tests compare the two), but by
//! the dictionary that is data of the library.

use super::cell::{Cell as Node, UNKNOWN};
use super::characters::{AHEAD, Characters};
use super::lexicon::{self, LOG_TOTAL, cell};
use super::own_words::OwnWords;
use crate::interrupt::Meter;
use crate::memory::{self, OrRaise};
use jieba_rs::Jieba;
use std::cell::Cell;
use std::hint::select_unpredictable;
use std::ops::Range;
use std::sync::OnceLock;

thread_local! {
    /// The buffers of the last cut. Taken while one works, so that what unwinds or calls back does no harm.
    static BUFFERS: Cell<Characters> = Cell::default();
}

/// What jieba looks for words in: Chinese characters, ASCII letters and digits, and `+#&._%-`.
fn in_words(c: char) -> bool {
    match c {
        '\u{4E00}'..='\u{9FFF}' => true,
        '\u{0}'..='\u{7F}' => {
            c.is_ascii_alphanumeric() || matches!(c, '+' | '#' | '&' | '.' | '_' | '%' | '-')
        }
        _ => matches!(c,
            '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{2A6DF}' | '\u{2A700}'..='\u{2B73F}'
            | '\u{2B740}'..='\u{2B81F}' | '\u{2B820}'..='\u{2CEAF}' | '\u{2CEB0}'..='\u{2EBEF}' | '\u{2F800}'..='\u{2FA1F}'),
    }
}

/// Calls `each` with every word of `text` in order, as jieba-rs cuts it with `own` words in its dictionary. What is
/// between the runs that it cuts comes one character at a time, but `\r\n` as one.
pub fn cut<'a>(text: &'a str, hmm: bool, own: Option<&OwnWords>, each: &mut impl FnMut(&'a str)) {
    let mut characters = BUFFERS.take();
    let mut rest = text;
    let mut meter = Meter::new();
    while let Some(c) = rest.chars().next() {
        meter.work(1);
        let length = if in_words(c) {
            let run = characters.read_run(rest, in_words);
            match own {
                None => characters.find_best(run.clone()),
                Some(own) => characters.find_best_of_own(run.clone(), rest, own),
            }
            characters.emit(run.clone(), rest.as_bytes(), hmm, |word, singles| {
                let text = &rest[characters.bytes(word.clone())];
                if hmm && singles && word.len() > 1 {
                    characters.emit_singles(word, rest, own, each);
                } else {
                    each(text);
                }
            });
            characters.bytes(run).end
        } else {
            let length = if rest.starts_with("\r\n") { 2 } else { c.len_utf8() };
            each(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    characters.keep_small();
    BUFFERS.set(characters);
}

impl Characters {
    /// Calls `each` with every word of the text that was read, in order.
    pub fn words(&mut self, mut each: impl FnMut(&[u8])) {
        let ends = std::mem::take(&mut self.ends);
        let mut start = 0;
        // Without Chinese there is no dictionary.
        let ascii = self.text.len() == self.count;
        for &end in &ends {
            let run = start..end as usize;
            start = run.end;
            if ascii && !run.is_empty() {
                each(&self.text[run]);
                continue;
            }
            self.find_best(run.clone());
            self.emit(run, &self.text, false, |word, _| each(&self.text[self.bytes(word)]));
        }
        self.ends = ends;
    }

    /// Finds the best cut from each character of a run on, from the last to the first.
    fn find_best(&mut self, run: Range<usize>) {
        let after = std::mem::replace(&mut self.codes[run.end], UNKNOWN);
        self.look_up(run.clone());
        self.codes[run.end] = after;
        let lengths = &mut self.lengths[..run.end];
        let (seconds, thirds) = (&self.seconds[..run.end], &self.thirds[..run.end]);
        let chances = &mut self.chances[..run.end + 1];
        // In this order: other roundings would decide some ties otherwise.
        let chance = |node: Node, rest: f64| lexicon::logarithm(node.rank()) - LOG_TOTAL + rest;
        // Of two that are equal the longer word, which is `b`.
        let better = |a: (f64, u32), b: (f64, u32)| {
            (if a.0 > b.0 { a.0 } else { b.0 }, select_unpredictable(a.0 > b.0, a.1, b.1))
        };
        // The chances of the next three characters.
        let mut next = [0.0; 3];
        chances[run.end] = 0.0;
        let mut meter = Meter::new();
        for at in run.clone().rev() {
            meter.work(1);
            // Words of up to three characters without a branch: how long they are cannot be foreseen.
            let mut best = better((chance(seconds[at], next[1]), 2), (chance(thirds[at], next[2]), 3));
            let mut characters = 3;
            let mut node = thirds[at];
            while node.has_children() && at + characters < run.end {
                let code = self.codes[at + characters];
                node = cell(node.child_at(code));
                if !node.is_by(code) {
                    break;
                }
                characters += 1;
                best = better(best, (chance(node, chances[at + characters]), characters as u32));
            }
            // Last, as it alone waits for the chance of the next character.
            best = better((chance(cell(self.codes[at].into()), next[0]), 1), best);
            if best.0 == f64::NEG_INFINITY {
                best = (0.0 - LOG_TOTAL + next[0], 1);
            }
            (chances[at], lengths[at]) = best;
            next = [best.0, next[0], next[1]];
        }
    }

    /// Looks up what the first two and the first three characters from each on lead to: one load does not wait for
    /// another this way, and most are not in the cache.
    fn look_up(&mut self, run: Range<usize>) {
        let codes = &self.codes[run.start..run.end + AHEAD];
        let (seconds, thirds) = (&mut self.seconds[run.clone()], &mut self.thirds[run]);
        for (second, code) in seconds.iter_mut().zip(codes.windows(2)) {
            *second = lexicon::next(cell(code[0].into()), code[1]);
        }
        for ((third, second), code) in thirds.iter_mut().zip(seconds).zip(&codes[2..]) {
            *third = lexicon::next(*second, *code);
        }
    }

    fn find_best_of_own(&mut self, run: Range<usize>, text: &str, own: &OwnWords) {
        let log_total = (own.total() as f64).ln();
        self.chances[run.end] = 0.0;
        let mut meter = Meter::new();
        for at in run.clone().rev() {
            let mut best = (f64::NEG_INFINITY, 1);
            let mut consider = |logarithm: f64, length: usize| {
                let chance = logarithm - log_total + self.chances[at + length];
                if chance > best.0 || (chance == best.0 && length > best.1) {
                    best = (chance, length);
                }
            };
            let (mut place, mut length) = (usize::from(self.codes[at]), 1);
            let mut node = cell(place);
            loop {
                if node.rank() > 0 && !own.replaces(place) {
                    consider(lexicon::logarithm(node.rank()), length);
                }
                let code = self.codes[at + length];
                place = node.child_at(code);
                node = cell(place);
                if !node.is_by(code) {
                    break;
                }
                length += 1;
            }
            let mut node = OwnWords::ROOT;
            for (length, c) in (1..).zip(text[self.bytes(at..run.end)].chars()) {
                meter.work(8);
                let Some(child) = own.child(node, c) else { break };
                node = child;
                if let Some(logarithm) = own.logarithm(node) {
                    consider(logarithm, length);
                }
            }
            if best.0 == f64::NEG_INFINITY {
                best = (0.0 - log_total + self.chances[at + 1], 1);
            }
            (self.chances[at], self.lengths[at]) = (best.0, best.1 as u32);
        }
    }

    /// Calls `each` with the words of the best cut of a run, and whether it is a run of single characters that nothing
    /// has joined yet: with `hmm` any, without it letters and digits of ASCII, which are one word then.
    #[inline]
    fn emit(&self, run: Range<usize>, text: &[u8], hmm: bool, mut each: impl FnMut(Range<usize>, bool)) {
        let (mut at, mut single) = (run.start, run.start);
        let mut meter = Meter::new();
        while at < run.end {
            meter.work(1);
            let next = at + self.lengths[at] as usize;
            let joins = (next == at + 1) & (hmm | text[self.starts[at] as usize].is_ascii_alphanumeric());
            if !joins {
                if single < at {
                    each(single..at, true);
                }
                each(at..next, false);
                single = next;
            }
            at = next;
        }
        if single < run.end {
            each(single..run.end, true);
        }
    }

    /// Leaves single characters, more than one, to the hidden Markov model, unless they are a word of the dictionary.
    fn emit_singles<'a>(
        &self,
        singles: Range<usize>,
        text: &'a str,
        own: Option<&OwnWords>,
        each: &mut impl FnMut(&'a str),
    ) {
        let word = &text[self.bytes(singles.clone())];
        if lexicon::find(word).is_some() || own.is_some_and(|own| own.frequency(word).is_some()) {
            singles.for_each(|at| each(&text[self.bytes(at..at + 1)]));
            return;
        }
        // Of a dictionary without words all characters are left over, and the model cuts them.
        static MODEL: OnceLock<Jieba> = OnceLock::new();
        // More than the empty dictionary takes, and than a cut takes for each byte of a run: half a megabyte and 50
        // bytes were counted.
        let empty = if MODEL.get().is_none() { 1 << 20 } else { 0 };
        memory::ensure(empty + 100 * word.len()).or_raise();
        MODEL.get_or_init(Jieba::empty).cut(word, true).into_iter().for_each(|token| each(token.word));
    }
}
