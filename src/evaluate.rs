//! Measuring: precision and recall, the background of distances, settings for
//! a table's texts, and particulars.

use crate::fingerprint::simhash_of;
use crate::pg::rows::{text_of, walk};
use crate::pg::{each_row, raise, raise_recipe};
use dedup_core::evaluate::{Background, Calibration, Kinds, Labels, Profile, Verdict, particulars};
use dedup_core::features::TextRecipe;
use dedup_core::signature::hamming;
use pgrx::prelude::*;
use pgrx::spi::SpiHeapTupleData;
use pgrx::{JsonB, check_for_interrupts};
use serde_json::json;
use std::collections::{HashMap, HashSet};

const PAIR: [(&str, &str); 2] = [("a", "pg_catalog.text"), ("b", "pg_catalog.text")];

fn labels(found: &str, truth: &str) -> Labels {
    let mut labels = Labels::default();
    let pair = |row: &SpiHeapTupleData<'_>| Ok((row.get::<String>(1)?, row.get::<String>(2)?));
    each_row(found, &PAIR, pair, |pair| {
        if let (Some(a), Some(b)) = pair {
            labels.found(&a, &b);
        }
    });
    each_row(truth, &PAIR, pair, |pair| {
        if let (Some(a), Some(b)) = pair {
            labels.truth(&a, &b);
        }
    });
    labels
}

/// Precision, recall and counts of one query's pairs against another's.
#[pg_extern(sql = "")]
#[allow(clippy::type_complexity, reason = "the shape of a table")]
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

/// The pairs missed and wrong, or all of them.
#[pg_extern(sql = "")]
fn dedup_evaluate_pairs(
    found: &str,
    truth: &str,
    right_too: bool,
) -> TableIterator<'static, (name!(a, String), name!(b, String), name!(verdict, &'static str))> {
    let labels = labels(found, truth);
    let shown = labels.verdicts().filter(|&(_, _, verdict)| right_too || verdict != Verdict::Right);
    let rows: Vec<_> = shown.map(|(a, b, verdict)| (a.to_owned(), b.to_owned(), verdict.name())).collect();
    TableIterator::new(rows)
}

/// Rows up to which all pairs are counted when true pairs are given.
const ALL_PAIRS: usize = 40_000;

/// The background of distances of a table, radius by radius.
#[pg_extern(sql = "")]
#[allow(clippy::type_complexity, reason = "the shape of a table")]
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
    let columns = [("id", "pg_catalog.text"), ("fp", "pg_catalog.int8")];
    let row = |row: &SpiHeapTupleData<'_>| Ok((row.get::<String>(1)?, row.get::<i64>(2)?));
    let (mut ids, mut prints) = (Vec::new(), Vec::new());
    each_row(query, &columns, row, |row| {
        if let (Some(id), Some(fp)) = row {
            ids.push(id);
            prints.push(fp as u64);
        }
    });
    let background = Background::measure(&prints);
    let calibration = background.calibrate();
    let labelled = truth.map(|truth| within_radius(truth, &ids, &prints));
    let mut within = labelled.as_ref().map(|(_, counts)| (counts.iter(), 0u64, 0u64));
    let peak =
        calibration.rows.iter().map(|row| background.nearest[row.radius as usize]).max().unwrap_or(0).max(1);
    let rows: Vec<_> = calibration
        .rows
        .iter()
        .map(|row| {
            let (mut precision, mut recall) = (None, None);
            if let (Some((counts, right, wrong)), Some((total, _))) = (&mut within, &labelled) {
                let &(more_right, more_wrong) = counts.next().unwrap_or(&(0, None));
                *right += more_right;
                *wrong += more_wrong.unwrap_or(0);
                let wrong = if more_wrong.is_some() { *wrong as f64 } else { row.false_pairs };
                precision = Some(*right as f64 / (*right as f64 + wrong).max(f64::MIN_POSITIVE))
                    .filter(|_| *right as f64 + wrong > 0.0);
                recall = (*total > 0).then(|| *right as f64 / *total as f64);
            }
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

/// True pairs, and at each distance how many of them and how many others there
/// are; others are not counted in a large table.
type Within = (u64, Vec<(u64, Option<u64>)>);

fn within_radius(truth: &str, ids: &[String], prints: &[u64]) -> Within {
    let numbers: HashMap<&str, usize> = ids.iter().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
    let mut pairs: HashSet<(usize, usize)> = HashSet::new();
    let pair = |row: &SpiHeapTupleData<'_>| Ok((row.get::<String>(1)?, row.get::<String>(2)?));
    each_row(truth, &PAIR, pair, |pair| {
        let (Some(a), Some(b)) = pair else { return };
        let (Some(&a), Some(&b)) = (numbers.get(a.as_str()), numbers.get(b.as_str())) else { return };
        if a != b {
            pairs.insert((a.min(b), a.max(b)));
        }
    });
    let mut counts = vec![(0u64, None); 65];
    for &(a, b) in &pairs {
        counts[hamming(prints[a], prints[b]) as usize].0 += 1;
    }
    if prints.len() <= ALL_PAIRS {
        let mut all = [0u64; 65];
        for (at, &print) in prints.iter().enumerate() {
            prints[..at].iter().for_each(|&other| all[hamming(print, other) as usize] += 1);
            check_for_interrupts!();
        }
        counts.iter_mut().zip(all).for_each(|(count, all)| count.1 = Some(all - count.0));
    }
    (pairs.len() as u64, counts)
}

fn advice(calibration: &Calibration, radius: u32, rows: u64) -> Option<String> {
    let alone =
        format!("<- the widest at which the fingerprint alone is right in 19 of 20 pairs, among {rows} rows");
    let verified = "<- the widest whose candidates can all be verified by their texts (jaccard)";
    match (radius == calibration.alone, radius == calibration.verified) {
        (true, true) => Some(format!("{alone}; {verified}")),
        (true, false) => Some(alone),
        (false, true) => Some(verified.to_owned()),
        (false, false) => None,
    }
}

/// Texts that `dedup_suggest` fingerprints.
const SAMPLE: usize = 20_000;
/// Their bytes at most, but for the last.
const SAMPLE_BYTES: usize = 64 << 20;

/// Recipe, radius and verification for the texts of a query.
#[pg_extern(sql = "")]
#[allow(clippy::type_complexity, reason = "the shape of a table")]
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
    walk(query.trim().trim_end_matches(';'), |columns| {
        // The same query does for dedup: its second column is the text.
        let at = usize::from(columns.len() > 1);
        let typoid = columns.get(at).map_or(pg_sys::InvalidOid, |column| column.typoid);
        let (profile, sample) = (&mut profile, &mut sample);
        move |row| {
            let Some(content) = row.get(at) else { return };
            // SAFETY: the column's own type.
            let content = String::from_utf8_lossy(&unsafe { text_of(content, typoid) }).into_owned();
            profile.add(&content);
            if sample.len() < SAMPLE && bytes < SAMPLE_BYTES {
                bytes += content.len();
                sample.push(content);
            }
        }
    });
    let suggestion = profile.suggest(&sample, profile.texts() as u64);
    let recipe = TextRecipe::from_json(&suggestion.recipe).unwrap_or_else(|error| raise_recipe(error));
    let prints: Vec<u64> = sample.iter().filter_map(|content| simhash_of(content, &recipe)).collect();
    let mut background = Background::measure(&prints);
    background.rows = profile.texts() as u64;
    let distance = background.calibrate().verified;
    let method = if suggestion.kind.compare_texts() { "near_dup_text_pairs" } else { "near_dup + jaccard" };
    let options = json!({
        "weights": suggestion.recipe,
        "distance": distance,
        "similarity": suggestion.threshold,
        "n": suggestion.n,
    });
    let reason = format!(
        "{} Radius {distance} is the widest that lets in at most ten unrelated candidates a row; texts of \
         Jaccard {} are {:.0} bits apart on the average.",
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

/// Whether nearly equal texts speak of the same place, date and number.
#[pg_extern(sql = "")]
fn same_particulars(a: &str, b: &str, kinds_named: Array<'_, &str>) -> bool {
    particulars(a, b, kinds(kinds_named)).is_empty()
}

/// The particulars in which they differ.
#[pg_extern(sql = "")]
fn differing_particulars(
    a: &str,
    b: &str,
) -> TableIterator<'static, (name!(kind, &'static str), name!(in_a, String), name!(in_b, String))> {
    TableIterator::new(particulars(a, b, Kinds::ALL).into_iter().map(|found| (found.kind, found.a, found.b)))
}
