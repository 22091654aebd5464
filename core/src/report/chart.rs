//! Bar charts as inline SVG.

use super::html::Html;
use super::words::grouped;
use std::fmt::Display;

/// Of the bars; what is written stands beside, above and below them.
const WIDTH: u64 = 390;
const HEIGHT: u64 = 92;
const BOTTOM: u64 = 16 + HEIGHT;

/// A bar of a chart.
pub(super) struct Bar {
    /// What is counted in it.
    pub name: String,
    pub count: u64,
    /// Its name, and its count, are written; a pointer shows them anyway.
    pub named: bool,
    pub counted: bool,
}

/// A bar for each; `axis` says what their names are. Those from `limit` on are told from the others.
pub(super) fn bars(html: &mut Html, name: &str, axis: &str, bars: &[Bar], limit: Option<u64>) {
    let label = |html: &mut Html, x: u64, y: u64, text: &dyn Display| {
        html.put(r#"<text x="{}" y="{}" text-anchor="middle">{}</text>"#, &[&x, &y, text]);
    };
    html.put(r#"<svg role="img" viewBox="-20 0 430 138" aria-label="{}">"#, &[&name]);
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let each = WIDTH / bars.len().max(1) as u64;
    for (at, bar) in (0..).zip(bars) {
        let (x, middle, count) = (at * each, at * each + each / 2, grouped(bar.count));
        let height = (bar.count * HEIGHT).div_ceil(most);
        if bar.count > 0 {
            let class = if limit.is_none_or(|limit| at < limit) { "in" } else { "out" };
            let gap = (each / 8).max(1);
            let place: [&dyn Display; 5] =
                [&class, &(x + gap / 2), &(BOTTOM - height), &(each - gap), &height];
            html.put(r#"<rect class="{}" x="{}" y="{}" width="{}" height="{}">"#, &place);
            html.put("<title>{}: {}</title></rect>", &[&bar.name, &count]);
        }
        if bar.counted {
            label(html, middle, BOTTOM - height - 4, &count);
        }
        if bar.named {
            label(html, middle, BOTTOM + 12, &bar.name);
        }
    }
    html.put(r#"<path class="axis" d="M0 {}H{}"/>"#, &[&BOTTOM, &WIDTH]);
    if let Some(limit) = limit {
        html.put(r#"<path class="limit" d="M{} {}V{}"/>"#, &[&(limit * each), &(BOTTOM - HEIGHT), &BOTTOM]);
    }
    label(html, WIDTH / 2, BOTTOM + 24, &axis);
    html.raw("</svg>");
}
