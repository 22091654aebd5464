//! Tables and plots of one paper.

use dedup_plot::Plot;
use std::fmt::Write;
use std::path::Path;

/// What was measured for one paper.
pub struct Section {
    title: &'static str,
    text: String,
    plots: Vec<(String, Plot)>,
}

impl Section {
    /// An empty one.
    pub fn new(title: &'static str) -> Section {
        Section { title, text: String::new(), plots: Vec::new() }
    }

    /// Adds a table: its caption, its head, its rows.
    pub fn table<const N: usize>(&mut self, caption: &str, head: [&str; N], rows: Vec<[String; N]>) {
        let _ = writeln!(self.text, "{caption}\n\n| {} |\n|{}", head.join(" | "), "---|".repeat(N));
        rows.iter().for_each(|row| {
            let _ = writeln!(self.text, "| {} |", row.join(" | "));
        });
        self.text.push('\n');
    }

    /// Adds a plot.
    pub fn plot(&mut self, name: &str, plot: Plot) {
        self.plots.push((name.to_owned(), plot));
    }

    /// Writes `<paper>.md` to one directory and its plots to another.
    pub fn write(&self, tables: &Path, plots: &Path, paper: &str) -> std::io::Result<()> {
        std::fs::create_dir_all(tables)?;
        std::fs::create_dir_all(plots)?;
        let mut text = format!("## {}\n\n{}", self.title, self.text);
        for (name, plot) in &self.plots {
            let file = format!("{paper}_{name}.svg");
            std::fs::write(plots.join(&file), plot.svg())?;
            let _ = writeln!(text, "![{}](papers/{file})\n", plot.title());
        }
        std::fs::write(tables.join(format!("{paper}.md")), text)
    }
}

/// A time for a table.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.0} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s if s < 1.0 => format!("{:.1} ms", s * 1e3),
        s => format!("{s:.2} s"),
    }
}

/// A share for a table.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// The seconds that `work` takes, and its result.
pub fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let started = std::time::Instant::now();
    let result = work();
    (started.elapsed().as_secs_f64(), result)
}
