//! Rows of the result, and their contents. Rows are identified by their arrival number. The result
//! does not store contents: they are read again by the query, with a condition on its id.

use super::job::Job;
use crate::pg::host::unwrap_or_raise;
use crate::pg::raise;
use crate::pg::spi::{Argument, for_each};
use crate::pg::spill::TempFile;
use dedup_core::dedup::{Alike, Standing};
use dedup_core::external::Spill;
use dedup_core::memory::{OrRaise, Room, filled};
use pgrx::datum::Uuid;
use pgrx::prelude::*;
use std::collections::{HashMap, HashSet};

/// A row of the result.
#[derive(Debug, Clone, Copy)]
pub(super) struct StoredRow {
    /// Its cluster; with a diameter its component.
    pub cluster: i64,
    /// The first row of equal content.
    pub class: i64,
    pub fp: Option<u64>,
}

/// Texts in a temporary file.
struct Contents {
    file: TempFile,
    length: u64,
}

/// The offset of a text and its length in bytes.
type Place = (u64, usize);

impl Contents {
    fn add(&mut self, text: &str) -> Place {
        unwrap_or_raise(self.file.append(text.as_bytes()));
        self.length += text.len() as u64;
        (self.length - text.len() as u64, text.len())
    }

    fn get(&mut self, (at, bytes): Place) -> String {
        let mut read = filled(0, bytes).or_raise();
        if bytes > 0 {
            unwrap_or_raise(self.file.read(at, &mut read));
        }
        crate::pg::text(read)
    }
}

/// Contents read by one query at most.
const CONTENTS: usize = 100_000;

pub(super) struct StoredRows<'j> {
    job: &'j Job,
    rows: HashMap<i64, StoredRow>,
    /// The kept rows of their clusters, and how many rows those have.
    keepers: HashMap<i64, (Standing, i64)>,
    /// Contents that were read, in a temporary file.
    read: Contents,
    /// The place of a row's content in it; `None` if the query does not return it any more.
    at: HashMap<i64, Option<Place>>,
}

impl<'j> StoredRows<'j> {
    pub(super) fn new(job: &'j Job) -> StoredRows<'j> {
        StoredRows {
            job,
            rows: HashMap::new(),
            keepers: HashMap::new(),
            read: Contents { file: TempFile::new(), length: 0 },
            at: HashMap::new(),
        }
    }

    /// Loads rows by their arrival numbers.
    pub(super) fn load_rows(&mut self, arrivals: impl Iterator<Item = i64>) {
        let unknown: HashSet<i64> = arrivals.filter(|arrival| !self.rows.contains_key(arrival)).collect();
        if unknown.is_empty() {
            return;
        }
        let Job { table, base, equals, .. } = self.job;
        let sql = format!(
            "SELECT t.arrival, t.{1}, coalesce(t.same_as, t.arrival), t.fp, k.rank, k.arrival, k.members FROM {0} AS t \
             LEFT JOIN {0} AS k ON k.id::{base} {equals} t.keeper::{base} AND k.cluster OPERATOR(pg_catalog.=) t.cluster \
                 AND k.stage OPERATOR(pg_catalog.=) 'kept' WHERE t.arrival OPERATOR(pg_catalog.=) ANY ($1)",
            table.name,
            self.job.component()
        );
        let (rows, keepers) = (&mut self.rows, &mut self.keepers);
        for_each(&sql, &[Argument::of(sorted(unknown))], |row| {
            let value = |column| row.bigint(column);
            let (Some(arrival), Some(cluster), Some(class)) = (value(0), value(1), value(2)) else {
                return;
            };
            rows.room(1).or_raise();
            keepers.room(1).or_raise();
            rows.insert(arrival, StoredRow { cluster, class, fp: value(3).map(i64::cast_unsigned) });
            if let (Some(rank), Some(keeper)) = (value(4), value(5)) {
                keepers.insert(cluster, ((rank, keeper), value(6).unwrap_or_default()));
            }
        });
    }

    /// A row that was loaded.
    pub(super) fn row(&self, arrival: i64) -> StoredRow {
        *self.rows.get(&arrival).unwrap_or_else(|| raise_taken_out())
    }

    /// The kept row of the cluster of a row that was loaded, and how many rows it has.
    pub(super) fn keeper(&self, cluster: i64) -> (Standing, i64) {
        *self.keepers.get(&cluster).unwrap_or_else(|| raise_taken_out())
    }

    /// How contents are compared.
    pub(super) fn alike(&self) -> &Alike {
        &self.job.options.alike
    }

    /// Loads contents, each once.
    pub(super) fn load_contents(&mut self, arrivals: impl Iterator<Item = i64>) {
        let wanted: HashSet<i64> = arrivals.filter(|arrival| !self.at.contains_key(arrival)).collect();
        for part in sorted(wanted).chunks(CONTENTS) {
            self.at.room(part.len()).or_raise();
            self.at.extend(part.iter().map(|&arrival| (arrival, None)));
            let changed = self.load_part(part);
            self.load_copies(&changed);
        }
    }

    /// For rows that the query does not return any more, or with another content, loads the content
    /// of a copy instead.
    fn load_copies(&mut self, firsts: &[i64]) {
        const COPIES: usize = 100;
        if firsts.is_empty() {
            return;
        }
        let sql = format!(
            "SELECT f.arrival, c.arrival FROM {0} AS f CROSS JOIN LATERAL (SELECT t.arrival FROM {0} AS t \
                 WHERE t.cluster OPERATOR(pg_catalog.=) f.cluster AND t.same_as OPERATOR(pg_catalog.=) f.arrival \
                 ORDER BY t.arrival DESC LIMIT {COPIES}) AS c WHERE f.arrival OPERATOR(pg_catalog.=) ANY ($1)",
            self.job.table.name
        );
        let mut copies = Vec::new();
        for_each(&sql, &[Argument::of(firsts.to_vec())], |row| {
            copies.extend(row.bigint(0).zip(row.bigint(1)));
        });
        let numbers: Vec<i64> = copies.iter().map(|&(_, copy)| copy).collect();
        for part in numbers.chunks(CONTENTS) {
            self.load_part(part);
        }
        for (first, copy) in copies {
            if let Some(place) = self.at.get(&copy).copied().flatten() {
                self.at.insert(first, Some(place));
            }
        }
    }

    /// Loads the contents that have not changed since they were taken in; returns the other rows.
    fn load_part(&mut self, arrivals: &[i64]) -> Vec<i64> {
        let Job { table, query, id, content, base, equals, .. } = self.job;
        let numbers = Argument::of(arrivals.to_vec());
        let mut ids = None;
        let sql = format!(
            "SELECT pg_catalog.array_agg(t.id::{base}) FROM {} AS t WHERE t.arrival OPERATOR(pg_catalog.=) ANY ($1)",
            table.name
        );
        // SAFETY: the column is an array of ids.
        for_each(&sql, &[numbers], |row| unsafe {
            ids = row.get(0).map(|array| Argument::copy_of_array(array, self.job.ids_type));
        });
        let Some(ids) = ids else { return Vec::new() };
        // The ids are a constant, so that the condition can use an index of the table behind the
        // query.
        let sql = format!(
            "SELECT t.arrival, q.{content}::pg_catalog.text, t.hash FROM ({query}\n) AS q \
             JOIN (SELECT t.arrival, t.id::{base} AS id, t.hash FROM {} AS t \
                 WHERE t.arrival OPERATOR(pg_catalog.=) ANY ($2) OFFSET 0) AS t ON t.id {equals} q.{id}::{base} \
             WHERE q.{id}::{base} {equals} ANY ($1)",
            table.name
        );
        let (exact, normal) = (self.job.options.exact, self.job.options.alike.normal);
        let (read, at) = (&mut self.read, &mut self.at);
        for_each(&sql, &[ids, numbers], |row| {
            let (Some(arrival), Some(text)) = (row.bigint(0), row.text(1)) else { return };
            // SAFETY: the hash is a uuid.
            let taken = row.get(2).and_then(|taken| unsafe { Uuid::from_datum(taken, false) });
            if taken
                .is_none_or(|taken| exact.hash(&text, normal) == Some(u128::from_be_bytes(*taken.as_bytes())))
            {
                at.insert(arrival, Some(read.add(&text)));
            }
        });
        arrivals.iter().copied().filter(|arrival| self.at.get(arrival).copied().flatten().is_none()).collect()
    }

    /// The content of a row, if it was loaded.
    pub(super) fn content(&mut self, arrival: i64) -> Option<String> {
        let place = self.at.get(&arrival).copied().flatten()?;
        Some(self.read.get(place))
    }

    /// Adds a content that the caller has, so that it is not loaded.
    pub(super) fn add_content(&mut self, arrival: i64, content: &str) {
        self.at.room(1).or_raise();
        self.at.insert(arrival, Some(self.read.add(content)));
    }
}

fn sorted(numbers: HashSet<i64>) -> Vec<i64> {
    let mut numbers: Vec<i64> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers
}

fn raise_taken_out() -> ! {
    raise(
        PgSqlErrorCode::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE,
        "rows were taken out of the result while dedup_into was running",
        "Call it again: it puts the result right and goes on.",
    )
}
