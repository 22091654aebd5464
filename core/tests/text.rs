//! Normal form, markup, words and n-grams of texts.

use dedup_core::text::{Markup, Segmenter, char_ngrams, normalize, simplify, strip_markup};
use proptest::prelude::*;

#[test]
fn spaces_remain_between_words_that_need_them() {
    assert_eq!(normalize("The  quick-brown\nfox"), "the quick brown fox");
    assert_eq!(normalize("用 iPhone 15 Pro 拍 的"), "用iphone 15 pro拍的");
    assert_eq!(normalize("Привет,  МИР"), "привет мир");
    assert_eq!(normalize("안녕  하세요"), "안녕 하세요");
}

#[test]
fn composed_and_decomposed_letters_are_one() {
    assert_eq!(normalize("cafe\u{301} noir"), normalize("café noir"));
    assert_eq!(normalize("a e\u{301}"), "a é");
    assert_eq!(normalize("カ\u{3099}"), normalize("ガ"));
    assert_eq!(normalize("ｶﾞ"), "ガ");
    assert_eq!(normalize("\u{1112}\u{1161}\u{11ab}"), normalize("한"));
}

#[test]
fn compatibility_forms_unfold() {
    assert_eq!(normalize("㎡ ① Ⅳ ﬁn ㈱"), "m2 1 iv fin株");
}

/// Protects that case is folded, not lowered: what capitals do not tell apart is one.
#[test]
fn case_is_folded() {
    for (a, b) in [
        ("Große Straße", "GROSSE STRASSE"),
        ("Οδός Αθηνάς", "ΟΔΌΣ ΑΘΗΝΆΣ"),
        ("ΤΕΛΟΣ", "τελος"),
        ("STRAẞE", "strasse"),
        ("ᾳ", "ΑΙ"),
        ("ΐ", "\u{3B9}\u{308}\u{301}"),
        ("ﬀ ŉ", "FF ʼN"),
    ] {
        assert_eq!(normalize(a), normalize(b), "{a} {b}");
    }
    assert_eq!(normalize("ıI İ"), "ıi i\u{307}");
}

#[test]
fn text_without_a_word_is_empty() {
    for empty in ["", " \t\n", "……！？", "😀👍🏽", "\u{200B}\u{FEFF}", "—— *** ——"] {
        assert_eq!(normalize(empty), "", "{empty:?}");
    }
}

/// Protects that what is invisible tells no two texts apart, between a letter and its mark either.
#[test]
fn what_is_invisible_vanishes() {
    let expected = normalize("停水e\u{301}\u{327}");
    for c in "\u{E0100}\u{3164}\u{FFA0}\u{61C}\u{200D}".chars() {
        assert_eq!(normalize(&format!("停{c}水 e{c}\u{301}{c}\u{327}")), expected, "{c:?}");
    }
}

fn visible(source: &str, markup: Markup) -> String {
    let mut out = String::new();
    strip_markup(source, markup, &mut out);
    normalize(&out)
}

#[test]
fn a_page_is_the_text_that_one_sees() {
    let page = "<!DOCTYPE html><html><head><title>停水</title><style>p{color:red}</style>\
        <script>if (a < b) document.write('<p>no</p>')</script></head><body><!-- 注释 --><p>小区<b>停</b>水&nbsp;三天\
        <br>The qu<i>ick</i><p>fox &amp; &#x4F60;好</body>";
    assert_eq!(visible(page, Markup::Html), "停水小区停水三天the quick fox你好");
}

#[test]
fn broken_markup_is_read_too() {
    assert_eq!(visible("a <b c", Markup::Html), "a");
    assert_eq!(visible("3 < 5 且 7 > 6", Markup::Html), "3 5且7 6");
    assert_eq!(visible("<script>never closed", Markup::Html), "");
    assert_eq!(visible("x <![CDATA[ y", Markup::Xml), "x y");
}

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

#[test]
fn own_words_are_not_cut() {
    let text = "投诉楚江新区的云上花园小区";
    let cut = |segmenter: &Segmenter| {
        let mut all = Vec::new();
        segmenter.words(text, false, |word| all.push(word.to_owned()));
        all
    };
    assert!(!cut(Segmenter::shared()).contains(&"云上花园".to_owned()));
    let lines = ["\u{FEFF}云上花园", "", "楚江新区 5000 ns", "ＯＫ店 n", "！！"];
    let (words, count) = Segmenter::complete_words(lines).unwrap();
    assert!(Segmenter::are_complete(&words) && Segmenter::are_complete(""));
    for damaged in ["云上", "云上 x", "云上 3 nz 4", "\n"] {
        assert!(!Segmenter::are_complete(damaged), "{damaged}");
    }
    assert!(count == 3 && words.contains("楚江新区 5000 ns\n") && words.contains("ok店 "), "{words}");
    let cut = cut(&Segmenter::with_words(&words));
    assert!(cut.contains(&"云上花园".to_owned()) && cut.contains(&"楚江新区".to_owned()), "{cut:?}");
    let (endless, beginning) = ("水".repeat(400), "水".repeat(20));
    for (line, error) in [
        ("停水 x y", "line 2 is not a word with a frequency and a tag: \"停水 x y\""),
        ("iphone-pro", "line 2 is never found, as texts are cut at its spaces and signs: \"iphone-pro\""),
        (&endless, &format!("line 2 is longer than 1024 bytes: \"{beginning}…\"")),
    ] {
        assert!(Segmenter::complete_words(["好 3 n", line]).unwrap_err().ends_with(error), "{line}");
    }
}

#[test]
fn traditional_becomes_simplified() {
    assert_eq!(simplify("請問公租房何時搖號，電話無人接聽"), "请问公租房何时摇号，电话无人接听");
    assert_eq!(simplify("头发与發展，乾燥与乾隆"), "头发与发展，干燥与乾隆");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

    /// The normal form is a normal form: taking it again changes nothing, and it holds only words and single spaces
    /// between them. Marks, what they compose with, and what may stand between are where it went wrong.
    #[test]
    fn normalizing_is_idempotent(
        text in "\\PC{0,60}|([a水カeé€ ’\u{897}\u{EC8}\u{301}\u{316}\u{327}\u{3099}\u{FF9E}\u{200B}\u{34F}\u{1112}\u{1161}]|\\p{M}){0,9}",
    ) {
        let once = normalize(&text);
        prop_assert_eq!(&normalize(&once), &once);
        prop_assert!(!once.contains("  ") && once.trim() == once);
    }

    /// Text without a sign of markup is itself.
    #[test]
    fn plain_text_stays(plain in "[a-z水区。，\\n ]{0,40}") {
        for markup in [Markup::Html, Markup::Xml] {
            prop_assert_eq!(visible(&plain, markup), normalize(&plain));
        }
    }

    /// Nothing is lost or invented: the words are the text without spaces.
    #[test]
    fn words_cover_the_text(text in "[a-c 水区市停电了éñ안я0-9カ]{0,40}") {
        let normal = normalize(&text);
        let mut joined = String::new();
        Segmenter::shared().words(&normal, true, |word| joined.push_str(word));
        prop_assert_eq!(joined, normal.replace(' ', ""));
    }

    /// Equal to the windows of the vector of characters; a shorter text is one run, and an empty one none.
    #[test]
    fn equals_windows(text in "[a-c水区é😀]{0,12}", n in 1usize..5) {
        let chars: Vec<char> = text.chars().collect();
        let mut expected: Vec<String> = chars.windows(n).map(|w| w.iter().collect()).collect();
        if expected.is_empty() && !text.is_empty() {
            expected.push(text.clone());
        }
        let mut found = Vec::new();
        char_ngrams(&text, n, |gram| found.push(gram));
        prop_assert_eq!(found, expected);
    }
}
