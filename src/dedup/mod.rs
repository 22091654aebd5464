//! `dedup`: the whole pipeline over the rows of a query. Equal contents first
//! (P1's exact stage), near fingerprints next (P1, P2), verified on the text,
//! grouped (P4), and one row of each group kept.

mod input;
mod into;
mod options;
mod progress;

use crate::pg::host::{QueryHost, done, threads, work_memory};
use crate::pg::rows::{Output, text_argument, walk};
use dedup_core::cluster::{Pairs, Settings, UnionFind};
use dedup_core::exact::ExactSet;
use dedup_core::features::Extractor;
use dedup_core::signature::{hamming, jaccard};
use dedup_core::text::normalize;
use input::{Input, Kind, Shape};
use options::{Exact, Group, Keep, Options};
use pgrx::JsonB;
use pgrx::prelude::*;
use progress::Progress;

/// One result row an input row, in order: the id, the id of the row that is
/// kept of its group, and how it was caught: `kept` (it is that row), `exact`
/// (its content equals the kept row's), `near`, or `empty` (its content is
/// NULL). The distance and the similarity are those to the kept row.
#[pg_extern(sql = "")]
fn dedup(query: &str, options: Option<JsonB>, fcinfo: pg_sys::FunctionCallInfo) {
    let options = Options::read(options.map(|json| json.0));
    let mut progress = Progress::new(options.progress);
    let mut input = Input::new(options.exact == Exact::Normal);
    let first_equal = read(query, &options, &mut input, &mut progress);
    let groups = group(&options, &mut input, &first_equal, &mut progress);
    write(&options, &mut input, &first_equal, &groups, Output::begin(fcinfo), &mut progress);
}

/// Reads all rows; for each the first one whose content is equal.
fn read(query: &str, options: &Options, input: &mut Input, progress: &mut Progress) -> Vec<u32> {
    let mut first_equal = Vec::new();
    let descending = matches!(options.keep, Keep::Column(_, true));
    progress.stage("reading and comparing exactly", None);
    walk(query, |columns| {
        let shape = Shape::of(columns, options);
        let (mut set, mut extractor) = (ExactSet::new(), Extractor::new());
        let (first_equal, progress) = (&mut first_equal, &mut *progress);
        move |row| {
            let number = input.entries.len() as u32;
            let (id, key) = (shape.id(row), shape.key(row, descending));
            progress.step();
            // SAFETY: the second column is text.
            let content = row.get(1).map(|content| unsafe { text_argument(content) });
            let Some(content) = content else {
                input.add(&id, "", key, 0, Kind::Empty);
                return first_equal.push(number);
            };
            let equal = match options.exact {
                Exact::None => None,
                Exact::Text => match set.find_or_add(number, content.as_bytes(), input) {
                    Ok(found) => found,
                    Err(never) => match never {},
                },
                Exact::Normal => match set.find_or_add(number, normalize(&content).as_bytes(), input) {
                    Ok(found) => found,
                    Err(never) => match never {},
                },
            };
            let fp = match (equal, shape.fp(row)) {
                (Some(first), _) => {
                    let first = &input.entries[first as usize];
                    (first.kind == Kind::Near).then_some(first.fp)
                }
                (None, Some(given)) => given,
                (None, None) if options.distance.is_some() => extractor.simhash(&content, &options.recipe),
                (None, None) => None,
            };
            let kind = if fp.is_some() { Kind::Near } else { Kind::Plain };
            input.add(&id, &content, key, fp.unwrap_or(0), kind);
            first_equal.push(equal.unwrap_or(number));
        }
    });
    let copies = first_equal.iter().enumerate().filter(|&(row, &first)| row != first as usize).count();
    progress.end(&format!("{} rows, {copies} exact copies", first_equal.len()));
    first_equal
}

/// For each row the number of a row that stands for its group.
fn group(options: &Options, input: &mut Input, first_equal: &[u32], progress: &mut Progress) -> Vec<u32> {
    let Some(distance) = options.distance else { return first_equal.to_vec() };
    let mut host = QueryHost::new();
    let settings = Settings { distance, memory: work_memory(), threads: threads() };
    let mut pairs = Pairs::new(settings);
    for (row, &first) in first_equal.iter().enumerate() {
        let entry = input.entries[row];
        if first as usize == row && entry.kind == Kind::Near {
            done(pairs.add(row as i64, entry.fp, &mut host));
        }
    }
    progress.stage("finding near fingerprints and verifying them", None);
    let mut sets = UnionFind::new(first_equal.len());
    let mut edges = Vec::new();
    let (mut candidates, mut verified) = (0u64, 0u64);
    done(pairs.finish(&mut host, |pair| {
        candidates += 1;
        progress.step();
        let (a, b) = (pair.a as u32, pair.b as u32);
        // What is connected already need not be read.
        if options.group == Group::Components && sets.find(a) == sets.find(b) {
            return Ok(true);
        }
        if similarity(options, input, a, b) >= options.similarity {
            verified += 1;
            match options.group {
                Group::Components => {
                    sets.union(a, b);
                }
                // The later row, then its nearest centre, the oldest of those.
                Group::SinglePass => edges.push((b, pair.distance, a)),
            }
        }
        Ok(true)
    }));
    edges.sort_unstable();
    for of_row in edges.chunk_by(|one, other| one.0 == other.0) {
        // Rows come in order, so whether an earlier one is a centre is known.
        if let Some(&(row, _, centre)) = of_row.iter().find(|edge| sets.find(edge.2) == edge.2) {
            sets.union(row, centre);
        }
    }
    let groups: Vec<u32> = first_equal.iter().map(|&first| sets.find(first)).collect();
    progress.end(&format!(
        "{candidates} candidate pairs within {distance} bits, {verified} verified on the text"
    ));
    groups
}

fn similarity(options: &Options, input: &mut Input, a: u32, b: u32) -> f64 {
    if options.similarity == 0.0 {
        return 1.0;
    }
    jaccard(&input.content(a as usize), &input.content(b as usize), options.n)
}

/// The kept row of each group, at the group's number.
fn keepers(options: &Options, input: &Input, groups: &[u32]) -> Vec<u32> {
    let mut kept = vec![u32::MAX; groups.len()];
    let better = |one: usize, other: usize| {
        let (one, other) = (&input.entries[one], &input.entries[other]);
        match options.keep {
            Keep::First => false,
            Keep::Last => true,
            Keep::Longest => one.content_bytes > other.content_bytes,
            Keep::Column(..) => one.key < other.key,
        }
    };
    for (row, &group) in groups.iter().enumerate() {
        let keeper = &mut kept[group as usize];
        if *keeper == u32::MAX || better(row, *keeper as usize) {
            *keeper = row as u32;
        }
    }
    kept
}

fn write(
    options: &Options,
    input: &mut Input,
    first_equal: &[u32],
    groups: &[u32],
    mut output: Output,
    progress: &mut Progress,
) {
    let kept = keepers(options, input, groups);
    progress.stage("writing the result", Some(groups.len()));
    let (mut near, mut exact) = (0u64, 0u64);
    for (row, &group) in groups.iter().enumerate() {
        let keeper = kept[group as usize] as usize;
        let entry = input.entries[row];
        let same = first_equal[row] == first_equal[keeper];
        let (stage, distance, similar) = if entry.kind == Kind::Empty {
            ("empty", None, None)
        } else if row == keeper {
            ("kept", None, None)
        } else if same {
            exact += 1;
            ("exact", Some(0), Some(1.0))
        } else {
            near += 1;
            let distance = hamming(entry.fp, input.entries[keeper].fp) as i32;
            let similar = jaccard(&input.content(row), &input.content(keeper), options.n);
            ("near", Some(distance), Some(similar))
        };
        let (id, keeper) = (input.id(row), input.id(keeper));
        // SAFETY: declared as text, text, text, integer, double precision.
        unsafe {
            output.put_and_free([
                id.into_datum(),
                keeper.into_datum(),
                stage.into_datum(),
                distance.into_datum(),
                similar.into_datum(),
            ]);
        }
        progress.step();
    }
    let rows = groups.len() as u64;
    progress
        .end(&format!("{rows} rows: {} kept, {exact} exact and {near} near duplicates", rows - exact - near));
}
