//! The first load: all rows as `dedup` has them, in one transaction, and then the indexes. Batch by batch it would take
//! half as long again.

use super::super::{Found, id, read, stages};
use super::batch::refuse_twice;
use super::job::Job;
use super::listed;
use super::progress::BatchCounts;
use super::write::Columns;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::query_all;
use crate::pg::values::ValueType;
use crate::settings::{progress_interval, threads, work_memory};
use crate::table::DEDUP_INTO;
use dedup_core::dedup::{self, Group, Kind, Limits, Rows, Verdict};
use dedup_core::groups::UnionFind;
use dedup_core::hash::murmur3_128;
use dedup_core::interrupt::{checked, sort_unstable_by};
use dedup_core::memory::{OrRaise, Room, copy, filled};
use pgrx::PgMemoryContexts;
use pgrx::datum::Uuid;
use pgrx::prelude::*;

/// Rows that are written by one statement.
const TOGETHER: usize = 50_000;
/// Rows that are looked at to tell an id that comes twice.
const SUSPECTS: usize = 1000;

/// Takes in all rows of the source; the result has none.
pub(super) fn load(job: &Job) -> BatchCounts {
    let progress = Progress::new(DEDUP_INTO.name, progress_interval());
    let listed = listed::after_load(job);
    let (_, options) = job.options();
    let (mut ids, mut seen) = (None, Vec::new());
    let (rows, hashes) = read((&job.all(), true), &options, (None, None), &progress, |columns| {
        // SAFETY: any oid is answered.
        let base = unsafe { pg_sys::getBaseType(columns[0].typoid) };
        let of = ValueType::new(&columns[0], base);
        let of = &*ids.insert(of.unwrap_or_else(|| unreachable!("a type is what it is over")));
        let seen = &mut seen;
        move |row, bytes| {
            // SAFETY: the column is of the type that the query said.
            unsafe { of.write(id(row), bytes) };
            seen.room(1).or_raise();
            seen.push(murmur3_128(bytes, 0)[0]);
        }
    });
    // A query that returns rows has columns.
    let Some(ids) = ids else { unreachable!("the columns are told before the rows") };
    let mut found = stages(&options, rows, hashes, &progress);
    refuse_repeated(job, &ids, seen, &mut found);
    let components = components(&mut found, &progress);
    write(job, &ids, &mut found, components, &progress);
    job.table.make_indexes();
    let rows = found.rows.count() as i64;
    job.table.leave(job.table.digest(&job.base, "true", &[]), Some(rows));
    listed::keep_of_load(&job.table, listed);
    BatchCounts { base: 0, rows, merges: 0 }
}

/// Raises an error if an id comes twice; `seen`: the hash of each.
fn refuse_repeated(job: &Job, ids: &ValueType, seen: Vec<u64>, found: &mut Found) {
    let mut sorted = copy(&seen).or_raise();
    sort_unstable_by(&mut sorted, u64::cmp);
    // So few that two of the suspects have the same.
    let twice = sorted.windows(2).filter(|two| two[0] == two[1]).map(|two| two[0]);
    let twice: Vec<u64> = twice.take(SUSPECTS / 2).collect();
    if twice.is_empty() {
        return;
    }
    let is_suspect = |&row: &usize| twice.binary_search(&seen[row]).is_ok();
    let suspects: Vec<usize> = checked(0..seen.len()).filter(is_suspect).take(SUSPECTS).collect();
    let suspects: Vec<Vec<u8>> =
        suspects.into_iter().map(|row| unwrap_or_raise(found.rows.texts.id(row))).collect();
    const SQL: &str = "SELECT u.id FROM pg_catalog.unnest($1) WITH ORDINALITY AS u(id, n) \
         GROUP BY u.id HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 ORDER BY pg_catalog.min(u.n) LIMIT 1";
    // SAFETY: the ids are written as their type has it.
    let array = unsafe { ids.array(&suspects, job.ids_type) };
    if let Some(id) = query_all(SQL, &[array], |row| row.written(0)).pop().flatten() {
        refuse_twice(&id)
    }
}

/// What chains of pairs connect, if groups are less than that.
fn components(found: &mut Found, progress: &Progress) -> Option<UnionFind> {
    let mut options = found.options.clone();
    options.diameter.take()?;
    let limits = Limits { memory: work_memory(), threads: threads() };
    let mut host = QueryHost::reporting(progress);
    Some(unwrap_or_raise(dedup::group(&options, &mut found.rows, limits, &mut host)).sets)
}

fn write(
    job: &Job,
    ids: &ValueType,
    found: &mut Found,
    mut components: Option<UnionFind>,
    progress: &Progress,
) {
    let rows = found.rows.count();
    progress.stage("writing the result", "rows", Some(rows as u64));
    let counted = found.options.group == Group::Components;
    let mut members = filled(0u32, if counted { rows } else { 0 }).or_raise();
    for row in checked(0..members.len()) {
        members[found.of(row)] += 1;
    }
    let arrival = |row: usize| row as i64 + 1;
    for from in (0..rows).step_by(TOGETHER) {
        let to = rows.min(from + TOGETHER);
        let mut columns = Columns::default();
        let (mut own, mut kept) = (Vec::new(), Vec::new());
        for row in from..to {
            progress.step();
            let group = found.of(row);
            let Verdict { keeper, stage, distance, similarity } = unwrap_or_raise(found.verdict(row));
            let Rows { texts, kinds, fps, class, order, .. } = &mut found.rows;
            let first = class[row] as usize;
            let (kind, fp) = (kinds[first], fps[first].cast_signed());
            let rank = order.keep.rank(arrival(row), 0).filter(|_| order.ranks.is_empty());
            let alike = &found.options.alike;
            let hash = match kind {
                Kind::Empty => None,
                _ => found.options.exact.hash(&unwrap_or_raise(texts.content(row)), alike.normal),
            };
            let bytes = unwrap_or_raise(texts.id(row));
            kept.push(if keeper == row { bytes.clone() } else { unwrap_or_raise(texts.id(keeper)) });
            own.push(bytes);
            columns.cluster.push(arrival(group));
            columns.stage.push(stage.name());
            columns.distance.push(distance.map(|bits| bits as i32));
            columns.similarity.push(similarity);
            columns.arrival.push(arrival(row));
            columns.same_as.push((first != row).then(|| arrival(first)));
            columns.rank.push(rank.unwrap_or_else(|| order.ranks[row]));
            columns.fp.push((kind == Kind::Near).then_some(fp));
            columns.hash.push(hash.map(|hash| Uuid::from_bytes(hash.to_be_bytes())));
            columns.component.push(components.as_mut().map(|sets| arrival(sets.find(first as u32) as usize)));
            columns.members.push((counted && keeper == row).then(|| members[group].into()));
        }
        // SAFETY: what is made in this memory is not used afterwards; the ids are written as their type has it.
        unsafe {
            PgMemoryContexts::new("dedup_into").switch_to(|_| {
                let [own, kept] = [own, kept].map(|values| ids.array(&values, job.ids_type));
                columns.insert_all(job, own, kept);
            });
        }
    }
    progress.end(&format!("{rows} rows"));
}
