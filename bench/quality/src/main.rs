//! Precision and recall on labelled texts: ours beside the papers' recipes.
//!
//! No setting is fitted to the texts: recipes and thresholds are the documented defaults, radii come from the
//! background of the unlabelled texts (`near_dup_calibrate`, `dedup_suggest`).

mod data;
mod desk;
mod details;
mod edits;
mod english;
mod english_words;
mod lsh;
mod petitions;
mod prints;
mod recipes;
mod records;
mod records_places;
mod records_products;
mod short;
mod table;
mod templates;
mod truth;

use clap::{Parser, Subcommand, ValueEnum};
use data::{Data, fail};
use std::path::PathBuf;

/// Precision and recall on labelled texts
///
/// The directory holds, each as CSV (or `.csv.gz`) with a header, in any order of columns, one of these files or more:
///
///   petitions.csv       id, body; if there are such, petitioner, title
///   petition_pairs.csv  id1, id2; if there are such, matter (same, different, unsure; all are same without it), jaccard3
///   short_texts.csv     text
///   short_pairs.csv     text1, text2; if there is such, matter
#[derive(Parser)]
#[command(
    verbatim_doc_comment,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true
)]
struct Options {
    #[command(subcommand)]
    write: Option<Write>,
    /// The labelled files
    #[arg(required = true)]
    directory: Option<String>,
    /// What to measure; without it, whatever the files allow except recipes
    parts: Vec<Part>,
    /// Pairs of petitions that are not judged do not count; without it they count as different
    #[arg(long)]
    judged_only: bool,
    /// Writes the pairs of petitions found to this file
    #[arg(long, value_name = "FILE")]
    pairs: Option<PathBuf>,
    /// Draws the curves of edits to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Petitions,
    Short,
    Edits,
    Details,
    Recipes,
}

#[derive(Subcommand)]
enum Write {
    /// Writes a directory of made-up complaints in English
    English {
        directory: String,
        #[arg(long, default_value_t = 4_000)]
        rows: usize,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Writes a directory of made-up records in English
    Records {
        directory: String,
        #[arg(long, value_enum, default_value = "citations")]
        kind: records::Kind,
        #[arg(long, default_value_t = 4_000)]
        rows: usize,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Prints what is made of tables whose rows are made by templates
    Templates {
        #[arg(long, default_value_t = 200)]
        rows: usize,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
    /// Writes a directory of the generated Chinese petition desk
    Desk {
        directory: String,
        #[arg(long, default_value_t = 10_000)]
        rows: u64,
        #[arg(long, default_value_t = 1)]
        seed: u64,
    },
}

fn main() {
    let options = Options::parse();
    let directory = match (options.write, &options.directory) {
        (Some(Write::English { directory, rows, seed }), _) => return english::write(&directory, rows, seed),
        (Some(Write::Records { directory, kind, rows, seed }), _) => {
            return records::write(&directory, kind, rows, seed);
        }
        (Some(Write::Templates { rows, seed }), _) => return templates::report(rows, seed),
        (Some(Write::Desk { directory, rows, seed }), _) => return desk::write(&directory, rows, seed),
        (None, directory) => directory.as_deref().unwrap_or_default(),
    };
    let data = Data::new(directory);
    // Without a part named, those whose files are there.
    let named = |part| options.parts.contains(&part);
    let wanted = |part| options.parts.is_empty() && part != Part::Recipes || named(part);
    let mut done = false;
    let mut note = |part: Part, file: &str, ran: bool| {
        done |= ran;
        if !ran {
            let name = part.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
            if named(part) {
                fail(directory, format!("{name} needs {file}"))
            }
            println!("\nNo {file}: {name} left out.");
        }
    };
    if wanted(Part::Petitions) {
        let found = petitions::report(&data, options.judged_only);
        note(Part::Petitions, "petitions.csv", found.is_some());
        if let (Some(file), Some(found)) = (options.pairs, found) {
            let lines: String = found.iter().map(|(a, b)| format!("{a},{b}\n")).collect();
            std::fs::write(&file, format!("id1,id2\n{lines}"))
                .unwrap_or_else(|error| fail(file.display(), error));
        }
    }
    if wanted(Part::Short) {
        note(Part::Short, "short_texts.csv or short_pairs.csv", short::report(&data));
    }
    if wanted(Part::Edits) {
        note(Part::Edits, "petitions.csv", edits::report(&data, options.svg.as_deref()));
    }
    if wanted(Part::Details) {
        note(Part::Details, "petitions.csv", details::report(&data));
    }
    if wanted(Part::Recipes) {
        note(Part::Recipes, "petitions.csv", recipes::report(&data));
    }
    if !done {
        fail(directory, "none of petitions.csv, short_texts.csv and short_pairs.csv is there")
    }
}
