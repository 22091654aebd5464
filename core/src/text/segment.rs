//! Words of a normal form: jieba for Chinese, Unicode's word boundaries for
//! the scripts that jieba does not know.

use super::normalize::han_prefix;
use jieba_rs::Jieba;
use std::sync::OnceLock;
use unicode_segmentation::UnicodeSegmentation;

/// jieba keeps a few dozen bytes a character while it works on one block of
/// Chinese, so a long text goes through in pieces of this many bytes.
const PIECE_BYTES: usize = 1 << 16;

/// Cuts normal forms into words.
pub struct Segmenter {
    jieba: Jieba,
}

impl Segmenter {
    /// The segmenter with jieba's own dictionary: loaded at the first call in
    /// a process (some tens of milliseconds), shared ever after.
    pub fn shared() -> &'static Segmenter {
        static SHARED: OnceLock<Segmenter> = OnceLock::new();
        SHARED.get_or_init(|| Segmenter { jieba: Jieba::new() })
    }

    /// Calls `each` with every word of the normal form `text`, in order.
    ///
    /// With `hmm`, jieba's hidden Markov model joins characters that its
    /// dictionary does not know into words (names, new words). Without it the
    /// cut of a sentence depends on the dictionary alone and one changed
    /// character disturbs fewer words.
    pub fn words<'a>(&self, text: &'a str, hmm: bool, mut each: impl FnMut(&'a str)) {
        for piece in pieces(text, PIECE_BYTES) {
            if piece.bytes().all(|byte| byte.is_ascii()) {
                piece.split(' ').filter(|word| !word.is_empty()).for_each(&mut each);
                continue;
            }
            let mut block_start = 0;
            for (start, end) in foreign_runs(piece) {
                self.han_words(&piece[block_start..start], hmm, &mut each);
                piece[start..end].unicode_words().for_each(&mut each);
                block_start = end;
            }
            self.han_words(&piece[block_start..], hmm, &mut each);
        }
    }

    fn han_words<'a>(&self, block: &'a str, hmm: bool, each: &mut impl FnMut(&'a str)) {
        if !block.is_empty() {
            let words = self.jieba.cut(block, hmm);
            words.into_iter().map(|token| token.word).filter(|&word| word != " ").for_each(each);
        }
    }

    /// The plain cut of jieba, with nothing normalised: what speed is
    /// compared with.
    pub fn raw_cut<'a>(&self, text: &'a str, hmm: bool) -> Vec<&'a str> {
        self.jieba.cut(text, hmm).into_iter().map(|token| token.word).collect()
    }
}

fn is_han(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}' | '\u{20000}'..='\u{323AF}' | '\u{F900}'..='\u{FAFF}' | '\u{3005}'..='\u{3007}')
}

/// The runs of `text` without Han characters and spaces that hold a letter
/// which jieba would emit as a word of its own, one neither Han nor ASCII.
fn foreign_runs(text: &str) -> Vec<(usize, usize)> {
    let mut runs = Vec::new();
    if only_han_and_ascii(text.as_bytes()) {
        return runs;
    }
    let (mut start, mut foreign) = (0, false);
    for (at, c) in text.char_indices() {
        if c == ' ' || is_han(c) {
            if foreign {
                runs.push((start, at));
            }
            (start, foreign) = (at + c.len_utf8(), false);
        } else {
            foreign |= !c.is_ascii();
        }
    }
    if foreign {
        runs.push((start, text.len()));
    }
    runs
}

/// Whether a text holds nothing but common Han characters and ASCII, as most
/// Chinese texts do.
fn only_han_and_ascii(mut text: &[u8]) -> bool {
    while let Some(first) = text.first() {
        let known = if first.is_ascii() { 1 } else { han_prefix(text) };
        if known == 0 {
            return false;
        }
        text = &text[known..];
    }
    true
}

/// Cuts `text` into pieces of at most `limit` bytes, at a space near the end
/// of the piece if there is one.
fn pieces(text: &str, limit: usize) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut end = rest.len();
        if end > limit {
            end = rest.floor_char_boundary(limit);
            if let Some(space) = rest[..end].rfind(' ')
                && space > limit / 2
            {
                end = space;
            }
        }
        let (piece, tail) = rest.split_at(end);
        rest = tail;
        Some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::normalize;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<String> {
        let normal = normalize(text);
        let mut all = Vec::new();
        Segmenter::shared().words(&normal, false, |word| all.push(word.to_owned()));
        all
    }

    #[test]
    fn chinese_with_latin_inside() {
        assert_eq!(words("我爱北京，iPhone拍照。"), ["我", "爱", "北京", "iphone", "拍照"]);
    }

    #[test]
    fn other_scripts_are_cut_at_their_word_boundaries() {
        assert_eq!(words("Ein naïver Café-Gast"), ["ein", "naïver", "café", "gast"]);
        assert_eq!(words("Привет, мир"), ["привет", "мир"]);
        assert_eq!(words("用naïve方法"), ["用", "naïve", "方法"]);
        assert_eq!(words("안녕 세계"), ["안녕", "세계"]);
    }

    proptest! {
        /// Nothing is lost or invented: the words are the text without spaces.
        #[test]
        fn words_cover_the_text(text in "[a-c 水区市停电了éñ안я0-9カ]{0,40}") {
            let normal = normalize(&text);
            let mut joined = String::new();
            Segmenter::shared().words(&normal, true, |word| joined.push_str(word));
            prop_assert_eq!(joined, normal.replace(' ', ""));
        }

        /// Pieces cover the text and respect the limit.
        #[test]
        fn pieces_cover(text in "[a 水é]{0,200}", limit in 8usize..40) {
            let all: Vec<&str> = pieces(&text, limit).collect();
            prop_assert_eq!(all.concat(), &text[..]);
            prop_assert!(all.iter().all(|piece| piece.len() <= limit));
        }
    }
}
