//! The command line.

use crate::plan::Settings;
use clap::Parser;
use std::path::PathBuf;

/// Writes a made-up Chinese petition desk as CSV: petitions with known near-duplicates
#[derive(Debug, PartialEq, Parser)]
#[command(
    name = "petition_desk",
    after_help = "Columns: id,petitioner,department,title,body,filed_at,cluster,variant\n\
                  Rows with the same cluster are duplicates of each other.\n\
                  The same options give the same bytes, always."
)]
pub struct Options {
    /// The desk to write.
    #[command(flatten)]
    pub settings: Settings,
    /// Write to FILE instead of standard output
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print figures about the desk instead of the desk
    #[arg(long, conflicts_with = "output")]
    pub measure: bool,
}

/// A share of the rows.
pub(crate) fn share(value: &str) -> Result<f64, String> {
    match value.parse() {
        Ok(share) if (0.0..=0.9).contains(&share) => Ok(share),
        _ => Err("not a share from 0 to 0.9".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Options, clap::Error> {
        Options::try_parse_from(format!("petition_desk {line}").split_whitespace())
    }

    #[test]
    fn good_command_lines() {
        let settings = Settings { rows: 5000, seed: 9, duplicates: 0.5, hard_negatives: 0.0 };
        let written = parsed("--rows 5000 --seed=9 --duplicates 0.5 --hard-negatives 0 -o a.csv").unwrap();
        assert_eq!(written, Options { settings, output: Some(PathBuf::from("a.csv")), measure: false });
        let measured = Options { settings: Settings::default(), output: None, measure: true };
        assert_eq!(parsed("--measure").unwrap(), measured);
    }

    #[test]
    fn bad_command_lines() {
        for line in [
            "--rows",
            "--rows x",
            "--rows 999",
            "--rows 10000001",
            "--duplicates 1.5",
            "--duplicates NaN",
            "--measure=1",
            "--colour",
            "--measure --output x",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }
}
