//! Replays the experiments of the five papers, and writes what it measures as Markdown and SVG.

mod data;
mod edits;
mod found;
mod p1;
mod p2;
mod p3;
mod p4;
mod p5;
mod report;
mod sets;
mod words;

use clap::Parser;
use data::Data;
use std::path::PathBuf;
use std::process::exit;

/// Replays the experiments of the five papers on the generated petition desk or on a labelled file
///
/// A labelled file is CSV with a column `body` (or `text`, `content`) and a column `cluster` (or `label`), equal for
/// rows that are duplicates of each other; `title`, `department`, `petitioner` and `topic` are used if they are there.
#[derive(Parser)]
struct Options {
    /// Rows of the generated desk
    #[arg(long, value_name = "N", default_value_t = 150_000)]
    rows: u64,
    /// Labelled texts, instead of the desk
    #[arg(long, value_name = "CSV")]
    file: Option<PathBuf>,
    /// Pairs (id1, id2) of the file's column `id` that are duplicates, instead of its clusters; where this file has a
    /// column `matter` or `label`, only those of which it says `same`
    #[arg(long, value_name = "CSV", requires = "file")]
    pairs: Option<PathBuf>,
    /// Only these papers
    #[arg(long, value_name = "PAPER,…", value_delimiter = ',', value_parser = PAPERS)]
    only: Vec<String>,
    /// Directory of the plots
    #[arg(long, value_name = "DIR", default_value = "docs/papers")]
    out: PathBuf,
    /// Directory of the tables, a file per paper
    #[arg(long, value_name = "DIR", default_value = "target/papers")]
    tables: PathBuf,
    /// The user dictionary of P2, P3 and P4, a word a line, perhaps with a frequency
    #[arg(long, value_name = "FILE")]
    dictionary: Option<PathBuf>,
    /// Only write the texts to this file, for experiments in SQL
    #[arg(long, value_name = "CSV")]
    texts: Option<PathBuf>,
    /// Only write the collections of P2, P3 and P4 to this file, for the same in SQL
    #[arg(long, value_name = "CSV")]
    sets: Option<PathBuf>,
    /// Fewer texts
    #[arg(long)]
    quick: bool,
}

const PAPERS: [&str; 5] = ["p1", "p2", "p3", "p4", "p5"];

fn fail(error: impl std::fmt::Display) -> ! {
    eprintln!("{error}");
    exit(1)
}

fn main() {
    let options = Options::parse();
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
    if let Some(file) = &options.sets {
        return sets::write(&data, file, options.quick)
            .unwrap_or_else(|error| fail(format!("{}: {error}", file.display())));
    }
    if let Some(file) = &options.dictionary {
        let count = words::read_dictionary(file).unwrap_or_else(|error| fail(error));
        eprintln!("{count} words of a user dictionary");
    }
    eprintln!("{} texts, topics: {}", data.docs.len(), data.topics().join(", "));
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
