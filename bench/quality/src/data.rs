//! The labelled files.

use std::collections::HashMap;
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A directory of labelled files.
pub struct Data(PathBuf);

/// What a person said of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    Same,
    Different,
    Unsure,
}

/// A judged pair: numbers of the texts, exact similarity, judgement.
pub struct Judged {
    pub a: usize,
    pub b: usize,
    pub similarity: f64,
    pub matter: Matter,
}

/// A petition.
pub struct Petition {
    pub id: String,
    pub petitioner: String,
    pub title: String,
    pub body: String,
}

pub fn fail(what: impl Display, error: impl Display) -> ! {
    eprintln!("{what}: {error}");
    std::process::exit(1)
}

impl Data {
    pub fn new(directory: &str) -> Data {
        Data(PathBuf::from(directory))
    }

    fn read(&self, name: &str, columns: &[&str]) -> Vec<Vec<String>> {
        let plain = self.0.join(name);
        let packed = self.0.join(format!("{name}.gz"));
        let path: &Path = if plain.exists() { &plain } else { &packed };
        let file = File::open(path).unwrap_or_else(|error| fail(plain.display(), error));
        let input: Box<dyn Read> =
            if path == packed { Box::new(flate2::read::GzDecoder::new(file)) } else { Box::new(file) };
        let mut reader = csv::Reader::from_reader(input);
        let header = reader.headers().unwrap_or_else(|error| fail(path.display(), error)).clone();
        let at: Vec<usize> = columns
            .iter()
            .map(|column| {
                header
                    .iter()
                    .position(|name| name == *column)
                    .unwrap_or_else(|| fail(path.display(), format!("no column {column}")))
            })
            .collect();
        let row = |row: csv::Result<csv::StringRecord>| {
            let row = row.unwrap_or_else(|error| fail(path.display(), error));
            at.iter().map(|&at| row.get(at).unwrap_or("").to_owned()).collect()
        };
        reader.records().map(row).collect()
    }

    pub fn petitions(&self) -> Vec<Petition> {
        let rows = self.read("petitions.csv", &["id", "petitioner", "title", "body"]);
        let petition = |mut row: Vec<String>| {
            let (body, title, petitioner, id) = (row.pop(), row.pop(), row.pop(), row.pop());
            let text = |cell: Option<String>| cell.unwrap_or_default();
            Petition { id: text(id), petitioner: text(petitioner), title: text(title), body: text(body) }
        };
        rows.into_iter().map(petition).collect()
    }

    pub fn judged(&self, petitions: &[Petition]) -> Vec<Judged> {
        let ids: HashMap<&str, usize> =
            petitions.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
        let number = |id: &str| {
            *ids.get(id).unwrap_or_else(|| fail("petition_pairs.csv", format!("no petition {id}")))
        };
        let judged = |row: &Vec<String>| {
            let (a, b) = (number(&row[0]), number(&row[1]));
            let matter = match row[3].as_str() {
                "same" => Matter::Same,
                "different" => Matter::Different,
                _ => Matter::Unsure,
            };
            Judged { a: a.min(b), b: a.max(b), similarity: row[2].parse().unwrap_or(0.0), matter }
        };
        self.read("petition_pairs.csv", &["id1", "id2", "jaccard3", "matter"]).iter().map(judged).collect()
    }

    pub fn short_texts(&self) -> Vec<String> {
        self.read("short_texts.csv", &["text"]).into_iter().flatten().collect()
    }

    pub fn short_pairs(&self) -> Vec<(String, String)> {
        let pair = |mut row: Vec<String>| (row.swap_remove(0), row.pop().unwrap_or_default());
        self.read("short_pairs.csv", &["text1", "text2"]).into_iter().map(pair).collect()
    }
}
