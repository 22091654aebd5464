//! Reading CSV files that somebody else wrote: in any order of columns, packed
//! or not, and with an error that names the file and the line.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A CSV file with a header.
pub struct Table {
    path: PathBuf,
    columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

pub fn fail(what: impl Display, error: impl Display) -> ! {
    eprintln!("{what}: {error}");
    std::process::exit(1)
}

impl Table {
    /// Reads `name` or `name.gz` of a directory; `None` if neither is there.
    pub fn read(directory: &Path, name: &str) -> Option<Table> {
        let plain = directory.join(name);
        let packed = directory.join(format!("{name}.gz"));
        let path = [plain, packed].into_iter().find(|path| path.exists())?;
        let file = File::open(&path).unwrap_or_else(|error| fail(path.display(), error));
        let input: Box<dyn Read> = if path.extension().is_some_and(|end| end == "gz") {
            Box::new(flate2::read::GzDecoder::new(file))
        } else {
            Box::new(file)
        };
        let mut reader = csv::Reader::from_reader(input);
        let header = reader.headers().unwrap_or_else(|error| fail(path.display(), error));
        let plain_name = |name: &str| name.trim_start_matches('\u{feff}').trim().to_lowercase();
        let columns = header.iter().map(plain_name).collect();
        let row = |row: csv::Result<csv::StringRecord>| {
            let row = row.unwrap_or_else(|error| fail(path.display(), error));
            row.iter().map(str::to_owned).collect()
        };
        let rows = reader.records().map(row).collect();
        Some(Table { columns, rows, path })
    }

    /// The place of the first of these names that the header has.
    pub fn column(&self, names: &[&str]) -> Option<usize> {
        names.iter().find_map(|name| self.columns.iter().position(|column| column == name))
    }

    /// As `column`, of one that must be there.
    pub fn needed(&self, names: &[&str]) -> usize {
        self.column(names).unwrap_or_else(|| {
            self.fail(format!("no column {}; there are: {}", names.join(" or "), self.columns.join(", ")))
        })
    }

    pub fn fail(&self, what: impl Display) -> ! {
        fail(self.path.display(), what)
    }

    /// An error in a row, counted as lines are if no cell has a line break.
    pub fn fail_at(&self, row: usize, what: impl Display) -> ! {
        self.fail(format!("row {} (the header is row 1): {what}", row + 2))
    }
}

/// Writes a file of a directory, which is made if it is missing.
pub fn write<const N: usize>(
    directory: &Path,
    name: &str,
    header: [&str; N],
    rows: impl IntoIterator<Item = [String; N]>,
) {
    std::fs::create_dir_all(directory).unwrap_or_else(|error| fail(directory.display(), error));
    let path = directory.join(name);
    let mut writer = csv::Writer::from_path(&path).unwrap_or_else(|error| fail(path.display(), error));
    let all = || -> csv::Result<()> {
        writer.write_record(header)?;
        rows.into_iter().try_for_each(|row| writer.write_record(row))?;
        Ok(writer.flush()?)
    };
    all().unwrap_or_else(|error| fail(path.display(), error));
}
