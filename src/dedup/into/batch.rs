//! A batch of new rows: reads them, finds those equal to each other or to rows of the result, and
//! makes fingerprints.

use super::super::shape::Shape;
use super::job::Job;
use super::stored::StoredRows;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{Argument, for_each, for_each_with};
use crate::pg::{Values, raise};
use crate::settings::threads;
use dedup_core::dedup::{Group, Kind, making};
use dedup_core::memory::{OrRaise, Room, collect};
use pgrx::datum::Uuid;
use pgrx::prelude::*;
use std::collections::HashMap;

/// Bytes per new row in memory, with the columns that it is written from.
pub(super) const BYTES_PER_ROW: usize = 400;

/// A new row.
pub(super) struct NewRow {
    /// Its position in the array of ids, from 1.
    pub n: i64,
    /// Its rank: the least in a group is kept, the earlier of equals.
    pub rank: i64,
    /// Whether its content is NULL or empty, which equals nothing.
    pub empty: bool,
    /// The hash of the form used for comparison; `None` if there is no exact stage.
    pub hash: Option<u128>,
    /// The first row of the batch with equal content, maybe itself.
    pub first: u32,
    /// The first row of the result with equal content.
    pub old: Option<i64>,
    /// Whether no row of the result has this content any more: rows that arrived since were not
    /// compared with it.
    pub revived: bool,
    /// The fingerprint, that of the first row of equal content.
    pub fp: Option<u64>,
}

pub(super) struct Batch {
    /// How many rows had arrived before.
    pub base: i64,
    pub rows: Vec<NewRow>,
}

impl Batch {
    /// The arrival number of a row.
    pub(super) fn arrival(&self, row: u32) -> i64 {
        self.base + 1 + i64::from(row)
    }

    /// The row of an arrival number, if it is a new one.
    pub(super) fn row(&self, arrival: i64) -> Option<u32> {
        u32::try_from(arrival - self.base - 1).ok()
    }

    /// The arrival number of the first row, old or new, of equal content.
    pub(super) fn class(&self, row: u32) -> i64 {
        let row = &self.rows[row as usize];
        row.old.unwrap_or_else(|| self.arrival(row.first))
    }

    /// The rows to compare: those with a fingerprint that equal no earlier row, or only rows that
    /// do not have that content any more.
    pub(super) fn distinct(&self) -> impl Iterator<Item = (i64, u64)> {
        let firsts = (0u32..)
            .zip(&self.rows)
            .filter(|(number, row)| row.first == *number && (row.old.is_none() || row.revived));
        firsts.filter_map(|(number, row)| Some((self.arrival(number), row.fp?)))
    }
}

/// Reads the new rows in the order of the query.
pub(super) fn read(job: &Job, ids: Argument, stored: &mut StoredRows<'_>, progress: &Progress) -> Batch {
    let Job { table, query, id, base, equals, .. } = job;
    let sql = format!(
        "SELECT q.*, u.n AS _dedup_n FROM (SELECT u.id, u.n FROM pg_catalog.unnest($1) WITH ORDINALITY AS u(id, n) \
             WHERE NOT EXISTS (SELECT FROM {} AS t WHERE t.id::{base} {equals} u.id) OFFSET 0) AS u \
         JOIN ({query}\n) AS q ON q.{id}::{base} {equals} u.id WHERE q.{id}::{base} {equals} ANY ($1) ORDER BY u.n",
        table.name
    );
    let mut batch = Batch { base: table.arrivals(), rows: Vec::new() };
    for_each_with(&sql, &[ids], |columns| {
        let shape = Shape::of(columns, &job.options);
        let mut reader = Reader { job, shape, n: columns.len() - 1, seen: HashMap::new() };
        let batch = &mut batch;
        progress.stage("reading a batch", "rows", None);
        move |row: &Values<'_>| {
            progress.step();
            reader.add(row, batch, stored);
        }
    });
    batch
}

struct Reader<'j> {
    job: &'j Job,
    shape: Shape,
    /// The column with the position in the array of ids.
    n: usize,
    /// The rows of distinct contents, by hash.
    seen: HashMap<u128, Vec<u32>>,
}

impl Reader<'_> {
    fn add(&mut self, row: &Values<'_>, batch: &mut Batch, stored: &mut StoredRows<'_>) {
        let n = row.bigint(self.n).unwrap_or_default();
        if batch.rows.last().is_some_and(|last| last.n == n) {
            refuse_twice(&row.written(0).unwrap_or_default())
        }
        let number = batch.rows.len() as u32;
        let arrival = batch.arrival(number);
        let content = self.shape.content(row);
        let options = &self.job.options;
        let kind = content.as_deref().map_or(Kind::Empty, |content| Kind::of(content, &options.recipe));
        let comparable = content.as_deref().filter(|_| kind != Kind::Empty);
        let hash = comparable.and_then(|content| options.exact.hash(content, options.alike.normal));
        let rank = self.shape.rank(row, &self.job.options.keep, arrival, content.as_deref());
        let mut new = NewRow {
            n,
            rank,
            empty: kind == Kind::Empty,
            hash,
            first: number,
            old: None,
            revived: false,
            fp: None,
        };
        if let Some(content) = content {
            new.fp = self.shape.fp(row).flatten().filter(|_| kind == Kind::Near);
            new.first = self.first_equal((number, new.fp), hash, &content, batch, stored);
            stored.add_content(arrival, &content);
        }
        batch.rows.room(1).or_raise();
        batch.rows.push(new);
    }

    fn first_equal(
        &mut self,
        (number, fp): (u32, Option<u64>),
        hash: Option<u128>,
        content: &str,
        batch: &Batch,
        stored: &mut StoredRows<'_>,
    ) -> u32 {
        let Some(hash) = hash else { return number };
        let (exact, normal) = (self.job.options.exact, self.job.options.alike.normal);
        let given = self.job.options.compares_rows();
        let mut same = |first: u32| {
            if given && differ(batch.rows[first as usize].fp, fp) {
                return false;
            }
            let earlier = stored.content(batch.arrival(first));
            earlier.is_some_and(|earlier| exact.same(&earlier, content, normal))
        };
        self.seen.room(1).or_raise();
        let firsts = self.seen.entry(hash).or_default();
        let found = firsts.iter().copied().find(|&first| same(first));
        found.unwrap_or_else(|| {
            firsts.push(number);
            number
        })
    }
}

/// Whether given fingerprints tell rows of equal text apart: they may be of other columns too.
fn differ(a: Option<u64>, b: Option<u64>) -> bool {
    a.zip(b).is_some_and(|(a, b)| a != b)
}

/// Reports an id that comes twice.
pub(super) fn refuse_twice(id: &str) -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_CARDINALITY_VIOLATION,
        format!("the query returns more than one row with the id {id}"),
        "The ids are the key of the result: make them unique, for example by SELECT DISTINCT ON.",
    )
}

/// Finds rows of the result with equal content, and makes the fingerprints of the other new rows.
pub(super) fn find_equal(job: &Job, batch: &mut Batch, stored: &mut StoredRows<'_>, progress: &Progress) {
    let (exact, normal) = (job.options.exact, job.options.alike.normal);
    for (number, old) in same_hash(job, batch, stored) {
        let arrival = batch.arrival(number);
        let row = &mut batch.rows[number as usize];
        if row.old.is_some() {
            continue;
        }
        if job.options.compares_rows() && differ(stored.row(old).fp, row.fp) {
            continue;
        }
        // If the content of the old row has changed, the hash alone decides.
        let differs = stored.content(old).is_some_and(|old| {
            exact.hash(&old, normal) == row.hash
                && stored.content(arrival).is_some_and(|new| !exact.same(&new, &old, normal))
        });
        if !differs {
            row.old = Some(old);
            row.revived = stored.content(old).is_none() && job.options.group == Group::Components;
            row.fp = stored.row(old).fp;
        }
    }
    let given = job.options.fp.is_some();
    progress.stage("making fingerprints of a batch", "rows", Some(batch.rows.len() as u64));
    if !given && job.options.distance.is_some() {
        let mut host = QueryHost::reporting(progress);
        let lacks = |(number, row): &(usize, &NewRow)| {
            row.first as usize == *number && row.old.is_none() && !row.empty
        };
        let lacking = batch.rows.iter().enumerate().filter(lacks).map(|(number, _)| number);
        let lacking = collect(lacking).or_raise();
        let base = batch.base;
        let made = making(&|| &job.options.recipe, threads(), &mut host, |making| {
            let mut each = |number: usize, fp| batch.rows[number].fp = Some(fp);
            for number in lacking {
                progress.step();
                let content = stored.content(base + 1 + number as i64).unwrap_or_default();
                making.add(number, content, &mut each)?;
            }
            making.finish(&mut each)
        });
        unwrap_or_raise(made);
    }
    for number in 0..batch.rows.len() {
        let first = batch.rows[number].first as usize;
        if first != number {
            (batch.rows[number].old, batch.rows[number].fp) = (batch.rows[first].old, batch.rows[first].fp);
        }
    }
}

/// New rows, each the first of its content, and old ones of the same hash.
fn same_hash(job: &Job, batch: &Batch, stored: &mut StoredRows<'_>) -> Vec<(u32, i64)> {
    let (mut numbers, mut hashes) = (Vec::new(), Vec::new());
    for (number, row) in (0u32..).zip(&batch.rows) {
        if let Some(hash) = row.hash.filter(|_| row.first == number) {
            numbers.push(number);
            hashes.push(Uuid::from_bytes(hash.to_be_bytes()));
        }
    }
    if batch.base == 0 || hashes.is_empty() {
        return Vec::new();
    }
    let sql = format!(
        "SELECT h.n, t.arrival FROM pg_catalog.unnest($1) WITH ORDINALITY AS h(hash, n) \
         JOIN {} AS t ON t.hash OPERATOR(pg_catalog.=) h.hash \
         WHERE t.same_as IS NULL ORDER BY 1, 2",
        job.table.name
    );
    let mut found = Vec::new();
    for_each(&sql, &[Argument::of(hashes)], |row| {
        if let (Some(n), Some(arrival)) = (row.bigint(0), row.bigint(1)) {
            found.push((numbers[n as usize - 1], arrival));
        }
    });
    stored.load_rows(found.iter().map(|&(_, arrival)| arrival));
    stored.load_contents(found.iter().map(|&(_, arrival)| arrival));
    found
}
