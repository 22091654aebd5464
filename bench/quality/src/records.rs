//! Made-up records with known copies, in the layout that the rest of this program reads: citations here, places and
//! products in files of their own. `petitions.csv` has a record as one text, `columns.csv` its columns. The same numbers
//! give the same files.
//!
//! A citation is its title, authors, venue, year and, of some, an abstract. A third of the rows are an earlier
//! work as another catalogue has it: given names cut to initials, authors left out, the venue in its other form or none,
//! a word mistyped, an abstract or not. One row in twenty is another work that is easily taken for it: a second part,
//! another article of the same authors, the same column of another year.

use crate::records_places::Place;
use crate::records_products::Product;
use crate::table::write as write_file;
use clap::ValueEnum;
use petition_desk::rng::Rng;
use std::path::Path;

/// What the records are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    Citations,
    Places,
    Products,
}

/// A thing of which catalogues have rows.
pub trait Thing: Clone {
    /// The columns of its rows.
    const COLUMNS: [&'static str; 5];
    /// Between the columns where they are one text.
    const BETWEEN: &'static str;

    /// Another one; `like`: one for which it is easily taken.
    fn new(like: Option<&Self>, random: &mut Rng) -> Self;

    /// Whether there may be more rows of it.
    fn is_copied(&self) -> bool {
        true
    }

    /// The row that a catalogue has of it.
    fn row(&self, first: bool, random: &mut Rng) -> [String; 5];
}

const KINDS: [&str; 30] = [
    "scalable",
    "incremental",
    "approximate",
    "parallel",
    "adaptive",
    "efficient",
    "distributed",
    "interactive",
    "robust",
    "declarative",
    "streaming",
    "temporal",
    "probabilistic",
    "optimal",
    "secure",
    "private",
    "fast",
    "online",
    "semantic",
    "automatic",
    "hierarchical",
    "dynamic",
    "compressed",
    "fair",
    "lazy",
    "generic",
    "visual",
    "active",
    "partial",
    "mobile",
];
const THINGS: [&str; 40] = [
    "query processing",
    "index structures",
    "view maintenance",
    "schema matching",
    "data cleaning",
    "concurrency control",
    "similarity search",
    "join algorithms",
    "stream analysis",
    "pattern mining",
    "access control",
    "graph traversal",
    "record linkage",
    "cost estimation",
    "buffer management",
    "load shedding",
    "text retrieval",
    "provenance tracking",
    "crash recovery",
    "transaction scheduling",
    "outlier detection",
    "data exchange",
    "nearest neighbours",
    "sampling",
    "workload forecasting",
    "hash tables",
    "bulk loading",
    "spatial partitioning",
    "rule induction",
    "replica placement",
    "web crawling",
    "summaries",
    "top-k ranking",
    "cache invalidation",
    "key discovery",
    "time series",
    "version control",
    "entity resolution",
    "constraint checking",
    "storage layouts",
];
const PLACES: [&str; 30] = [
    "relational databases",
    "sensor networks",
    "data warehouses",
    "XML documents",
    "social networks",
    "peer-to-peer systems",
    "main memory",
    "column stores",
    "moving objects",
    "the semantic web",
    "digital libraries",
    "embedded devices",
    "scientific archives",
    "flash disks",
    "multimedia collections",
    "mediators",
    "event logs",
    "knowledge bases",
    "spreadsheets",
    "object-oriented systems",
    "gene sequences",
    "road maps",
    "electronic commerce",
    "workflow engines",
    "hospital records",
    "federated sources",
    "tertiary storage",
    "satellite images",
    "e-mail folders",
    "active rules",
];
const JOINS: [&str; 5] = ["for", "in", "over", "on", "with"];
const VENUES: [(&str, &str); 8] = [
    ("SIGMOD Conference", "Proceedings of the ACM International Conference on Management of Data"),
    ("VLDB", "Very Large Data Bases"),
    ("ICDE", "IEEE International Conference on Data Engineering"),
    ("ACM Trans. Database Syst.", "ACM Transactions on Database Systems (TODS)"),
    ("SIGMOD Record", "ACM SIGMOD Record"),
    ("VLDB J.", "The VLDB Journal - The International Journal on Very Large Data Bases"),
    ("EDBT", "International Conference on Extending Database Technology"),
    ("Inf. Syst.", "Information Systems"),
];
const GIVEN: [&str; 32] = [
    "Anna", "Peter", "Maria", "John", "Wei", "Rakesh", "Jennifer", "Michael", "Hector", "Laura", "David",
    "Sophie", "Thomas", "Elena", "Carlo", "Yannis", "Surajit", "Divesh", "Susan", "Kevin", "Li", "Joseph",
    "Ahmed", "Nicole", "Stefan", "Raghu", "Alon", "Gerhard", "Betty", "Umesh", "Paul", "Christos",
];
const COLUMNS: [&str; 4] = ["Editor's notes", "Guest editorial", "Chair's message", "Book review column"];
const SENTENCES: [&str; 24] = [
    "We present {system}, a new approach to {thing} in {place}.",
    "Existing techniques for {thing} do not scale to large {place}.",
    "This paper addresses the problem of {thing}.",
    "We propose a {kind} algorithm whose cost depends on the size of the result.",
    "Our approach combines {thing} with {thing2}.",
    "Experiments on real and synthetic data show the effectiveness of our technique.",
    "An extensive performance study shows that {system} outperforms previous methods by up to {number} percent.",
    "We prove that the problem is NP-hard and give an approximation.",
    "The technique has been implemented in {system}.",
    "We discuss the design choices and report on our experience with {place2}.",
    "In many applications, {place2} are large and change often.",
    "We give a formal semantics and study its complexity.",
    "The key idea is to exploit {thing2} before {thing} takes place.",
    "A prototype is used by {number} users of {place2}.",
    "We also show how {kind} methods can be extended to {place2}.",
    "The results are surprising: {thing2} matters more than {thing}.",
    "Finally, we outline directions for future work.",
    "Traditional systems assume that data fits into memory.",
    "In contrast to earlier work, no training data is needed.",
    "We analyze its behaviour under {kind} workloads.",
    "Users can express preferences by simple annotations.",
    "A cost model tells when to apply each of the {number} strategies.",
    "Our solution requires only one pass over the data.",
    "We describe an architecture that supports {thing2}.",
];

pub fn percent(random: &mut Rng, share: usize) -> bool {
    random.below(100) < share
}

/// A name out of syllables: there are as many as in a catalogue.
pub fn coined(random: &mut Rng, syllables: u64) -> String {
    let (first, then, last) = (
        [
            "B", "D", "F", "G", "H", "K", "L", "M", "N", "P", "R", "S", "T", "V", "W", "Z", "Sch", "Gr",
            "Ch", "Kr",
        ],
        ["a", "e", "i", "o", "u", "ei", "au", "an", "er", "ol", "in", "ar"],
        ["n", "l", "r", "s", "t", "m", "k", "d", "ng", "v", "b", "z"],
    );
    let mut name = random.pick(&first).to_owned();
    for at in 0..syllables {
        name += random.pick(&then);
        if at + 1 < syllables || percent(random, 60) {
            name += random.pick(&last);
        }
    }
    name
}

#[derive(Clone)]
struct Work {
    title: String,
    authors: Vec<(String, String)>,
    venue: usize,
    year: usize,
    summary: String,
}

pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn work(random: &mut Rng) -> Work {
    let (thing, place) = (random.pick(&THINGS), random.pick(&PLACES));
    let system = coined(random, 2);
    let core = format!("{} {thing} {} {place}", random.pick(&KINDS), random.pick(&JOINS));
    let title = match random.below(6) {
        0 => format!("{system}: {core}"),
        1 => format!("On {thing} and {}", random.pick(&THINGS)),
        2 => format!("The {system} system: {} {place}", random.pick(&THINGS)),
        3 => format!(
            "{} {thing} and {} {thing2} of {place}",
            random.pick(&KINDS),
            random.pick(&KINDS),
            thing2 = random.pick(&THINGS)
        ),
        _ => capital(&core),
    };
    let (thing2, place2) = (random.pick(&THINGS), random.pick(&PLACES));
    let mut sentences: Vec<&str> = SENTENCES.to_vec();
    random.shuffle(&mut sentences);
    sentences.truncate(3 + random.below(6));
    let mut summary = sentences.join(" ");
    for (name, value) in [
        ("{system}", system.as_str()),
        ("{thing}", thing),
        ("{place}", place),
        ("{thing2}", thing2),
        ("{place2}", place2),
    ] {
        summary = summary.replace(name, value);
    }
    while summary.contains("{kind}") {
        summary = summary.replacen("{kind}", random.pick(&KINDS), 1);
    }
    while summary.contains("{number}") {
        summary = summary.replacen("{number}", &(2 + random.below(90)).to_string(), 1);
    }
    let count = 1 + random.below(4);
    let authors = (0..count)
        .map(|_| {
            let given = random.pick(&GIVEN).to_owned();
            let syllables = 1 + random.below(2) as u64;
            (given, coined(random, syllables))
        })
        .collect();
    Work { title, authors, venue: random.below(VENUES.len()), year: 1985 + random.below(30), summary }
}

impl Thing for Work {
    const COLUMNS: [&'static str; 5] = ["title", "authors", "venue", "year", "abstract"];
    const BETWEEN: &'static str = ". ";

    fn new(like: Option<&Work>, random: &mut Rng) -> Work {
        let mut new = work(random);
        let Some(other) = like else { return new };
        match random.below(3) {
            0 => {
                let title = format!("{} (part {})", other.title, 2 + random.below(3));
                new = Work { title, year: other.year + 1, authors: other.authors.clone(), ..new };
            }
            1 => (new.authors, new.venue) = (other.authors.clone(), other.venue),
            _ => {
                new.title = random.pick(&COLUMNS).to_owned();
                new.venue = 4;
                new.summary.clear();
            }
        }
        new
    }

    fn is_copied(&self) -> bool {
        !COLUMNS.contains(&self.title.as_str())
    }

    fn row(&self, first: bool, random: &mut Rng) -> [String; 5] {
        let initials = !first && percent(random, 60);
        let name = |(given, family): &(String, String)| {
            if initials { format!("{} {family}", &given[..1]) } else { format!("{given} {family}") }
        };
        let mut authors: Vec<String> = self.authors.iter().map(name).collect();
        if !first && authors.len() > 2 && percent(random, 20) {
            authors.truncate(1);
        }
        let mut title = self.title.clone();
        if !first && percent(random, 15) {
            mistype(&mut title, random);
        }
        let venue = VENUES[self.venue];
        let venue = match random.below(10) {
            0 if !first => "",
            1..=5 => venue.0,
            _ => venue.1,
        };
        let year = if first || percent(random, 80) { self.year.to_string() } else { String::new() };
        let has = !self.summary.is_empty() && percent(random, if first { 40 } else { 35 });
        let summary = if has { self.summary.clone() } else { String::new() };
        [title, authors.join(", "), venue.to_owned(), year, summary]
    }
}

/// Leaves out a letter.
pub fn mistype(word: &mut String, random: &mut Rng) {
    let at = 1 + random.below(word.len().saturating_sub(2).max(1));
    if at + 1 < word.len() && word.is_char_boundary(at) && word.is_char_boundary(at + 1) {
        word.remove(at);
    }
}

type Pairs = Vec<(usize, usize)>;

fn rows<T: Thing>(count: usize, seed: u64) -> (Vec<[String; 5]>, Pairs) {
    let mut random = Rng::from_state(seed ^ 0xB1B);
    let mut things: Vec<(usize, T)> = Vec::with_capacity(count);
    let (mut rows, mut pairs) = (Vec::new(), Vec::new());
    for at in 0..count {
        let kind = if at == 0 { 99 } else { random.below(100) };
        let of = random.below(at.max(1));
        let copies = kind < 33 && things[of].1.is_copied();
        let new = match kind {
            _ if copies => things[of].clone(),
            33..38 => (at, T::new(Some(&things[of].1), &mut random)),
            _ => (at, T::new(None, &mut random)),
        };
        if copies {
            pairs.extend((0..at).filter(|&other| things[other].0 == new.0).map(|other| (other, at)));
        }
        rows.push(new.1.row(!copies, &mut random));
        things.push(new);
    }
    (rows, pairs)
}

/// A record as one text.
fn text<T: Thing>(row: &[String; 5]) -> String {
    let parts: Vec<&str> = row.iter().map(String::as_str).filter(|part| !part.is_empty()).collect();
    parts.join(T::BETWEEN)
}

/// Writes `petitions.csv`, `columns.csv` and `petition_pairs.csv`.
pub fn write(directory: &str, kind: Kind, count: usize, seed: u64) {
    match kind {
        Kind::Citations => write_of::<Work>(directory, count, seed),
        Kind::Places => write_of::<Place>(directory, count, seed),
        Kind::Products => write_of::<Product>(directory, count, seed),
    }
}

fn write_of<T: Thing>(directory: &str, count: usize, seed: u64) {
    let (rows, pairs) = rows::<T>(count, seed);
    let directory = Path::new(directory);
    let numbered = || rows.iter().enumerate().map(|(at, row)| ((at + 1).to_string(), row));
    let texts = numbered().map(|(id, row)| [id, text::<T>(row)]);
    write_file(directory, "petitions.csv", ["id", "body"], texts);
    let [a, b, c, d, e] = T::COLUMNS;
    let columns = numbered().map(|(id, row)| {
        let [a, b, c, d, e] = row.clone();
        [id, a, b, c, d, e]
    });
    write_file(directory, "columns.csv", ["id", a, b, c, d, e], columns);
    let pair = |&(a, b): &(usize, usize)| [(a + 1).to_string(), (b + 1).to_string(), "same".to_owned()];
    write_file(directory, "petition_pairs.csv", ["id1", "id2", "matter"], pairs.iter().map(pair));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_catalogue() {
        assert_eq!(rows::<Work>(300, 5), rows::<Work>(300, 5));
        assert_ne!(rows::<Place>(300, 5).0, rows::<Place>(300, 6).0);
        assert_eq!(rows::<Product>(300, 5), rows::<Product>(300, 5));
    }

    /// What it is for: copies of which one is several times as long.
    #[test]
    fn copies_differ_in_length() {
        let (rows, pairs) = rows::<Work>(1000, 7);
        let longer = |&&(a, b): &&(usize, usize)| {
            let (a, b) = (text::<Work>(&rows[a]).len(), text::<Work>(&rows[b]).len());
            a.max(b) > 2 * a.min(b)
        };
        assert!(pairs.len() > 200 && pairs.iter().filter(longer).count() * 4 > pairs.len());
    }
}
