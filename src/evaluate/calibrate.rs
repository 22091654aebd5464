//! `near_dup_calibrate`: the distribution of distances in a table, and what distance it allows.

use crate::banding::{bits_of, raise_lengths};
use crate::pg::{
    Column, Output, Progress, QueryHost, UniqueIds, Values, for_each_of_query, raise_mismatch, threads,
    unwrap_or_raise, work_memory,
};
use crate::table::{FINGERPRINTS, Source, each_pair, key, two_columns};
use dedup_core::evaluate::{self, Background, Calibration, Score};
use dedup_core::fingerprint::Prints;
use dedup_core::groups::PairSearch;
use dedup_core::memory::{self, Grow, OrRaise, Room};
use pgrx::prelude::*;
use std::collections::{HashMap, HashSet};

#[pg_extern(sql = "")]
fn near_dup_calibrate(source: Option<&str>, truth: Option<&str>, fcinfo: pg_sys::FunctionCallInfo) {
    let mut output = Output::begin(fcinfo);
    let mut labelled = truth.map(TruePairs::read);
    let (words, parts, is_bits) = fingerprints(&Source::new(source), labelled.as_mut());
    let prints = Prints::of_parts(&words, parts);
    let background = Background::measure(prints);
    let calibration = background.calibrate();
    let within = labelled.as_ref().map(|truth| {
        let widest = calibration.alone.max(calibration.verified);
        (truth.within(prints), truth.pairs.len() as u64, pairs_within(prints, widest))
    });
    let nearest = background.by_nearest();
    let peak = nearest[..calibration.rows.len()].iter().copied().max().unwrap_or(0).max(1);
    let rounded = |number: f64, digits: f64| (number * digits).round() / digits;
    for row in &calibration.rows {
        let radius = row.radius as usize;
        let score = within.as_ref().map(|(correct, truth, found)| Score {
            found: found.get(radius).copied().unwrap_or(0),
            truth: *truth,
            correct: correct[radius],
        });
        let (precision, recall) = score.map_or((None, None), |score| (score.precision(), score.recall()));
        let values = [
            (row.radius as i32).into_datum(),
            rounded(row.random, 1e9).into_datum(),
            rounded(row.nearest, 1e4).into_datum(),
            rounded(row.false_pairs, 1e3).into_datum(),
            (row.probes as i64).into_datum(),
            precision.map(|share| rounded(share, 1e4)).into_datum(),
            recall.map(|share| rounded(share, 1e4)).into_datum(),
            "█".repeat((nearest[radius] * 40).div_ceil(peak) as usize).into_datum(),
            advice(&calibration, row.radius, background.rows, is_bits).into_datum(),
        ];
        // SAFETY: declared as integer, three of double precision, bigint, two of double precision, two texts.
        unsafe { output.add(values) };
    }
}

/// The fingerprints of a query of (id, fingerprint), of how many parts they are, and whether of type bit, which are of no text;
/// the places of those of rows in `truth` are stored there.
fn fingerprints(source: &Source, mut truth: Option<&mut TruePairs>) -> (Vec<u64>, usize, bool) {
    let (mut prints, mut unique, proven) = (Vec::new(), None, source.has_unique_ids(None));
    let (mut length, mut is_bits) = (None, false);
    for_each_of_query(&source.fingerprints(), &[], |columns| {
        let typoid = two_columns(columns, Column::is_fingerprint, "bigint or bit", FINGERPRINTS).typoid;
        is_bits = columns[1].base_type() == pg_sys::BITOID;
        unique = (!proven).then(|| UniqueIds::new(&columns[0]));
        let (prints, truth, unique, length) = (&mut prints, &mut truth, &mut unique, &mut length);
        move |row: &Values<'_>| {
            let (Some(_), Some(fp)) = (row.get(0), row.get(1)) else { return };
            // SAFETY: the column is of that type.
            let (bits, parts) = if is_bits { unsafe { bits_of(fp) } } else { (64, vec![fp.value() as u64]) };
            let of = *length.get_or_insert(bits);
            if of != bits {
                raise_lengths(of, bits)
            }
            let place = prints.len() / parts.len().max(1);
            unique.iter_mut().for_each(|unique| unique.add(row));
            parts.iter().for_each(|part| prints.grow(*part).or_raise());
            if let Some(truth) = truth
                && let Some(id) = key(row, 0, typoid)
                && let Some(&number) = truth.numbers.get(&id)
            {
                truth.places[number as usize] = Some(place);
            }
        }
    });
    if let Some(unique) = unique {
        unique.check();
    }
    let bits = length.unwrap_or(64);
    if bits == 0 || bits % 64 != 0 {
        raise_mismatch(
            format!("the fingerprints have {bits} bits"),
            "They have 64, 128 or 256, or another multiple of 64.",
        )
    }
    (prints, bits as usize / 64, is_bits)
}

/// True pairs, each once, and the places of the fingerprints of their rows.
#[derive(Default)]
struct TruePairs {
    numbers: HashMap<String, u32>,
    pairs: HashSet<(u32, u32)>,
    places: Vec<Option<usize>>,
}

impl TruePairs {
    fn read(query: &str) -> TruePairs {
        let mut truth = TruePairs::default();
        each_pair(query, |a, b| {
            truth.numbers.room(2).or_raise();
            truth.pairs.room(1).or_raise();
            let [a, b] = [a, b].map(|id| {
                let next = truth.numbers.len() as u32;
                *truth.numbers.entry(id).or_insert(next)
            });
            if a != b {
                truth.pairs.insert((a.min(b), a.max(b)));
            }
        });
        truth.places = memory::filled(None, truth.numbers.len()).or_raise();
        truth
    }

    /// How many are within each distance. A pair that lacks a row or a fingerprint is within none.
    fn within(&self, prints: Prints) -> Vec<u64> {
        let mut counts = vec![0; prints.bits() as usize + 1];
        for &(a, b) in &self.pairs {
            if let (Some(a), Some(b)) = (self.places[a as usize], self.places[b as usize]) {
                counts[prints.distance(a, b) as usize] += 1;
            }
        }
        evaluate::cumulative(counts)
    }
}

/// How many pairs of rows are within each distance; in a large table only up to `widest`.
fn pairs_within(prints: Prints, widest: u32) -> Vec<u64> {
    let progress = Progress::new("near_dup_calibrate");
    let mut host = QueryHost::reporting(&progress);
    progress.stage("counting pairs", "pairs", None);
    let settings = PairSearch { distance: widest, memory: work_memory(), threads: threads() };
    unwrap_or_raise(evaluate::pairs_within(prints, settings, &mut host, || progress.step()))
}

fn advice(calibration: &Calibration, radius: u32, rows: u64, is_bits: bool) -> Option<String> {
    let alone = if is_bits { "hash" } else { "fingerprint alone" };
    let alone = format!("<- the widest at which the {alone} is right in 19 of 20 pairs, among {rows} rows");
    let verified = "<- the widest whose candidates can all be verified by their texts (ngram_jaccard)";
    match (radius == calibration.alone, radius == calibration.verified && !is_bits) {
        (true, true) => Some(format!("{alone}; {verified}")),
        (true, false) => Some(alone),
        (false, true) => Some(verified.to_owned()),
        (false, false) => None,
    }
}
