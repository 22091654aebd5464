//! The command line.

use crate::plan::Settings;
use std::path::PathBuf;

/// What `--help` prints.
pub const HELP: &str = "\
Writes a made-up Chinese petition desk as CSV: petitions with known near-duplicates.

Usage: petition_desk [OPTIONS]

Options:
  --rows N            rows to write, 1000 to 10000000 [100000]
  --seed S            another desk for every number [1]
  --duplicates X      share of rows that are duplicates of an earlier row [0.2]
  --hard-negatives X  share of rows that are an earlier row moved to another
                      place, which makes them another petition [0.03]
  --output FILE       write to FILE instead of standard output
  --measure           print figures about the desk instead of the desk
  --help              print this

Columns: id,petitioner,department,title,body,filed_at,cluster,variant
Rows with the same cluster are duplicates of each other.
The same options give the same bytes, always.
";

/// A parsed command line.
#[derive(Debug, PartialEq)]
pub enum Command {
    /// Print the help.
    Help,
    /// Write the desk.
    Write(Settings, Option<PathBuf>),
    /// Print figures about the desk.
    Measure(Settings),
}

/// Parses the arguments after the program's name.
pub fn parse(args: impl IntoIterator<Item = String>) -> Result<Command, String> {
    let mut settings = Settings::default();
    let mut output = None;
    let mut measure = false;
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        let (name, inline) = match arg.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (arg, None),
        };
        let given = inline.is_some();
        let mut value = || inline.clone().or_else(|| args.next()).ok_or(format!("{name} needs a value"));
        match name.as_str() {
            "--help" | "-h" if !given => return Ok(Command::Help),
            "--measure" if !given => measure = true,
            "--rows" => settings.rows = number(&name, &value()?)?,
            "--seed" => settings.seed = number(&name, &value()?)?,
            "--duplicates" => settings.duplicates = share(&name, &value()?)?,
            "--hard-negatives" => settings.hard_negatives = share(&name, &value()?)?,
            "--output" | "-o" => output = Some(PathBuf::from(value()?)),
            _ => return Err(format!("unknown option {name}{}", if given { " with a value" } else { "" })),
        }
    }
    if !(1_000..=10_000_000).contains(&settings.rows) {
        return Err(format!("--rows must be 1000 to 10000000, not {}", settings.rows));
    }
    if settings.duplicates + settings.hard_negatives > 0.9 {
        return Err("--duplicates and --hard-negatives together must not exceed 0.9".to_owned());
    }
    if measure && output.is_some() {
        return Err("--measure writes no desk, so it takes no --output".to_owned());
    }
    Ok(if measure { Command::Measure(settings) } else { Command::Write(settings, output) })
}

fn number(name: &str, value: &str) -> Result<u64, String> {
    value.replace('_', "").parse().map_err(|_| format!("{name} must be a whole number, not {value:?}"))
}

fn share(name: &str, value: &str) -> Result<f64, String> {
    match value.parse() {
        Ok(share) if (0.0..=0.9).contains(&share) => Ok(share),
        _ => Err(format!("{name} must be a share from 0 to 0.9, not {value:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn good_command_lines() {
        let settings = Settings { rows: 5000, seed: 9, duplicates: 0.5, hard_negatives: 0.0 };
        let written = parsed("--rows 5_000 --seed=9 --duplicates 0.5 --hard-negatives 0 --output a.csv");
        assert_eq!(written, Ok(Command::Write(settings, Some(PathBuf::from("a.csv")))));
        assert_eq!(parsed("--rows 5 --help"), Ok(Command::Help));
        assert_eq!(parsed("--measure"), Ok(Command::Measure(Settings::default())));
    }

    #[test]
    fn bad_command_lines() {
        for (line, says) in [
            ("--rows", "needs a value"),
            ("--rows x", "whole number"),
            ("--rows 999", "1000 to 10000000"),
            ("--duplicates 1.5", "0 to 0.9"),
            ("--duplicates NaN", "0 to 0.9"),
            ("--duplicates 0.6 --hard-negatives 0.6", "together"),
            ("--measure=1", "with a value"),
            ("--colour", "unknown option"),
            ("--measure --output x", "no --output"),
        ] {
            assert!(parsed(line).is_err_and(|e| e.contains(says)), "{line}");
        }
    }
}
