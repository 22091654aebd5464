//! Tables and plots of what bench/compare measured: compare.json of a directory becomes compare.md and SVGs there.

use dedup_plot::Plot;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write;
use std::path::Path;

#[derive(Deserialize)]
struct Run {
    date: String,
    machine: String,
    versions: BTreeMap<String, String>,
    results: Vec<Measured>,
}

/// What was measured of one alternative; the figures that its part does not have are absent.
#[derive(Deserialize)]
struct Measured {
    rows: u64,
    part: String,
    name: String,
    note: Option<String>,
    build: Option<f64>,
    size: Option<f64>,
    queries: Option<u64>,
    median_ms: Option<f64>,
    p95_ms: Option<f64>,
    precision: Option<f64>,
    recall: Option<f64>,
    of: Option<u64>,
    seconds: Option<f64>,
    rows_per_second: Option<f64>,
    wal_per_row: Option<f64>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args().nth(1).ok_or("Usage: dedup_compare DIRECTORY")?;
    let directory = Path::new(&directory);
    let run: Run = serde_json::from_str(&std::fs::read_to_string(directory.join("compare.json"))?)?;
    std::fs::write(directory.join("compare.md"), page(&run)?)?;
    for (part, file, title, unit, value) in PLOTS {
        std::fs::write(directory.join(file), plot(&run, part, title, unit, value))?;
    }
    Ok(())
}

/// Part, file, title, unit and figure of a plot.
type Shown = (&'static str, &'static str, &'static str, &'static str, fn(&Measured) -> Option<f64>);

const PLOTS: [Shown; 3] = [
    ("one", "one.svg", "Which rows does a text repeat?", "ms a query (median)", |of| of.median_ms),
    ("table", "table.svg", "Groups of a whole table", "rows a second", |of| of.rows_per_second),
    ("store", "store.svg", "New rows beside an index", "rows a second", |of| of.rows_per_second),
];

fn plot(run: &Run, part: &str, title: &str, unit: &str, value: fn(&Measured) -> Option<f64>) -> String {
    let mut lines: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for of in run.results.iter().filter(|of| of.part == part) {
        let Some(value) = value(of) else { continue };
        let point = (of.of.unwrap_or(of.rows) as f64, value);
        match lines.iter_mut().find(|(name, _)| *name == of.name) {
            Some((_, points)) => points.push(point),
            None => lines.push((&of.name, vec![point])),
        }
    }
    let mut plot = Plot::new(title, "rows", unit).logarithmic(true, true);
    for (name, mut points) in lines {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        plot.add(name, points);
    }
    plot.svg()
}

fn page(run: &Run) -> Result<String, std::fmt::Error> {
    let mut page = String::new();
    let versions: Vec<String> = run.versions.iter().map(|(name, of)| format!("{name} {of}")).collect();
    writeln!(page, "Measured on {} on {}, with {}.", run.date, run.machine, versions.join(", "))?;
    let mut sizes: Vec<u64> = run.results.iter().map(|of| of.rows).collect();
    sizes.sort_unstable();
    sizes.dedup();
    for rows in sizes {
        let part =
            |part: &'static str| run.results.iter().filter(move |of| of.rows == rows && of.part == part);
        if part("one").next().is_some() {
            writeln!(page, "\n**Which rows does this text repeat? ({rows} rows)**\n")?;
            writeln!(page, "| | median | × | 95 % | precision | recall | build | size | queries |")?;
            writeln!(page, "|---|---|---|---|---|---|---|---|---|")?;
            let best = part("one").find_map(|of| of.median_ms);
            for of in part("one") {
                let cells = [
                    unit(of.median_ms, "ms"),
                    ratio(of.median_ms, best),
                    unit(of.p95_ms, "ms"),
                    share(of.precision),
                    share(of.recall),
                    unit(of.build, "s"),
                    unit(of.size.map(|bytes| bytes / 1e6), "MB"),
                    of.queries.map_or(String::new(), |queries| queries.to_string()),
                ];
                writeln!(page, "| {} | {} |", called(of), cells.join(" | "))?;
            }
        }
        if part("table").next().is_some() {
            writeln!(page, "\n**Groups of a whole table ({rows} rows)**\n")?;
            writeln!(page, "| | rows | time | rows a second | × | precision | recall |")?;
            writeln!(page, "|---|---|---|---|---|---|---|")?;
            let best = part("table").find_map(|of| of.rows_per_second);
            for of in part("table") {
                let cells = [
                    of.of.map_or(String::new(), |rows| rows.to_string()),
                    unit(of.seconds, "s"),
                    unit(of.rows_per_second, ""),
                    ratio(of.rows_per_second, best),
                    share(of.precision),
                    share(of.recall),
                ];
                writeln!(page, "| {} | {} |", called(of), cells.join(" | "))?;
            }
        }
        if part("store").next().is_some() {
            writeln!(page, "\n**New rows beside an index ({rows} rows)**\n")?;
            writeln!(page, "| | rows a second | × | WAL a row | build |")?;
            writeln!(page, "|---|---|---|---|---|")?;
            let best = part("store").find_map(|of| of.rows_per_second);
            for of in part("store") {
                let wal = unit(of.wal_per_row, "B");
                let cells =
                    [unit(of.rows_per_second, ""), ratio(of.rows_per_second, best), wal, unit(of.build, "s")];
                writeln!(page, "| {} | {} |", called(of), cells.join(" | "))?;
            }
        }
    }
    Ok(page)
}

fn called(of: &Measured) -> String {
    match of.note.as_deref() {
        Some(note) if !note.is_empty() => format!("{} ({note})", of.name),
        _ => of.name.clone(),
    }
}

/// A figure with three digits that count.
fn unit(value: Option<f64>, unit: &str) -> String {
    let Some(value) = value else { return String::new() };
    let digits = if value <= 0.0 { 0 } else { (2 - value.log10().floor() as i32).clamp(0, 4) as usize };
    format!("{value:.digits$} {unit}").trim_end().to_owned()
}

fn ratio(value: Option<f64>, best: Option<f64>) -> String {
    value.zip(best).map_or(String::new(), |(value, best)| unit(Some(value / best), ""))
}

fn share(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| format!("{value:.3}"))
}
