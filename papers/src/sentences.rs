//! Sentences and clauses of a text, Chinese or English.

use dedup_core::interrupt::Meter;

/// What ends a sentence wherever it stands.
fn is_full_stop(c: char) -> bool {
    matches!(c, '。' | '！' | '？' | '；' | '…' | '\n' | '\r' | '\u{2028}' | '\u{2029}' | '．' | '｡')
}

/// What ends a sentence if a space or the end of the text follows: inside of
/// `3.5`, `v1.2` or `example.org` it does not.
fn is_latin_stop(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ';')
}

/// What may close after the end of a sentence and belongs to it.
fn is_closing(c: char) -> bool {
    matches!(c, '”' | '’' | '」' | '』' | '）' | '】' | '》' | '"' | '\'' | ')' | ']')
}

/// What ends a clause inside a sentence.
fn is_clause_end(c: char) -> bool {
    matches!(c, '，' | '、' | '：' | ',' | ':' | '—')
}

/// Calls `each` with the byte range of every sentence of `text`, in order:
/// from its first character that is not a space to its end mark and what
/// closes after it. Sentences end at 。！？；… and line breaks (P5's for
/// Chinese), and at . ! ? ; before a space or the end. Runs of end marks end
/// one sentence; a run between them that holds no letter or digit is none.
pub fn sentences(text: &str, each: impl FnMut(std::ops::Range<usize>)) {
    split(text, is_full_stop, each);
}

/// As [`sentences`], of clauses: a comma, colon or dash ends one too. A comma
/// or colon between digits does not (`1,000`, `10:30`).
pub fn clauses(text: &str, each: impl FnMut(std::ops::Range<usize>)) {
    split(text, |c| is_full_stop(c) || is_clause_end(c), each);
}

fn split(text: &str, ends: impl Fn(char) -> bool, mut each: impl FnMut(std::ops::Range<usize>)) {
    // Where the sentence begins that is being read, and whether it says
    // anything yet.
    let (mut start, mut says) = (0, false);
    // Right after end marks: what closes still belongs to the sentence.
    let mut ended = false;
    let mut before = '\0';
    let mut emit = |start: usize, end: usize, says: bool| {
        let (piece, base) = (&text[start..end], text.as_ptr() as usize);
        let trimmed = piece.trim();
        if says {
            let from = trimmed.as_ptr() as usize - base;
            each(from..from + trimmed.len());
        }
    };
    let mut rest = text.char_indices().peekable();
    let mut meter = Meter::new();
    while let Some((at, c)) = rest.next() {
        meter.work(1);
        let after = rest.peek().map(|&(_, c)| c);
        let number = before.is_ascii_digit() && after.is_some_and(|c| c.is_ascii_digit());
        let latin = is_latin_stop(c)
            && after.is_none_or(|next| next.is_whitespace() || is_closing(next) || is_latin_stop(next));
        let is_end = latin || ends(c) && !(number && matches!(c, ',' | ':' | '：' | '．'));
        if ended && !is_end && !is_closing(c) {
            if says {
                emit(start, at, says);
                (start, says) = (at, false);
            }
            ended = false;
        }
        ended |= is_end;
        says |= c.is_alphanumeric();
        before = c;
    }
    emit(start, text.len(), says);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split_by(text: &str, by: fn(&str, &mut dyn FnMut(std::ops::Range<usize>))) -> Vec<String> {
        let mut all = Vec::new();
        by(text, &mut |range| all.push(text[range].to_owned()));
        all
    }

    fn of(text: &str) -> Vec<String> {
        split_by(text, |text, each| sentences(text, each))
    }

    #[test]
    fn chinese() {
        assert_eq!(of("小区停水三天。物业不管！！怎么办？"), ["小区停水三天。", "物业不管！！", "怎么办？"]);
        assert_eq!(
            of("他说：“不管。”我们等着……请处理；谢谢\n张三"),
            ["他说：“不管。”", "我们等着……", "请处理；", "谢谢", "张三"]
        );
        assert_eq!(of("。。。\n\n……"), [""; 0]);
        assert_eq!(of(""), [""; 0]);
    }

    #[test]
    fn english() {
        assert_eq!(
            of("Water is off. It costs 3.50 at example.org! (Why?) \"No idea.\" End"),
            ["Water is off.", "It costs 3.50 at example.org!", "(Why?)", "\"No idea.\"", "End"]
        );
        assert_eq!(of("Wait... what?"), ["Wait...", "what?"]);
    }

    #[test]
    fn clauses_end_at_commas_too() {
        let clauses = |text| split_by(text, |text, each| clauses(text, each));
        assert_eq!(
            clauses("您好：停水三天，1,000户，请处理。"),
            ["您好：", "停水三天，", "1,000户，", "请处理。"]
        );
    }

    proptest! {
        /// Sentences are in order, do not overlap, and hold every letter.
        #[test]
        fn nothing_is_lost(text in "[水区a1 。！?.…”\"\n，]{0,40}") {
            let (mut last, mut joined) = (0, String::new());
            sentences(&text, |range| {
                assert!(range.start >= last && range.end <= text.len());
                last = range.end;
                joined.push_str(&text[range]);
            });
            let letters = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).collect::<String>();
            prop_assert_eq!(letters(&joined), letters(&text));
        }
    }
}
