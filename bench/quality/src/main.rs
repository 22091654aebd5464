//! Precision and recall on labelled texts: ours beside the papers' recipes.
//!
//! ```text
//! cargo run --release -p dedup_quality -- DIRECTORY [petitions|short|edits|recipes] [--svg FILE]
//! ```
//!
//! The directory holds, each as CSV with a header:
//!
//! | file | columns |
//! |---|---|
//! | `petitions.csv` | `id, petitioner, title, body, …` |
//! | `petition_pairs.csv` | `id1, id2, jaccard3, matter`; `matter` is `same`, `different` or `unsure` |
//! | `short_texts.csv.gz` (or `.csv`) | `id, text` |
//! | `short_pairs.csv` | `text1, text2` |
//!
//! No setting is fitted to these files: recipes and thresholds are the
//! documented defaults, radii come from the background of the unlabelled texts
//! (`near_dup_calibrate`, `dedup_suggest`).

mod data;
mod edits;
mod petitions;
mod recipes;
mod short;
mod svg;

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let svg = args.iter().position(|arg| arg == "--svg").map(|at| {
        let file = args.get(at + 1).cloned().unwrap_or_else(|| "edits.svg".into());
        args.truncate(at);
        file
    });
    let Some((directory, parts)) = args.split_first() else {
        eprintln!("usage: dedup_quality DIRECTORY [petitions|short|edits|recipes]… [--svg FILE]");
        std::process::exit(2)
    };
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let data = data::Data::new(directory);
    if wanted("petitions") {
        petitions::report(&data);
    }
    if wanted("short") {
        short::report(&data);
    }
    if wanted("edits") {
        edits::report(&data, svg.as_deref());
    }
    if parts.iter().any(|part| part == "recipes") {
        recipes::report(&data);
    }
}
