//! Replays the experiments of the five papers, on the generated petition desk
//! or on a labelled file, and writes what it measures as Markdown and SVG.
//!
//! ```text
//! cargo run --release -p dedup_papers -- [--rows N] [--file F.csv [--pairs P.csv]] [--only p1,p4] [--quick] [--out docs/papers] [--tables DIR]
//! cargo run --release -p dedup_papers -- [--rows N] [--file F.csv [--pairs P.csv]] --texts OUT.csv
//! ```
//!
//! A labelled file is CSV with a column `body` (or `text`, `content`) and a
//! column `cluster` (or `label`), equal for rows that are duplicates of each
//! other; `title`, `department`, `petitioner` and `topic` are used if they
//! are there. Instead of a cluster it can have an `id`, and a file of pairs
//! (`id1`, `id2`) says what are duplicates; if that has a column `matter` or
//! `label`, the pairs of which it says `same`.

mod data;
mod edits;
mod found;
mod p1;
mod p2;
mod p3;
mod p4;
mod p5;
mod report;
mod svg;

use data::Data;
use std::path::PathBuf;
use std::process::exit;

/// What the command line says.
struct Options {
    rows: u64,
    file: Option<PathBuf>,
    pairs: Option<PathBuf>,
    only: Vec<String>,
    /// Where the plots go.
    out: PathBuf,
    /// Where the tables go, a file a paper.
    tables: PathBuf,
    /// Only write the texts to this file, for experiments in SQL.
    texts: Option<PathBuf>,
    quick: bool,
}

const USAGE: &str =
    "usage: dedup_papers [--rows N] [--file F.csv [--pairs P.csv]] [--only p1,p2,…] [--quick] [--out DIR] [--tables DIR]
       dedup_papers [--rows N] [--file F.csv [--pairs P.csv]] --texts OUT.csv";
const PAPERS: [&str; 5] = ["p1", "p2", "p3", "p4", "p5"];

fn options() -> Result<Options, String> {
    let mut options = Options {
        rows: 150_000,
        file: None,
        pairs: None,
        only: Vec::new(),
        out: PathBuf::from("docs/papers"),
        tables: PathBuf::from("target/papers"),
        texts: None,
        quick: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--rows" => options.rows = value()?.parse().map_err(|_| "--rows is a number")?,
            "--file" => options.file = Some(value()?.into()),
            "--pairs" => options.pairs = Some(value()?.into()),
            "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
            "--out" => options.out = value()?.into(),
            "--tables" => options.tables = value()?.into(),
            "--texts" => options.texts = Some(value()?.into()),
            "--quick" => options.quick = true,
            _ => return Err(format!("unknown argument {arg}")),
        }
    }
    match options.only.iter().find(|name| !PAPERS.contains(&name.as_str())) {
        Some(name) => Err(format!("--only {name}: the papers are {}", PAPERS.join(", "))),
        None => Ok(options),
    }
}

fn fail(error: impl std::fmt::Display) -> ! {
    eprintln!("{error}");
    exit(1)
}

fn main() {
    let options = options().unwrap_or_else(|error| {
        eprintln!("{error}\n{USAGE}");
        exit(2)
    });
    let rows = if options.quick { options.rows.min(30_000) } else { options.rows };
    let data = match &options.file {
        Some(file) => Data::read(file, options.pairs.as_deref()),
        None => Ok(Data::desk(rows)),
    };
    let data = data.unwrap_or_else(|error| fail(error));
    if let Some(file) = &options.texts {
        return data
            .write(file, rows as usize)
            .unwrap_or_else(|error| fail(format!("{}: {error}", file.display())));
    }
    eprintln!("{} texts, topics: {}", data.docs.len(), data.topics().join(", "));
    // The dictionary is loaded now, so that no measurement pays for it.
    dedup_core::text::Segmenter::shared();
    type Paper = fn(&Data, bool) -> report::Section;
    let papers: [Paper; 5] = [p1::run, p2::run, p3::run, p4::run, p5::run];
    for (name, run) in PAPERS.into_iter().zip(papers) {
        if options.only.is_empty() || options.only.iter().any(|only| only == name) {
            eprintln!("{name} …");
            run(&data, options.quick)
                .write(&options.tables, &options.out, name)
                .unwrap_or_else(|error| fail(format!("the tables of {name}: {error}")));
        }
    }
}
