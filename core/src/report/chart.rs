//! A bar chart of distances as inline SVG.

use super::html::Html;
use super::words::grouped;
use std::fmt::Display;

/// Of a bar, and of the tallest; what is written stands above and below them.
const WIDTH: usize = 6;
const HEIGHT: u64 = 92;
const BOTTOM: u64 = 16 + HEIGHT;

/// How many bars there are beside that of 0.
const BARS: usize = 64;

/// A bar for each distance, or as many together as make 64 bars, those beyond `limit` told from the others; `axis` says what a
/// distance is.
pub(super) fn bars(html: &mut Html, name: &str, axis: &str, counts: &[u64], limit: u32) {
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
