//! Words as jieba-rs itself cuts them, with its dictionary.

mod common;

use common::interrupted_after;
use dedup_core::text::{Segmenter, normalize, tag};
use jieba_rs::Jieba;
use proptest::prelude::*;
use std::sync::LazyLock;

static JIEBA: LazyLock<Jieba> = LazyLock::new(Jieba::new);

/// All words of its dictionary.
static WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let text = std::fs::read_to_string(env!("JIEBA_DICTIONARY")).unwrap();
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
});

#[test]
fn what_is_no_word_has_no_tag() {
    for other in ["", "不存在的词", "长沙长沙", "\0", "\u{9FFF}", "\u{10FFFF}", "长\0", "水水", "é"]
    {
        assert!(!JIEBA.has_word(other) && tag(other).is_none(), "{other}");
    }
}

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
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 12))]

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
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 10))]

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
        let own = own.iter().map(|word| normalize(word).replace(' ', ""));
        let own: Vec<String> = own.filter(|word| !word.is_empty() && word.len() <= 1024).collect();
        let mut with_own = JIEBA.clone();
        let lines = own.iter().map(|word| format!("{word} {} \n", with_own.add_word(word, None, None)));
        let expected: String = lines.collect();
        prop_assert_eq!(Segmenter::complete_words(own.iter().map(String::as_str)).unwrap().0, expected);
    }
}

#[test]
fn long_runs_can_be_interrupted() {
    let text = "水区".repeat(100_000);
    assert!(interrupted_after(3, || drop(Segmenter::shared().raw_cut(&text, false))).0);
}
