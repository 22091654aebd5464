//! Writes what was found to the result.

use super::super::pipeline::Found;
use super::job::Job;
use crate::pg::{Argument, Progress, ValueType, execute, unwrap_or_raise};
use dedup_core::dedup::{Comparable, Finding, Rows, Stage};
use dedup_core::groups::Named;
use pgrx::PgMemoryContexts;
use std::collections::BTreeSet;

const TOGETHER: usize = 50_000;

/// What a call has found: groups of rows, those from `from` on to be written.
pub(super) struct Outcome {
    pub found: Found,
    pub ids: ValueType,
    pub from: usize,
    /// Of each row its digest, the hash by which its text equals others, and its number in the order in which rows arrived.
    pub digests: Vec<i64>,
    pub hashes: Vec<i64>,
    pub arrivals: Vec<i64>,
    /// The name of each group, by its number.
    pub names: Vec<i64>,
    /// The oldest rows of names that are gone.
    pub absorbed: Vec<Named>,
    /// The names of groups that rows which were there have left or joined, and whether more counts of rows than did.
    pub changed: BTreeSet<i64>,
    pub counts_otherwise: bool,
    /// The arrival numbers of rows that the source returns no more.
    pub gone: Vec<i64>,
}

#[derive(Default)]
struct Columns {
    id: Vec<Vec<u8>>,
    keeper: Vec<Vec<u8>>,
    cluster: Vec<i64>,
    stage: Vec<&'static str>,
    distance: Vec<Option<i32>>,
    similarity: Vec<Option<f64>>,
    arrival: Vec<i64>,
    fp: Vec<Option<i64>>,
    hash: Vec<Option<i64>>,
    digest: Vec<i64>,
}

pub(super) fn write(job: &Job<'_>, mut groups: Outcome, progress: &Progress) {
    let rows = groups.found.rows.count();
    progress.stage("writing the result", "rows", Some((rows - groups.from) as u64));
    let name = &job.table.name;
    if !groups.gone.is_empty() {
        let sql = format!("DELETE FROM {name} AS t WHERE t.arrival OPERATOR(pg_catalog.=) ANY ($1)");
        execute(&sql, &[Argument::of(std::mem::take(&mut groups.gone))]);
    }
    let has_key = job.table.has_key();
    let mut counts = [0u64; Stage::COUNT];
    for from in (groups.from..rows).step_by(TOGETHER) {
        let mut columns = Columns::default();
        for row in from..rows.min(from + TOGETHER) {
            progress.step();
            let stage = columns.add(&mut groups, row);
            counts[stage as usize] += 1;
        }
        columns.write(job, &groups.ids, has_key);
    }
    if !has_key {
        job.table.make_indexes();
    }
    let absorbed = groups.absorbed.len();
    log(job, &mut groups);
    let arrived = groups.arrivals.iter().copied().max().unwrap_or(0).max(job.arrivals);
    let sql = format!(
        "UPDATE {} SET options = $1::pg_catalog.jsonb, arrivals = $2, statistics = $3, decisions = $4, \
             rows = (SELECT pg_catalog.count(*) FROM {name} AS t)",
        job.table.state
    );
    let statistics = job.statistics.as_ref().map(|statistics| statistics.write());
    let [statistics, decisions] = [statistics, job.decisions.clone()].map(Argument::of);
    execute(&sql, &[Argument::of(job.state().options), Argument::of(arrived), statistics, decisions]);
    // After a tenth of the rows came, the statistics of the planner are out of date.
    if (arrived - job.arrivals) * 10 > arrived {
        execute(&format!("ANALYZE {name}"), &[]);
    }
    let told = super::super::counted(counts);
    progress.end(&format!("{} rows: {told}; {absorbed} clusters merged", rows - groups.from));
}

impl Columns {
    fn add(&mut self, groups: &mut Outcome, row: usize) -> Stage {
        let found = &mut groups.found;
        let group = found.group_of(row);
        let Finding { keeper, stage, distance, similarity } = unwrap_or_raise(found.finding(row));
        let Rows { texts, kinds, fps, .. } = &mut found.rows;
        let own = unwrap_or_raise(texts.id(row));
        self.keeper.push(if keeper == row { own.clone() } else { unwrap_or_raise(texts.id(keeper)) });
        self.id.push(own);
        self.cluster.push(groups.names[group]);
        self.stage.push(stage.name());
        self.distance.push(distance.map(|bits| bits as i32));
        self.similarity.push(similarity);
        self.arrival.push(groups.arrivals[row]);
        // Of symbols alone it is that of other columns, if there is one.
        let has_fp = kinds[row] == Comparable::Near || kinds[row] == Comparable::Plain && fps[row] != 0;
        self.fp.push(has_fp.then(|| fps[row].cast_signed()));
        self.hash
            .push((kinds[row] != Comparable::Empty).then(|| groups.hashes[row]).filter(|&hash| hash != 0));
        self.digest.push(groups.digests[row]);
        stage
    }

    /// Rows that are as they are to be are left alone.
    fn write(self, job: &Job<'_>, ids: &ValueType, has_key: bool) {
        const COLUMNS: &str = "cluster, keeper, stage, distance, similarity, arrival, fp, hash, digest";
        let of = |row: &str| {
            let columns: Vec<String> = COLUMNS.split(", ").map(|column| format!("{row}.{column}")).collect();
            format!("ROW({})", columns.join(", "))
        };
        let mut sql = format!(
            "INSERT INTO {} AS t (id, {COLUMNS}) \
             SELECT u.id, u.{} FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
                 AS u(id, keeper, cluster, stage, distance, similarity, arrival, fp, hash, digest)",
            job.table.name,
            COLUMNS.replace(", ", ", u.")
        );
        if has_key {
            let new = of("excluded");
            sql += &format!(
                " ON CONFLICT (id) DO UPDATE SET ({COLUMNS}) = {new} \
                 WHERE {}::pg_catalog.record OPERATOR(pg_catalog.*<>) {new}::pg_catalog.record",
                of("t")
            );
        }
        // SAFETY: what is made in this memory is not used afterwards; the ids are written as their type has it.
        unsafe {
            PgMemoryContexts::new("dedup_into").switch_to(|_| {
                let arguments = [
                    ids.array(&self.id, job.ids_type),
                    ids.array(&self.keeper, job.ids_type),
                    Argument::of(self.cluster),
                    Argument::of(self.stage),
                    Argument::of(self.distance),
                    Argument::of(self.similarity),
                    Argument::of(self.arrival),
                    Argument::of(self.fp),
                    Argument::of(self.hash),
                    Argument::of(self.digest),
                ];
                execute(&sql, &arguments);
            });
        }
    }
}

/// Logs which name was absorbed by which, and the row by which that is told.
fn log(job: &Job<'_>, groups: &mut Outcome) {
    let absorbed = std::mem::take(&mut groups.absorbed);
    if absorbed.is_empty() {
        return;
    }
    let kept: Vec<i64> = absorbed.iter().map(|row| groups.names[row.part as usize]).collect();
    let before: Vec<Option<i64>> = absorbed.iter().map(|row| row.before).collect();
    let rows: Vec<Vec<u8>> =
        absorbed.iter().map(|row| unwrap_or_raise(groups.found.rows.texts.id(row.row as usize))).collect();
    // SAFETY: the ids are written as their type has it.
    let rows = unsafe { groups.ids.array(&rows, job.ids_type) };
    let sql = format!(
        "INSERT INTO {} (kept, absorbed, id) SELECT u.kept, u.absorbed, u.id FROM unnest($1, $2, $3) AS u(kept, absorbed, id)",
        job.table.merges
    );
    execute(&sql, &[Argument::of(kept), Argument::of(before), rows]);
}
