//! Precision and recall on labelled texts: ours beside the papers' recipes.
//!
//! ```text
//! cargo run --release -p dedup_quality -- DIRECTORY [petitions|short|edits|recipes]…
//!     [--judged-only] [--pairs FILE] [--svg FILE]
//! cargo run --release -p dedup_quality -- english|desk DIRECTORY [--rows N] [--seed N]
//! ```
//!
//! The directory holds, each as CSV (or `.csv.gz`) with a header, in any order of
//! columns, one of these files or more:
//!
//! | file | columns |
//! |---|---|
//! | `petitions.csv` | `id`, `body`; if there are such, `petitioner`, `title` |
//! | `petition_pairs.csv` | `id1`, `id2`; if there are such, `matter` (`same`, `different`, `unsure`; all are `same` without it) and `jaccard3` |
//! | `short_texts.csv` | `text` |
//! | `short_pairs.csv` | `text1`, `text2`; if there is such, `matter` |
//!
//! A pair of `petitions.csv` that is not judged counts as wrong, which is right
//! where all pairs were looked at; `--judged-only` is for files that judge some
//! pairs only. `--pairs` writes the pairs that the suggested way finds. `english`
//! and `desk` write such a directory, made up: English complaints, the Chinese desk.
//!
//! No setting is fitted to these files: recipes and thresholds are the
//! documented defaults, radii come from the background of the unlabelled texts
//! (`near_dup_calibrate`, `dedup_suggest`).

mod data;
mod desk;
mod edits;
mod english;
mod english_words;
mod lsh;
mod petitions;
mod prints;
mod recipes;
mod short;
mod svg;
mod table;
mod truth;

use data::{Data, fail};

const USAGE: &str = "usage: dedup_quality DIRECTORY [petitions|short|edits|recipes]… [--judged-only] [--pairs FILE] [--svg FILE]
       dedup_quality english|desk DIRECTORY [--rows N] [--seed N]

DIRECTORY holds petitions.csv and petition_pairs.csv, short_texts.csv and short_pairs.csv, or some of them.
english and desk write such a directory of made-up texts: complaints in English, the Chinese petition desk.";
const PARTS: [&str; 4] = ["petitions", "short", "edits", "recipes"];

fn usage(what: &str) -> ! {
    eprintln!("{what}\n{USAGE}");
    std::process::exit(2)
}

/// Takes an option with its value out of the arguments.
fn value_of(args: &mut Vec<String>, name: &str) -> Option<String> {
    let at = args.iter().position(|arg| arg == name)?;
    args.remove(at);
    if at == args.len() {
        usage(&format!("{name} needs a value"))
    }
    Some(args.remove(at))
}

fn flag(args: &mut Vec<String>, name: &str) -> bool {
    let at = args.iter().position(|arg| arg == name);
    at.map(|at| args.remove(at)).is_some()
}

fn number(value: Option<String>, default: u64) -> u64 {
    value.map_or(default, |text| text.parse().unwrap_or_else(|_| usage(&format!("not a number: {text}"))))
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    if flag(&mut args, "--help") {
        println!("{USAGE}");
        return;
    }
    if args.first().is_some_and(|arg| arg == "english" || arg == "desk") {
        let (rows, seed) = (value_of(&mut args, "--rows"), value_of(&mut args, "--seed"));
        let [made, directory] = args.as_slice() else { usage("english and desk take one directory") };
        let seed = number(seed, 1);
        match made.as_str() {
            "desk" => desk::write(directory, number(rows, 10_000), seed),
            _ => english::write(directory, number(rows, 4_000) as usize, seed),
        }
        return;
    }
    let (svg, pairs) = (value_of(&mut args, "--svg"), value_of(&mut args, "--pairs"));
    let judged_only = flag(&mut args, "--judged-only");
    let Some((directory, parts)) = args.split_first() else { usage("no directory is given") };
    if let Some(unknown) = parts.iter().find(|part| !PARTS.contains(&part.as_str())) {
        usage(&format!("no part {unknown}"))
    }
    let data = Data::new(directory);
    // Without a part named, those whose files are there.
    let named = |part: &str| parts.iter().any(|named| named == part);
    let wanted = |part: &str| parts.is_empty() && part != "recipes" || named(part);
    let mut done = false;
    let mut note = |part: &str, file: &str, ran: bool| {
        done |= ran;
        if !ran && named(part) {
            fail(directory, format!("{part} needs {file}"))
        }
        if !ran {
            println!("\nNo {file}: {part} left out.");
        }
    };
    if wanted("petitions") {
        let found = petitions::report(&data, judged_only);
        note("petitions", "petitions.csv", found.is_some());
        if let (Some(file), Some(found)) = (pairs, found) {
            let lines: String = found.iter().map(|(a, b)| format!("{a},{b}\n")).collect();
            std::fs::write(&file, format!("id1,id2\n{lines}")).unwrap_or_else(|error| fail(file, error));
        }
    }
    if wanted("short") {
        note("short", "short_texts.csv or short_pairs.csv", short::report(&data));
    }
    if wanted("edits") {
        note("edits", "petitions.csv", edits::report(&data, svg.as_deref()));
    }
    if wanted("recipes") {
        note("recipes", "petitions.csv", recipes::report(&data));
    }
    if !done {
        fail(directory, "none of petitions.csv, short_texts.csv and short_pairs.csv is there")
    }
}
