//! Turns a body into a near-duplicate of it, as people make them.

use crate::compose::{Body, Part};
use crate::rng::Rng;
use crate::words;

/// How a row was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Variant {
    /// The first of its cluster.
    Original,
    /// The same body filed by somebody else.
    Refiled,
    /// A sentence more.
    SentenceAdded,
    /// A sentence less.
    SentenceDropped,
    /// A few words replaced by synonyms.
    WordsSwapped,
    /// Other punctuation, width, spaces and line breaks.
    Punctuation,
    /// Sentences or paragraphs in another order.
    Reordered,
    /// The same text about another place: not a duplicate.
    PlaceSwapped,
}

impl Variant {
    /// As the column `variant` has it.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Original => "original",
            Variant::Refiled => "refiled",
            Variant::SentenceAdded => "sentence_added",
            Variant::SentenceDropped => "sentence_dropped",
            Variant::WordsSwapped => "words_swapped",
            Variant::Punctuation => "punctuation",
            Variant::Reordered => "reordered",
            Variant::PlaceSwapped => "place_swapped",
        }
    }

    /// Draws how a duplicate of `body` is made, among the ways the body allows.
    pub fn draw(rng: &mut Rng, body: &Body) -> Variant {
        let variant = match rng.below(100) {
            0..=27 => Variant::Refiled,
            28..=41 => Variant::SentenceAdded,
            42..=55 => Variant::SentenceDropped,
            56..=71 => Variant::WordsSwapped,
            72..=85 => Variant::Punctuation,
            _ => Variant::Reordered,
        };
        match variant {
            Variant::SentenceDropped if droppable(body).is_empty() => Variant::Punctuation,
            Variant::Reordered if movable(body) < 2 => Variant::WordsSwapped,
            _ => variant,
        }
    }
}

/// Appends the body as it was first written.
pub fn write(body: &Body, out: &mut String) {
    for sentence in &body.sentences {
        if sentence.paragraph && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&body.text[sentence.range.clone()]);
    }
}

/// Sentences that may be left out without the rest becoming another petition.
fn droppable(body: &Body) -> Vec<usize> {
    if body.sentences.len() < 3 {
        return Vec::new();
    }
    let few = body.text.len() * 2 / 5;
    let may = |i: &usize| body.sentences[*i].part != Part::Fact && body.sentences[*i].range.len() <= few;
    (0..body.sentences.len()).filter(may).collect()
}

/// Leaves one sentence out.
pub fn drop_sentence(body: &mut Body, rng: &mut Rng) {
    let candidates = droppable(body);
    if !candidates.is_empty() {
        body.sentences.remove(candidates[rng.below(candidates.len())]);
    }
}

/// Puts the sentence `text` somewhere after the first one.
pub fn add_sentence(body: &mut Body, text: &str, rng: &mut Rng) {
    let start = body.text.len();
    body.text.push_str(text);
    let at = rng.between(1, body.sentences.len() as u64) as usize;
    let range = start..body.text.len();
    body.sentences.insert(at, crate::compose::Sentence { part: Part::Detail, range, paragraph: false });
}

fn movable(body: &Body) -> usize {
    body.sentences.iter().filter(|s| s.part != Part::Greeting).count()
}

/// Puts the sentences in another order; a salutation stays first.
pub fn reorder(body: &mut Body, rng: &mut Rng) {
    let first = body.sentences.len() - movable(body);
    let before: Vec<usize> = body.sentences.iter().map(|s| s.range.start).collect();
    let sentences = &mut body.sentences[first..];
    for _ in 0..8 {
        if rng.chance(0.4) {
            let by = rng.between(1, sentences.len() as u64 - 1) as usize;
            sentences.rotate_left(by);
        } else {
            rng.shuffle(sentences);
        }
        if sentences.iter().map(|s| s.range.start).ne(before[first..].iter().copied()) {
            break;
        }
    }
}

/// Replaces a few words by synonyms and tells whether it found one.
pub fn swap_words(text: &str, rng: &mut Rng, out: &mut String) -> bool {
    let mut found = Vec::new();
    let mut pos = 0;
    while let Some(c) = text[pos..].chars().next() {
        if let Some((word, group)) = words::at_start(&text[pos..]) {
            if words::GROUPS[group].len() > 1 {
                found.push((pos, word, group));
            }
            pos += word.len();
        } else {
            pos += c.len_utf8();
        }
    }
    // One swap costs up to about ten three-character sequences of the two texts.
    let most = 1 + text.len() / 3 / 30;
    rng.shuffle(&mut found);
    found.truncate(rng.between(1, most as u64) as usize);
    found.sort_unstable();
    let mut done = 0;
    for (at, word, group) in &found {
        out.push_str(&text[done..*at]);
        let others = words::GROUPS[*group];
        let own = others.iter().position(|w| w == word).unwrap_or(0);
        out.push_str(others[(own + 1 + rng.below(others.len() - 1)) % others.len()]);
        done = at + word.len();
    }
    out.push_str(&text[done..]);
    !found.is_empty()
}

/// Writes other punctuation, other widths, more spaces and line breaks.
pub fn repunctuate(text: &str, rng: &mut Rng, out: &mut String) {
    let half_marks = rng.chance(0.4);
    let wide_digits = rng.chance(0.3);
    let breaks = if rng.chance(0.5) { 0.4 } else { 0.0 };
    let spaces = if rng.chance(0.4) { 0.3 } else { 0.0 };
    let loud = if rng.chance(0.3) { 0.5 } else { 0.0 };
    let sloppy = if rng.chance(0.4) { 0.15 } else { 0.0 };
    if breaks > 0.0 && rng.chance(0.5) {
        out.push_str("\u{3000}\u{3000}");
    }
    for c in text.chars() {
        let half = match c {
            '，' => ',',
            '。' => '.',
            '！' => '!',
            '？' => '?',
            '：' => ':',
            '；' => ';',
            _ => c,
        };
        match c {
            '0'..='9' if wide_digits => out.push(char::from_u32(c as u32 - 0x30 + 0xFF10).unwrap_or(c)),
            '，' if rng.chance(sloppy) => out.push(if rng.chance(0.5) { ' ' } else { '、' }),
            '。' if rng.chance(loud) => out.push_str(if half_marks { "!!" } else { "！！" }),
            '\n' if rng.chance(0.5) => {}
            _ => out.push(if half_marks { half } else { c }),
        }
        if half != c {
            if c == '。' && rng.chance(breaks) {
                out.push('\n');
            } else if rng.chance(spaces) {
                out.push(' ');
            }
        }
    }
    while out.ends_with(['\n', ' ']) {
        out.pop();
    }
    if out.as_str() == text {
        out.pop();
        out.push_str("！！！");
    }
}
