//! Bar charts as inline SVG.

use super::html::Html;
use super::sample::Distances;
use super::words::{Words, fill, grouped};

const WIDTH: f64 = 400.0;
/// Of the bars; labels stand above and below them.
const HEIGHT: f64 = 92.0;
const ABOVE: f64 = 16.0;
const BELOW: f64 = 26.0;

fn begin(html: &mut Html, label: &str) {
    html.tag("<svg role=\"img\" viewBox=\"0 0 ").number(WIDTH).tag(" ").number(ABOVE + HEIGHT + BELOW);
    html.tag("\" aria-label=\"").text(label).tag("\">");
}

fn label(html: &mut Html, x: f64, y: f64, anchor: &'static str, text: &str) {
    html.tag("<text x=\"").number(x).tag("\" y=\"").number(y).tag("\" text-anchor=\"").tag(anchor).tag("\">");
    html.text(text).tag("</text>");
}

struct Bar {
    x: f64,
    width: f64,
    /// Of the highest bar.
    share: f64,
    class: &'static str,
}

fn bar(html: &mut Html, bar: &Bar, title: &str) {
    if bar.share <= 0.0 {
        return;
    }
    // What there is can be seen.
    let height = (bar.share * HEIGHT).max(1.0);
    html.tag("<rect class=\"").tag(bar.class).tag("\" x=\"").number(bar.x).tag("\" y=\"");
    html.number(ABOVE + HEIGHT - height)
        .tag("\" width=\"")
        .number(bar.width)
        .tag("\" height=\"")
        .number(height);
    html.tag("\"><title>").text(title).tag("</title></rect>");
}

fn axis(html: &mut Html) {
    html.tag("<path class=\"axis\" d=\"M0 ").number(ABOVE + HEIGHT).tag("H").number(WIDTH).tag("\"/>");
}

/// A bar for each bin, with its count above and its name below.
pub(super) fn bins(html: &mut Html, bins: &[(String, u64)], name: &str, words: &Words) {
    let most = bins.iter().map(|bin| bin.1).max().unwrap_or(0).max(1);
    begin(html, name);
    let each = WIDTH / bins.len().max(1) as f64;
    for (at, (size, count)) in bins.iter().enumerate() {
        let x = at as f64 * each;
        let share = *count as f64 / most as f64;
        let drawn = Bar { x: x + each * 0.15, width: each * 0.7, share, class: "in" };
        bar(html, &drawn, &fill(words.bar, &[size, &grouped(*count)]));
        let top = if *count > 0 { (share * HEIGHT).max(1.0) } else { 0.0 };
        label(html, x + each / 2.0, ABOVE + HEIGHT - top - 4.0, "middle", &grouped(*count));
        label(html, x + each / 2.0, ABOVE + HEIGHT + 12.0, "middle", size);
    }
    axis(html);
    label(html, WIDTH / 2.0, ABOVE + HEIGHT + 24.0, "middle", words.sizes_axis);
    html.tag("</svg>");
}

/// A bar for each distance; those within the limit are told from the others.
pub(super) fn distances(html: &mut Html, counts: &Distances, limit: u32, name: &str, words: &Words) {
    let most = counts.iter().copied().max().unwrap_or(0);
    if most == 0 {
        html.tag("<p class=\"note\">").text(words.nothing_to_draw).tag("</p>");
        return;
    }
    begin(html, name);
    let each = WIDTH / counts.len() as f64;
    for (distance, &count) in counts.iter().enumerate() {
        let drawn = Bar {
            x: distance as f64 * each + 0.5,
            width: each - 1.0,
            share: count as f64 / most as f64,
            class: if distance as u32 <= limit { "in" } else { "out" },
        };
        bar(html, &drawn, &fill(words.bar, &[&distance.to_string(), &grouped(count)]));
    }
    let highest = counts.iter().position(|&count| count == most).unwrap_or(0);
    // Not beyond the edges.
    let middle = (highest as f64 * each + each / 2.0).clamp(20.0, WIDTH - 20.0);
    label(html, middle, ABOVE - 4.0, "middle", &grouped(most));
    axis(html);
    for distance in (0u32..=64).step_by(8) {
        let anchor = if distance == 0 {
            "start"
        } else if distance == 64 {
            "end"
        } else {
            "middle"
        };
        let x = f64::from(distance) * each + each / 2.0;
        let x = if distance == 0 {
            0.0
        } else if distance == 64 {
            WIDTH
        } else {
            x
        };
        label(html, x, ABOVE + HEIGHT + 12.0, anchor, &distance.to_string());
    }
    let edge = f64::from(limit + 1) * each;
    html.tag("<path class=\"limit\" d=\"M")
        .number(edge)
        .tag(" ")
        .number(ABOVE)
        .tag("V")
        .number(ABOVE + HEIGHT);
    html.tag("\"/>");
    label(html, WIDTH / 2.0, ABOVE + HEIGHT + 24.0, "middle", words.bits);
    html.tag("</svg>");
}
