//! What is other than the last call left it: at the source, told by a digest of each row, and in the result itself.

use super::follow::Todo;
use super::job::Job;
use crate::pg::{Argument, Values, query_all, refuse_row_without_id, type_cache};
use pgrx::prelude::*;

/// One row in so many is few: beyond that all groups are formed anew.
const FEW: usize = 10;

/// Rows of the result are known by their arrival numbers.
#[derive(Default)]
pub(super) struct Changes {
    /// The ids of rows that are new at the source or others than they were.
    pub ids: Option<Argument>,
    /// Rows that were taken in as something else, and rows that the source returns no more.
    pub changed: Vec<i64>,
    pub gone: Vec<i64>,
    /// The names of groups that lack their kept row.
    pub broken: Vec<i64>,
    /// How many ids there are.
    count: usize,
    /// How many rows the result has.
    rows: usize,
    /// What changed cannot be told: the source has two rows of one id, or ids of a type that PostgreSQL cannot join by.
    is_ambiguous: bool,
}

impl Changes {
    /// Compares the source with the result, or those rows alone that are on the list `todo` if that tells all: `rows` is how
    /// many rows the last call left, and a table that was emptied has fewer.
    pub(super) fn of(job: &Job<'_>, rows: i64, todo: Option<&Todo>) -> Changes {
        let Job { table, query, id, digest, equals, .. } = job;
        if !joins(job) {
            return Changes { is_ambiguous: true, ..Changes::default() };
        }
        let count = format!("SELECT pg_catalog.count(*) FROM {} AS t", table.name);
        let there = query_all(&count, &[], |row| row.bigint(0).unwrap_or(0)).pop().unwrap_or(0);
        let (only, of) = match todo.filter(|todo| todo.is_all && there == rows) {
            None => (String::new(), String::new()),
            Some(_) => (format!(" WHERE {id} {equals} ANY ($1)"), format!(" WHERE t.id {equals} ANY ($1)")),
        };
        let mut arguments = Vec::new();
        if !only.is_empty() {
            let Some(ids) = todo.and_then(|todo| todo.ids) else {
                return Changes { rows: there as usize, broken: broken(job), ..Changes::default() };
            };
            arguments.push(ids);
        }
        let other = "(q.digest OPERATOR(pg_catalog.<>) t.digest) IS NOT FALSE";
        let sql = format!(
            "SELECT pg_catalog.array_agg(q.id) FILTER (WHERE q.id IS NOT NULL AND {other}), \
                 pg_catalog.array_agg(t.arrival) FILTER (WHERE q.id IS NOT NULL AND t.id IS NOT NULL AND {other}), \
                 pg_catalog.array_agg(t.arrival) FILTER (WHERE q.digest IS NULL), \
                 pg_catalog.array_agg(t.cluster) FILTER (WHERE t.stage OPERATOR(pg_catalog.=) 'kept' AND {other}), \
                 pg_catalog.count(*) FILTER (WHERE q.id IS NOT NULL AND {other}), \
                 pg_catalog.count(*) FILTER (WHERE q.digest IS NOT NULL AND q.id IS NULL), \
                 pg_catalog.count(t.id) \
             FROM (SELECT {id} AS id, {digest} AS digest FROM ({query}\n) AS q{only}) AS q \
             FULL JOIN (SELECT t.* FROM {} AS t{of}) AS t ON t.id {equals} q.id",
            table.name
        );
        let read = |row: &Values<'_>| {
            if row.bigint(5) != Some(0) {
                refuse_row_without_id()
            }
            Changes {
                ids: row.array(0),
                changed: row.bigints(1),
                gone: row.bigints(2),
                broken: row.bigints(3),
                count: row.bigint(4).unwrap_or(0) as usize,
                rows: there as usize,
                is_ambiguous: only.is_empty() && row.bigint(6) != Some(there),
            }
        };
        let mut changes = query_all(&sql, &arguments, read).pop().unwrap_or_default();
        changes.broken.extend(broken(job));
        changes
    }

    pub(super) fn are_none(&self) -> bool {
        self.count == 0 && self.gone.is_empty() && self.broken.is_empty() && !self.is_ambiguous
    }

    /// Whether they and `more` rows are so few that all others stay as they are.
    pub(super) fn are_few(&self, more: usize) -> bool {
        !self.is_ambiguous && (self.count + self.gone.len() + more) * FEW <= self.rows
    }
}

/// Whether both sides of the ids' equality can be sorted or hashed.
fn joins(job: &Job<'_>) -> bool {
    // SAFETY: any oid is answered.
    unsafe {
        let typoid = pg_sys::get_element_type(job.ids_type);
        let operator = type_cache(typoid, pg_sys::TYPECACHE_EQ_OPR).eq_opr;
        pg_sys::op_mergejoinable(operator, typoid) || pg_sys::op_hashjoinable(operator, typoid)
    }
}

/// Groups that others have broken: with a row whose kept row is not there, or with a kept row of another row.
fn broken(job: &Job<'_>) -> Vec<i64> {
    let sql = format!(
        // NOT EXISTS would hash the kept rows, which are many; an outer join hashes the others.
        "SELECT t.cluster FROM {0} AS t LEFT JOIN {0} AS k ON k.id {1} t.keeper \
             AND k.cluster OPERATOR(pg_catalog.=) t.cluster AND k.stage OPERATOR(pg_catalog.=) 'kept' \
             WHERE t.stage OPERATOR(pg_catalog.=) ANY ('{{exact,near,decided}}') \
             GROUP BY t.cluster HAVING pg_catalog.bool_or(k.id IS NULL) \
         UNION ALL SELECT t.cluster FROM {0} AS t WHERE t.stage OPERATOR(pg_catalog.=) 'kept' AND NOT t.keeper {1} t.id",
        job.table.name, job.equals
    );
    query_all(&sql, &[], |row| row.bigint(0)).into_iter().flatten().collect()
}
