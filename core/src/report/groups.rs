//! Groups of rows as HTML: the row that stays, and each other one as it differs from that.

use super::html::Html;
use super::misses::Reason;
use super::pictures::Picture;
use super::words::{Words, fill};
use crate::dedup::Alike;
use crate::details::Detail;
use crate::text::normalize;
use similar::{Algorithm, DiffOp, capture_diff_slices};
use unicode_segmentation::UnicodeSegmentation;

/// Rows that are shown of a group, at most.
pub const ROWS: usize = 50;
/// Characters that are shown of a text, at most.
pub const CHARACTERS: usize = 2000;
/// Of what is shared in a row, so many characters stand at each end; what is longer than [`LONG`] is left out between.
const ENDS: usize = 40;
const LONG: usize = 120;
/// Characters from where it is cut in which a blank is looked for.
const NEARBY: usize = 20;

/// How a row stands to the first one of its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is that row, and stays.
    Kept,
    /// Its text is equal.
    Equal,
    /// It is near.
    Near,
    /// Somebody has decided that it is the same.
    Decided,
    /// Both stay: it was told apart.
    Apart(Reason),
}

/// A row of a group.
#[derive(Debug, Clone)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// By what else people know it: the values of the columns that are shown.
    pub shown: Vec<String>,
    /// Its picture, if the page shows pictures.
    pub picture: Picture,
    /// Its text.
    pub text: String,
    /// How it stands to the first row.
    pub standing: Standing,
    /// Bits from the first row, and Jaccard coefficient or probability, if they are known.
    pub distance: Option<u32>,
    /// As above.
    pub similarity: Option<f64>,
    /// Whether both rows have the same label, if they have one.
    pub same_label: Option<bool>,
}

#[derive(Debug)]
pub(super) struct Style {
    pub words: &'static Words,
    pub alike: Alike,
    /// A similarity is the probability that rows are one thing.
    pub by_records: bool,
    /// The names of the columns by which people know a row.
    pub show: Vec<String>,
}

/// The beginning of a text that is shown, and whether that is not all.
fn shown(text: &str) -> (&str, bool) {
    match text.char_indices().nth(CHARACTERS) {
        Some((end, _)) => (&text[..end], true),
        None => (text, false),
    }
}

impl Style {
    /// The first row, and some others.
    pub fn rows(&self, html: &mut Html, first: &Row, others: &[Row]) {
        let words = self.words;
        self.begin(html, first);
        html.raw("</p>");
        first.picture.show(html, &first.id);
        let (text, is_cut) = shown(&first.text);
        html.put(r#"<p class="text" dir="auto">{}</p>"#, &[&text]);
        self.end(html, is_cut);
        for row in others {
            let ((a, a_is_cut), (b, b_is_cut)) = (shown(&first.text), shown(&row.text));
            let is_same = first.text == row.text;
            // The one place that asks for the evidence of details.
            let details = if is_same { Vec::new() } else { self.alike.differing(&first.text, &row.text) };
            self.begin(html, row);
            self.details(html, &details);
            html.raw("</p>");
            row.picture.show(html, &row.id);
            if is_same {
                html.put(r#"<p class="note">{}</p>"#, &[&words.identical]);
            } else {
                html.raw(r#"<p class="text" dir="auto">"#);
                self.differing(html, a, b, &details);
                html.raw("</p>");
            }
            self.end(html, !is_same && (a_is_cut || b_is_cut));
        }
    }

    /// What is said of a row before its text.
    fn begin(&self, html: &mut Html, row: &Row) {
        let words = self.words;
        let (class, how) = match row.standing {
            Standing::Kept => ("row kept", words.stays),
            Standing::Equal => ("row", words.equal),
            Standing::Near => ("row", words.near),
            Standing::Decided => ("row", words.decided),
            Standing::Apart(Reason::Distance) => ("row", words.too_far),
            Standing::Apart(Reason::Text) => ("row", words.too_little),
            Standing::Apart(Reason::Details) => ("row", words.another_matter),
            Standing::Apart(Reason::Grouping) => ("row", words.not_grouped),
            Standing::Apart(Reason::Decision) => ("row", words.decided_apart),
        };
        html.put(r#"<div class="{}"><p class="meta"><b class="chip">{}</b>"#, &[&class, &how]);
        self.known_by(html, row);
        if let Some(distance) = row.distance {
            html.put(" <span>{}</span>", &[&fill(words.bits, &[&distance])]);
        }
        if let Some(percent) = percent(row) {
            let said = if self.by_records { words.sure } else { words.alike };
            html.put(" <span>{}</span>", &[&fill(said, &[&percent])]);
        }
        // Where a label says otherwise.
        let is_apart = matches!(row.standing, Standing::Apart(_));
        if row.same_label == Some(is_apart) {
            let said = if is_apart { words.same_label } else { words.other_label };
            html.put(r#" <b class="chip why">{}</b>"#, &[&said]);
        }
    }

    /// Its id and the columns by which people know it.
    fn known_by(&self, html: &mut Html, row: &Row) {
        html.put(r#" <span class="id" dir="auto">{}</span>"#, &[&row.id]);
        for (name, value) in self.show.iter().zip(&row.shown).filter(|it| !it.1.is_empty()) {
            html.put(r#" <span dir="auto">{}: <b>{}</b></span>"#, &[name, value]);
        }
    }

    fn details(&self, html: &mut Html, details: &[Detail]) {
        for Detail { kind, a, b } in details {
            let said = fill(self.words.differs, &[&self.words.kind(kind), a, b]);
            html.put(r#" <b class="chip why">{}</b>"#, &[&said]);
        }
    }

    /// Two rows side by side; what only one of them says is marked.
    pub fn side_by_side(&self, html: &mut Html, rows: &[Row; 2]) {
        let texts = rows.each_ref().map(|row| shown(&row.text));
        let details = self.alike.differing(&rows[0].text, &rows[1].text);
        let pieces = diff(texts[0].0, texts[1].0);
        html.raw(r#"<p class="meta">"#);
        self.details(html, &details);
        html.raw(r#"</p><div class="sides">"#);
        for (side, row) in rows.iter().enumerate() {
            html.raw(r#"<div class="row"><p class="meta">"#);
            self.known_by(html, row);
            html.raw("</p>");
            row.picture.show(html, &row.id);
            html.raw(r#"<p class="text" dir="auto">"#);
            for piece in &pieces {
                let text = [&piece.a, &piece.b][side];
                let markup = match (piece.shared, decides(piece, &details)) {
                    (true, _) => "{}",
                    _ if text.is_empty() => "",
                    (_, true) => r#"<ins class="why">{}</ins>"#,
                    (_, false) => "<ins>{}</ins>",
                };
                html.put(markup, &[text]);
            }
            html.raw("</p>");
            self.end(html, texts[side].1);
        }
        html.raw("</div>");
    }

    fn end(&self, html: &mut Html, is_cut: bool) {
        if is_cut {
            html.put(r#"<p class="note">{}</p>"#, &[&fill(self.words.cut, &[&CHARACTERS])]);
        }
        html.raw("</div>");
    }

    fn differing(&self, html: &mut Html, a: &str, b: &str, details: &[Detail]) {
        for piece in diff(a, b) {
            if piece.shared {
                self.shared(html, &piece.a);
                continue;
            }
            let [del, ins] = match decides(&piece, details) {
                true => [r#"<del class="why">{}</del>"#, r#"<ins class="why">{}</ins>"#],
                false => ["<del>{}</del>", "<ins>{}</ins>"],
            };
            for (markup, text) in [(del, &piece.a), (ins, &piece.b)] {
                html.put(if text.is_empty() { "" } else { markup }, &[text]);
            }
        }
    }

    /// What is shared; the middle of what is long is left out, between words where there are blanks nearby.
    fn shared(&self, html: &mut Html, text: &str) {
        let characters: Vec<_> = text.char_indices().collect();
        let length = characters.len();
        if length <= LONG {
            html.put("{}", &[&text]);
            return;
        }
        let is_blank = |at: &usize| characters[*at].1 == ' ';
        let from = (ENDS - NEARBY..ENDS).rev().find(is_blank).map_or(ENDS, |blank| blank + 1);
        let last = length - ENDS;
        let to = (last..last + NEARBY).find(is_blank).unwrap_or(last);
        let gap = fill(self.words.gap, &[&(to - from)]);
        html.put("{}<i>{}</i>{}", &[&&text[..characters[from].0], &gap, &&text[characters[to].0..]]);
    }
}

pub(super) fn percent(row: &Row) -> Option<u32> {
    row.similarity.map(|similarity| (similarity * 100.0).floor() as u32)
}

/// Whether a difference is one of those details, or part of one.
fn decides(piece: &Piece, details: &[Detail]) -> bool {
    let plain = |text: &str| normalize(text).replace(' ', "");
    let touches = |name: &str, words: &str| {
        let name = plain(name);
        !words.is_empty() && (name.contains(words) || words.contains(&name))
    };
    let (x, y) = (plain(&piece.a), plain(&piece.b));
    details.iter().any(|detail| touches(&detail.a, &x) && touches(&detail.b, &y))
}

/// A piece of two texts. Put together, the pieces of a comparison are both texts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Piece {
    /// In the first text.
    a: String,
    /// In the second text.
    b: String,
    /// Both are the same; else they stand in each other's place, and one may be empty.
    shared: bool,
}

/// Compares two texts of a page: they are short. A single word, or nothing but blanks and punctuation, that is the same
/// between two differences counts to them: it is a coincidence, and confuses a reader. Of hashes it is the bits that differ.
fn diff(a: &str, b: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |a: String, b: String, shared| match pieces.last_mut() {
        Some(last) if last.shared == shared => {
            last.a += &a;
            last.b += &b;
        }
        _ => pieces.push(Piece { a, b, shared }),
    };
    let is_hash = |text: &str| text.len() >= 64 && text.bytes().all(|it| matches!(it, b'0' | b'1'));
    if a.len() == b.len() && is_hash(a) && is_hash(b) {
        a.chars().zip(b.chars()).for_each(|(a, b)| add(a.into(), b.into(), a == b));
        return pieces;
    }
    let [x, y] = [a, b].map(|text| text.split_word_bounds().collect::<Vec<_>>());
    let operations = capture_diff_slices(Algorithm::Myers, &x, &y);
    for (at, operation) in operations.iter().enumerate() {
        let words = &x[operation.old_range()];
        let (in_a, in_b) = (words.concat(), y[operation.new_range()].concat());
        let is_between = at > 0 && at + 1 < operations.len();
        let is_word = words.len() > 1 && in_a.contains(char::is_alphanumeric);
        let shared = matches!(operation, DiffOp::Equal { .. }) && (is_word || !is_between);
        add(in_a, in_b, shared);
    }
    pieces
}
