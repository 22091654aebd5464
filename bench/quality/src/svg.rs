//! Curves of shares found, a panel for each length and edit.

use std::fmt::Write;

pub struct Curve {
    pub panel: String,
    pub ours: bool,
    pub points: Vec<f64>,
}

const WIDTH: usize = 300;
const HEIGHT: usize = 170;
const LEFT: usize = 38;
const TOP: usize = 34;

pub fn draw(shares: &[usize], curves: &[Curve]) -> String {
    let mut panels: Vec<&str> = Vec::new();
    for curve in curves {
        if !panels.contains(&curve.panel.as_str()) {
            panels.push(&curve.panel);
        }
    }
    let rows = panels.len().div_ceil(2);
    let (total_w, total_h) = (2 * (WIDTH + 70), rows * (HEIGHT + 70) + 30);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total_w} {total_h}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"16\" font-size=\"13\">Share of edited texts found, by percent edited: \
         <tspan fill=\"#06c\">candidates and verification</tspan>, <tspan fill=\"#c60\">words tf at radius 3 (P4)</tspan></text>\n"
    );
    let widest = shares.last().copied().unwrap_or(1);
    for (at, panel) in panels.iter().enumerate() {
        let (x0, y0) = (LEFT + at % 2 * (WIDTH + 70), TOP + at / 2 * (HEIGHT + 70) + 20);
        let _ = writeln!(out, "<text x=\"{x0}\" y=\"{}\">{panel}</text>", y0 - 6);
        let _ = writeln!(
            out,
            "<rect x=\"{x0}\" y=\"{y0}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"none\" stroke=\"#999\"/>"
        );
        for tick in [0.0, 0.5, 1.0] {
            let y = y0 as f64 + HEIGHT as f64 * (1.0 - tick);
            let _ = writeln!(
                out,
                "<text x=\"{}\" y=\"{:.0}\" text-anchor=\"end\">{tick}</text>",
                x0 - 4,
                y + 4.0
            );
        }
        for &share in shares {
            let x = x0 + WIDTH * share / widest;
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\">{share}</text>",
                y0 + HEIGHT + 14
            );
        }
        for curve in curves.iter().filter(|curve| curve.panel == *panel) {
            let point = |(share, value): (&usize, &f64)| {
                let x = x0 + WIDTH * share / widest;
                format!("{x},{:.1}", y0 as f64 + HEIGHT as f64 * (1.0 - value))
            };
            let points: Vec<String> = shares.iter().zip(&curve.points).map(point).collect();
            let colour = if curve.ours { "#06c" } else { "#c60" };
            let _ = writeln!(
                out,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                points.join(" ")
            );
        }
    }
    out.push_str("</svg>\n");
    out
}
