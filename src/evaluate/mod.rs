//! Evaluation: precision and recall (here), calibration of the distance.

mod calibrate;

use crate::dedup::groups_of;
use crate::pg::{Output, Schemas, as_text, describe, query_all, raise_cardinality, raise_invalid};
use crate::table::{Source, two_ids};
use dedup_core::evaluate::Score;
use pgrx::prelude::*;

struct Side {
    /// What it is called in the statement, and in an error.
    name: &'static str,
    /// Rows are ids with their groups, and all pairs within a group are meant; else pairs of ids.
    are_groups: bool,
    /// The query of its pairs `a < b`, or of ids `a` with their groups `b`, each once.
    rows: String,
    /// As long as that runs.
    _kept: (Source, Schemas),
}

impl Side {
    /// Of a table with settings the groups that `dedup` finds.
    fn new(name: &'static str, source: &str, are: &str) -> Side {
        let source = Source::new(Some(source));
        let groups = source.oid().and_then(groups_of);
        let are_groups = match are {
            "pairs" => groups.is_some(),
            "groups" => true,
            _ => raise_invalid(
                format!("{name}_are must be pairs or groups, not \"{are}\""),
                "pairs: the rows of the query are pairs of ids. groups: they are (id, group), and all pairs within a group are meant.",
            ),
        };
        let query = groups.unwrap_or_else(|| source.all());
        let (columns, schemas) = describe(&query);
        let [a, b] = two_ids(&columns);
        let [a, b] = [("q._dedup_a", a), ("q._dedup_b", b)].map(|(name, id)| key_of(name, id.typoid));
        let keys = format!("SELECT {a} AS a, {b} AS b FROM ({query}\n) AS q (_dedup_a, _dedup_b)");
        let rows = if are_groups {
            format!(
                "SELECT DISTINCT a, b FROM ({keys}) AS k WHERE pg_catalog.num_nulls(a, b) OPERATOR(pg_catalog.=) 0"
            )
        } else {
            format!(
                "SELECT DISTINCT LEAST(a, b) AS a, GREATEST(a, b) AS b FROM ({keys}) AS k WHERE a OPERATOR(pg_catalog.<>) b"
            )
        };
        Side { name, are_groups, rows, _kept: (source, schemas) }
    }

    /// The number of its pairs; those within groups are counted by the groups' sizes, and never listed.
    fn count(&self) -> String {
        match self.are_groups {
            true => pairs_of(&format!("{} GROUP BY b", self.name)),
            false => format!("SELECT pg_catalog.count(*) FROM {}", self.name),
        }
    }

    /// An id that is in two groups.
    fn twice(&self) -> String {
        let having = "HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 LIMIT 1";
        match self.are_groups {
            true => format!("SELECT a FROM {} GROUP BY a {having}", self.name),
            false => "NULL".into(),
        }
    }
}

/// The number of pairs within the groups of what follows FROM.
fn pairs_of(grouped: &str) -> String {
    format!(
        "SELECT COALESCE(pg_catalog.sum(n OPERATOR(pg_catalog.*) (n OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) 2), \
             0)::pg_catalog.int8 FROM (SELECT pg_catalog.count(*) AS n FROM {grouped}) AS g"
    )
}

/// The number of pairs that both sides have.
fn correct(found: &Side, truth: &Side) -> String {
    const SAME: &str = "OPERATOR(pg_catalog.=)";
    match (found.are_groups, truth.are_groups) {
        (false, false) => {
            "SELECT pg_catalog.count(*) FROM (TABLE found INTERSECT TABLE truth) AS both_have".into()
        }
        (true, true) => pairs_of(&format!("found AS f JOIN truth AS t ON t.a {SAME} f.a GROUP BY f.b, t.b")),
        (are_groups, _) => {
            let [pairs, groups] = if are_groups { ["truth", "found"] } else { ["found", "truth"] };
            format!(
                "SELECT pg_catalog.count(*) FROM {pairs} AS p JOIN {groups} AS x ON x.a {SAME} p.a \
                 JOIN {groups} AS y ON y.a {SAME} p.b AND y.b {SAME} x.b"
            )
        }
    }
}

/// An expression that is equal for equal values of a type.
fn key_of(value: &str, typoid: pg_sys::Oid) -> String {
    let text = match typoid {
        pg_sys::NUMERICOID | pg_sys::FLOAT4OID | pg_sys::FLOAT8OID => {
            format!("pg_catalog.trim_scale({value}::pg_catalog.text::pg_catalog.numeric)::pg_catalog.text")
        }
        _ => as_text(value, typoid),
    };
    format!("({text}) COLLATE pg_catalog.\"C\"")
}

#[pg_extern(sql = "")]
fn dedup_evaluate(
    found: &str,
    truth: &str,
    found_are: &str,
    truth_are: &str,
    fcinfo: pg_sys::FunctionCallInfo,
) {
    let mut output = Output::begin(fcinfo);
    let [found, truth] = [Side::new("found", found, found_are), Side::new("truth", truth, truth_are)];
    let sql = format!(
        "WITH found AS ({}), truth AS ({}) SELECT ({}), ({}), ({}), COALESCE(({}), ({}))",
        found.rows,
        truth.rows,
        found.count(),
        truth.count(),
        correct(&found, &truth),
        found.twice(),
        truth.twice(),
    );
    let row = query_all(&sql, &[], |row| ([0, 1, 2].map(|at| row.bigint(at).unwrap_or(0)), row.text(3)));
    let ([found, truth, correct], twice) = row.into_iter().next().unwrap_or_default();
    if let Some(id) = twice {
        raise_cardinality(
            format!("row {id} is in more than one group"),
            "Where rows can be in several groups, give the pairs of rows that share one.",
        )
    }
    let score = Score { found: found as u64, truth: truth as u64, correct: correct as u64 };
    let shares = [score.precision(), score.recall(), score.f1()].map(IntoDatum::into_datum);
    let counts = [found, truth, correct, truth - correct, found - correct].map(IntoDatum::into_datum);
    let ([precision, recall, f1], [found, truth, correct, missed, wrong]) = (shares, counts);
    // SAFETY: declared as three of double precision, five of bigint.
    unsafe { output.add([precision, recall, f1, found, truth, correct, missed, wrong]) };
}
