//! What the report says, and which pairs of rows it shows.

use dedup_core::dedup::Alike;
use dedup_core::details::Kinds;
use dedup_core::evaluate::Nearest;
use dedup_core::report::{Language, PICTURE, Page, Picture, Reason, Row, Standing, Summary, misses};
use proptest::prelude::*;

fn alike(similarity: f64, details: Option<Kinds>) -> Alike {
    Alike { similarity, n: 2, details, normal: Default::default(), statistics: None, weighed: false }
}

/// The page of so many rows, as many of them duplicates, with two texts of one group.
fn page(rows: u64, exact: u64, texts: [&str; 2]) -> String {
    page_of(rows, exact, texts.map(|text| (text, Picture::default())))
}

fn page_of(rows: u64, exact: u64, [a, b]: [(&str, Picture); 2]) -> String {
    let mut page = Page::new(Language::of(None), alike(0.5, None), false, Vec::new());
    page.add(2, &row(a, Standing::Kept), &[row(b, Standing::Near)]);
    finish(page, rows, exact)
}

fn row((text, picture): (&str, Picture), standing: Standing) -> Row {
    Row {
        id: "1".into(),
        shown: Vec::new(),
        picture,
        text: text.to_owned(),
        standing,
        distance: None,
        similarity: None,
        same_label: None,
    }
}

fn finish(page: Page, rows: u64, exact: u64) -> String {
    page.finish(&Summary {
        title: None,
        table: None,
        made: String::new(),
        options: String::new(),
        kinds: Vec::new(),
        method: None,
        contained: None,
        rows,
        empty: 0,
        groups: 1,
        largest: 2,
        exact,
        alike_rows: 0,
        near: None,
        templates: Vec::new(),
        labels: None,
        decisions: String::new(),
        has_decisions: false,
    })
}

/// The markup of two texts: of the one that stays, and of the other one as it differs, if it does.
fn shown(a: &str, b: &str) -> Vec<String> {
    let page = page(2, 0, [a, b]);
    let texts = page.split(r#"<p class="text" dir="auto">"#).skip(1);
    texts.map(|text| text.split_once("</p>").unwrap().0.to_owned()).collect()
}

/// The text that a browser would show.
fn read(html: &str) -> String {
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&#13;", "\r"), ("&amp;", "&")];
    entities.iter().fold(html.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

/// One of the two texts that are shown together: without the `other` one's elements.
fn side(html: &str, other: &str) -> String {
    let [begin, end] = [format!("<{other}>"), format!("</{other}>")];
    let parts = html.split(&begin).enumerate();
    let own: String =
        parts.map(|(at, part)| if at > 0 { part.split_once(&end).unwrap().1 } else { part }).collect();
    read(&["<del>", "</del>", "<ins>", "</ins>"].iter().fold(own, |own, tag| own.replace(tag, "")))
}

#[test]
fn differences_read_well() {
    let differing = |a, b| shown(a, b).remove(1);
    assert_eq!(differing("停水三天了", "停水四天了"), "停水<del>三</del><ins>四</ins>天了");
    let lamp = differing("The lamp is broken", "The light is broken");
    assert_eq!(lamp, "The <del>lamp</del><ins>light</ins> is broken");
    assert_eq!(differing("one two", "three four"), "<del>one two</del><ins>three four</ins>");
    let bits = |middle: &str| format!("{}{middle}{}", "01".repeat(20), "10".repeat(20));
    assert_eq!(shown(&bits("0110"), &bits("0000"))[1], bits("0<del>11</del><ins>00</ins>0"));
    assert_eq!((differing("", "a"), shown("a", "a")), ("<ins>a</ins>".into(), vec!["a".to_owned()]));
}

#[test]
fn numbers_have_their_thousands_apart() {
    for (rows, duplicates, said) in [
        (7, 1, "Of 7 rows, 1 (14.3%) repeat"),
        (1234, 1234, "Of 1,234 rows, 1,234 (100%) repeat"),
        (123_456_789, 12_345, "Of 123,456,789 rows, 12,345 (0.010%) repeat"),
        (100_000, 12_345, "Of 100,000 rows, 12,345 (12.3%) repeat"),
        (100_000, 99_979, "Of 100,000 rows, 99,979 (99.979%) repeat"),
    ] {
        assert!(page(rows, duplicates, ["a", "b"]).contains(said), "{said}");
    }
}

const HOSTILE: &str = r#"(</script>|<!--|<script>|]]>|</p>|&lt;|\{\}|["'&<>/\\]|[\r\n\t]|\u{2028}|\u{202E}|\u{7F}|\PC|停){0,12}"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 8))]

    /// A text stays a text: no markup comes of it, and a reader sees the same characters.
    #[test]
    fn texts_stay_texts(text in HOSTILE) {
        let html = &shown(&text, "")[0];
        let escaped = !html.contains(['<', '>', '"', '\'', '\r']);
        prop_assert!(escaped);
        prop_assert_eq!(read(html), text.replace('\u{7F}', "\u{FFFD}"));
    }

    /// What is shared and what differs are both texts.
    #[test]
    fn differences_are_both_texts(a in "([停水电路a1 ,。]|👨‍👩‍👧|e\u{301}|\\PC){0,14}", b in "[停水电路a1 ,。\r\n]{0,14}", one: bool) {
        let (a, b) = if one { (a, b) } else { (format!("{b}{a}"), format!("{a}{b}{a}")) };
        prop_assume!(a != b);
        let html = &shown(&a, &b)[1];
        prop_assert!(!html.contains("<del></del>") && !html.contains("<ins></ins>"));
        prop_assert!(!html.contains("</del><del>") && !html.contains("</ins><del>"));
        prop_assert_eq!((side(html, "ins"), side(html, "del")), (a, b));
    }
}

/// What a page shows of two pictures: its elements, and what its policy allows.
fn pictured(pictures: [Picture; 2]) -> (Vec<String>, Option<String>) {
    let page = page_of(2, 0, pictures.map(|picture| ("a", picture)));
    let between = |html: &str, end: char| html.split(end).next().unwrap().to_owned();
    let shown = page.split("<img src=\"").skip(1).map(|html| between(html, '"')).collect();
    (shown, page.split("; img-src ").nth(1).map(|html| between(html, '"')))
}

/// Only files by http and relative ones are loaded, as the policy says; an address stays in its attribute.
#[test]
fn addresses_of_pictures() {
    let at = |address: &str| Language::of(None).picture_at(address);
    let shown = |address: &str| pictured([at(address), Picture::default()]);
    for (address, source) in [
        ("https://a.example/1.png?x=a:b", "https:"),
        (" HTTP://a.example/1.png", "http:"),
        ("thumbs/1.png", "'self'"),
        ("/thumbs/a%20b.png", "'self'"),
        ("../1.png?of=//x:\\y", "'self'"),
        ("é.png", "'self'"),
    ] {
        assert_eq!(shown(address), (vec![address.trim().to_owned()], Some(source.to_owned())));
    }
    for address in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "data:image/svg+xml,<svg onload=alert(1)>",
        "data:image/png;base64,iVBORw0KGgo=",
        "file:///etc/passwd",
        "blob:https://a.example/1",
        "//a.example/1.png",
        "/\\a.example/1.png",
        "C:\\1.png",
        "https://a.example/1\n.png",
        "https://a.example/1 2.png",
        "The lift in our building is broken...",
        "[1,5) a word",
        "picture-of-a-lift",
        "12345678",
        &format!("https://a.example/{}", "1".repeat(2000)),
    ] {
        assert_eq!(shown(address), (vec![], None), "{address}");
        assert!(at(address).why_not.contains(&address[..6]));
    }
    assert_eq!(at("  "), Picture::default());
    let quoted = shown("1.png\"onerror=\"alert(1)");
    assert_eq!(quoted.0, ["1.png&quot;onerror=&quot;alert(1)"]);
    let both = pictured([at("1.png"), at("https://a.example/1.png")]);
    assert_eq!(both.1.unwrap(), "https: 'self'");
}

/// Bytes are in the page if they are a picture; the policy allows nothing of the net for them.
#[test]
fn bytes_of_pictures() {
    let of = |bytes| Language::of(None).picture_of(bytes);
    let png = b"\x89PNG\r\n\x1A\nxy";
    for (bytes, address) in [
        (&png[..], "data:image/png;base64,iVBORw0KGgp4eQ=="),
        (&png[..9], "data:image/png;base64,iVBORw0KGgp4"),
        (&png[..8], "data:image/png;base64,iVBORw0KGgo="),
        (b"\xFF\xD8\xFF\xE0", "data:image/jpeg;base64,/9j/4A=="),
        (b"GIF89a", "data:image/gif;base64,R0lGODlh"),
        (b"RIFF\0\0\0\0WEBP", "data:image/webp;base64,UklGRgAAAABXRUJQ"),
    ] {
        let picture = of(Ok(bytes));
        let shown = pictured([picture, Picture::default()]);
        assert_eq!(shown, (vec![address.to_owned()], Some("data:".to_owned())));
    }
    for bytes in [&b""[..], b"\x89PNG", b"RIFF\0\0\0\0WAVE", b"<svg onload=\"alert(1)\"/>", b"<?xml", b"%PDF"]
    {
        assert_eq!(of(Ok(bytes)).address, "");
        assert!(of(Ok(bytes)).why_not.contains("neither PNG"));
    }
    assert!(of(Err(PICTURE + 1)).why_not.contains("65,537 bytes, and a page takes 65,536"));
    assert_eq!(pictured([of(Err(1)), Picture::default()]), (vec![], None));
}

#[test]
fn a_page_says_that_it_asks_about_fewer_pairs() {
    let asked = |all| {
        let mut page = Page::new(Language::of(None), alike(0.5, None), false, Vec::new());
        page.begin_review(all);
        page.ask(&["a", "b"].map(|text| row((text, Picture::default()), Standing::Kept)), true, "above", 1);
        finish(page, 2, 0).contains("This page has 1 of 2 such pairs")
    };
    assert_eq!([1, 2].map(asked), [false, true]);
}

/// Protects the reasons, the order and that a pair is shown once.
#[test]
fn reasons() {
    let texts = [
        "我们是翠湖春天小区的居民，小区停水三天了",
        "我们是金桂嘉园小区的居民，小区停水三天了",
        "学校门口的路灯坏了一个月，晚上接孩子不安全",
        "学校门口的路灯坏了一个月，晚上接孩子不安全！",
    ];
    let pair = |row, nearest, distance| Nearest { row, nearest, distance };
    let pairs = [pair(0, 1, 3), pair(1, 0, 3), pair(2, 3, 5), pair(0, 2, 3), pair(1, 3, 40)];
    let alike = alike(0.5, Some(Kinds::ALL));
    let shown = misses(&pairs, 10, &alike, None, |row| texts[row].to_owned());
    let shown: Vec<_> = shown.iter().map(|miss| (miss.pair, miss.reason)).collect();
    assert_eq!(shown, [(pairs[2], Reason::Grouping), (pairs[0], Reason::Details)]);
    let strict = Alike { similarity: 0.9, ..alike };
    let reasons = |limit| misses(&pairs[..1], limit, &strict, None, |row| texts[row].to_owned());
    assert_eq!([reasons(3)[0].reason, reasons(2)[0].reason], [Reason::Text, Reason::Distance]);
}
