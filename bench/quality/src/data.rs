//! The labelled files.

use crate::table::Table;
pub use crate::table::fail;
use dedup_core::similarity::jaccard;
use std::collections::HashMap;
use std::path::PathBuf;

/// A directory of labelled files, each of which may be missing.
pub struct Data(PathBuf);

/// What a person said of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Matter {
    Same,
    Different,
    Unsure,
}

impl Matter {
    fn of(word: &str) -> Option<Matter> {
        match word.trim().to_lowercase().as_str() {
            "same" | "1" | "true" | "t" | "yes" => Some(Matter::Same),
            "different" | "0" | "false" | "f" | "no" => Some(Matter::Different),
            "unsure" | "" => Some(Matter::Unsure),
            _ => None,
        }
    }
}

/// A judged pair: numbers of the texts, exact similarity, judgement.
pub struct Judged {
    pub a: usize,
    pub b: usize,
    pub similarity: f64,
    pub matter: Matter,
}

/// A long text and the short columns beside it; those a file does not have are
/// empty.
pub struct Petition {
    pub id: String,
    pub petitioner: String,
    pub title: String,
    pub body: String,
}

/// A short text before and after an edit, or a pair judged otherwise.
pub struct ShortPair {
    pub a: String,
    pub b: String,
    pub matter: Matter,
}

impl Data {
    pub fn new(directory: &str) -> Data {
        let path = PathBuf::from(directory);
        if !path.is_dir() {
            fail(directory, "not a directory")
        }
        Data(path)
    }

    pub fn petitions(&self) -> Option<Vec<Petition>> {
        let table = Table::read(&self.0, "petitions.csv")?;
        let (id, body) = (table.needed(&["id"]), table.needed(&["body", "content", "text"]));
        let (petitioner, title) = (table.column(&["petitioner"]), table.column(&["title"]));
        let petition = |row: &Vec<String>| Petition {
            id: row[id].trim().to_owned(),
            petitioner: petitioner.map_or_else(String::new, |at| row[at].clone()),
            title: title.map_or_else(String::new, |at| row[at].clone()),
            body: row[body].clone(),
        };
        let petitions: Vec<Petition> = table.rows.iter().map(petition).collect();
        let mut seen = HashMap::new();
        for (at, petition) in petitions.iter().enumerate() {
            if let Some(before) = seen.insert(petition.id.as_str(), at) {
                table.fail_at(at, format!("id {} is that of row {} already", petition.id, before + 2))
            }
        }
        Some(petitions)
    }

    /// The judged pairs. Without a column `matter` all of them are of one
    /// matter; without `jaccard3` it is computed.
    pub fn judged(&self, petitions: &[Petition]) -> Option<Vec<Judged>> {
        let table = Table::read(&self.0, "petition_pairs.csv")?;
        let (one, other) = (table.needed(&["id1"]), table.needed(&["id2"]));
        let (similarity, matter) = (table.column(&["jaccard3"]), table.column(&["matter", "label"]));
        let numbers: HashMap<&str, usize> =
            petitions.iter().enumerate().map(|(at, it)| (it.id.as_str(), at)).collect();
        let mut unknown = 0;
        let mut pairs: HashMap<(usize, usize), Judged> = HashMap::new();
        for (at, row) in table.rows.iter().enumerate() {
            let number = |column: usize| numbers.get(row[column].trim()).copied();
            let (Some(a), Some(b)) = (number(one), number(other)) else {
                unknown += 1;
                continue;
            };
            if a == b {
                table.fail_at(at, format!("a pair of {} with itself", row[one]))
            }
            let matter = matter.map_or(Some(Matter::Same), |column| Matter::of(&row[column]));
            let matter = matter.unwrap_or_else(|| {
                table.fail_at(at, "the judgement is none of same, different, unsure (or 1, 0)")
            });
            let exact = || jaccard(&petitions[a].body, &petitions[b].body, 3);
            let similarity = match similarity.map(|column| row[column].trim()) {
                None | Some("") => exact(),
                Some(written) => written
                    .parse()
                    .unwrap_or_else(|_| table.fail_at(at, format!("jaccard3 is no number: {written}"))),
            };
            let (a, b) = (a.min(b), a.max(b));
            let judged = pairs.entry((a, b)).or_insert(Judged { a, b, similarity, matter });
            if judged.matter != matter {
                judged.matter = Matter::Unsure;
            }
        }
        if unknown > 0 {
            println!(
                "{unknown} of {} judged pairs name no text of petitions.csv: left out.\n",
                table.rows.len()
            );
        }
        Some(pairs.into_values().collect())
    }

    /// The short texts; if there is no file of them, those of the pairs.
    pub fn short_texts(&self) -> Option<Vec<String>> {
        if let Some(table) = Table::read(&self.0, "short_texts.csv") {
            let text = table.needed(&["text", "body", "content"]);
            return Some(table.rows.into_iter().map(|mut row| row.swap_remove(text)).collect());
        }
        let pairs = self.short_pairs()?;
        Some(pairs.into_iter().flat_map(|pair| [pair.a, pair.b]).collect())
    }

    pub fn short_pairs(&self) -> Option<Vec<ShortPair>> {
        let table = Table::read(&self.0, "short_pairs.csv")?;
        let (one, other) = (table.needed(&["text1"]), table.needed(&["text2"]));
        let matter = table.column(&["matter", "label"]);
        let pair = |(at, row): (usize, &Vec<String>)| {
            let matter = matter.map_or(Some(Matter::Same), |column| Matter::of(&row[column]));
            let matter = matter.unwrap_or_else(|| {
                table.fail_at(at, "the judgement is none of same, different, unsure (or 1, 0)")
            });
            ShortPair { a: row[one].clone(), b: row[other].clone(), matter }
        };
        Some(table.rows.iter().enumerate().map(pair).collect())
    }
}
