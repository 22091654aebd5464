//! The report: what `dedup` found, as one HTML page that needs nothing else.
//!
//! The page loads nothing but the pictures that somebody asked for. It runs one script, which its own policy allows by its
//! hash; it makes no markup, but shows what is there.

mod groups;
mod html;
mod misses;
mod pictures;
mod words;

pub use groups::{CHARACTERS, ROWS, Row, Standing};
use groups::{Style, percent as percent_of};
use html::Html;
pub use misses::{Miss, Reason, misses};
use pictures::Sources;
pub use pictures::{PICTURE, Picture};
pub use words::Language;
use words::{Words, fill, grouped, percent};

use crate::dedup::{Alike, Method};
use crate::details::{Part, Shown};
use crate::evaluate::{Background, Score, cumulative};
use std::fmt::Display;

/// Groups of a page, at most.
pub const GROUPS: usize = 10_000;
/// Groups that are shown at a time.
const AT_A_TIME: usize = 20;
/// Templates that are shown, and values of a slot.
pub const TEMPLATES: usize = 12;
const VALUES: usize = 8;
/// Pairs of the closest calls that are shown at once.
const FEW: usize = 5;

/// The script of the page, and its hash as its policy names it. The regression test `report` compares the two.
const SCRIPT: &str = include_str!("page.js");
const SCRIPT_HASH: &str = include_str!("page.js.sha256");
const STYLE: &str = include_str!("page.css");

/// What a page says, but for the rows.
#[derive(Debug)]
pub struct Summary {
    /// Its title; `None`: that of the language.
    pub title: Option<String>,
    /// The table, if one was read.
    pub table: Option<String>,
    /// When it was made.
    pub made: String,
    /// The options, as JSON.
    pub options: String,
    /// The kinds of details that count.
    pub kinds: Vec<String>,
    /// How near rows were found; `None`: there was no near stage.
    pub method: Option<Method>,
    /// The share of words from which a longer row has the text of another.
    pub contained: Option<f64>,
    /// Rows read.
    pub rows: u64,
    /// Those of them without a text.
    pub empty: u64,
    /// Groups of two rows or more.
    pub groups: u64,
    /// Rows of the largest of them.
    pub largest: u64,
    /// Duplicates of equal text.
    pub exact: u64,
    /// Duplicates of another text.
    pub alike_rows: u64,
    /// What is known of distances; `None`: they decided nothing.
    pub near: Option<Near>,
    /// The templates of the most rows.
    pub templates: Vec<Shown>,
    /// What the labels say; `None`: there are none.
    pub labels: Option<Score>,
    /// The table that takes what is decided, as SQL names it.
    pub decisions: String,
    /// Whether it is there.
    pub has_decisions: bool,
}

/// What a page says of distances.
#[derive(Debug)]
pub struct Near {
    /// The largest distance of a candidate.
    pub limit: u32,
    /// Near-duplicates that have a fingerprint, by their distance to the row that stays.
    pub found: Vec<u64>,
    /// The rows that stay and have a fingerprint.
    pub stay: Background,
    /// Pairs of them that were told apart, those most alike first.
    pub misses: Vec<[Row; 2]>,
}

/// A page that takes groups in.
#[derive(Debug)]
pub struct Page {
    style: Style,
    count: usize,
    /// The groups that are shown first, and all others.
    first: Html,
    others: Html,
    /// Pairs that somebody is asked about, how many of how many; `None`: nobody asked for them.
    asked: Option<(Html, usize, usize)>,
    sources: Sources,
}

impl Page {
    /// No groups yet; `alike` is what was asked of their texts, `show` the columns by which people know a row.
    pub fn new(language: Language, alike: Alike, by_records: bool, show: Vec<String>) -> Page {
        let style = Style { words: language.0, alike, by_records, show };
        Page {
            style,
            count: 0,
            first: Html::default(),
            others: Html::default(),
            asked: None,
            sources: Sources::default(),
        }
    }

    /// Bytes of the groups.
    pub fn bytes(&self) -> usize {
        self.first.bytes() + self.others.bytes() + self.asked.as_ref().map_or(0, |it| it.0.bytes())
    }

    /// Has a section for so many pairs that somebody is asked about, or as many of them as it takes in.
    pub fn begin_review(&mut self, all: usize) {
        self.asked = Some((Html::default(), 0, all));
    }

    /// Takes in such a pair: whether it is taken for the same now, what is in doubt, and how many rows the other answer moves.
    pub fn ask(&mut self, rows: &[Row; 2], same: bool, kind: &str, moves: u64) {
        let words = self.style.words;
        let Some((html, count, _)) = &mut self.asked else { return };
        self.sources.add(rows.iter().map(|row| &row.picture));
        *count += 1;
        let [a, b] = rows.each_ref().map(|row| without_controls(&row.id));
        html.put(r#"<article data-a="{}" data-b="{}">"#, &[&a, &b]);
        let now = if same { words.same_now } else { words.apart_now };
        let said: [&dyn Display; 3] = [&fill(words.pair, &[&*count]), &now, &words.kind(kind)];
        html.put("<h3>{} <small>{} · {}", &said);
        if let Some(percent) = percent_of(&rows[1]) {
            let said = if self.style.by_records { words.sure } else { words.alike };
            html.put(" · {}", &[&fill(said, &[&percent])]);
        }
        html.put(" · {}</small></h3>", &[&fill(words.moves, &[&moves])]);
        self.style.side_by_side(html, rows);
        html.raw("</article>\n");
    }

    /// Takes in a group of `size` rows: the one that stays and some of the others.
    pub fn add(&mut self, size: u64, kept: &Row, others: &[Row]) {
        let words = self.style.words;
        let html = if self.count < AT_A_TIME { &mut self.first } else { &mut self.others };
        self.count += 1;
        self.sources.add(others.iter().chain([kept]).map(|row| &row.picture));
        let near = others.iter().filter(|row| row.standing == Standing::Near);
        let least = near.filter_map(percent_of).min().unwrap_or(100);
        let heading = fill(words.group, &[&self.count]);
        html.put(r#"<article data-least="{}"><h3>{}"#, &[&least, &heading]);
        html.put(" <small>{}</small></h3>", &[&fill(words.size, &[&size])]);
        self.style.rows(html, kept, others);
        let rest = size.saturating_sub(1 + others.len() as u64);
        if rest > 0 {
            html.put(r#"<p class="note">{}</p>"#, &[&fill(words.rest, &[&rest])]);
        }
        html.raw("</article>\n");
    }

    /// The page.
    pub fn finish(mut self, summary: &Summary) -> String {
        let words = self.style.words;
        let mut html = Html::default();
        let misses = summary.near.iter().flat_map(|near| near.misses.as_flattened());
        self.sources.add(misses.map(|row| &row.picture));
        head(&mut html, summary, &self.sources, words);
        overview(&mut html, summary, words);
        self.rule(&mut html, summary);
        if let Some(asked) = &self.asked {
            review(&mut html, asked, summary, words);
        }
        if !summary.templates.is_empty() {
            templates(&mut html, &summary.templates, words);
        }
        if let Some(near) = &summary.near {
            distances(&mut html, summary, near, words);
            self.closest(&mut html, &near.misses);
        }
        self.browser(&mut html, summary);
        html.put("<footer><p>{}</p><pre>{}</pre>", &[&words.options, &summary.options]);
        let [groups, rows, characters] = [GROUPS, ROWS, CHARACTERS].map(|limit| grouped(limit as u64));
        html.put("<p>{}</p></footer></main>", &[&fill(words.limits, &[&groups, &rows, &characters])]);
        html.raw("<script>").raw(SCRIPT).raw("</script></body></html>\n");
        html.finish()
    }

    fn rule(&self, html: &mut Html, summary: &Summary) {
        let (words, alike) = (self.style.words, &self.style.alike);
        let (share, n) = (percent(alike.similarity), alike.n);
        let (limit, bits) = summary.near.as_ref().map_or((0, 0), |near| (near.limit, near.stay.bits()));
        let mut rule = match summary.method {
            None | Some(Method::Exact) => words.rule_exact.to_owned(),
            Some(Method::Text) => fill(words.rule_text, &[&share, &n]),
            Some(Method::Records) => fill(words.rule_records, &[&share]),
            Some(_) if alike.similarity == 0.0 => fill(words.rule_unverified, &[&limit, &bits]),
            Some(Method::Fingerprint | Method::Hash) => fill(words.rule, &[&limit, &share, &n]),
        };
        if !summary.kinds.is_empty() {
            let kinds: Vec<&str> = summary.kinds.iter().map(|kind| words.kind(kind)).collect();
            rule += &fill(words.rule_details, &[&kinds.join(words.list_comma)]);
        }
        if let Some(least) = summary.contained {
            rule += &fill(words.rule_contained, &[&percent(least)]);
        }
        html.put("<section><p>{}</p>", &[&rule]);
        if let Some(score) = &summary.labels {
            let Score { found, truth, correct } = *score;
            let [found, truth, both, missed, wrong] =
                [found, truth, correct, truth - correct, found - correct].map(grouped);
            let note = fill(words.labels_note, &[&found, &truth, &both, &missed, &wrong]);
            html.put(r#"<h3>{}</h3><p>{}</p><div class="tables"><table>"#, &[&words.labels, &note]);
            let shares = [score.precision(), score.recall(), score.f1()];
            for (name, share) in [words.precision, words.recall, words.f1].iter().zip(shares) {
                let share = share.map_or_else(|| "–".to_owned(), |share| format!("{share:.3}"));
                html.put(r#"<tr><th scope="row">{}</th><td>{}</td></tr>"#, &[name, &share]);
            }
            html.raw("</table></div>");
        }
        html.raw("</section>");
    }

    fn closest(&self, html: &mut Html, pairs: &[[Row; 2]]) {
        let words = self.style.words;
        let note = if pairs.is_empty() { words.misses_none } else { words.misses_note };
        section(html, words.misses, &fill(note, &[&pairs.len()]));
        for (at, [first, second]) in pairs.iter().enumerate() {
            if at == FEW {
                let more = fill(words.more, &[&(pairs.len() - FEW)]);
                html.put("<details><summary>{}</summary>", &[&more]);
            }
            html.raw("<article>");
            self.style.rows(html, first, std::slice::from_ref(second));
            html.raw("</article>");
        }
        html.raw(if pairs.len() > FEW { "</details></section>" } else { "</section>" });
    }

    fn browser(&self, html: &mut Html, summary: &Summary) {
        let words = self.style.words;
        if self.count == 0 {
            return;
        }
        section(html, words.groups_heading, words.groups_note);
        if (self.count as u64) < summary.groups {
            let [shown, all] = [self.count as u64, summary.groups].map(grouped);
            html.put(r#"<p class="note">{}</p>"#, &[&fill(words.groups_cut, &[&shown, &all])]);
        }
        let legend: [&dyn Display; 3] = [&words.legend, &words.only_in_kept, &words.only_in_row];
        html.put(r#"<p class="legend note">{} <del>{}</del> <ins>{}</ins>"#, &legend);
        if !summary.kinds.is_empty() {
            html.put(r#" <ins class="why">{}</ins>"#, &[&words.deciding]);
        }
        if self.count > AT_A_TIME {
            let note = fill(words.no_script, &[&AT_A_TIME]);
            html.put(r#"</p><noscript><p class="note">{}</p></noscript>"#, &[&note]);
        }
        html.raw(r#"<form id="tools" hidden><input type="search" id="search""#);
        html.put(r#" placeholder="{}" aria-label="{}">"#, &[&words.search, &words.search]);
        html.put(r#"<select id="order" aria-label="{}">"#, &[&words.order]);
        html.put(r#"<option value="largest">{}</option>"#, &[&words.largest]);
        html.put(r#"<option value="least">{}</option></select></form>"#, &[&words.least]);
        pager(html, words);
        html.put(r#"<div id="groups" data-none="{}">"#, &[&words.none]).append(&self.first).raw("</div>");
        pager(html, words);
        html.raw(r#"</section><template id="others">"#).append(&self.others).raw("</template>");
    }
}

fn pager(html: &mut Html, words: &Words) {
    html.raw(r#"<nav class="pager" hidden>"#);
    html.put(r#"<button type="button" data-step="-1">{}</button>"#, &[&words.previous]);
    html.put(r#"<span aria-live="polite" data-words="{}"></span>"#, &[&words.page]);
    html.put(r#"<button type="button" data-step="1">{}</button></nav>"#, &[&words.next]);
}

fn head(html: &mut Html, summary: &Summary, sources: &Sources, words: &Words) {
    let title = summary.title.as_deref().unwrap_or(words.title);
    html.put("<!DOCTYPE html>\n<html lang=\"{}\"><head><meta charset=\"utf-8\">", &[&words.code]);
    html.raw(r#"<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; "#);
    html.raw("script-src 'sha256-").raw(SCRIPT_HASH.trim_ascii_end()).raw("'");
    sources.allow(html);
    html.raw("\">");
    html.raw(r#"<meta name="viewport" content="width=device-width, initial-scale=1">"#);
    html.put(r#"<meta name="color-scheme" content="light dark"><title>{}</title><style>"#, &[&title]);
    html.raw(STYLE).put(r#"</style></head><body><main><header><h1 dir="auto">{}</h1>"#, &[&title]);
    let made = match &summary.table {
        Some(table) => fill(words.made_from, &[table, &summary.made]),
        None => fill(words.made, &[&summary.made]),
    };
    html.put(r#"<p class="note">{}</p></header>"#, &[&made]);
}

fn section(html: &mut Html, heading: &str, note: &str) {
    html.put(r#"<section><h2>{}</h2><p class="note">{}</p>"#, &[&heading, &note]);
}

/// What many rows say alike: the frame, and what stands in its slots.
fn templates(html: &mut Html, all: &[Shown], words: &Words) {
    section(html, words.templates, words.templates_note);
    let legend: [&dyn Display; 2] = [&words.slot_tells, &words.slot_tells_nothing];
    html.put(r#"<p class="legend note"><ins class="why">{}</ins> <ins>{}</ins></p>"#, &legend);
    for Shown { rows, parts } in all {
        html.put(r#"<article><h3>{}</h3><p class="note text">"#, &[&fill(words.texts, &[rows])]);
        for part in parts {
            match part {
                Part::Frame(frame) => html.put("{} ", &[frame]),
                Part::Slot { tells: true, said, .. } => html.put(r#"<ins class="why">{}</ins> "#, &[said]),
                Part::Slot { said, .. } => html.put("<ins>{}</ins> ", &[said]),
            };
        }
        html.raw("</p><dl class=\"slots\">");
        for part in parts {
            let Part::Slot { name, values, .. } = part else { continue };
            let most = values.iter().take(VALUES).map(|(value, rows)| format!("{value} ({rows})"));
            let most = most.collect::<Vec<_>>().join(words.list_comma);
            let name = name.as_deref().unwrap_or("___");
            html.put("<dt>{}</dt><dd>{}</dd>", &[&name, &fill(words.slot_values, &[&values.len(), &most])]);
        }
        html.raw("</dl></article>\n");
    }
    html.raw("</section>");
}

/// The pairs that somebody is asked about, and where the answers go.
fn review(html: &mut Html, (pairs, count, all): &(Html, usize, usize), summary: &Summary, words: &Words) {
    // What is answered is kept by these pairs in the reader's browser, which may have answers to others.
    html.put(r#"<section id="review" data-key="{}" data-table="{}">"#, &[&pairs.hash(), &summary.decisions]);
    if *count == 0 {
        html.put(r#"<h2>{}</h2><p class="note">{}</p></section>"#, &[&words.review, &words.review_none]);
        return;
    }
    let note = fill(words.review_note, &[count]);
    html.put(r#"<h2>{}</h2><p class="note">{}</p>"#, &[&words.review, &note]);
    if count < all {
        html.put(r#"<p class="note">{}</p>"#, &[&fill(words.review_cut, &[count, all])]);
    }
    html.put(r#"<noscript><p class="note">{}</p></noscript>"#, &[&words.review_script]);
    let said: [&dyn Display; 2] = [&words.answered_all, &words.not_kept];
    html.put(r#"<div id="pair" data-done="{}" data-lost="{}"></div><div id="answer" hidden>"#, &said);
    let answers = [words.answer_same, words.answer_not, words.answer_skip, words.answer_back];
    for (key, said) in ["s", "n", "k", "b"].iter().zip(answers) {
        html.put(r#"<button type="button" data-key="{}">{}"#, &[key, &said]);
        html.put(" <kbd>{}</kbd></button>", &[&key.to_uppercase()]);
    }
    html.put(r#"<span aria-live="polite" data-words="{}"></span></div>"#, &[&words.progress]);
    html.put(r#"<details id="answers" hidden><summary>{}</summary>"#, &[&words.answers]);
    let table = if summary.has_decisions { &*summary.decisions } else { words.decisions };
    let note = fill(words.answers_note, &[&table]);
    html.put(r#"<p class="note">{}</p><textarea readonly rows="8"></textarea>"#, &[&note]);
    html.put(r#"<p><a download="decisions.sql">{}</a>"#, &[&words.save_sql]);
    html.put(r#" <a download="decisions.csv">{}</a></p>"#, &[&words.save_csv]);
    html.raw("<pre></pre></details></section>");
    html.raw(r#"<template id="pairs">"#).append(pairs).raw("</template>");
}

/// An id whose control characters, which no document may have, are written as the script of the page reads them.
fn without_controls(id: &str) -> String {
    let mut written = String::new();
    for c in id.chars() {
        if c.is_control() || c == '%' {
            c.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| written += &format!("%{byte:02X}"));
        } else {
            written.push(c);
        }
    }
    written
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn overview(html: &mut Html, summary: &Summary, words: &Words) {
    let duplicates = summary.exact + summary.alike_rows;
    let repeated = percent(share(duplicates, summary.rows));
    let [rows, repeating, exact, near, groups, largest] =
        [summary.rows, duplicates, summary.exact, summary.alike_rows, summary.groups, summary.largest]
            .map(grouped);
    let mut lead = match duplicates {
        0 => fill(words.lead_none, &[&rows]),
        _ => fill(words.lead, &[&rows, &repeating, &repeated, &exact, &near, &groups]),
    };
    if summary.empty > 0 {
        lead += &fill(words.empty_rows, &[&grouped(summary.empty)]);
    }
    html.put(r#"<section><p class="lead">{}</p><dl class="figures">"#, &[&lead]);
    let names = [words.rows, words.groups, words.duplicates, words.largest_group];
    for (figure, name) in [rows, groups, repeating, largest].iter().zip(names) {
        html.put("<div><dd>{}</dd><dt>{}</dt></div>", &[figure, &name]);
    }
    html.raw("</dl></section>");
}

fn distances(html: &mut Html, summary: &Summary, near: &Near, words: &Words) {
    section(html, words.distances, &fill(words.distances_note, &[&near.limit, &near.stay.bits()]));
    html.raw(r#"<div class="charts">"#);
    let figure = |html: &mut Html, name: &str, note: &str, counts: &[u64]| {
        html.put("<figure><figcaption><b>{}</b> {}</figcaption>", &[&name, &note]);
        if counts.iter().all(|&count| count == 0) {
            html.put(r#"<p class="note">{}</p>"#, &[&words.nothing_to_draw]);
        } else {
            bars(html, name, words.bits_axis, counts, near.limit);
        }
        html.raw("</figure>");
    };
    let (found, stay) = (near.found.iter().sum::<u64>(), &near.stay);
    let note = if found == summary.alike_rows { words.near_note } else { words.near_some_note };
    let note = fill(note, &[&grouped(found), &grouped(summary.alike_rows)]);
    figure(html, words.near_pairs, &note, &near.found);
    let within = cumulative(stay.random.clone());
    let (bits, all) = (within.len() - 1, within.last().copied().unwrap_or_default());
    let unrelated = percent(share(within[bits.min(near.limit as usize)], all));
    let note = fill(words.random_note, &[&grouped(all), &unrelated, &near.limit]);
    figure(html, words.random, &note, &stay.random);
    let drawn = grouped(stay.nearest.len() as u64);
    let note = fill(words.nearest_note, &[&drawn, &grouped(stay.rows)]);
    figure(html, words.nearest, &note, &stay.by_nearest());
    html.raw("</div></section>");
}

/// Of a bar, and of the tallest; what is written stands above and below them.
const WIDTH: usize = 6;
const HEIGHT: u64 = 92;
const BOTTOM: u64 = 16 + HEIGHT;

/// How many bars there are beside that of 0.
const BARS: usize = 64;

/// A bar chart as SVG: a bar for each distance, or as many together as make 64 bars, those beyond `limit` told from the others; `axis` says what a
/// distance is.
fn bars(html: &mut Html, name: &str, axis: &str, counts: &[u64], limit: u32) {
    let together = (counts.len() / BARS).max(1);
    let counts: Vec<u64> = counts.chunks(together).map(|some| some.iter().sum()).collect();
    let limit = limit as usize / together;
    let label = |html: &mut Html, x: usize, y: u64, text: &dyn Display| {
        html.put(r#"<text x="{}" y="{}" text-anchor="middle">{}</text>"#, &[&x, &y, text]);
    };
    html.put(r#"<svg role="img" viewBox="-20 0 430 138" aria-label="{}">"#, &[&name]);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let highest = counts.iter().position(|&count| count == most);
    for (at, &count) in counts.iter().enumerate() {
        let (x, middle, height) = (at * WIDTH, at * WIDTH + WIDTH / 2, (count * HEIGHT).div_ceil(most));
        if count > 0 {
            let class = if at <= limit { "in" } else { "out" };
            let place: [&dyn Display; 5] = [&class, &x, &(BOTTOM - height), &(WIDTH - 1), &height];
            html.put(r#"<rect class="{}" x="{}" y="{}" width="{}" height="{}">"#, &place);
            html.put("<title>{}: {}</title></rect>", &[&(at * together), &grouped(count)]);
        }
        if Some(at) == highest {
            label(html, middle, BOTTOM - height - 4, &grouped(count));
        }
        if at % 8 == 0 {
            label(html, middle, BOTTOM + 12, &(at * together));
        }
    }
    html.put(r#"<path class="axis" d="M0 {}H{}"/>"#, &[&BOTTOM, &(counts.len() * WIDTH)]);
    let line = (limit + 1) * WIDTH;
    html.put(r#"<path class="limit" d="M{} {}V{}"/>"#, &[&line, &(BOTTOM - HEIGHT), &BOTTOM]);
    label(html, counts.len() * WIDTH / 2, BOTTOM + 24, &axis);
    html.raw("</svg>");
}
