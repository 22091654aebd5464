//! Made-up bibliographic records with known copies, in the layout that the rest of this program reads. The same numbers
//! give the same files.
//!
//! A record is its title, authors, venue, year and, of some, an abstract, as one text. A third of the rows are an earlier
//! work as another catalogue has it: given names cut to initials, authors left out, the venue in its other form or none,
//! a word mistyped, an abstract or not. One row in twenty is another work that is easily taken for it: a second part,
//! another article of the same authors, the same column of another year.

use crate::table::write as write_file;
use petition_desk::rng::Rng;
use std::path::Path;

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

fn percent(random: &mut Rng, share: usize) -> bool {
    random.below(100) < share
}

/// A name out of syllables: there are as many as in a catalogue.
fn coined(random: &mut Rng, syllables: u64) -> String {
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
    cluster: usize,
    title: String,
    authors: Vec<(String, String)>,
    venue: usize,
    year: usize,
    summary: String,
}

fn capital(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn work(cluster: usize, random: &mut Rng) -> Work {
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
    Work {
        cluster,
        title,
        authors,
        venue: random.below(VENUES.len()),
        year: 1985 + random.below(30),
        summary,
    }
}

/// A work that is easily taken for another one.
fn close(other: &Work, cluster: usize, random: &mut Rng) -> Work {
    let mut new = work(cluster, random);
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

/// The row that a catalogue has of a work.
fn row(work: &Work, first: bool, random: &mut Rng) -> String {
    let initials = !first && percent(random, 60);
    let mut authors: Vec<String> = work
        .authors
        .iter()
        .map(
            |(given, family)| {
                if initials { format!("{} {family}", &given[..1]) } else { format!("{given} {family}") }
            },
        )
        .collect();
    if !first && authors.len() > 2 && percent(random, 20) {
        authors.truncate(1);
    }
    let mut title = work.title.clone();
    if !first && percent(random, 15) {
        let at = 1 + random.below(title.len() - 2);
        if title.is_char_boundary(at) && title.is_char_boundary(at + 1) {
            title.remove(at);
        }
    }
    let venue = VENUES[work.venue];
    let mut parts = vec![title, authors.join(", ")];
    match random.below(10) {
        0 if !first => {}
        1..=5 => parts.push(venue.0.to_owned()),
        _ => parts.push(venue.1.to_owned()),
    }
    if first || percent(random, 80) {
        parts.push(work.year.to_string());
    }
    if !work.summary.is_empty() && percent(random, if first { 40 } else { 35 }) {
        parts.push(work.summary.clone());
    }
    parts.join(". ")
}

fn rows(count: usize, seed: u64) -> (Vec<String>, Vec<(usize, usize)>) {
    let mut random = Rng::from_state(seed ^ 0xB1B);
    let mut works: Vec<Work> = Vec::with_capacity(count);
    let (mut texts, mut pairs) = (Vec::new(), Vec::new());
    for at in 0..count {
        let kind = if at == 0 { 99 } else { random.below(100) };
        let of = random.below(at.max(1));
        let copies = kind < 33 && !COLUMNS.contains(&works[of].title.as_str());
        let new = match kind {
            _ if copies => works[of].clone(),
            33..38 => close(&works[of], at, &mut random),
            _ => work(at, &mut random),
        };
        if copies {
            pairs.extend(
                (0..at).filter(|&other| works[other].cluster == new.cluster).map(|other| (other, at)),
            );
        }
        texts.push(row(&new, !copies, &mut random));
        works.push(new);
    }
    (texts, pairs)
}

/// Writes `petitions.csv` and `petition_pairs.csv`.
pub fn write(directory: &str, count: usize, seed: u64) {
    let (texts, pairs) = rows(count, seed);
    let directory = Path::new(directory);
    let line = |(at, text): (usize, &String)| [(at + 1).to_string(), text.clone()];
    write_file(directory, "petitions.csv", ["id", "body"], texts.iter().enumerate().map(line));
    let pair = |&(a, b): &(usize, usize)| [(a + 1).to_string(), (b + 1).to_string(), "same".to_owned()];
    write_file(directory, "petition_pairs.csv", ["id1", "id2", "matter"], pairs.iter().map(pair));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_catalogue() {
        assert_eq!(rows(300, 5), rows(300, 5));
        assert_ne!(rows(300, 5).0, rows(300, 6).0);
    }

    /// What it is for: copies of which one is several times as long.
    #[test]
    fn copies_differ_in_length() {
        let (texts, pairs) = rows(1000, 7);
        let longer = |&&(a, b): &&(usize, usize)| {
            let (a, b) = (texts[a].len(), texts[b].len());
            a.max(b) > 2 * a.min(b)
        };
        assert!(pairs.len() > 200 && pairs.iter().filter(longer).count() * 4 > pairs.len());
    }
}
