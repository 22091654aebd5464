//! Writes the sample petition desk.

use clap::{CommandFactory, Parser, error::ErrorKind};
use petition_desk::csv;
use petition_desk::desk::Desk;
use petition_desk::measure;
use petition_desk::options::Options;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let options = Options::parse();
    if options.settings.duplicates + options.settings.hard_negatives > 0.9 {
        let message = "--duplicates and --hard-negatives together must not exceed 0.9";
        Options::command().error(ErrorKind::ValueValidation, message).exit()
    }
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader had enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("petition_desk: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> io::Result<()> {
    if options.measure {
        return io::stdout().write_all(measure::report(&options.settings).as_bytes());
    }
    let desk = Desk::new(options.settings);
    match options.output {
        Some(path) => {
            let file = File::create(&path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            csv::write(desk.rows(), file)
        }
        None => csv::write(desk.rows(), io::stdout().lock()),
    }
}
