//! Replays the experiments of the five papers, on the generated petition desk
//! or on a labelled file, and writes what it measures as Markdown and SVG.
//!
//! ```text
//! cargo run --release -p dedup_papers -- [--rows N] [--file F.csv] [--only p1,p4] [--quick] [--out docs/papers]
//! ```
//!
//! A labelled file is CSV with a column `body` (or `text`, `content`) and a
//! column `cluster` (or `label`), equal for rows that are duplicates of each
//! other; `title`, `department`, `petitioner` and `topic` are used if they
//! are there.

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
    only: Vec<String>,
    out: PathBuf,
    quick: bool,
}

const USAGE: &str = "usage: dedup_papers [--rows N] [--file F.csv] [--only p1,p2,…] [--quick] [--out DIR]";

fn options() -> Result<Options, String> {
    let mut options = Options {
        rows: 150_000,
        file: None,
        only: Vec::new(),
        out: PathBuf::from("docs/papers"),
        quick: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--rows" => options.rows = value()?.parse().map_err(|_| "--rows is a number")?,
            "--file" => options.file = Some(value()?.into()),
            "--only" => options.only = value()?.split(',').map(str::to_owned).collect(),
            "--out" => options.out = value()?.into(),
            "--quick" => options.quick = true,
            _ => return Err(format!("unknown argument {arg}")),
        }
    }
    Ok(options)
}

fn main() {
    let options = options().unwrap_or_else(|error| {
        eprintln!("{error}\n{USAGE}");
        exit(2)
    });
    let rows = if options.quick { options.rows.min(30_000) } else { options.rows };
    let data = match &options.file {
        Some(file) => Data::read(file),
        None => Ok(Data::desk(rows)),
    };
    let data = data.unwrap_or_else(|error| {
        eprintln!("{error}");
        exit(1)
    });
    eprintln!("{} texts, topics: {}", data.docs.len(), data.topics().join(", "));
    // The dictionary is loaded now, so that no measurement pays for it.
    dedup_core::text::Segmenter::shared();
    type Paper = fn(&Data, bool) -> report::Section;
    let papers: [(&str, Paper); 5] =
        [("p1", p1::run), ("p2", p2::run), ("p3", p3::run), ("p4", p4::run), ("p5", p5::run)];
    for (name, run) in papers {
        if options.only.is_empty() || options.only.iter().any(|only| only == name) {
            eprintln!("{name} …");
            if let Err(error) = run(&data, options.quick).write(&options.out, name) {
                eprintln!("{}: {error}", options.out.display());
                exit(1)
            }
        }
    }
}
