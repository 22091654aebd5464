//! The normal form of a text, without differences of width, case, punctuation and layout.
//!
//! Texts that a reader would call the same have the same normal form, and hence the same fingerprint whatever the
//! tokens are:
//!
//! * compatibility forms are unified (NFKC): `Ａ` is `A`, `㎡` is `m2`;
//! * letters are lower case, as Unicode folds it: `ß` is `ss`, `ς` is `σ`;
//! * punctuation, symbols, white space and control characters separate words but are not kept. Between two words of a
//!   script that writes spaces one space remains; next to a script that does not (Han, kana, Thai, …) nothing remains,
//!   so a line break in the middle of a Chinese word or a forgotten comma changes nothing;
//! * an apostrophe inside a word and invisible characters vanish.
//!
//! Nearly every character of a Chinese text is decided by a comparison or a table look-up; the Unicode tables serve the
//! rest.

use crate::interrupt::{Meter, checked};
use crate::memory::{self, OrRaise, Room};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

/// What a character contributes to the normal form.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// A letter or digit of a script that separates words by spaces.
    Spaced(char),
    /// A letter of a script that does not.
    Spaceless(char),
    /// Ends a word and is not kept.
    Separator,
    /// Not kept, and does not end a word: invisible characters, and the apostrophe, so that `don't` is `dont`.
    Nothing,
    /// Only the Unicode tables can tell.
    Unknown,
}

/// The normal form of `text`. See the module's description.
///
/// ```
/// use dedup_core::text::normalize;
/// assert_eq!(normalize("Ａ市\u{3000}停水了！！\n怎么 办？"), "a市停水了怎么办");
/// assert_eq!(normalize("Don't  panic,\tCAFÉ (2019)"), "dont panic café 2019");
/// assert_eq!(normalize("……！？"), "");
/// ```
pub fn normalize(text: &str) -> String {
    let mut out = String::new();
    normalize_into(text, &mut out);
    out
}

/// Writes the normal form of `text` to `out`, which is emptied first.
pub fn normalize_into(text: &str, out: &mut String) {
    let mut again = write_once(text, out);
    // Marks that have come side by side are put in order, which may bring others together.
    while again {
        let before = std::mem::take(out);
        again = write_once(&before, out) && *out != before;
    }
}

/// Whether marks may have come side by side, or letters that are written as one.
fn write_once(text: &str, out: &mut String) -> bool {
    out.clear();
    out.room(text.len()).or_raise();
    let mut writer = Writer { out, gap: false, spaced: false };
    let (mut rest, mut again) = (text, false);
    // Whether what was looked up last is followed by what is invisible at the most.
    let mut after_run = false;
    let mut meter = Meter::new();
    while let Some(c) = rest.chars().next() {
        meter.work(1);
        let han = han_prefix(rest.as_bytes());
        if han > 0 {
            writer.push_spaceless(&rest[..han]);
            rest = &rest[han..];
            after_run = false;
            continue;
        }
        let class = classify(c);
        if class != Class::Unknown {
            after_run &= class == Class::Nothing;
            writer.push(class);
            rest = &rest[c.len_utf8()..];
            continue;
        }
        let end = checked(rest.char_indices()).find(|&(_, c)| classify(c) != Class::Unknown);
        let end = end.map_or(rest.len(), |(at, _)| at);
        // Marks that follow each other are put in order together.
        memory::ensure(16 * end).or_raise();
        // A mark belongs to the letter before it: take that one back and let the tables compose the two.
        let base = if is_combining_mark(c) { writer.take_back() } else { None };
        let run = base.into_iter().chain(rest[..end].chars());
        again |= after_run;
        // Both of what goes in and what comes out: marks without end after one letter come out last.
        for folded in checked(checked(run).nfkc().flat_map(fold).nfc()) {
            again |= writer.gap && is_combining_mark(folded);
            writer.push(classify_folded(folded));
        }
        after_run = true;
        rest = &rest[end..];
    }
    again
}

/// The length in bytes of the run of common Han characters (U+4E00 to U+9FFF) that `text`, which is UTF-8, begins with:
/// most of a Chinese text is decided here, by two comparisons per character.
#[inline]
pub(super) fn han_prefix(text: &[u8]) -> usize {
    3 * text.as_chunks::<3>().0.iter().take_while(|&&[a, b, _]| is_han(a, b)).count()
}

/// Whether the three bytes of a character of UTF-8 that begin so are a common Han character.
#[inline]
pub(super) fn is_han(a: u8, b: u8) -> bool {
    let both = u16::from_be_bytes([a, b]);
    (0xE4B8..0xEA00).contains(&both)
}

/// Whether words of the script of `c` follow each other without a space.
pub(crate) fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{20000}'..='\u{323AF}' // Han
        | '\u{F900}'..='\u{FAFF}' | '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}'
        | '\u{3041}'..='\u{30FF}' | '\u{3105}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}' | '\u{31F0}'..='\u{31FF}' // kana, bopomofo
        | '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' // Thai, Lao, Burmese, Khmer
        | '\u{0F00}'..='\u{0FFF}' | '\u{A000}'..='\u{A48F}') // Tibetan, Yi
}

/// What nobody sees: soft hyphens, joiners and directions, variation selectors (those for Han that are in use), fillers.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{E0100}'..='\u{E013F}')
}

/// The class of a character whose compatibility form and case are known without a table.
#[inline]
pub(super) fn classify(c: char) -> Class {
    match c {
        '\u{0}'..='\u{7F}' => classify_ascii(c as u8),
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' => Class::Spaceless(c),
        // Full-width ASCII lies in the same order as ASCII.
        '\u{FF01}'..='\u{FF5E}' => classify_ascii((c as u32 - 0xFF01 + 0x21) as u8),
        '\u{3000}'..='\u{3003}' | '\u{3008}'..='\u{3020}' | '\u{3030}' => Class::Separator,
        '\u{2018}' | '\u{2019}' => Class::Nothing,
        // General punctuation, but for the invisible ones and the few signs that NFKC takes apart into letters.
        '\u{2000}'..='\u{200A}' | '\u{2010}'..='\u{2029}' | '\u{202F}'..='\u{205F}' => Class::Separator,
        _ if is_invisible(c) => Class::Nothing,
        '\u{80}'..='\u{A9}' | '\u{AB}'..='\u{AC}' | '\u{AE}'..='\u{B1}' | '\u{B6}'..='\u{B7}' => {
            Class::Separator
        }
        _ => Class::Unknown,
    }
}

#[inline]
fn classify_ascii(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' | b'0'..=b'9' => Class::Spaced(byte as char),
        b'A'..=b'Z' => Class::Spaced((byte | 0x20) as char),
        b'\'' => Class::Nothing,
        _ => Class::Separator,
    }
}

/// Whether a character is not there for a reader: invisible, or an apostrophe.
pub(crate) fn is_nothing(c: char) -> bool {
    classify(c) == Class::Nothing
}

/// Whether a character is of a word, of those that need no table.
pub(crate) fn is_word(c: char) -> bool {
    matches!(classify(c), Class::Spaced(_) | Class::Spaceless(_))
}

/// Whether a text has a symbol: what is neither of a word nor punctuation, white space or a control character. Those of
/// ASCII, of any width, stand for punctuation.
pub(crate) fn has_symbol(text: &str) -> bool {
    checked(text.chars()).any(|c| {
        let symbol = c.general_category_group() == GeneralCategoryGroup::Symbol
            || matches!(c.general_category(), GeneralCategory::PrivateUse | GeneralCategory::Unassigned);
        symbol && !matches!(c, '\u{0}'..='\u{7F}' | '\u{FF01}'..='\u{FF5E}')
    })
}

/// The case folding of a character of NFKC: what its capitals are in small letters, so that `ß` is `ss` as `SS` is, and `ς` is
/// `σ` as `Σ` is. The dotless `ı` is a letter of its own.
pub(crate) fn fold(c: char) -> impl Iterator<Item = char> {
    let capital = |c: char| c.to_uppercase().flat_map(char::to_lowercase);
    let folds = !c.is_ascii() && c != 'ı';
    let folded = folds.then(|| c.to_lowercase().flat_map(capital));
    folded.into_iter().flatten().chain((!folds).then(|| c.to_ascii_lowercase()))
}

/// The class of a character that has been through NFKC and case folding.
fn classify_folded(c: char) -> Class {
    match classify(c) {
        Class::Unknown if !c.is_alphanumeric() && !is_combining_mark(c) => Class::Separator,
        Class::Unknown if is_spaceless(c) => Class::Spaceless(c),
        Class::Unknown => Class::Spaced(c),
        known => known,
    }
}

struct Writer<'a> {
    out: &'a mut String,
    /// A separator was seen since the last character.
    gap: bool,
    /// The last character written is of a spaced script.
    spaced: bool,
}

impl Writer<'_> {
    #[inline]
    fn push(&mut self, class: Class) {
        // A few compatibility forms become longer than they were.
        self.out.room(8).or_raise();
        match class {
            Class::Spaced(c) => {
                if self.gap && self.spaced {
                    self.out.push(' ');
                }
                self.out.push(c);
                (self.gap, self.spaced) = (false, true);
            }
            Class::Spaceless(c) => {
                self.out.push(c);
                (self.gap, self.spaced) = (false, false);
            }
            Class::Separator | Class::Unknown => self.gap = true,
            Class::Nothing => {}
        }
    }

    /// Writes a run of characters of a spaceless script, none of which changes.
    #[inline]
    fn push_spaceless(&mut self, run: &str) {
        self.out.room(run.len()).or_raise();
        self.out.push_str(run);
        (self.gap, self.spaced) = (false, false);
    }

    /// Takes the last character back if nothing has been seen since.
    fn take_back(&mut self) -> Option<char> {
        if self.gap {
            return None;
        }
        let c = self.out.pop();
        // What stands before is a space only if the popped one began a word.
        if self.out.ends_with(' ') {
            self.out.pop();
            (self.gap, self.spaced) = (true, true);
        } else {
            self.spaced = self.out.chars().next_back().is_some_and(|c| !is_spaceless(c));
        }
        c
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

        /// Runs of Han are found where they are and nowhere else.
        #[test]
        fn han_runs_end_where_they_should(text in "[\u{4DF0}-\u{4E10}\u{9FF0}-\u{A010}a é水😀]{0,8}") {
            let expected: String = text.chars().take_while(|c| ('\u{4E00}'..='\u{9FFF}').contains(c)).collect();
            prop_assert_eq!(han_prefix(text.as_bytes()), expected.len());
        }

        /// The short cuts agree with the tables.
        #[test]
        fn fast_classes_agree_with_unicode(c in any::<char>()) {
            if let Class::Spaced(to) | Class::Spaceless(to) = classify(c) {
                let folded: String = std::iter::once(c).nfkc().flat_map(fold).nfc().collect();
                prop_assert_eq!(folded, to.to_string());
            }
        }
    }
}
