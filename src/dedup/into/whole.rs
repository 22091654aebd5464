//! All groups formed anew, as `dedup` forms them. A group keeps its name.

use super::super::pipeline::{find_in, once, told};
use super::job::{DIGEST, Job, ids_of};
use super::write::Outcome;
use crate::pg::{Argument, Column, Progress, query_all, unwrap_or_raise};
use dedup_core::dedup::INTO;
use dedup_core::groups::{Named, names};
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::{Grow, OrRaise, Room, collect, filled};
use pgrx::PgMemoryContexts;
use std::collections::BTreeSet;

const TOGETHER: usize = 50_000;

/// Runs `dedup` over the source; options that are chosen by the texts are those of the result from now on.
pub(super) fn form(job: &mut Job<'_>, progress: &Progress) -> Option<Outcome> {
    let query = format!("SELECT q.*, {} AS {DIGEST} FROM ({}\n) AS q", job.digest, job.query);
    let (mut ids, mut digests, mut hashes) = (None, Vec::new(), Vec::new());
    let mut options = job.options();
    options.know(job.told.clone());
    let asked = (job.written.clone(), options, !job.is_begun);
    let begin = once(|columns: &[Column]| {
        let of = &*ids.insert(ids_of(columns));
        let (digests, last) = (&mut digests, columns.len() - 1);
        move |row, bytes| {
            digests.room(1).or_raise();
            digests.push(row.bigint(last).unwrap_or_default());
            of.write_id(row, bytes);
        }
    });
    let of = vec![(query.as_str(), &job.source, begin)];
    let (written, found) = find_in(INTO, of, asked, Some(&mut hashes), progress);
    if found.rows.count() > 0 {
        job.written = written;
        job.statistics.clone_from(&found.options.alike.statistics);
    } else if !job.is_begun {
        return None;
    }
    let ids = told(ids);
    let (names, arrivals) = (Vec::new(), Vec::new());
    let mut groups = Outcome {
        found,
        ids,
        digests,
        hashes,
        from: 0,
        arrivals,
        names,
        absorbed: Vec::new(),
        changed: BTreeSet::new(),
        counts_otherwise: false,
        gone: Vec::new(),
    };
    if job.is_begun {
        name(job, &mut groups);
    } else {
        let rows = groups.found.rows.count() as i64;
        groups.arrivals = collect(1..=rows).or_raise();
        groups.names = collect(1..=rows).or_raise();
    }
    Some(groups)
}

/// Gives rows that are as they were the numbers by which they arrived, and groups the names that they had.
fn name(job: &Job<'_>, groups: &mut Outcome) {
    let rows = groups.found.rows.count();
    let next = job.arrivals + 1;
    let (mut arrivals, mut before) = (filled(0, rows).or_raise(), filled(None, rows).or_raise());
    let (mut there, mut others): (Vec<i64>, Vec<(usize, i64, i64)>) = Default::default();
    let sql = format!(
        "SELECT u.n, t.arrival, t.cluster, t.digest FROM pg_catalog.unnest($1) WITH ORDINALITY AS u(id, n) \
         JOIN {} AS t ON t.id {} u.id",
        job.table.name, job.equals
    );
    for from in (0..rows).step_by(TOGETHER) {
        let ids: Vec<Vec<u8>> = (from..rows.min(from + TOGETHER))
            .map(|row| unwrap_or_raise(groups.found.rows.texts.id(row)))
            .collect();
        // SAFETY: what is made in this memory is not used afterwards; the ids are written as their type has it.
        unsafe {
            PgMemoryContexts::new("dedup_into").switch_to(|_| {
                let ids = groups.ids.array(&ids, job.ids_type);
                for (n, arrival, cluster, digest) in query_all(&sql, &[ids], |row| {
                    (row.bigint(0), row.bigint(1), row.bigint(2), row.bigint(3))
                }) {
                    let (Some(n), Some(arrival), Some(cluster)) = (n, arrival, cluster) else { continue };
                    let row = from + n as usize - 1;
                    there.room(1).or_raise();
                    there.push(arrival);
                    if digest == Some(groups.digests[row]) {
                        (arrivals[row], before[row]) = (arrival, Some(cluster));
                    } else {
                        others.grow((row, arrival, cluster)).or_raise();
                    }
                }
            });
        }
    }
    // If most are others than they were, they have not changed, but what counts of them has.
    groups.counts_otherwise = 2 * others.len() > there.len();
    if groups.counts_otherwise {
        checked(others).for_each(|(row, arrival, cluster)| {
            (arrivals[row], before[row]) = (arrival, Some(cluster));
        });
    }
    let mut named = Vec::new();
    named.room(rows).or_raise();
    let mut arrived = next;
    for row in checked(0..rows) {
        if arrivals[row] == 0 {
            arrivals[row] = arrived;
            arrived += 1;
        }
        let part = groups.found.group_of(row) as u32;
        named.push(Named { arrival: arrivals[row], before: before[row], part, row: row as u32 });
    }
    let before: Vec<(usize, i64)> =
        named.iter().filter_map(|it| Some((it.part as usize, it.before?))).collect();
    (groups.names, groups.absorbed) = names(named, rows, &[]).or_raise();
    let other =
        before.into_iter().map(|(part, before)| [before, groups.names[part]]).filter(|it| it[0] != it[1]);
    groups.changed = other.flatten().collect();
    groups.arrivals = arrivals;
    sort_unstable_by(&mut there, i64::cmp);
    let sql = format!("SELECT t.arrival FROM {} AS t", job.table.name);
    let all = query_all(&sql, &[] as &[Argument], |row| row.bigint(0).unwrap_or_default());
    groups.gone = checked(all).filter(|arrival| there.binary_search(arrival).is_err()).collect();
}
