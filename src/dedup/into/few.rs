//! A few rows in a large result: those that are new, and those whose kept row is gone, are compared with the kept rows and
//! with each other, as `dedup` compares rows that come after those. Nothing else changes.

use super::super::ahead::Rows;
use super::super::pipeline::{once, read, stages, told};
use super::changes::Changes;
use super::job::{DIGEST, Job, ids_of};
use super::write::Outcome;
use crate::pg::{
    Argument, Column, Progress, QueryHost, TempFile, ValueType, Values, for_each_of_query, query_all,
    threads, unwrap_or_raise, work_memory,
};
use dedup_core::dedup::{Comparable, EqualTexts, Keep};
use dedup_core::groups::{CrossPairs, Named, PairSearch, names};
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room};
use std::collections::{HashMap, HashSet};

/// Rows of the source.
struct Read {
    rows: Rows,
    ids: ValueType,
    digests: Vec<i64>,
    hashes: Vec<i64>,
    /// Of those that the result has, their arrival numbers.
    arrivals: Vec<i64>,
}

/// A row of the result.
#[derive(Clone, Copy)]
struct Stored {
    arrival: i64,
    cluster: i64,
    is_kept: bool,
}

/// Where new rows go; `None` if all groups are to be formed anew.
pub(super) fn step(job: &Job<'_>, changes: &Changes, progress: &Progress) -> Option<Outcome> {
    if !job.can_add() || !changes.are_few(0) {
        return None;
    }
    let taken: HashSet<i64> = changes.changed.iter().chain(&changes.gone).copied().collect();
    let (orphans, ids) = stored(job, "cluster", &changes.broken, &taken);
    if !changes.are_few(orphans.len()) {
        return None;
    }
    let mut left = some(job, ids, true, progress);
    let mut new = some(job, changes.ids, false, progress);
    let candidates = candidates(job, changes, &taken, [&left, &new], progress);
    if !changes.are_few(orphans.len() + candidates.len()) {
        return None;
    }
    let (old, ids) = stored(job, "arrival", &candidates, &HashSet::new());
    let mut before = some(job, ids, true, progress);
    if before.arrivals.len() != old.len() || left.arrivals.len() != orphans.len() {
        return None;
    }
    // What was kept comes first, and stays.
    let (mut rows, mut equal) =
        (Rows::new(TempFile::new(), Keep::First), EqualTexts::new(work_memory(), TempFile::new()));
    let (mut digests, mut hashes, mut arrivals) = (Vec::new(), Vec::new(), Vec::new());
    for read in [&mut before, &mut left, &mut new] {
        for row in checked(0..read.rows.count()) {
            let texts = &mut read.rows.texts;
            let (id, content) = (unwrap_or_raise(texts.id(row)), unwrap_or_raise(texts.content(row)));
            let kind = read.rows.kinds[row];
            let number = unwrap_or_raise(rows.add(&id, &content, kind, read.rows.fps[row]));
            if let Some(form) = job.options.form(&content).filter(|_| kind != Comparable::Empty) {
                unwrap_or_raise(equal.add(number, form.as_bytes()));
            }
        }
        digests.append(&mut read.digests);
        hashes.append(&mut read.hashes);
        arrivals.append(&mut read.arrivals);
    }
    let from = old.len();
    let known: Vec<Stored> = old.into_iter().chain(orphans).collect();
    let mut found = stages(&job.options(), rows, equal, progress);
    let (mut named, mut kept) = (Vec::new(), Vec::new());
    for row in checked(0..found.rows.count()) {
        let (part, keeper, is_kept) =
            (found.group_of(row) as u32, found.keeper(row), |row: usize| known[row].is_kept);
        if row < from && is_kept(row) && keeper != row || row >= from && keeper < from && !is_kept(keeper) {
            // Somebody has written to the result what is not so.
            return None;
        }
        if row >= known.len() {
            arrivals.push(job.arrivals + 1 + (row - known.len()) as i64);
        }
        let before = known.get(row).map(|stored| stored.cluster);
        if row < from && is_kept(row) {
            kept.push((part, known[row].cluster));
        }
        if row >= from || is_kept(row) {
            named.push(Named { arrival: arrivals[row], before, part, row: row as u32 });
        }
    }
    let (names, absorbed) = names(named, found.rows.count(), &kept).or_raise();
    Some(Outcome {
        found,
        ids: new.ids,
        from,
        digests,
        hashes,
        arrivals,
        names,
        absorbed,
        changed: Default::default(),
        counts_otherwise: false,
        gone: changes.gone.clone(),
    })
}

/// Rows of the result, in the order in which they arrived, and their ids.
fn stored(job: &Job<'_>, column: &str, of: &[i64], taken: &HashSet<i64>) -> (Vec<Stored>, Option<Argument>) {
    if of.is_empty() {
        return (Vec::new(), None);
    }
    let sql = format!(
        "SELECT pg_catalog.array_agg(t.id), pg_catalog.array_agg(t.arrival), pg_catalog.array_agg(t.cluster), \
             pg_catalog.array_agg((t.stage OPERATOR(pg_catalog.=) 'kept')::pg_catalog.int4::pg_catalog.int8) \
         FROM {} AS t WHERE t.{column} OPERATOR(pg_catalog.=) ANY ($1) AND NOT (t.arrival OPERATOR(pg_catalog.=) ANY ($2))",
        job.table.name
    );
    let taken: Vec<i64> = taken.iter().copied().collect();
    let arguments = [Argument::of(of.to_vec()), Argument::of(taken)];
    let read = |row: &Values<'_>| {
        let [arrivals, clusters, kept] = [1, 2, 3].map(|at| row.bigints(at));
        let rows = arrivals.into_iter().zip(clusters).zip(kept);
        let stored = |((arrival, cluster), kept)| Stored { arrival, cluster, is_kept: kept > 0 };
        (rows.map(stored).collect::<Vec<Stored>>(), row.array(0))
    };
    let (mut rows, ids) = query_all(&sql, &arguments, read).pop().unwrap_or_default();
    rows.sort_unstable_by_key(|row| row.arrival);
    (rows, ids)
}

/// Rows of these ids: in the order of the source, or of their arrival numbers if the result has them.
fn some(job: &Job<'_>, ids: Option<Argument>, arrived: bool, progress: &Progress) -> Read {
    let Job { query, id: own, digest, equals, .. } = job;
    let (arrival, join, order) = match arrived {
        false => ("NULL::pg_catalog.int8", String::new(), ""),
        true => (
            "t.arrival",
            format!(
                " JOIN (SELECT t.id, t.arrival FROM {} AS t WHERE t.id {equals} ANY ($1) OFFSET 0) AS t ON t.id {equals} {own}",
                job.table.name
            ),
            " ORDER BY t.arrival",
        ),
    };
    let sql = format!(
        "SELECT q.*, {arrival} AS _dedup_arrival, {digest} AS {DIGEST} FROM ({query}\n) AS q{join} \
         WHERE {own} {equals} ANY ($1){order}"
    );
    let arguments = [ids.unwrap_or_else(|| job.no_ids())];
    let (mut ids, mut digests, mut hashes, mut numbers) = (None, Vec::new(), Vec::new(), Vec::new());
    let begin = once(|columns: &[Column]| {
        let of = &*ids.insert(ids_of(columns));
        let (digests, numbers, last) = (&mut digests, &mut numbers, columns.len() - 1);
        move |row, bytes| {
            digests.room(1).or_raise();
            digests.push(row.bigint(last).unwrap_or_default());
            numbers.extend(row.bigint(last - 1));
            of.write_id(row, bytes);
        }
    });
    let query = vec![(sql.as_str(), &arguments[..], false, begin)];
    let (rows, _) = read(query, &job.options(), (None, None), Some(&mut hashes), progress);
    let ids = told(ids);
    Read { rows, ids, digests, hashes, arrivals: numbers }
}

/// Rows of the result that new ones may go to: kept rows that are near one by their fingerprints, and a row of equal text
/// with the one that is kept for it.
fn candidates(
    job: &Job<'_>,
    changes: &Changes,
    taken: &HashSet<i64>,
    new: [&Read; 2],
    progress: &Progress,
) -> Vec<i64> {
    progress.stage("finding kept rows near new ones", "rows", None);
    let mut host = QueryHost::reporting(progress);
    let (mut prints, mut hashes) = (Vec::new(), HashSet::<i64>::new());
    for Read { rows, hashes: theirs, .. } in new {
        hashes.extend(theirs.iter().filter(|&&hash| hash != 0));
        for row in checked(0..rows.count()).filter(|&row| rows.has_fp(row)) {
            // The lesser number of a pair comes first: that of the kept row.
            prints.push((i64::MAX, rows.fps[row]));
        }
    }
    let near = job.options.distance.map(|distance| {
        let settings = PairSearch { distance, memory: work_memory(), threads: threads() };
        unwrap_or_raise(CrossPairs::new(settings, &prints, &mut host))
    });
    let chunk = near.as_ref().map_or(0, CrossPairs::chunk);
    let (mut found, mut equal, mut kept) = (HashSet::new(), HashMap::new(), Vec::new());
    let mut compare = |kept: &mut Vec<(i64, u64)>, found: &mut HashSet<i64>| {
        if let Some(near) = &near {
            unwrap_or_raise(near.with(kept, &mut host, |pair| {
                found.insert(pair.a);
                Ok(())
            }));
        }
        kept.clear();
    };
    let sql = format!(
        "SELECT t.arrival, t.fp, t.hash, (t.stage OPERATOR(pg_catalog.=) 'kept')::pg_catalog.int4::pg_catalog.int8 \
         FROM {} AS t WHERE t.stage OPERATOR(pg_catalog.<>) 'empty' AND NOT (t.cluster OPERATOR(pg_catalog.=) ANY ($1))",
        job.table.name
    );
    let broken = [Argument::of(changes.broken.clone())];
    for_each_of_query(&sql, &broken, |_| {
        |row: &Values<'_>| {
            progress.step();
            let Some(arrival) = row.bigint(0).filter(|arrival| !taken.contains(arrival)) else { return };
            let (fp, hash) = (row.bigint(1), row.bigint(2));
            if let Some(hash) = hash.filter(|hash| hashes.contains(hash)) {
                let first = equal.entry((hash, fp)).or_insert(arrival);
                *first = arrival.min(*first);
            }
            if let Some(fp) = fp.filter(|_| row.bigint(3) == Some(1) && near.is_some()) {
                kept.room(1).or_raise();
                kept.push((arrival, fp.cast_unsigned()));
                if kept.len() >= chunk {
                    compare(&mut kept, &mut found);
                }
            }
        }
    });
    compare(&mut kept, &mut found);
    found.extend(equal.values());
    let equal: Vec<i64> = equal.into_values().collect();
    let sql = format!(
        "SELECT k.arrival FROM {0} AS t JOIN {0} AS k ON k.id {1} t.keeper WHERE t.arrival OPERATOR(pg_catalog.=) ANY ($1)",
        job.table.name, job.equals
    );
    if !equal.is_empty() {
        found.extend(query_all(&sql, &[Argument::of(equal)], |row| row.bigint(0)).into_iter().flatten());
    }
    found.into_iter().collect()
}
