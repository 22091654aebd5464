//! Made-up English complaints with known near-duplicates, in the layout that
//! the rest of this program reads. The same numbers give the same files.
//!
//! A fifth of the rows are an earlier row changed as people change what they
//! file again: typing, sentences added, left out or moved, other words, an end
//! cut off. One row in thirty is an earlier one with other places, which makes
//! it another matter.

use crate::english_words::{ANY, BUILDINGS, DAYS, OPENINGS, QUARTERS, REQUESTS, STREETS, SYNONYMS, TOPICS};
use crate::table::write as write_file;
use petition_desk::rng::Rng;
use std::collections::HashMap;
use std::path::Path;

/// True for a share of the calls, in percent.
fn percent(random: &mut Rng, share: usize) -> bool {
    random.below(100) < share
}

/// A sentence out of its pattern.
fn say(pattern: &str, random: &mut Rng) -> String {
    let mut out = String::new();
    let mut rest = pattern;
    while let Some(at) = rest.find(['[', '{']) {
        out.push_str(&rest[..at]);
        let closing = if rest.as_bytes()[at] == b'[' { ']' } else { '}' };
        let Some(end) = rest.find(closing) else { break };
        let inner = &rest[at + 1..end];
        if closing == ']' {
            let choices: Vec<&str> = inner.split('|').collect();
            out.push_str(&say(random.pick(&choices), random));
        } else {
            out.push_str(&name(inner, random));
        }
        rest = &rest[end + 1..];
    }
    out.push_str(rest);
    out
}

fn name(kind: &str, random: &mut Rng) -> String {
    match kind {
        "quarter" => random.pick(&QUARTERS).to_owned(),
        "street" => random.pick(&STREETS).to_owned(),
        "building" => random.pick(&BUILDINGS).to_owned(),
        "day" => random.pick(&DAYS).to_owned(),
        "count" => (3 + random.below(28)).to_string(),
        _ => (40 + random.below(900)).to_string(),
    }
}

#[derive(Clone)]
struct Text {
    cluster: usize,
    title: String,
    sentences: Vec<String>,
}

fn original(cluster: usize, random: &mut Rng) -> Text {
    let (title, details) = TOPICS[random.below(TOPICS.len())];
    let mut sentences = vec![say(random.pick(&OPENINGS), random)];
    let mut take = |pool: &[&str], count: usize, random: &mut Rng| {
        let mut pool: Vec<&str> = pool.to_vec();
        for _ in 0..count {
            let pattern = pool.swap_remove(random.below(pool.len()));
            sentences.push(say(pattern, random));
        }
    };
    take(&details, 3 + random.below(4), random);
    take(&ANY, 2 + random.below(4), random);
    take(&REQUESTS, 1 + random.below(2), random);
    Text { cluster, title: say(title, random), sentences }
}

fn mistype(word: &str, random: &mut Rng) -> String {
    let mut letters: Vec<char> = word.chars().collect();
    if letters.len() > 3 {
        let at = 1 + random.below(letters.len() - 2);
        match random.below(3) {
            0 => letters.swap(at, at - 1),
            1 => drop(letters.remove(at)),
            _ => letters.insert(at, letters[at]),
        }
    }
    letters.into_iter().collect()
}

fn each_word(sentence: &mut String, mut change: impl FnMut(&str) -> String) {
    *sentence = sentence.split(' ').map(&mut change).collect::<Vec<_>>().join(" ");
}

/// One change of the kind that people make when they file again.
fn vary(text: &mut Text, random: &mut Rng) {
    let count = text.sentences.len();
    match random.below(7) {
        0 => text
            .sentences
            .iter_mut()
            .for_each(|sentence| *sentence = sentence.replace([',', '.'], " ").to_uppercase()),
        1 => {
            let share = 1 + random.below(6);
            for sentence in &mut text.sentences {
                each_word(sentence, |word| {
                    if percent(random, share) { mistype(word, random) } else { word.to_owned() }
                });
            }
        }
        2 => {
            let sentence = say(random.pick(&ANY), random);
            text.sentences.insert(1 + random.below(count), sentence);
        }
        3 if count > 4 => drop(text.sentences.remove(1 + random.below(count - 1))),
        4 => {
            let at = random.below(count);
            text.sentences[1..].rotate_left(at % (count - 1));
        }
        5 => {
            for sentence in &mut text.sentences {
                each_word(sentence, |word| {
                    let found = SYNONYMS.iter().find(|(from, _)| from.eq_ignore_ascii_case(word));
                    found.map_or(word, |(_, to)| to).to_owned()
                });
            }
        }
        _ => text.sentences.truncate((count * (7 + random.below(3))).div_ceil(10)),
    }
}

/// The same complaint from elsewhere: every place is exchanged for another.
fn move_elsewhere(text: &mut Text, random: &mut Rng) {
    let mut other: HashMap<&str, &str> = HashMap::new();
    for places in [&QUARTERS[..], &STREETS[..]] {
        let shift = 1 + random.below(places.len() - 1);
        other.extend(
            places.iter().enumerate().map(|(at, place)| (*place, places[(at + shift) % places.len()])),
        );
    }
    let exchange = |sentence: &mut String| {
        let at =
            other.keys().filter_map(|place| sentence.find(place).map(|at| (at, *place))).collect::<Vec<_>>();
        let mut at = at;
        at.sort_unstable();
        for (at, place) in at.into_iter().rev() {
            sentence.replace_range(at..at + place.len(), other[place]);
        }
    };
    text.sentences.iter_mut().for_each(exchange);
    exchange(&mut text.title);
}

fn says_a_place(text: &Text) -> bool {
    text.sentences
        .iter()
        .any(|sentence| QUARTERS.iter().chain(&STREETS).any(|place| sentence.contains(place)))
}

fn texts(rows: usize, seed: u64) -> (Vec<Text>, Vec<(usize, usize, &'static str)>) {
    let mut random = Rng::from_state(seed);
    let mut all: Vec<Text> = Vec::with_capacity(rows);
    let mut labels = Vec::new();
    let mut of_cluster: HashMap<usize, Vec<usize>> = HashMap::new();
    for at in 0..rows {
        let (copies, moves) = (at > 0 && percent(&mut random, 20), at > 0 && percent(&mut random, 3));
        let mut text =
            if copies || moves { all[random.below(at)].clone() } else { original(at, &mut random) };
        if copies {
            (0..1 + random.below(3)).for_each(|_| vary(&mut text, &mut random));
            let members = &of_cluster[&text.cluster];
            labels.extend(members.iter().map(|&member| (member, at, "same")));
        } else if moves && says_a_place(&text) {
            labels.extend(of_cluster[&text.cluster].iter().map(|&member| (member, at, "different")));
            text.cluster = at;
            move_elsewhere(&mut text, &mut random);
        } else {
            text = original(at, &mut random);
        }
        of_cluster.entry(text.cluster).or_default().push(at);
        all.push(text);
    }
    (all, labels)
}

/// Writes `petitions.csv` and `petition_pairs.csv`.
pub fn write(directory: &str, rows: usize, seed: u64) {
    let (texts, labels) = texts(rows, seed);
    let directory = Path::new(directory);
    let line =
        |(at, text): (usize, &Text)| [(at + 1).to_string(), text.title.clone(), text.sentences.join(" ")];
    write_file(directory, "petitions.csv", ["id", "title", "body"], texts.iter().enumerate().map(line));
    let pair = |&(a, b, matter): &(usize, usize, &str)| {
        [(a + 1).to_string(), (b + 1).to_string(), matter.to_owned()]
    };
    write_file(directory, "petition_pairs.csv", ["id1", "id2", "matter"], labels.iter().map(pair));
}

#[cfg(test)]
mod tests {
    use super::*;
    use dedup_core::similarity::jaccard;

    fn bodies(seed: u64) -> (Vec<String>, Vec<(usize, usize, &'static str)>) {
        let (texts, labels) = texts(600, seed);
        (texts.iter().map(|text| text.sentences.join(" ")).collect(), labels)
    }

    #[test]
    fn a_seed_is_a_desk() {
        assert_eq!(bodies(5), bodies(5));
        assert_ne!(bodies(5).0, bodies(6).0);
    }

    /// The labels are worth measuring against: copies are alike, and texts moved
    /// elsewhere are too, but not equal.
    #[test]
    fn labels_say_what_was_done() {
        let (bodies, labels) = bodies(7);
        let alike = |&&(a, b, _): &&(usize, usize, &str)| jaccard(&bodies[a], &bodies[b], 5) >= 0.333;
        let of = |matter: &'static str| labels.iter().filter(move |label| label.2 == matter);
        let (same, moved) = (of("same").count(), of("different").count());
        assert!(same > 100 && moved > 5, "{same} {moved}");
        assert!(of("same").filter(alike).count() * 20 >= same * 19);
        assert!(of("different").all(|&(a, b, _)| bodies[a] != bodies[b]));
    }
}
