//! The groups of the page: as data for its script, and the first of them as HTML.

use super::diff::{Piece, diff};
use super::html::{Html, json_string};
use super::words::{Words, fill};
use crate::dedup::{Alike, Stage};
use crate::details::Detail as Particular;
use crate::memory::{self, OrRaise, Room};
use crate::text::normalize;
use std::fmt::Write;

/// Groups of a page, at most.
pub const GROUPS: usize = 10_000;
/// Rows that are shown of a group, at most.
pub const ROWS: usize = 50;
/// Characters that are shown of a text, at most.
pub const CHARACTERS: usize = 2000;
/// Groups that are shown at a time.
pub(super) const AT_A_TIME: usize = 20;
/// Of what is shared in a row, so many characters stand at each end; what is longer than [`LONG`] is left out between.
pub(super) const ENDS: usize = 40;
pub(super) const LONG: usize = 120;
/// Characters from where it is cut in which a blank is looked for.
pub(super) const NEARBY: usize = 20;

/// A row of a group.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Its text.
    pub text: String,
    /// How it was caught.
    pub stage: Stage,
    /// Bits from the row that stays, and Jaccard coefficient, if they are known.
    pub distance: Option<u32>,
    /// As above.
    pub similarity: Option<f64>,
    /// Both rows have labels, and these differ.
    pub other_label: bool,
}

/// The groups taken in so far.
#[derive(Debug)]
pub struct Groups {
    pub(super) words: &'static Words,
    alike: Alike,
    /// The sentence for the similarity of two rows.
    pub(super) said: &'static str,
    most_bytes: usize,
    pub(super) json: String,
    pub(super) first: Html,
    pub(super) count: usize,
}

/// The beginning of a text that is shown, and whether that is not all.
pub(super) fn shown(text: &str) -> (&str, bool) {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

/// Whether a difference is one of those particulars, or part of one.
fn decides(piece: &Piece, a: &str, b: &str, particulars: &[Particular]) -> bool {
    let plain = |text: &str| normalize(text).replace(' ', "");
    let touches = |name: &str, words: &str| {
        let name = plain(name);
        !words.is_empty() && (name.contains(words) || words.contains(&name))
    };
    if piece.shared || particulars.is_empty() {
        return false;
    }
    let (x, y) = (plain(&a[piece.a.clone()]), plain(&b[piece.b.clone()]));
    particulars.iter().any(|particular| touches(&particular.a, &x) && touches(&particular.b, &y))
}

/// The second text as it differs from the first.
pub(super) fn differing(html: &mut Html, words: &Words, a: &str, b: &str, particulars: &[Particular]) {
    for piece in diff(a, b) {
        let (x, y) = (&a[piece.a.clone()], &b[piece.b.clone()]);
        if piece.shared {
            shared(html, words, x);
            continue;
        }
        let why = decides(&piece, a, b, particulars);
        if !x.is_empty() {
            html.tag(if why { "<del class=\"why\">" } else { "<del>" }).text(x).tag("</del>");
        }
        if !y.is_empty() {
            html.tag(if why { "<ins class=\"why\">" } else { "<ins>" }).text(y).tag("</ins>");
        }
    }
}

/// What is shared; the middle of what is long is left out, between words where there are blanks nearby.
fn shared(html: &mut Html, words: &Words, text: &str) {
    let characters = memory::collect(text.char_indices()).or_raise();
    let length = characters.len();
    if length <= LONG {
        html.text(text);
        return;
    }
    let is_blank = |at: &usize| characters[*at].1 == ' ';
    let from = (ENDS - NEARBY..ENDS).rev().find(is_blank).map_or(ENDS, |blank| blank + 1);
    let last = length - ENDS;
    let to = (last..last + NEARBY).find(is_blank).unwrap_or(last);
    html.text(&text[..characters[from].0]).tag("<i>");
    html.text(&fill(words.of_script("gap"), &[&(to - from).to_string()])).tag("</i>");
    html.text(&text[characters[to].0..]);
}

/// The particulars in which two rows differ.
pub(super) fn chips(html: &mut Html, words: &Words, particulars: &[Particular]) {
    for Particular { kind, a, b } in particulars {
        html.tag(" <b class=\"chip why\">");
        html.text(&fill(words.of_script("differs"), &[words.kind(kind), a, b])).tag("</b>");
    }
}

/// A text in a paragraph of its own direction.
pub(super) fn begin_text(html: &mut Html) {
    html.tag("<p class=\"text\" dir=\"auto\">");
}

impl Groups {
    /// None yet; they take `most_bytes` at most, about.
    pub fn new(language: super::Language, alike: Alike, most_bytes: usize) -> Groups {
        let words = language.words();
        let said = "alike";
        Groups { words, alike, said, most_bytes, json: String::new(), first: Html::default(), count: 0 }
    }

    /// As [`Groups::new`]; the similarity of rows is the probability that they are one thing.
    pub fn by_records(self) -> Groups {
        Groups { said: "sure", ..self }
    }

    /// Whether there is room for another group.
    pub fn has_room(&self) -> bool {
        self.count < GROUPS && self.bytes() < self.most_bytes
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        self.json.len() + self.first.bytes()
    }

    /// Takes in a group of `size` rows: the one that stays and some of the others.
    pub fn add(&mut self, size: u64, kept: &Row, others: &[Row]) {
        let (text, cut) = shown(&kept.text);
        let rest = size.saturating_sub(1 + others.len() as u64);
        self.count += 1;
        self.raw(if self.count > 1 { ",\n[" } else { "[" });
        self.raw(&format!("{size},{rest},{},", u8::from(cut)));
        json_string(&kept.id, &mut self.json);
        self.raw(",");
        json_string(text, &mut self.json);
        self.raw(",[");
        let first = self.count <= AT_A_TIME;
        if first {
            self.begin_first(size, kept, text, cut);
        }
        for (at, row) in others.iter().enumerate() {
            self.raw(if at > 0 { ",[" } else { "[" });
            self.row(kept, row, first);
            self.raw("]");
        }
        self.raw("]]");
        if first {
            if rest > 0 {
                let rest = fill(self.words.of_script("rest"), &[&rest.to_string()]);
                self.first.tag("<p class=\"note\">").text(&rest).tag("</p>");
            }
            self.first.tag("</article>");
        }
    }

    fn raw(&mut self, json: &str) {
        self.json.room(json.len()).or_raise();
        self.json.push_str(json);
    }

    fn begin_first(&mut self, size: u64, kept: &Row, text: &str, cut: bool) {
        let (words, html) = (self.words, &mut self.first);
        html.tag("<article><h3>").text(&fill(words.of_script("group"), &[&self.count.to_string()]));
        html.tag(" <small>").text(&fill(words.of_script("size"), &[&size.to_string()])).tag("</small></h3>");
        html.tag("<div class=\"row kept\"><p class=\"meta\"><b class=\"chip\">")
            .text(words.of_script("stays"));
        html.tag("</b> <span class=\"id\" dir=\"auto\">").text(&kept.id).tag("</span></p>");
        begin_text(html);
        html.text(text).tag("</p>");
        if cut {
            note_cut(html, words);
        }
        html.tag("</div>");
    }

    fn row(&mut self, kept: &Row, row: &Row, first: bool) {
        let ((a, a_cut), (b, b_cut)) = (shown(&kept.text), shown(&row.text));
        let cut = a_cut || b_cut;
        let identical = kept.text == row.text;
        // The one place that asks for the evidence of particulars.
        let particulars = if identical { Vec::new() } else { self.alike.differing(&kept.text, &row.text) };
        let percent = row.similarity.map(|similarity| (similarity * 100.0).floor() as u32);
        json_string(&row.id, &mut self.json);
        let number = |value: Option<u32>| value.map_or_else(|| "null".to_owned(), |value| value.to_string());
        let (exact, distance) = (u8::from(row.stage == Stage::Exact), number(row.distance));
        let (percent_json, other) = (number(percent), u8::from(row.other_label));
        self.raw(&format!(",{exact},{distance},{percent_json},{other},{},[", u8::from(cut && !identical)));
        if !identical {
            operations(&mut self.json, a, b, &particulars);
        }
        self.raw("],[");
        for (at, particular) in particulars.iter().enumerate() {
            self.raw(if at > 0 { "," } else { "" });
            let kind = self.words.kind(particular.kind);
            let said = fill(self.words.of_script("differs"), &[kind, &particular.a, &particular.b]);
            json_string(&said, &mut self.json);
        }
        self.raw("]");
        if first {
            self.first_row(row, (a, b), percent, cut && !identical, identical, &particulars);
        }
    }

    fn first_row(
        &mut self,
        row: &Row,
        (a, b): (&str, &str),
        percent: Option<u32>,
        cut: bool,
        identical: bool,
        particulars: &[Particular],
    ) {
        let (words, html) = (self.words, &mut self.first);
        let exact = row.stage == Stage::Exact;
        html.tag("<div class=\"row\"><p class=\"meta\"><b class=\"chip\">");
        html.text(words.of_script(if exact { "exact" } else { "near" }));
        html.tag("</b> <span class=\"id\" dir=\"auto\">").text(&row.id).tag("</span>");
        if let (Some(distance), false) = (row.distance, exact) {
            html.tag(" <span>").text(&fill(words.of_script("bits"), &[&distance.to_string()])).tag("</span>");
        }
        if let (Some(percent), false) = (percent, exact) {
            html.tag(" <span>")
                .text(&fill(words.of_script(self.said), &[&percent.to_string()]))
                .tag("</span>");
        }
        if row.other_label {
            html.tag(" <b class=\"chip why\">").text(words.of_script("label")).tag("</b>");
        }
        chips(html, words, particulars);
        html.tag("</p>");
        if identical {
            html.tag("<p class=\"note\">").text(words.of_script("identical")).tag("</p>");
        } else {
            begin_text(html);
            differing(html, words, a, b, particulars);
            html.tag("</p>");
        }
        if cut {
            note_cut(html, words);
        }
        html.tag("</div>");
    }
}

fn note_cut(html: &mut Html, words: &Words) {
    let cut = fill(words.of_script("cut"), &[&CHARACTERS.to_string()]);
    html.tag("<p class=\"note\">").text(&cut).tag("</p>");
}

/// How the second text comes out of the first: a number takes as many UTF-16 units over, one below zero leaves them out,
/// a string stands only in the second text; true: the next difference decides.
fn operations(json: &mut String, a: &str, b: &str, particulars: &[Particular]) {
    let units = |text: &str| text.encode_utf16().count();
    let mut comma = "";
    for piece in diff(a, b) {
        let (x, y) = (&a[piece.a.clone()], &b[piece.b.clone()]);
        json.room(64).or_raise();
        if decides(&piece, a, b, particulars) {
            let _ = write!(json, "{comma}true");
            comma = ",";
        }
        if !x.is_empty() {
            let _ = write!(json, "{comma}{}{}", if piece.shared { "" } else { "-" }, units(x));
            comma = ",";
        }
        if !piece.shared && !y.is_empty() {
            json.push_str(comma);
            json_string(y, json);
            comma = ",";
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    fn row(id: &str, text: &str) -> Row {
        let (distance, similarity) = (Some(3), Some(0.7));
        Row { id: id.into(), text: text.into(), stage: Stage::Near, distance, similarity, other_label: false }
    }

    fn groups(particulars: bool) -> Groups {
        let kinds = particulars.then_some(crate::details::Kinds::ALL);
        Groups::new(
            super::super::Language::English,
            Alike { similarity: 0.5, n: 2, particulars: kinds, normal: Default::default() },
            usize::MAX,
        )
    }

    /// What the script of the page makes of the data: the second text.
    fn rebuilt(kept: &str, operations: &Value) -> String {
        let units: Vec<u16> = kept.encode_utf16().collect();
        let (mut at, mut made) = (0, Vec::new());
        for operation in operations.as_array().unwrap() {
            match operation {
                Value::Number(number) => {
                    let number = number.as_i64().unwrap();
                    let end = at + number.unsigned_abs() as usize;
                    if number > 0 {
                        made.extend_from_slice(&units[at..end]);
                    }
                    at = end;
                }
                Value::String(text) => made.extend(text.encode_utf16()),
                other => assert_eq!(other, &Value::Bool(true)),
            }
        }
        assert_eq!(at, units.len());
        String::from_utf16(&made).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 4))]

        /// The data have both texts, whatever they are, and are JSON that ends no element.
        #[test]
        fn data_have_the_texts(
            kept in r"(停|水|路|</script>|<!--|&lt;|😀|[ a<'\r\n]|\u{2028}|\PC){0,30}",
            other in r"(停|水|路|</script>|<!--|&lt;|😀|[ a<'\r\n]|\u{2028}|\PC){0,30}", both: bool,
        ) {
            let other = if both { format!("{kept}{other}") } else { other };
            let mut groups = groups(true);
            groups.add(2, &row(&kept, &kept), &[row(&other, &other)]);
            let escaped = !groups.json.contains(['<', '>', '&', '\u{2028}']);
            prop_assert!(escaped);
            let read: Value = serde_json::from_str(&groups.json).unwrap();
            let (id, text) = (&read[3], read[4].as_str().unwrap());
            prop_assert_eq!((id.as_str().unwrap(), text), (&kept[..], &kept[..]));
            let same = kept == other;
            prop_assert_eq!(if same { text.to_owned() } else { rebuilt(text, &read[5][0][6]) }, other);
        }
    }

    /// Protects the size of the page: long texts and large groups are cut, and it says so.
    #[test]
    fn what_is_long_is_cut() {
        let long = "停水".repeat(CHARACTERS);
        let mut groups = groups(false);
        groups.add(1000, &row("1", &long), &[row("2", &format!("请{long}"))]);
        assert!(
            groups.json.starts_with("[1000,998,1,") && groups.json.len() < 3 * CHARACTERS + 200,
            "{}",
            groups.json.len()
        );
        let html = groups.first.finish();
        assert!(html.contains("998 more rows") && html.contains("first 2000 characters"));
        assert!(html.contains("characters the same") && html.contains("<ins>请</ins>"));
    }

    /// Protects the mark of what decides.
    #[test]
    fn the_particular_is_marked() {
        let mut groups = groups(true);
        let text = |place: &str| row("1", &format!("您好，我们是{place}小区的居民，停水了"));
        groups.add(2, &text("翠湖春天"), &[text("金桂嘉园")]);
        assert!(groups.json.contains("true,-4,\"金桂嘉园\""), "{}", groups.json);
        let html = groups.first.finish();
        assert!(
            html.contains("<del class=\"why\">翠湖春天</del><ins class=\"why\">金桂嘉园</ins>小区"),
            "{html}"
        );
    }
}
