//! The generated Chinese petition desk as a labelled directory.

use crate::table::write as write_file;
use petition_desk::desk::Desk;
use petition_desk::plan::Settings;
use std::collections::HashMap;
use std::path::Path;

/// Writes petitions.csv, and petition_pairs.csv of every two petitions of one
/// cluster; other pairs are not listed, and so count as wrong.
pub fn write(directory: &str, rows: u64, seed: u64) {
    let directory = Path::new(directory);
    let desk = Desk::new(Settings { rows, seed, ..Settings::default() });
    let mut clusters: HashMap<u64, Vec<String>> = HashMap::new();
    let mut pairs: Vec<[String; 3]> = Vec::new();
    let petitions: Vec<[String; 4]> = desk
        .rows()
        .enumerate()
        .map(|(at, row)| {
            let id = (at + 1).to_string();
            let members = clusters.entry(row.cluster).or_default();
            pairs.extend(members.iter().map(|other| [other.clone(), id.clone(), "same".to_owned()]));
            members.push(id.clone());
            [id, row.petitioner, row.title, row.body]
        })
        .collect();
    write_file(directory, "petitions.csv", ["id", "petitioner", "title", "body"], petitions);
    write_file(directory, "petition_pairs.csv", ["id1", "id2", "matter"], pairs);
}
