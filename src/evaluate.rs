//! Evaluation: precision and recall, calibration of the distance, suggested settings, and
//! particulars.

use crate::corpus::raise_recipe;
use crate::fingerprint::simhash_of;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::spi::for_each_of_query;
use crate::pg::{Column, Values, raise};
use crate::progress::Progress;
use crate::settings::{progress_interval, threads, within_memory_limit, work_memory};
use dedup_core::cluster::{Pairs, Settings};
use dedup_core::evaluate::{Background, Calibration, Kinds, Labels, Profile, Verdict, particulars};
use dedup_core::features::TextRecipe;
use dedup_core::interrupt;
use dedup_core::memory::{self, OrRaise, Room};
use dedup_core::signature::hamming;
use pgrx::JsonB;
use pgrx::prelude::*;
use serde_json::json;
use std::collections::{HashMap, HashSet};

/// An id in a form that can be compared across types: numbers by value (2 equals 2.0), anything
/// else by its text.
fn key(row: &Values<'_>, column: usize, typoid: pg_sys::Oid) -> Option<String> {
    let written = row.written(column)?;
    let plain = |number: &str| if number == "-0" { "0".to_owned() } else { number.to_owned() };
    Some(match typoid {
        pg_sys::NUMERICOID if written.contains('.') => {
            plain(written.trim_end_matches('0').trim_end_matches('.'))
        }
        pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => {
            written.parse::<f64>().map_or(written, |number| plain(&number.to_string()))
        }
        _ => written,
    })
}

fn refuse_columns(what: String, hint: &str) -> ! {
    raise(PgSqlErrorCode::ERRCODE_DATATYPE_MISMATCH, what, hint)
}

/// Calls `each` with the pairs of ids in the first two columns of a query.
fn each_pair(query: &str, mut each: impl FnMut(String, String)) {
    for_each_of_query(query, |columns| {
        let [a, b, ..] = columns else {
            let what = format!("the query returns {} columns, not 2", columns.len());
            refuse_columns(what, "The query returns pairs: the ids of two rows.")
        };
        let (a, b, each) = (a.typoid, b.typoid, &mut each);
        move |row: &Values<'_>| {
            if let (Some(one), Some(other)) = (key(row, 0, a), key(row, 1, b)) {
                each(one, other);
            }
        }
    });
}

fn labels(found: &str, truth: &str) -> Labels {
    let mut labels = Labels::default();
    each_pair(found, |a, b| {
        labels.found(&a, &b);
        within_memory_limit(labels.memory());
    });
    each_pair(truth, |a, b| {
        labels.truth(&a, &b);
        within_memory_limit(labels.memory());
    });
    labels
}

/// Precision, recall and counts of one query's pairs against another's.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
fn dedup_evaluate(
    found: &str,
    truth: &str,
) -> TableIterator<
    'static,
    (
        name!(precision, Option<f64>),
        name!(recall, Option<f64>),
        name!(f1, Option<f64>),
        name!(found, i64),
        name!(truth, i64),
        name!(correct, i64),
        name!(missed, i64),
        name!(wrong, i64),
    ),
> {
    let score = labels(found, truth).score();
    let (found, truth, right) = (score.found as i64, score.truth as i64, score.right as i64);
    let row =
        (score.precision(), score.recall(), score.f1(), found, truth, right, truth - right, found - right);
    TableIterator::once(row)
}

/// The missed and the wrong pairs, or all pairs.
#[pg_extern(sql = "")]
fn dedup_evaluate_pairs(
    found: &str,
    truth: &str,
    right_too: bool,
) -> TableIterator<'static, (name!(a, String), name!(b, String), name!(verdict, &'static str))> {
    let labels = labels(found, truth);
    let shown = labels.verdicts().filter(|&(_, _, verdict)| right_too || verdict != Verdict::Right);
    let shown = shown.map(|(a, b, verdict)| (a.to_owned(), b.to_owned(), verdict.name()));
    let rows = memory::collect(shown).or_raise();
    TableIterator::new(rows)
}

/// Bytes per id of a true pair besides its text: a map entry, an allocation, a fingerprint.
const BYTES_AN_ID: usize = 64;
/// Bytes per true pair.
const BYTES_A_PAIR: usize = 10;

/// The largest number of rows of which all pairs are compared. Of larger tables, only pairs up to
/// the widest radius are counted.
const ALL_PAIRS: usize = 40_000;

/// The distribution of distances in a table, radius by radius.
#[pg_extern(sql = "")]
#[expect(clippy::type_complexity, reason = "the columns of the result")]
fn near_dup_calibrate(
    query: &str,
    truth: Option<&str>,
) -> TableIterator<
    'static,
    (
        name!(radius, i32),
        name!(random_pairs, f64),
        name!(nearest, f64),
        name!(expected_false_pairs, f64),
        name!(probes, i64),
        name!(precision, Option<f64>),
        name!(recall, Option<f64>),
        name!(histogram, String),
        name!(advice, Option<String>),
    ),
> {
    let mut labelled = truth.map(TruePairs::read);
    let prints = fingerprints(query, labelled.as_mut());
    let background = Background::measure(&prints);
    let calibration = background.calibrate();
    let within = labelled.as_ref().map(|truth| {
        let widest = calibration.alone.max(calibration.verified);
        (truth.within(), pairs_within(&prints, widest))
    });
    let peak =
        calibration.rows.iter().map(|row| background.nearest[row.radius as usize]).max().unwrap_or(0).max(1);
    let rows: Vec<_> = calibration
        .rows
        .iter()
        .map(|row| {
            let radius = row.radius as usize;
            let right = within.as_ref().map(|(right, _)| right[radius] as f64);
            let all = within.as_ref().and_then(|(_, all)| all.get(radius)).map(|&all| all as f64);
            let precision = right.zip(all).filter(|(_, all)| *all > 0.0).map(|(right, all)| right / all);
            let total = labelled.as_ref().map_or(0, |truth| truth.pairs.len()) as f64;
            let recall = right.filter(|_| total > 0.0).map(|right| right / total);
            let bar = background.nearest[row.radius as usize] * 40;
            let histogram = "█".repeat(bar.div_ceil(peak) as usize);
            let advice = advice(&calibration, row.radius, background.rows);
            let shown = |share: f64| (share * 1e9).round() / 1e9;
            (
                row.radius as i32,
                shown(row.random),
                (row.nearest * 1e4).round() / 1e4,
                (row.false_pairs * 1000.0).round() / 1000.0,
                row.probes as i64,
                precision.map(|share| (share * 1e4).round() / 1e4),
                recall.map(|share| (share * 1e4).round() / 1e4),
                histogram,
                advice,
            )
        })
        .collect();
    TableIterator::new(rows)
}

/// The fingerprints of a query of (id, fingerprint); those of rows in `truth` are stored there too.
fn fingerprints(query: &str, mut truth: Option<&mut TruePairs>) -> Vec<u64> {
    let mut prints = Vec::new();
    for_each_of_query(query, |columns| {
        let typoid = fingerprint_columns(columns);
        let (prints, truth) = (&mut prints, &mut truth);
        move |row: &Values<'_>| {
            let (Some(_), Some(fp)) = (row.get(0), row.bigint(1)) else { return };
            let fp = fp.cast_unsigned();
            prints.room(1).or_raise();
            within_memory_limit(prints.capacity() * size_of::<u64>());
            prints.push(fp);
            if let Some(truth) = truth
                && let Some(id) = key(row, 0, typoid)
                && let Some(&number) = truth.numbers.get(&id)
            {
                truth.prints[number as usize] = Some(fp);
            }
        }
    });
    prints
}

/// The type of the id, if the columns are (id, fingerprint).
fn fingerprint_columns(columns: &[Column]) -> pg_sys::Oid {
    let hint = "The query returns two columns: the row's id and its fingerprint (bigint).";
    match columns {
        [id, fp] if fp.typoid == pg_sys::INT8OID => id.typoid,
        [_, fp] => refuse_columns(
            format!("column \"{}\" of the query is {}, not bigint", fp.name, fp.type_name()),
            hint,
        ),
        _ => refuse_columns(format!("the query returns {} columns, not 2", columns.len()), hint),
    }
}

/// True pairs, each once, and the fingerprints of their rows.
#[derive(Default)]
struct TruePairs {
    numbers: HashMap<String, u32>,
    pairs: HashSet<(u32, u32)>,
    prints: Vec<Option<u64>>,
}

impl TruePairs {
    fn read(query: &str) -> TruePairs {
        let mut truth = TruePairs::default();
        let mut ids = 0;
        each_pair(query, |a, b| {
            truth.numbers.room(2).or_raise();
            truth.pairs.room(1).or_raise();
            within_memory_limit(
                ids + truth.numbers.capacity() * BYTES_AN_ID + truth.pairs.capacity() * BYTES_A_PAIR,
            );
            let [a, b] = [a, b].map(|id| {
                let (next, bytes) = (truth.numbers.len() as u32, id.len());
                let number = *truth.numbers.entry(id).or_insert(next);
                ids += if number == next { bytes } else { 0 };
                number
            });
            if a != b {
                truth.pairs.insert((a.min(b), a.max(b)));
            }
        });
        truth.prints = memory::filled(None, truth.numbers.len()).or_raise();
        truth
    }

    /// How many are within each radius. A pair that lacks a row or a fingerprint is within none.
    fn within(&self) -> [u64; 65] {
        let mut counts = [0; 65];
        for &(a, b) in &self.pairs {
            if let (Some(a), Some(b)) = (self.prints[a as usize], self.prints[b as usize]) {
                counts[hamming(a, b) as usize] += 1;
            }
        }
        summed(counts)
    }
}

/// How many pairs of rows are within each radius; in a large table only up to `widest`.
fn pairs_within(prints: &[u64], widest: u32) -> Vec<u64> {
    let mut counts = [0; 65];
    if prints.len() <= ALL_PAIRS {
        for (at, &print) in prints.iter().enumerate() {
            prints[..at].iter().for_each(|&other| counts[hamming(print, other) as usize] += 1);
            interrupt::check();
        }
        return summed(counts).to_vec();
    }
    let progress = Progress::new("near_dup_calibrate", progress_interval());
    let mut host = QueryHost::reporting(&progress);
    progress.stage("counting pairs", "pairs", None);
    let mut pairs = Pairs::new(Settings { distance: widest, memory: work_memory(), threads: threads() });
    for (at, &print) in prints.iter().enumerate() {
        unwrap_or_raise(pairs.add(at as i64, print, &mut host));
    }
    unwrap_or_raise(pairs.finish(&mut host, |pair| {
        counts[pair.distance as usize] += 1;
        progress.step();
        Ok(true)
    }));
    summed(counts)[..=widest as usize].to_vec()
}

/// Cumulative sums: from the counts at each distance to those within it.
fn summed(mut counts: [u64; 65]) -> [u64; 65] {
    for radius in 1..counts.len() {
        counts[radius] += counts[radius - 1];
    }
    counts
}

fn advice(calibration: &Calibration, radius: u32, rows: u64) -> Option<String> {
    let alone =
        format!("<- the widest at which the fingerprint alone is right in 19 of 20 pairs, among {rows} rows");
    let verified = "<- the widest whose candidates can all be verified by their texts (ngram_jaccard)";
    match (radius == calibration.alone, radius == calibration.verified) {
        (true, true) => Some(format!("{alone}; {verified}")),
        (true, false) => Some(alone),
        (false, true) => Some(verified.to_owned()),
        (false, false) => None,
    }
}

/// Texts that `dedup_suggest` fingerprints.
const SAMPLE: usize = 20_000;
/// Bytes of these texts, after which no more are taken.
const SAMPLE_BYTES: usize = 64 << 20;

/// Recipe, radius and verification for the texts of a query.
#[pg_extern(sql = "")]
fn dedup_suggest(
    query: &str,
) -> TableIterator<
    'static,
    (
        name!(method, &'static str),
        name!(weights, JsonB),
        name!(distance, i32),
        name!(n, i32),
        name!(threshold, f64),
        name!(options, JsonB),
        name!(reason, String),
    ),
> {
    let mut profile = Profile::default();
    let mut sample: Vec<String> = Vec::new();
    let mut bytes = 0;
    for_each_of_query(query, |columns| {
        if columns.is_empty() {
            refuse_columns(
                "the query returns no column".to_owned(),
                "The query returns the text, or the row's id and the text.",
            )
        }
        // As for `dedup`, the second column of two is the text.
        let at = usize::from(columns.len() > 1);
        let (profile, sample) = (&mut profile, &mut sample);
        move |row| {
            let Some(content) = row.written(at) else { return };
            profile.add(&content);
            if sample.len() < SAMPLE && bytes < SAMPLE_BYTES {
                bytes += content.len();
                sample.room(1).or_raise();
                sample.push(content);
            }
        }
    });
    if profile.texts() == 0 {
        notice!("the query returns no text, so there is nothing to suggest settings for");
        return TableIterator::empty();
    }
    let suggestion = profile.suggest(&sample, profile.texts() as u64);
    let recipe = TextRecipe::from_json(&suggestion.recipe).unwrap_or_else(|error| raise_recipe(error));
    let prints: Vec<u64> = sample.iter().filter_map(|content| simhash_of(content, &recipe)).collect();
    let mut background = Background::measure(&prints);
    background.rows = profile.texts() as u64;
    let distance = background.calibrate().verified;
    let method =
        if suggestion.kind.compare_texts() { "near_dup_text_pairs" } else { "near_dup + ngram_jaccard" };
    let options = json!({
        "weights": suggestion.recipe,
        "distance": distance,
        "similarity": suggestion.threshold,
        "n": suggestion.n,
    });
    let reason = format!(
        "{} Radius {distance} is the widest that lets in at most ten unrelated candidates a row; texts of \
         Jaccard {} are {:.0} bits apart on average.",
        suggestion.reason, suggestion.threshold, suggestion.expected_distance
    );
    let (n, threshold) = (suggestion.n as i32, suggestion.threshold);
    TableIterator::once((
        method,
        JsonB(suggestion.recipe),
        distance as i32,
        n,
        threshold,
        JsonB(options),
        reason,
    ))
}

fn kinds(names: Array<'_, &str>) -> Kinds {
    let mut kinds = Kinds { places: false, dates: false, numbers: false };
    for name in names.iter().flatten() {
        match name {
            "place" => kinds.places = true,
            "date" => kinds.dates = true,
            "number" => kinds.numbers = true,
            _ => raise(
                PgSqlErrorCode::ERRCODE_INVALID_PARAMETER_VALUE,
                format!("unknown kind of particulars: \"{name}\""),
                "Known are place, date and number.",
            ),
        }
    }
    kinds
}

/// Whether two texts name the same places, dates and numbers.
#[pg_extern(sql = "")]
fn same_particulars(a: &str, b: &str, kinds_named: Array<'_, &str>) -> bool {
    particulars(a, b, kinds(kinds_named)).is_empty()
}

/// The particulars in which two texts differ.
#[pg_extern(sql = "")]
fn differing_particulars(
    a: &str,
    b: &str,
) -> TableIterator<'static, (name!(kind, &'static str), name!(in_a, String), name!(in_b, String))> {
    TableIterator::new(particulars(a, b, Kinds::ALL).into_iter().map(|found| (found.kind, found.a, found.b)))
}
