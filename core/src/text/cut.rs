//! The cut of jieba: of all ways to cut a run of characters into words of the dictionary, the most probable one.
//!
//! Equal to what jieba-rs cuts, to the last tie of two probabilities, on every text (tests compare the two), but by
//! the dictionary that is data of the library.

use super::cell::Cell;
use super::lexicon::{self, cell};
use super::own_words::OwnWords;
use crate::interrupt::Meter;
use crate::memory::{self, OrRaise, Room};
use jieba_rs::Jieba;
use std::cell::Cell as Place;
use std::ops::Range;
use std::sync::OnceLock;

/// The characters of one run, and the best cut of each end of it.
#[derive(Default)]
struct Run {
    /// Where each character begins, and the end.
    starts: Vec<usize>,
    /// The code of each character, and after the last one that of none.
    codes: Vec<u16>,
    /// The logarithm of the probability of the best cut from each character on.
    chances: Vec<f64>,
    /// The characters of its first word.
    lengths: Vec<u32>,
}

thread_local! {
    /// The buffers of the last cut. Taken while one works, so that what unwinds or calls back does no harm.
    static RUN: Place<Run> = Place::default();
}

/// Buffers for longer runs are freed after use.
const KEPT_CHARACTERS: usize = 1 << 16;

/// The runs that jieba looks for words in: Chinese characters, ASCII letters and digits, and `+#&._%-`.
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
    let mut run = RUN.take();
    let mut rest = text;
    let mut meter = Meter::new();
    while let Some(c) = rest.chars().next() {
        meter.work(1);
        let length = if in_words(c) {
            run.read(rest);
            run.find_best(rest, own);
            run.emit(rest, hmm, own, each);
            run.starts.last().copied().unwrap_or(0)
        } else {
            let length = if rest.starts_with("\r\n") { 2 } else { c.len_utf8() };
            each(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    if run.codes.capacity() <= KEPT_CHARACTERS {
        RUN.set(run);
    }
}

impl Run {
    /// Takes the run that `text` begins with.
    fn read(&mut self, text: &str) {
        self.starts.clear();
        self.codes.clear();
        let mut end = 0;
        let mut meter = Meter::new();
        for (at, c) in text.char_indices() {
            if !in_words(c) {
                break;
            }
            meter.work(1);
            self.starts.room(2).or_raise();
            self.codes.room(2).or_raise();
            self.starts.push(at);
            self.codes.push(lexicon::code(c));
            end = at + c.len_utf8();
        }
        self.starts.push(end);
        self.codes.push(super::cell::UNKNOWN);
    }

    /// Finds the best cut from each character on, from the last to the first.
    fn find_best(&mut self, text: &str, own: Option<&OwnWords>) {
        let characters = self.codes.len() - 1;
        let log_total = (own.map_or(lexicon::TOTAL, OwnWords::total) as f64).ln();
        self.chances.clear();
        self.chances.room(characters + 1).or_raise();
        self.chances.resize(characters + 1, 0.0);
        self.lengths.clear();
        self.lengths.room(characters).or_raise();
        self.lengths.resize(characters, 1);
        let mut meter = Meter::new();
        for at in (0..characters).rev() {
            let mut best = (f64::NEG_INFINITY, 1);
            let mut consider = |logarithm: f64, length: usize| {
                // In this order: other roundings would decide some ties otherwise.
                let chance = logarithm - log_total + self.chances[at + length];
                if chance > best.0 || (chance == best.0 && length > best.1) {
                    best = (chance, length);
                }
            };
            let (mut place, mut length) = (usize::from(self.codes[at]), 1);
            let mut node: Cell = cell(place);
            loop {
                if node.rank() > 0 && !own.is_some_and(|own| own.replaces(place)) {
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
            meter.work(length);
            if let Some(own) = own {
                let mut node = OwnWords::ROOT;
                for (length, c) in (1..).zip(text[self.starts[at]..self.starts[characters]].chars()) {
                    let Some(child) = own.child(node, c) else { break };
                    meter.work(8);
                    node = child;
                    if let Some(logarithm) = own.logarithm(node) {
                        consider(logarithm, length);
                    }
                }
            }
            if best.0 == f64::NEG_INFINITY {
                best = (0.0 - log_total + self.chances[at + 1], 1);
            }
            (self.chances[at], self.lengths[at]) = (best.0, best.1 as u32);
        }
    }

    /// Calls `each` with the words of the best cut. Single letters and digits that follow each other are one word;
    /// with `hmm` whatever single characters do is left to the hidden Markov model, unless the dictionary has it.
    fn emit<'a>(&self, text: &'a str, hmm: bool, own: Option<&OwnWords>, each: &mut impl FnMut(&'a str)) {
        let characters = self.lengths.len();
        let (mut at, mut single) = (0, 0);
        let mut meter = Meter::new();
        while at < characters {
            meter.work(1);
            let next = at + self.lengths[at] as usize;
            let joins = next == at + 1 && (hmm || text.as_bytes()[self.starts[at]].is_ascii_alphanumeric());
            if !joins {
                self.emit_singles(text, single..at, hmm, own, each);
                each(&text[self.starts[at]..self.starts[next]]);
                single = next;
            }
            at = next;
        }
        self.emit_singles(text, single..characters, hmm, own, each);
    }

    fn emit_singles<'a>(
        &self,
        text: &'a str,
        singles: Range<usize>,
        hmm: bool,
        own: Option<&OwnWords>,
        each: &mut impl FnMut(&'a str),
    ) {
        if singles.is_empty() {
            return;
        }
        let word = &text[self.starts[singles.start]..self.starts[singles.end]];
        if !hmm || singles.len() == 1 {
            each(word);
        } else if lexicon::find(word).is_some() || own.is_some_and(|own| own.frequency(word).is_some()) {
            singles.for_each(|at| each(&text[self.starts[at]..self.starts[at + 1]]));
        } else {
            // Of a dictionary without words all characters are left over, and the model cuts them.
            static MODEL: OnceLock<Jieba> = OnceLock::new();
            // More than the empty dictionary takes, and than a cut takes for each byte of a run: half a megabyte and 50
            // bytes were counted.
            let empty = if MODEL.get().is_none() { 1 << 20 } else { 0 };
            memory::ensure(empty + 100 * word.len()).or_raise();
            MODEL.get_or_init(Jieba::empty).cut(word, true).into_iter().for_each(|token| each(token.word));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lexicon::tests::{JIEBA, WORDS};
    use super::super::segment::Segmenter;
    use super::*;
    use proptest::prelude::*;

    fn jieba<'a>(jieba: &Jieba, text: &'a str, hmm: bool) -> Vec<&'a str> {
        jieba.cut(text, hmm).into_iter().map(|token| token.word).collect()
    }

    fn same(text: &str) {
        for hmm in [false, true] {
            assert_eq!(Segmenter::shared().raw_cut(text, hmm), jieba(&JIEBA, text, hmm), "{text:?}, {hmm}");
        }
    }

    /// A word of the dictionary, or the beginning or end of one.
    fn word() -> impl Strategy<Value = String> {
        (0..WORDS.len(), 0usize..8, 0usize..8).prop_map(|(at, from, length)| {
            let word = &WORDS[at];
            if from < 4 { word.clone() } else { word.chars().skip(from - 4).take(length.max(1)).collect() }
        })
    }

    /// Words, common and rare characters, and what is between runs.
    fn text() -> impl Strategy<Value = String> {
        let part = prop_oneof![
            6 => word(),
            2 => "[的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可]{1,12}",
            1 => "[\u{4E00}-\u{9FFF}]{1,5}",
            1 => "[a-zA-Z0-9+#&._%-]{1,6}",
            1 => "[\u{3400}-\u{3410}\u{F900}-\u{F910}\u{20000}-\u{20010}\u{2EBF0}-\u{2EC00}々〆〇γé，。 \r\n\u{1F600}]{1,3}",
        ];
        prop::collection::vec(part, 0..14).prop_map(|parts| parts.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(3000))]

        #[test]
        fn cuts_as_jieba_does(text in text()) {
            same(&text);
        }

        #[test]
        fn cuts_anything_as_jieba_does(text in any::<String>()) {
            same(&text);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Own words too, which may be jieba's with another frequency, come twice, or begin each other.
        #[test]
        fn own_words_count_as_in_jieba(
            own in prop::collection::vec((text(), prop_oneof![1usize..5, 1usize..2_000_000]), 1..12),
            texts in prop::collection::vec(text(), 1..12),
        ) {
            let own = own.iter().map(|(word, frequency)| (word.replace(char::is_whitespace, "") + "水", frequency));
            let lines: String = own.clone().map(|(word, frequency)| format!("{word} {frequency}\n")).collect();
            let mut with_own = JIEBA.clone();
            with_own.load_dict(&mut lines.as_bytes()).unwrap();
            let segmenter = Segmenter::with_words(&lines);
            for text in texts.iter().cloned().chain([own.map(|(word, _)| word).collect()]) {
                for hmm in [false, true] {
                    prop_assert_eq!(segmenter.raw_cut(&text, hmm), jieba(&with_own, &text, hmm));
                }
            }
        }

        /// The frequencies suggested for words one after the other are those of jieba.
        #[test]
        fn frequencies_are_suggested_as_by_jieba(own in prop::collection::vec(text(), 1..12)) {
            let own = own.iter().map(|word| crate::text::normalize(word).replace(' ', ""));
            let own: Vec<String> = own.filter(|word| !word.is_empty() && word.len() <= 1024).collect();
            let mut with_own = JIEBA.clone();
            let lines = own.iter().map(|word| format!("{word} {} \n", with_own.add_word(word, None, None)));
            let expected: String = lines.collect();
            prop_assert_eq!(Segmenter::complete_words(own.iter().map(String::as_str)).unwrap().0, expected);
        }
    }

    /// The model and the dictionary meet in what single characters leave over.
    #[test]
    fn runs_of_single_characters() {
        for text in [
            "龘龘龘",
            "abc-",
            "1.2.3%",
            "小明硕士毕业于中国科学院计算所",
            "他来到了网易杭研大厦",
            "韩玉赏鉴",
            "",
        ] {
            same(text);
        }
    }

    #[test]
    fn long_runs_can_be_interrupted() {
        let text = "水区".repeat(100_000);
        let mut left = 0;
        assert!(crate::interrupt::testing::interrupted_after(3, || cut(&text, false, None, &mut |_| {
            left += 1
        })));
        assert_eq!(left, 0);
    }
}
