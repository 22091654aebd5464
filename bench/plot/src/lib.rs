//! Line plots as SVG. Not a plotting library: those need fonts and ten crates, this a hundred lines.

use std::fmt::Write;

/// A plot of lines over one axis.
pub struct Plot {
    title: String,
    x: Axis,
    y: Axis,
    lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// An axis.
struct Axis {
    label: String,
    logarithmic: bool,
    /// The axis goes up to this value at least.
    high: f64,
}

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 170.0;
const TOP: f64 = 36.0;
const BOTTOM: f64 = 48.0;
/// Between plots of one sheet.
const GAP: f64 = 16.0;
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555", "#000000"];

impl Plot {
    /// A plot with two labelled axes.
    pub fn new(title: &str, x: &str, y: &str) -> Plot {
        let axis =
            |label: &str| Axis { label: label.to_owned(), logarithmic: false, high: f64::NEG_INFINITY };
        Plot { title: title.to_owned(), x: axis(x), y: axis(y), lines: Vec::new() }
    }

    /// Makes axes logarithmic.
    pub fn logarithmic(mut self, x: bool, y: bool) -> Plot {
        (self.x.logarithmic, self.y.logarithmic) = (x, y);
        self
    }

    /// Adds a line.
    pub fn line(mut self, name: &str, points: Vec<(f64, f64)>) -> Plot {
        self.add(name, points);
        self
    }

    /// Adds a line to a plot in its place.
    pub fn add(&mut self, name: &str, points: Vec<(f64, f64)>) {
        self.lines.push((name.to_owned(), points));
    }

    /// Extends the vertical axis to `high`, so that plots side by side can be compared.
    pub fn up_to(mut self, high: f64) -> Plot {
        self.y.high = high;
        self
    }

    /// The plot's title.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// The plot as an SVG document.
    pub fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.1);
        let (x_range, y_range) =
            (self.x.range(points().map(|point| point.0)), self.y.range(points().map(|point| point.1)));
        let x_at = |x| LEFT + self.x.place(x, x_range) * (WIDTH - LEFT - RIGHT);
        let y_at = |y| HEIGHT - BOTTOM - self.y.place(y, y_range) * (HEIGHT - TOP - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
             font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
             <text x=\"{LEFT}\" y=\"20\" font-size=\"14\">{}</text>\n",
            escape(&self.title)
        );
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        for x in self.x.ticks(x_range) {
            let at = x_at(x);
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#ddd\"/><text x=\"{at:.1}\" y=\"{:.1}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                short(x)
            );
        }
        for y in self.y.ticks(y_range) {
            let at = y_at(y);
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#ddd\"/><text x=\"{:.1}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                at + 4.0,
                short(y)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n<text transform=\"translate(16 {:.1}) \
             rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 10.0,
            escape(&self.x.label),
            (TOP + bottom) / 2.0,
            escape(&self.y.label)
        );
        for (at, (name, points)) in self.lines.iter().enumerate() {
            let colour = COLOURS[at % COLOURS.len()];
            let dashes = if at < COLOURS.len() { "" } else { " stroke-dasharray=\"5 3\"" };
            let path: Vec<String> =
                points.iter().map(|&(x, y)| format!("{:.1},{:.1}", x_at(x), y_at(y))).collect();
            let legend = TOP + 12.0 + 18.0 * at as f64;
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"{dashes}/>\n<path \
                 d=\"M{:.1} {legend:.1}h18\" stroke=\"{colour}\" stroke-width=\"3\"{dashes}/><text x=\"{:.1}\" \
                 y=\"{:.1}\">{}</text>",
                path.join(" "),
                right + 8.0,
                right + 32.0,
                legend + 4.0,
                escape(name)
            );
            // What was measured at one place is no line.
            if let Some(&(x, y)) =
                points.first().filter(|first| points.iter().all(|point| point.0 == first.0))
            {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                    x_at(x),
                    y_at(y)
                );
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

impl Axis {
    /// The lowest and the highest value shown.
    fn range(&self, values: impl Iterator<Item = f64>) -> (f64, f64) {
        let values = values.filter(|&value| !self.logarithmic || value > 0.0);
        let (low, high) = values.fold((f64::INFINITY, self.high), |(l, h), v| (l.min(v), h.max(v)));
        match (low.is_finite(), self.logarithmic) {
            (false, _) => (1.0, 10.0),
            (true, true) => (
                10f64.powf(low.log10().floor()),
                10f64.powf(high.log10().ceil().max(low.log10().floor() + 1.0)),
            ),
            (true, false) => (low.min(0.0), if high > low.min(0.0) { high } else { low + 1.0 }),
        }
    }

    /// The position of a value on the axis, 0 to 1.
    fn place(&self, value: f64, (low, high): (f64, f64)) -> f64 {
        if self.logarithmic {
            return (value.max(low) / low).log10() / (high / low).log10();
        }
        (value - low) / (high - low)
    }

    fn ticks(&self, (low, high): (f64, f64)) -> Vec<f64> {
        if self.logarithmic {
            let (from, to) = (low.log10().round() as i32, high.log10().round() as i32);
            return (from..=to).map(|power| 10f64.powi(power)).collect();
        }
        let raw = (high - low) / 5.0;
        let power = 10f64.powf(raw.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|&step| step >= raw).unwrap_or(raw);
        let mut at = (low / step).ceil();
        let mut ticks = Vec::new();
        while at * step <= high * (1.0 + 1e-9) {
            ticks.push(at * step);
            at += 1.0;
        }
        ticks
    }
}

/// Several plots as one SVG document, two in a row.
pub fn sheet(plots: &[Plot]) -> String {
    let rows = plots.len().div_ceil(2) as f64;
    let (width, height) = (2.0 * WIDTH + GAP, rows * (HEIGHT + GAP));
    let mut svg = format!("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\">\n");
    for (at, plot) in plots.iter().enumerate() {
        let (x, y) = ((at % 2) as f64 * (WIDTH + GAP), (at / 2) as f64 * (HEIGHT + GAP));
        let _ = write!(
            svg,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">\n{}</svg>\n",
            plot.svg()
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// A tick's label.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 1e6 => format!("{}M", value / 1e6),
        v if v >= 1e3 => format!("{}k", value / 1e3),
        _ => format!("{}", (value * 1e6).round() / 1e6),
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_where_the_axes_say() {
        let plot = Plot::new("a < b", "x", "y").line("one", vec![(0.0, 0.0), (4.0, 0.5)]).up_to(1.0);
        let svg = plot.svg();
        let (right, middle) = (WIDTH - RIGHT, (TOP + HEIGHT - BOTTOM) / 2.0);
        assert!(svg.contains(&format!("{LEFT:.1},{:.1} {right:.1},{middle:.1}", HEIGHT - BOTTOM)), "{svg}");
        assert!(svg.contains("a &lt; b"));
        let plot = Plot::new("", "", "").logarithmic(true, false).line("", vec![(1.0, 1.0), (1000.0, 1.0)]);
        assert_eq!(plot.x.ticks(plot.x.range([1.0, 1000.0].into_iter())), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(sheet(&[plot]).matches("<svg").count(), 3);
    }
}
