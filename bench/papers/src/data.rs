//! The texts that the experiments run on.

use dedup_core::groups::UnionFind;
use petition_desk::desk::Desk;
use petition_desk::plan::Settings;
use petition_desk::vary::Variant;
use std::collections::HashMap;
use std::path::Path;

/// One text with what is known of it.
#[derive(Debug, Clone, Default)]
pub struct Doc {
    /// Who wrote it; may be empty.
    pub petitioner: String,
    /// Whom it was sent to; may be empty.
    pub department: String,
    /// Its title; may be empty.
    pub title: String,
    /// The text.
    pub body: String,
    /// What it is about.
    pub topic: String,
    /// The same for duplicates of each other.
    pub cluster: u64,
    /// Whether it is a copy of another with the place swapped, which makes it
    /// another petition.
    pub moved: bool,
}

/// All of them.
pub struct Data {
    /// The texts.
    pub docs: Vec<Doc>,
}

impl Data {
    /// The generated petition desk.
    pub fn desk(rows: u64) -> Data {
        let desk = Desk::new(Settings { rows, ..Settings::default() });
        let docs = desk.rows().map(|row| Doc {
            petitioner: row.petitioner,
            department: row.department.to_owned(),
            title: row.title,
            body: row.body,
            topic: row.topic.to_owned(),
            cluster: row.cluster,
            moved: row.variant == Variant::PlaceSwapped,
        });
        Data { docs: docs.collect() }
    }

    /// A labelled CSV file; `pairs` is a second one that says what are
    /// duplicates, if the first does not.
    pub fn read(path: &Path, pairs: Option<&Path>) -> Result<Data, String> {
        let mut table = Table::open(path)?;
        let body = table.need(&["body", "text", "content"])?;
        let label = table.need(if pairs.is_some() { &["id"] } else { &["cluster", "label"] })?;
        let [petitioner, department, title, topic] =
            ["petitioner", "department", "title", "topic"].map(|name| table.column(&[name]));
        let (mut labels, mut docs) = (HashMap::new(), Vec::new());
        table.each(|record| {
            let field = |at: Option<usize>| at.map_or(String::new(), |at| record[at].to_owned());
            let next = labels.len() as u64;
            docs.push(Doc {
                petitioner: field(petitioner),
                department: field(department),
                title: field(title),
                body: record[body].to_owned(),
                topic: if topic.is_some() { field(topic) } else { "all".to_owned() },
                cluster: *labels.entry(record[label].to_owned()).or_insert(next),
                moved: false,
            });
        })?;
        if let Some(pairs) = pairs {
            let clusters = UnionFind::new(labels.len());
            for (a, b) in same(pairs)? {
                let known = |id: &str| {
                    labels.get(id).copied().ok_or(format!("{}: no text has the id {id}", pairs.display()))
                };
                clusters.union(known(&a)? as u32, known(&b)? as u32);
            }
            docs.iter_mut().for_each(|doc| doc.cluster = u64::from(clusters.find(doc.cluster as u32)));
        }
        Ok(Data { docs })
    }

    /// Writes the first `rows` texts as CSV.
    pub fn write(&self, path: &Path, rows: usize) -> Result<(), csv::Error> {
        let mut writer = csv::Writer::from_path(path)?;
        writer.write_record([
            "id",
            "petitioner",
            "department",
            "title",
            "body",
            "topic",
            "cluster",
            "moved",
        ])?;
        for (id, doc) in self.docs.iter().take(rows).enumerate() {
            writer.write_record([
                &id.to_string(),
                &doc.petitioner,
                &doc.department,
                &doc.title,
                &doc.body,
                &doc.topic,
                &doc.cluster.to_string(),
                &doc.moved.to_string(),
            ])?;
        }
        Ok(writer.flush()?)
    }

    /// The topics, most frequent first.
    pub fn topics(&self) -> Vec<String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        self.docs.iter().for_each(|doc| *counts.entry(&doc.topic).or_default() += 1);
        let mut topics: Vec<_> = counts.into_iter().collect();
        topics.sort_by_key(|&(name, count)| (std::cmp::Reverse(count), name));
        topics.into_iter().map(|(name, _)| name.to_owned()).collect()
    }

    /// As the papers mix their collections: `similar` texts of a topic that
    /// have duplicates among them, and `others` that have none; with `moved`,
    /// also those that are copies with the place swapped. Fewer if the topic
    /// has not so many.
    pub fn mixture(&self, topic: &str, similar: usize, others: usize, moved: bool) -> Vec<&Doc> {
        let mut clusters: HashMap<u64, Vec<&Doc>> = HashMap::new();
        let mut order = Vec::new();
        for doc in self.docs.iter().filter(|doc| doc.topic == topic && (moved || !doc.moved)) {
            let members = clusters.entry(doc.cluster).or_default();
            if members.is_empty() {
                order.push(doc.cluster);
            }
            members.push(doc);
        }
        let (mut mixture, mut alone) = (Vec::new(), Vec::new());
        for cluster in order {
            let members = &clusters[&cluster];
            if members.len() > 1 && mixture.len() + 1 < similar {
                // Not more than five of a mass petition, for they are alike.
                mixture.extend(members.iter().copied().take(5.min(similar - mixture.len())));
            } else {
                alone.push(members[0]);
            }
        }
        mixture.extend(alone.into_iter().take(others));
        mixture
    }

    /// `count` texts of at least `characters` characters, of different
    /// clusters.
    pub fn different(&self, count: usize, characters: usize) -> Vec<&str> {
        let mut seen = std::collections::HashSet::new();
        let long = self.docs.iter().filter(|doc| doc.body.chars().count() >= characters);
        long.filter(|doc| seen.insert(doc.cluster)).take(count).map(|doc| doc.body.as_str()).collect()
    }

    /// `count` texts of about `characters` characters: texts of different
    /// clusters one after the other until they are as long.
    pub fn joined(&self, count: usize, characters: usize) -> Vec<String> {
        let mut all: Vec<String> = vec![String::new()];
        let mut length = 0;
        for body in self.different(self.docs.len(), 1) {
            if length >= characters {
                if all.len() == count {
                    break;
                }
                all.push(String::new());
                length = 0;
            }
            let left = characters - length;
            let piece: String = body.chars().take(left).collect();
            length += piece.chars().count();
            all[..].last_mut().expect("a text").push_str(&piece);
        }
        all
    }
}

/// The pairs of ids that a file calls duplicates.
fn same(path: &Path) -> Result<Vec<(String, String)>, String> {
    let mut table = Table::open(path)?;
    let (a, b) = (table.need(&["id1", "a"])?, table.need(&["id2", "b"])?);
    let verdict = table.column(&["matter", "label"]);
    let mut pairs = Vec::new();
    table.each(|record| {
        if verdict.is_none_or(|verdict| &record[verdict] == "same") {
            pairs.push((record[a].to_owned(), record[b].to_owned()));
        }
    })?;
    Ok(pairs)
}

/// A CSV file with a header.
struct Table<'a> {
    path: &'a Path,
    reader: csv::Reader<std::fs::File>,
    header: csv::StringRecord,
}

impl<'a> Table<'a> {
    fn open(path: &'a Path) -> Result<Table<'a>, String> {
        let fail = |error| format!("{}: {error}", path.display());
        let mut reader = csv::Reader::from_path(path).map_err(fail)?;
        let header = reader.headers().map_err(fail)?.clone();
        Ok(Table { path, reader, header })
    }

    /// Where the first column of one of these names stands.
    fn column(&self, names: &[&str]) -> Option<usize> {
        self.header.iter().position(|name| names.contains(&name))
    }

    fn need(&self, names: &[&str]) -> Result<usize, String> {
        self.column(names)
            .ok_or_else(|| format!("{}: no column is named {}", self.path.display(), names.join(" or ")))
    }

    fn each(&mut self, mut take: impl FnMut(&csv::StringRecord)) -> Result<(), String> {
        for record in self.reader.records() {
            take(&record.map_err(|error| format!("{}: {error}", self.path.display()))?);
        }
        Ok(())
    }
}
