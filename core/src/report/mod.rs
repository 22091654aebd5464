//! The report: what `dedup` found, as one HTML page that needs nothing else.
//!
//! The page runs one script, which its own policy allows by its hash; texts reach it as data.

mod chart;
mod diff;
mod groups;
mod html;
mod labels;
mod misses;
mod sample;
mod words;

pub use groups::{CHARACTERS, GROUPS, Groups, ROWS, Row};
use html::{Html, json_string};
pub use labels::{Labelled, score, true_pairs};
pub use misses::{BEYOND, LeftOut, Miss, Reason, misses};
pub use sample::{Distances, Nearest, nearest, random_pairs};
pub use words::Language;

use crate::dedup::{Alike, Method};
use crate::evaluate::Score;
use crate::memory::{OrRaise, Room};
use crate::records::SURE;
use words::{Words, fill, grouped, percent};

/// What a page says, but for the groups.
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
    /// The kinds of particulars that count.
    pub kinds: Vec<String>,
    /// What was asked of the texts.
    pub alike: Alike,
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
    /// How many groups have as many rows as the key says, in the order of the keys.
    pub sizes: Vec<(u64, u64)>,
    /// Duplicates of equal text.
    pub exact: u64,
    /// Duplicates of another text.
    pub alike_rows: u64,
    /// What is known of distances; `None`: they decided nothing.
    pub near: Option<Near>,
    /// What the labels say, and how far apart true duplicates are; `None`: there are none.
    pub labels: Option<(Score, Distances)>,
}

/// What a page says of distances.
#[derive(Debug)]
pub struct Near {
    /// The largest distance of a candidate.
    pub limit: u32,
    /// Near-duplicates that have a fingerprint, by their distance to the row that stays.
    pub found: Distances,
    /// Random pairs of rows that stay.
    pub random: Distances,
    /// Rows that stay, by the distance to the nearest other one.
    pub nearest: Distances,
    /// Rows that stay and have a fingerprint.
    pub stay: u64,
    /// What told them apart.
    pub left_out: LeftOut,
    /// The pairs that are most alike.
    pub misses: Vec<Shown>,
}

/// A pair that was told apart, with what is shown of it.
#[derive(Debug)]
pub struct Shown {
    /// The pair.
    pub miss: Miss,
    /// Ids and texts of both rows.
    pub rows: [(String, String); 2],
    /// They have the same label.
    pub same_label: bool,
}

/// The script of the page, and its hash as its policy names it. The regression test `report` compares the two.
const SCRIPT: &str = include_str!("page.js");
const SCRIPT_HASH: &str = include_str!("page.js.sha256");
const STYLE: &str = include_str!("page.css");

/// Pairs of the closest calls that are shown at once.
const FEW: usize = 5;

/// The page.
pub fn page(summary: &Summary, groups: &Groups) -> String {
    let words = groups.words;
    let mut html = Html::default();
    head(&mut html, summary, words);
    overview(&mut html, summary, words);
    distances(&mut html, summary, words);
    threshold(&mut html, summary, words);
    if let Some(near) = &summary.near {
        closest(&mut html, summary, near, words);
    }
    browser(&mut html, summary, groups);
    html.tag("<footer><p>").text(words.options).tag("</p><pre>").text(&summary.options).tag("</pre><p>");
    let limits = [GROUPS, ROWS, CHARACTERS].map(|limit| grouped(limit as u64));
    html.text(&fill(words.limits, &limits.each_ref().map(|limit| limit.as_str())));
    html.tag("</p></footer></main>");
    data(&mut html, groups);
    html.tag("<script>").tag(SCRIPT).tag("</script></body></html>\n");
    html.finish()
}

fn head(html: &mut Html, summary: &Summary, words: &Words) {
    let title = summary.title.as_deref().unwrap_or(words.title);
    html.tag("<!DOCTYPE html>\n<html lang=\"").tag(words.code).tag("\"><head><meta charset=\"utf-8\">");
    html.tag("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; ");
    html.tag("script-src 'sha256-").tag(SCRIPT_HASH.trim_ascii_end()).tag("'\">");
    html.tag("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    html.tag("<meta name=\"color-scheme\" content=\"light dark\"><title>").text(title).tag("</title>");
    html.tag("<style>").tag(STYLE).tag("</style></head><body><main><header><h1 dir=\"auto\">").text(title);
    html.tag("</h1><p class=\"note\">");
    html.text(&match &summary.table {
        Some(table) => fill(words.made_from, &[table, &summary.made]),
        None => fill(words.made, &[&summary.made]),
    });
    html.tag("</p></header>");
}

fn section(html: &mut Html, heading: &str, note: &str) {
    html.tag("<section><h2>").text(heading).tag("</h2>");
    if !note.is_empty() {
        html.tag("<p class=\"note\">").text(note).tag("</p>");
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

fn overview(html: &mut Html, summary: &Summary, words: &Words) {
    let near = summary.alike_rows;
    let duplicates = summary.exact + near;
    html.tag("<section><p class=\"lead\">");
    let rows = grouped(summary.rows);
    let repeated = percent(share(duplicates, summary.rows));
    let [repeating, exact, near, groups] = [duplicates, summary.exact, near, summary.groups].map(grouped);
    html.text(&match duplicates {
        0 => fill(words.lead_none, &[&rows]),
        _ => fill(words.lead, &[&rows, &repeating, &repeated, &exact, &near, &groups]),
    });
    if summary.empty > 0 {
        html.text(&fill(words.empty_rows, &[&grouped(summary.empty)]));
    }
    html.tag("</p><dl class=\"figures\">");
    let largest = summary.sizes.last().map_or(0, |size| size.0);
    let figures = [
        (rows, words.rows),
        (groups, words.groups),
        (repeating, words.duplicates),
        (grouped(largest), words.largest),
    ];
    for (figure, name) in figures {
        html.tag("<div><dd>").text(&figure).tag("</dd><dt>").text(name).tag("</dt></div>");
    }
    html.tag("</dl></section>");
    if summary.groups > 0 {
        section(html, words.sizes, words.sizes_note);
        html.tag("<div class=\"charts\"><figure>");
        chart::bins(html, &bins(&summary.sizes), words.sizes, words);
        html.tag("</figure></div></section>");
    }
}

/// The sizes of groups in a few bins, without those beyond the largest group.
fn bins(sizes: &[(u64, u64)]) -> Vec<(String, u64)> {
    const FROM: [u64; 9] = [2, 3, 4, 5, 6, 11, 21, 51, 101];
    let largest = sizes.last().map_or(0, |size| size.0);
    let bin = |(at, &from): (usize, &u64)| {
        let to = FROM.get(at + 1).map_or(u64::MAX, |next| next - 1);
        let name = if to == from {
            from.to_string()
        } else if to == u64::MAX {
            format!("≥ {from}")
        } else {
            format!("{from}–{to}")
        };
        (name, sizes.iter().filter(|(size, _)| (from..=to).contains(size)).map(|(_, count)| count).sum())
    };
    FROM.iter().enumerate().filter(|(_, from)| **from <= largest).map(bin).collect()
}

fn distances(html: &mut Html, summary: &Summary, words: &Words) {
    let Some(near) = &summary.near else { return };
    section(html, words.distances, &fill(words.distances_note, &[&near.limit.to_string()]));
    html.tag("<div class=\"charts\">");
    let sum = |counts: &Distances| grouped(counts.iter().sum());
    let figure = |html: &mut Html, name: &str, note: String, counts: &Distances| {
        html.tag("<figure><figcaption><b>").text(name).tag("</b> ").text(&note).tag("</figcaption>");
        chart::distances(html, counts, near.limit, name, words);
        html.tag("</figure>");
    };
    let all = near.found.iter().sum::<u64>() == summary.alike_rows;
    let note = if all { words.near_note } else { words.near_some_note };
    figure(html, words.near, fill(note, &[&sum(&near.found), &grouped(summary.alike_rows)]), &near.found);
    figure(html, words.random, fill(words.random_note, &[&sum(&near.random)]), &near.random);
    let sampled = fill(words.nearest_note, &[&sum(&near.nearest), &grouped(near.stay)]);
    figure(html, words.nearest, sampled, &near.nearest);
    if let Some((score, distances)) = &summary.labels {
        let some = fill(words.true_pairs_note, &[&sum(distances), &grouped(score.truth)]);
        figure(html, words.true_pairs, some, distances);
    }
    html.tag("</div></section>");
}

fn row(html: &mut Html, name: &str, figure: &str) {
    html.tag("<tr><th scope=\"row\">").text(name).tag("</th><td>").text(figure).tag("</td></tr>");
}

fn threshold(html: &mut Html, summary: &Summary, words: &Words) {
    let alike = &summary.alike;
    let (share, n) = (percent(alike.similarity), alike.n.to_string());
    let limit = summary.near.as_ref().map_or_else(String::new, |near| near.limit.to_string());
    let rule = match summary.method {
        None => words.rule_exact.to_owned(),
        Some(Method::Text) => fill(words.rule_text, &[&share, &n]),
        Some(Method::Records) => fill(words.rule_records, &[&percent(SURE)]),
        Some(Method::Fingerprint) if alike.similarity == 0.0 => fill(words.rule_unverified, &[&limit]),
        Some(Method::Fingerprint) => fill(words.rule, &[&limit, &share, &n]),
    };
    section(html, words.threshold, "");
    html.tag("<p>").text(&rule);
    if !summary.kinds.is_empty() {
        let kinds: Vec<&str> = summary.kinds.iter().map(|kind| words.kind(kind)).collect();
        html.text(&fill(words.rule_particulars, &[&kinds.join(words.list_comma)]));
    }
    if let Some(least) = summary.contained {
        html.text(&fill(words.rule_contained, &[&percent(least)]));
    }
    html.tag("</p><div class=\"tables\"><table><caption>").text(words.taken_in).tag("</caption>");
    row(html, words.taken_exact, &grouped(summary.exact));
    if summary.method.is_some() || summary.contained.is_some() {
        row(html, words.taken_near, &grouped(summary.alike_rows));
    }
    html.tag("</table>");
    if let Some(near) = &summary.near {
        left_out(html, summary, near, words);
    }
    html.tag("</div>");
    if let Some((score, _)) = &summary.labels {
        against_labels(html, score, words);
    }
    html.tag("</section>");
}

fn left_out(html: &mut Html, summary: &Summary, near: &Near, words: &Words) {
    let LeftOut { text, particulars, grouping, beyond, farther } = near.left_out;
    let limit = near.limit.to_string();
    let sampled: u64 = near.nearest.iter().sum();
    html.tag("<table><caption>").text(words.left_out).tag("</caption>");
    if summary.alike.similarity > 0.0 {
        row(html, &fill(words.left_text, &[&limit]), &grouped(text));
    }
    if !summary.kinds.is_empty() {
        row(html, &fill(words.left_particulars, &[&limit]), &grouped(particulars));
    }
    if grouping > 0 {
        row(html, &fill(words.left_grouping, &[&limit]), &grouped(grouping));
    }
    let (from, to) = ((near.limit + 1).to_string(), (near.limit + BEYOND).to_string());
    row(html, &fill(words.left_beyond, &[&from, &to]), &grouped(beyond));
    row(html, words.left_farther, &grouped(farther));
    html.tag("</table>");
    let within: u64 = near.random[..=near.limit.min(64) as usize].iter().sum();
    let drawn = near.random.iter().sum();
    let unrelated = fill(words.unrelated_within, &[&percent(share(within, drawn)), &limit]);
    html.tag("<p class=\"note\">")
        .text(&fill(words.left_out_note, &[&grouped(sampled), &unrelated]))
        .tag("</p>");
}

fn against_labels(html: &mut Html, score: &Score, words: &Words) {
    let Score { found, truth, correct } = *score;
    let counts = [found, truth, correct, truth - correct, found - correct].map(grouped);
    html.tag("<h3>").text(words.labels).tag("</h3><p>");
    html.text(&fill(words.labels_note, &counts.each_ref().map(|count| count.as_str()))).tag("</p>");
    html.tag("<div class=\"tables\"><table>");
    for (name, figure) in
        [(words.precision, score.precision()), (words.recall, score.recall()), (words.f1, score.f1())]
    {
        row(html, name, &figure.map_or_else(|| "–".to_owned(), |figure| format!("{figure:.3}")));
    }
    html.tag("</table></div>");
}

fn closest(html: &mut Html, summary: &Summary, near: &Near, words: &Words) {
    let count = near.misses.len();
    let note = if count == 0 {
        words.misses_none.to_owned()
    } else {
        fill(words.misses_note, &[&count.to_string()])
    };
    section(html, words.misses, &note);
    for (at, shown) in near.misses.iter().enumerate() {
        if at == FEW {
            html.tag("<details><summary>")
                .text(&fill(words.more, &[&(count - FEW).to_string()]))
                .tag("</summary>");
        }
        closest_pair(html, summary, near, shown, words);
    }
    html.tag(if count > FEW { "</details></section>" } else { "</section>" });
}

fn closest_pair(html: &mut Html, summary: &Summary, near: &Near, shown: &Shown, words: &Words) {
    let Shown { miss, rows: [a, b], same_label } = shown;
    let nothing = Vec::new();
    let mut particulars = &nothing;
    let similarity = (miss.similarity * 100.0).floor().to_string();
    html.tag("<article class=\"row\"><p class=\"meta\"><span class=\"id\" dir=\"auto\">").text(&a.0);
    html.tag("</span> <span class=\"id\" dir=\"auto\">").text(&b.0).tag("</span> <span>");
    html.text(&fill(words.of_script("bits"), &[&miss.pair.distance.to_string()])).tag("</span> <span>");
    html.text(&fill(words.of_script("alike"), &[&similarity])).tag("</span>");
    if *same_label {
        html.tag(" <b class=\"chip why\">").text(words.same_label).tag("</b>");
    }
    html.tag("</p><p class=\"meta\">");
    match &miss.reason {
        Reason::Text => {
            html.text(&fill(
                words.because_text,
                &[&format!("{similarity}%"), &percent(summary.alike.similarity)],
            ));
        }
        Reason::Grouping => {
            html.text(words.because_grouping);
        }
        Reason::Distance => {
            let [distance, limit] = [miss.pair.distance, near.limit].map(|bits| bits.to_string());
            html.text(&fill(words.because_distance, &[&distance, &limit]));
        }
        Reason::Particulars(found) => {
            particulars = found;
            html.text(words.because_particulars);
            groups::chips(html, words, found);
        }
    }
    html.tag("</p>");
    groups::begin_text(html);
    groups::differing(html, words, groups::shown(&a.1).0, groups::shown(&b.1).0, particulars);
    html.tag("</p></article>");
}

fn browser(html: &mut Html, summary: &Summary, groups: &Groups) {
    let words = groups.words;
    if groups.count == 0 {
        return;
    }
    section(html, words.groups_heading, words.groups_note);
    if (groups.count as u64) < summary.groups {
        let [shown, all] = [groups.count as u64, summary.groups].map(grouped);
        html.tag("<p class=\"note\">").text(&fill(words.groups_cut, &[&shown, &all])).tag("</p>");
    }
    html.tag("<p class=\"legend note\">")
        .text(words.legend)
        .tag(" <del>")
        .text(words.only_in_kept)
        .tag("</del> <ins>");
    html.text(words.only_in_row).tag("</ins>");
    if !summary.kinds.is_empty() {
        html.tag(" <ins class=\"why\">").text(words.deciding).tag("</ins>");
    }
    html.tag("</p>");
    if groups.count > groups::AT_A_TIME {
        let few = groups::AT_A_TIME.to_string();
        html.tag("<noscript><p class=\"note\">").text(&fill(words.no_script, &[&few])).tag("</p></noscript>");
    }
    html.tag("<form id=\"tools\" hidden><input type=\"search\" id=\"search\" placeholder=\"")
        .text(words.of_script("search"));
    html.tag("\" aria-label=\"").text(words.of_script("search")).tag("\"><select id=\"order\" aria-label=\"");
    html.text(words.of_script("order")).tag("\"><option value=\"largest\">").text(words.of_script("largest"));
    html.tag("</option><option value=\"least\">")
        .text(words.of_script("least"))
        .tag("</option></select></form>");
    pager(html, words);
    html.tag("<div id=\"groups\">").append(&groups.first).tag("</div>");
    pager(html, words);
    html.tag("</section>");
}

fn pager(html: &mut Html, words: &Words) {
    html.tag("<nav class=\"pager\" hidden><button type=\"button\" data-step=\"-1\">")
        .text(words.of_script("previous"));
    html.tag("</button><span aria-live=\"polite\"></span><button type=\"button\" data-step=\"1\">");
    html.text(words.of_script("next")).tag("</button></nav>");
}

/// What the script works on.
fn data(html: &mut Html, groups: &Groups) {
    let mut json = format!(
        "{{\"at_a_time\":{},\"ends\":[{},{},{}],",
        groups::AT_A_TIME,
        groups::ENDS,
        groups::NEARBY,
        groups::LONG
    );
    json += &format!("\"characters\":{CHARACTERS},\"words\":{{");
    for (at, (name, words)) in groups.words.script.iter().enumerate() {
        json += &format!("{}\"{name}\":", if at > 0 { "," } else { "" });
        json_string(if *name == "alike" { groups.words.of_script(groups.said) } else { words }, &mut json);
    }
    json.room(groups.json.len() + 16).or_raise();
    json += "},\"groups\":[\n";
    json += &groups.json;
    json += "]}";
    html.tag("<script type=\"application/json\" id=\"data\">").json(&json).tag("</script>");
}
