//! Frames: what many texts of a table say word for word while each says something else beside it.
//!
//! A preface, a footer, the words of a form, the page around a letter: they make any two rows alike and tell nothing of
//! either. They are learned from the table and cut out before two texts are compared. What many copies of one text have in
//! common is no frame, for beside it there is nothing; neither is a form in whose slots stand a few words: that is a template.

use crate::hash::mix64;
use crate::interrupt::{Meter, check, checked, sort_and_dedup, sort_unstable_by};
use crate::memory::{Grow, OrRaise, Result, Room, collect};
use crate::similarity::jaccard;
use crate::text::{is_alphanumeric, is_chinese, is_spaceless_char};
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::Range;

/// Bytes of letters of the windows by which a frame is known: four Chinese characters, two or three words of English ...
const WINDOW: usize = 12;
/// ... and of those that must be in many texts for a frame to be looked for, and of a passage that is cut.
const PASSAGE: usize = 60;
/// Where this share of the texts has such passages, the frame's shorter ones are cut as well.
const FRAMED: f64 = 0.25;
/// One in so many of the long windows is counted.
const COUNTED: u64 = 4;
/// Texts that have a passage at least, and those of them that are looked at.
const TEXTS: (usize, usize) = (9, 24);
/// Bytes of letters that a text has of its own, or it is not cut: who signs a letter, and where he lives, is less.
const OWN: usize = 96;
/// Bytes of letters between two passages of a frame that are cut with them, if there are less.
const FILLING: usize = 32;
/// Texts that say something else have a lesser Jaccard coefficient, and this share of those that are compared do.
const OTHER: (f64, f64) = (0.3, 0.75);
/// Bytes of letters between two marks, on the average, of a list: orders of goods in one form have no frame, for their slots tell.
const ITEM: usize = 18;
/// Passages that are tried, and windows that are kept.
const MOST: (usize, usize) = (2000, 1 << 16);
/// Bytes of the texts that are looked at.
const BYTES: usize = 16 << 20;
/// Texts by which is judged how many have frames.
const JUDGED: usize = 4096;

/// What texts of a table say word for word beside other things.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Frame {
    windows: FxHashSet<u32>,
    /// Bytes of letters of a passage that is cut at least.
    least: u32,
}

/// A word, or a character of a script without spaces.
struct Token {
    hash: u64,
    at: Range<usize>,
    /// Bytes of its letters in small ones.
    letters: usize,
}

fn tokens(text: &str) -> Vec<Token> {
    let (mut tokens, mut meter) = (Vec::<Token>::new(), Meter::new());
    let mut goes_on = false;
    for (at, c) in text.char_indices() {
        meter.work(1);
        if !is_alphanumeric(c) {
            goes_on = false;
            continue;
        }
        let is_chinese = is_chinese(c);
        let apart = is_chinese || is_spaceless_char(c);
        if !goes_on || apart {
            tokens.grow(Token { hash: 0, at: at..at, letters: 0 }).or_raise();
        }
        goes_on = !apart;
        let Some(token) = tokens.last_mut() else { continue };
        token.at.end = at + c.len_utf8();
        let mut add = |c: char| {
            token.hash = mix64(token.hash ^ u64::from(c));
            token.letters += c.len_utf8();
        };
        match c {
            _ if is_chinese => add(c),
            _ if c.is_ascii() => add(c.to_ascii_lowercase()),
            _ => c.to_lowercase().for_each(add),
        }
    }
    tokens
}

/// The windows of so many bytes of letters, which begin and end with a token: tokens and hash.
fn windows(tokens: &[Token], bytes: usize) -> impl Iterator<Item = (Range<usize>, u64)> {
    const BASE: u64 = 0x0100_0000_01B3;
    let (mut end, mut letters, mut hash) = (0, 0, 0u64);
    (0..tokens.len()).map_while(move |start| {
        while letters < bytes {
            let token = tokens.get(end)?;
            hash = hash.wrapping_mul(BASE).wrapping_add(token.hash);
            letters += token.letters;
            end += 1;
        }
        let window = (start..end, mix64(hash));
        let weight = BASE.wrapping_pow((end - start - 1) as u32);
        hash = hash.wrapping_sub(tokens[start].hash.wrapping_mul(weight));
        letters -= tokens[start].letters;
        Some(window)
    })
}

/// Ranges in order; of two that follow each other one is made if the end and the start `touch`.
fn joined(
    ranges: impl Iterator<Item = Range<usize>>,
    touch: impl Fn(usize, usize) -> bool,
) -> Vec<Range<usize>> {
    let mut all: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if touch(last.end, range.start) => last.end = range.end,
            _ => all.grow(range).or_raise(),
        }
    }
    all
}

/// Whether a text has a mark or a line's end behind every few words.
fn is_list(text: &str) -> bool {
    let pieces = text.split(|c: char| !c.is_alphanumeric() && (!c.is_whitespace() || c == '\n'));
    let letters =
        pieces.map(|it| it.chars().filter(|c| c.is_alphanumeric()).map(char::len_utf8).sum::<usize>());
    let (count, all) = letters.filter(|&it| it > 0).fold((0, 0), |(count, all), it| (count + 1, all + it));
    all < ITEM * count
}

fn short(hash: u64) -> u32 {
    (hash >> 32) as u32
}

impl Frame {
    /// The frame of some texts, of the first of them if they are many.
    pub fn learned_from<T: AsRef<str>>(texts: &[T]) -> Frame {
        let mut bytes = 0;
        let some = texts.iter().map(AsRef::as_ref).take_while(|text: &&str| {
            bytes += text.len();
            bytes <= BYTES
        });
        let texts: Vec<&str> = collect(some).or_raise();
        let mut frame = Frame { windows: FxHashSet::default(), least: PASSAGE as u32 };
        frame.learn(&texts).or_raise();
        let judged = &texts[..texts.len().min(JUDGED)];
        let framed = checked(judged).filter(|text| frame.cut(text).is_some()).count();
        if framed as f64 / judged.len().max(1) as f64 >= FRAMED {
            frame.least = WINDOW as u32;
        }
        frame
    }

    /// Whether nothing is cut.
    pub fn is_none(&self) -> bool {
        self.windows.is_empty()
    }

    /// Whether a table with such texts is one of framed ones.
    pub fn is_of_most(&self) -> bool {
        !self.windows.is_empty() && self.least < PASSAGE as u32
    }

    fn learn(&mut self, texts: &[&str]) -> Result<()> {
        let mut long: Vec<(u64, u32)> = Vec::new();
        let mut own = Vec::new();
        for (text, number) in texts.iter().zip(0..) {
            let tokens = tokens(text);
            own.clear();
            for (_, hash) in windows(&tokens, PASSAGE).filter(|window| window.1 % COUNTED == 0) {
                own.grow((hash, number))?;
            }
            sort_and_dedup(&mut own);
            long.room(own.len())?;
            long.extend(&own);
        }
        sort_unstable_by(&mut long, Ord::cmp);
        let shared = long.chunk_by(|a, b| a.0 == b.0).filter(|texts| texts.len() >= TEXTS.0);
        let mut shared: Vec<&[(u64, u32)]> = collect(shared)?;
        sort_unstable_by(&mut shared, |a, b| (b.len(), a[0].0).cmp(&(a.len(), b[0].0)));
        // Passages that were seen among the texts of another one.
        let (mut seen, mut tries) = (FxHashSet::default(), 0);
        for of in shared {
            check();
            if tries == MOST.0 || self.windows.len() >= MOST.1 {
                break;
            }
            if seen.contains(&of[0].0) {
                continue;
            }
            tries += 1;
            let step = of.len().div_ceil(TEXTS.1);
            let some: Vec<&str> = collect(of.iter().step_by(step).map(|it| texts[it.1 as usize]))?;
            let passages = Frame::common(&some, &mut seen);
            if passages.is_framing(&some) {
                self.windows.room(passages.windows.len())?;
                self.windows.extend(passages.windows);
            }
        }
        Ok(())
    }

    /// What at least half of some texts say; takes their long windows down.
    fn common(texts: &[&str], seen: &mut FxHashSet<u64>) -> Frame {
        let mut counts: [FxHashMap<u64, u32>; 2] = Default::default();
        for text in texts {
            let tokens = tokens(text);
            for (counts, bytes) in counts.iter_mut().zip([WINDOW, PASSAGE]) {
                let own: FxHashSet<u64> = windows(&tokens, bytes).map(|window| window.1).collect();
                own.into_iter().for_each(|hash| *counts.entry(hash).or_default() += 1);
            }
        }
        let [short_ones, long_ones] = counts
            .map(|counts| counts.into_iter().filter(|it| it.1 as usize * 2 >= texts.len()).map(|it| it.0));
        seen.extend(long_ones);
        Frame { windows: short_ones.map(short).collect(), least: WINDOW as u32 }
    }

    fn is_framing(&self, texts: &[&str]) -> bool {
        let own: Vec<String> = texts.iter().filter_map(|text| self.cut(text)).collect();
        let n = |text: &str| if text.chars().any(is_spaceless_char) { 2 } else { 3 };
        let pairs = own.iter().zip(own.iter().cycle().skip(1));
        let other = pairs.filter(|(a, b)| jaccard(a, b, n(a)) < OTHER.0).count();
        let lists = own.iter().filter(|text| is_list(text)).count();
        let framed = 2 * own.len() >= texts.len() && own.len() > 2 && 2 * lists <= own.len();
        framed && other as f64 >= OTHER.1 * own.len() as f64
    }

    /// What is cut out of a text, in order.
    pub fn passages(&self, text: &str) -> Vec<Range<usize>> {
        if self.windows.is_empty() {
            return Vec::new();
        }
        let tokens = tokens(text);
        // Tokens, of windows that touch each other.
        let windows = windows(&tokens, WINDOW).filter(|window| self.windows.contains(&short(window.1)));
        let mut passages = joined(windows.map(|window| window.0), |end, start| start <= end);
        let letters = |tokens: &[Token]| tokens.iter().map(|token| token.letters).sum::<usize>();
        passages.retain(|passage| letters(&tokens[passage.clone()]) >= self.least as usize);
        // What stands between two passages fills the frame: the number of a message, who took it down.
        let passages = joined(passages.into_iter(), |end, start| letters(&tokens[end..start]) < FILLING);
        let cut: usize = passages.iter().map(|passage| letters(&tokens[passage.clone()])).sum();
        if letters(&tokens) < cut + OWN {
            return Vec::new();
        }
        passages.into_iter().map(|it| tokens[it.start].at.start..tokens[it.end - 1].at.end).collect()
    }

    /// The text without the frame; `None`: that is the text itself.
    pub fn cut(&self, text: &str) -> Option<String> {
        let passages = self.passages(text);
        if passages.is_empty() {
            return None;
        }
        let (mut own, mut from) = (String::new(), 0);
        own.room(text.len()).or_raise();
        for passage in passages {
            own.push_str(&text[from..passage.start]);
            own.push('\n');
            from = passage.end;
        }
        own.push_str(&text[from..]);
        Some(own)
    }

    pub(super) fn write(&self, bytes: &mut Vec<u8>) {
        let mut windows: Vec<u32> = collect(self.windows.iter().copied()).or_raise();
        windows.sort_unstable();
        bytes.room(4 * windows.len() + 8).or_raise();
        bytes.extend((windows.len() as u32).to_le_bytes());
        bytes.extend(self.least.to_le_bytes());
        bytes.extend(windows.iter().flat_map(|window| window.to_le_bytes()));
    }

    /// Reads what was written, and gives what is behind it; `None`: this is none.
    pub(super) fn read(bytes: &[u8]) -> Option<(Frame, &[u8])> {
        let number = |bytes: &[u8; 4]| u32::from_le_bytes(*bytes);
        let (count, rest) = bytes.split_first_chunk()?;
        let (least, rest) = rest.split_first_chunk()?;
        let (windows, behind) = rest.split_at_checked((number(count) as usize).checked_mul(4)?)?;
        let windows = windows.chunks_exact(4).filter_map(|it| it.first_chunk().map(number)).collect();
        Some((Frame { windows, least: number(least) }, behind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HEAD: &str = "Thank you for your message, which has reached the service desk of the town and will be answered within five days. You wrote: ";
    const FOOT: &str = " This message was made by a machine and cannot be answered; it may contain what is meant for the receiver alone.";

    fn bodies(count: usize) -> Vec<String> {
        let word = |n: u64| format!("{:04x}", mix64(n) % 30_000);
        (0..count as u64).map(|n| (0..30).map(|at| word(40 * n + at)).collect::<Vec<_>>().join(" ")).collect()
    }

    /// Protects what is cut: what many say beside other things, and nothing else.
    #[test]
    fn frames_are_cut_and_copies_are_not() {
        let framed: Vec<String> = bodies(40).iter().map(|body| format!("{HEAD}{body}{FOOT}")).collect();
        let frame = Frame::learned_from(&framed);
        for (framed, body) in framed.iter().zip(bodies(40)) {
            let cut = frame.cut(framed).unwrap_or_default();
            assert!(cut.contains(&body) && cut.len() < body.len() + 12, "{cut}");
        }
        assert_eq!(frame.cut(&bodies(41)[40]), None);
        // What says nothing else is left as it is.
        assert_eq!(frame.cut(&format!("{HEAD}No water.{FOOT}")), None);
        let copies: Vec<String> = (0..40).map(|n| format!("{HEAD}{} Signed, {n}", bodies(1)[0])).collect();
        assert_eq!(Frame::learned_from(&copies).windows.len(), 0);
        assert_eq!(Frame::learned_from(&framed[..8]).windows.len(), 0);
        assert_eq!(Frame::learned_from(&bodies(200)).windows.len(), 0);
        // Goods that are ordered by one form are what its slot says.
        let orders: Vec<String> =
            bodies(40).iter().map(|body| format!("{HEAD}{}{FOOT}", body.replace(' ', ", 2 "))).collect();
        assert_eq!(Frame::learned_from(&orders).windows.len(), 0);
    }

    proptest! {
        /// What is written is read again, and any text may be cut.
        #[test]
        fn any_text_goes(text in "\\PC{0,200}", bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let framed: Vec<String> = bodies(12).iter().map(|body| format!("{HEAD}{body} {text}")).collect();
            let frame = Frame::learned_from(&framed);
            let mut written = Vec::new();
            frame.write(&mut written);
            prop_assert_eq!(Frame::read(&written), Some((frame.clone(), &[][..])));
            Frame::read(&bytes);
            for text in framed.iter().chain([&text]) {
                if let Some(cut) = frame.cut(text) {
                    prop_assert!(cut.len() <= text.len());
                    // Cutting again finds nothing of the frame that was in one piece.
                    prop_assert!(!cut.contains(HEAD));
                }
            }
        }
    }
}
