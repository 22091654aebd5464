//! Writes the sample petition desk.

use petition_desk::csv;
use petition_desk::desk::Desk;
use petition_desk::measure;
use petition_desk::options::{self, Command, HELP};
use petition_desk::plan::Settings;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Result<Vec<String>, _> = std::env::args_os().skip(1).map(|arg| arg.into_string()).collect();
    let command = match args.map_err(|_| "options must be valid UTF-8".to_owned()).and_then(options::parse) {
        Ok(command) => command,
        Err(message) => {
            eprintln!("petition_desk: {message}\nTry --help.");
            return ExitCode::from(2);
        }
    };
    let done = match &command {
        Command::Help => io::stdout().write_all(HELP.as_bytes()),
        Command::Write(settings, output) => write(settings, output.as_deref()),
        Command::Measure(settings) => io::stdout().write_all(measure::report(settings).as_bytes()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // The reader had enough, as `head` does.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("petition_desk: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(settings: &Settings, output: Option<&Path>) -> io::Result<()> {
    let desk = Desk::new(settings.clone());
    match output {
        Some(path) => {
            let file = File::create(path)
                .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
            csv::write(desk.rows(), &mut BufWriter::with_capacity(1 << 18, file))
        }
        None => csv::write(desk.rows(), &mut BufWriter::with_capacity(1 << 18, io::stdout().lock())),
    }
}
