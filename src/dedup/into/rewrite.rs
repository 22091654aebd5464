//! Changes to rows of the result: clusters that were merged, clusters with another kept row.

use super::job::Job;
use super::regroup::regroup;
use super::stored::StoredRows;
use crate::pg::progress::Progress;
use crate::pg::spi::{Argument, execute, for_each};
use crate::settings::progress_interval;
use dedup_core::dedup::{Group, Stage};
use dedup_core::fingerprint::hamming;
use dedup_core::interrupt;
use dedup_core::memory::{OrRaise, Room};
use std::collections::HashMap;

/// The new cluster and kept row of the rows of a cluster.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change {
    pub cluster: i64,
    pub keeper: i64,
}

/// Distance and similarity of two rows; the similarity is `None` if it is not `known` and the query does not return a
/// content any more.
pub(super) fn compare(
    stored: &mut StoredRows<'_>,
    a: (i64, Option<u64>),
    b: (i64, Option<u64>),
    known: Option<f64>,
) -> Compared {
    let distance = a.1.zip(b.1).map(|(a, b)| hamming(a, b) as i32);
    let similarity = known.or_else(|| {
        let contents = stored.content(a.0).zip(stored.content(b.0));
        contents.map(|(a, b)| stored.alike().jaccard(&a, &b))
    });
    Compared { distance, similarity }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Compared {
    pub distance: Option<i32>,
    pub similarity: Option<f64>,
}

impl From<(Option<u32>, Option<f64>)> for Compared {
    fn from((distance, similarity): (Option<u32>, Option<f64>)) -> Compared {
        Compared { distance: distance.map(|bits| bits as i32), similarity }
    }
}

/// What rows of equal content are to be: their cluster, kept row and so on.
#[derive(Default)]
pub(super) struct Columns {
    class: Vec<i64>,
    cluster: Vec<i64>,
    component: Vec<Option<i64>>,
    keeper: Vec<i64>,
    stage: Vec<&'static str>,
    distance: Vec<Option<i32>>,
    similarity: Vec<Option<f64>>,
    members: Vec<Option<i64>>,
}

impl Columns {
    /// Adds rows of equal content. `keeper`: the kept row's number, class and fingerprint; the contents are loaded if
    /// their similarity is not `known`.
    pub(super) fn add(
        &mut self,
        stored: &mut StoredRows<'_>,
        (class, fp): (i64, Option<u64>),
        (cluster, component): (i64, Option<i64>),
        keeper: (i64, i64, Option<u64>),
        (members, known): (Option<i64>, Option<f64>),
    ) {
        // All of a class but the kept row itself.
        let stage = if keeper.1 == class { Stage::Exact } else { Stage::Near };
        let near = stage.known().map(Compared::from);
        let near = near.unwrap_or_else(|| compare(stored, (class, fp), (keeper.0, keeper.2), known));
        self.class.push(class);
        self.cluster.push(cluster);
        self.component.push(component);
        self.keeper.push(keeper.0);
        self.stage.push(stage.name());
        self.distance.push(near.distance);
        self.similarity.push(near.similarity);
        self.members.push(members);
    }

    /// Writes them; the rows are of these clusters, or of these components if there is a diameter.
    pub(super) fn write(self, job: &Job, of: Argument) {
        let sql = format!(
            "UPDATE {0} AS t SET cluster = u.cluster, component = coalesce(u.component, t.component), keeper = k.id, \
                 stage = CASE WHEN t.arrival OPERATOR(pg_catalog.=) k.arrival THEN 'kept' ELSE u.stage END, \
                 distance = CASE WHEN t.arrival OPERATOR(pg_catalog.<>) k.arrival THEN u.distance END, \
                 similarity = CASE WHEN t.arrival OPERATOR(pg_catalog.<>) k.arrival THEN u.similarity END, \
                 members = CASE WHEN t.arrival OPERATOR(pg_catalog.=) k.arrival THEN u.members END \
             FROM unnest($1, $2, $3, $4, $5, $6, $7, $8) \
                 AS u(class, cluster, component, keeper, stage, distance, similarity, members) \
             JOIN {0} AS k ON k.arrival OPERATOR(pg_catalog.=) u.keeper \
             WHERE coalesce(t.same_as, t.arrival) OPERATOR(pg_catalog.=) u.class \
                 AND t.{1} OPERATOR(pg_catalog.=) ANY ($9)",
            job.table.name,
            job.component()
        );
        let arguments = [
            Argument::of(self.class),
            Argument::of(self.cluster),
            Argument::of(self.component),
            Argument::of(self.keeper),
            Argument::of(self.stage),
            Argument::of(self.distance),
            Argument::of(self.similarity),
            Argument::of(self.members),
            of,
        ];
        execute(&sql, &arguments);
    }
}

/// Rewrites the rows of clusters; the kept rows are in the result.
pub(super) fn rewrite(job: &Job, stored: &mut StoredRows<'_>, changes: &HashMap<i64, Change>) {
    if changes.is_empty() {
        return;
    }
    let clusters = Argument::of(changes.keys().copied().collect::<Vec<i64>>());
    stored.load_rows(changes.values().map(|change| change.keeper));
    // Rows of equal content have the same distance and similarity: one of them is compared.
    let mut classes = Vec::new();
    let sql = format!(
        "SELECT coalesce(t.same_as, t.arrival), pg_catalog.min(t.cluster), pg_catalog.min(t.fp) FROM {} AS t \
         WHERE t.cluster OPERATOR(pg_catalog.=) ANY ($1) GROUP BY 1",
        job.table.name
    );
    for_each(&sql, &[clusters], |row| {
        if let (Some(class), Some(cluster)) = (row.bigint(0), row.bigint(1)) {
            classes.push((class, changes[&cluster], row.bigint(2).map(i64::cast_unsigned)));
        }
    });
    let differs = |class: i64, keeper: i64, stored: &StoredRows<'_>| class != stored.row(keeper).class;
    let needed: Vec<i64> = classes
        .iter()
        .filter(|(class, change, _)| differs(*class, change.keeper, stored))
        .flat_map(|&(class, change, _)| [class, change.keeper])
        .collect();
    stored.load_contents(needed.into_iter());
    let mut columns = Columns::default();
    for (class, change, fp) in classes {
        interrupt::check();
        let keeper = stored.row(change.keeper);
        let kept = (change.keeper, keeper.class, keeper.fp);
        columns.add(stored, (class, fp), (change.cluster, None), kept, (None, None));
    }
    columns.write(job, clusters);
}

/// Repairs the result after others have removed or changed rows: the next row of equal content
/// becomes the first, the next best row of a cluster the kept one; components fall apart where what connected them is
/// gone. In a star the next best is a copy of the one before, or a row that was given a cluster of its own; if there is
/// none, no row of the cluster is verified against another, and they are taken out, to be taken in again as new ones.
pub(super) fn repair(job: &Job) {
    let Job { table, base, equals, .. } = job;
    if table.is_as_left(base) {
        return;
    }
    let firsts = format!(
        "UPDATE {0} AS t SET same_as = CASE WHEN t.arrival OPERATOR(pg_catalog.<>) m.first THEN m.first END FROM ( \
             SELECT c.same_as, c.cluster, pg_catalog.min(c.arrival) AS first FROM {0} AS c \
             WHERE c.same_as IS NOT NULL AND NOT EXISTS ( \
                 SELECT FROM {0} AS f WHERE f.arrival OPERATOR(pg_catalog.=) c.same_as \
                     AND f.same_as IS NULL AND f.cluster OPERATOR(pg_catalog.=) c.cluster) \
             GROUP BY c.same_as, c.cluster) AS m \
         WHERE t.same_as OPERATOR(pg_catalog.=) m.same_as AND t.cluster OPERATOR(pg_catalog.=) m.cluster",
        table.name
    );
    execute(&firsts, &[]);
    // The id of the kept row may have come back as another row: it counts only if it is the only
    // kept row of this very cluster.
    let mut broken = format!(
        "SELECT c.cluster FROM {0} AS c WHERE c.stage OPERATOR(pg_catalog.<>) ALL (ARRAY['kept', 'empty']) \
             AND NOT EXISTS (SELECT FROM {0} AS k WHERE k.id::{base} {equals} c.keeper::{base} \
                 AND k.cluster OPERATOR(pg_catalog.=) c.cluster AND k.stage OPERATOR(pg_catalog.=) 'kept') \
         UNION ALL SELECT c.cluster FROM {0} AS c WHERE c.stage OPERATOR(pg_catalog.=) 'kept' \
             GROUP BY c.cluster HAVING pg_catalog.count(*) OPERATOR(pg_catalog.>) 1 \
                 OR NOT pg_catalog.bool_and(c.keeper::{base} {equals} c.id::{base})",
        table.name
    );
    match job.options.group {
        Group::Components => {
            broken.push_str(&format!(
                " UNION ALL SELECT c.cluster FROM {} AS c GROUP BY c.cluster \
                 HAVING pg_catalog.count(*) FILTER (WHERE c.stage OPERATOR(pg_catalog.<>) 'empty') OPERATOR(pg_catalog.<>) \
                     coalesce(pg_catalog.sum(c.members) FILTER (WHERE c.stage OPERATOR(pg_catalog.=) 'kept'), 0)",
                table.name
            ));
            form_anew(job, clusters(&broken));
        }
        Group::SinglePass => {
            // Rows were verified against the centre, which is the first row of its cluster, and against nothing else.
            let without_centre = format!(
                "DELETE FROM {0} AS o WHERE NOT EXISTS ( \
                     SELECT FROM {0} AS c WHERE c.arrival OPERATOR(pg_catalog.=) o.cluster)",
                table.name
            );
            execute(&without_centre, &[]);
            keep_others(job, clusters(&broken), "true");
        }
        Group::Star => {
            let may_be_kept = "(t.stage OPERATOR(pg_catalog.=) ANY (ARRAY['kept', 'exact']) \
                OR t.arrival OPERATOR(pg_catalog.=) t.cluster)";
            let broken = clusters(&broken);
            let orphans = format!(
                "DELETE FROM {0} AS o USING (SELECT t.cluster FROM {0} AS t \
                     WHERE t.cluster OPERATOR(pg_catalog.=) ANY ($1) \
                     GROUP BY t.cluster HAVING NOT pg_catalog.bool_or({may_be_kept})) AS b \
                 WHERE o.cluster OPERATOR(pg_catalog.=) b.cluster",
                table.name
            );
            execute(&orphans, &[Argument::of(broken.clone())]);
            keep_others(job, broken, may_be_kept);
        }
    }
    // What was taken out is to be listed again.
    execute(&format!("UPDATE {} SET digest = 0, listed = NULL", table.state), &[]);
    table.leave(table.digest(base, "true", &[]), None);
}

/// The clusters that a query names, each once.
fn clusters(query: &str) -> Vec<i64> {
    let mut clusters = Vec::new();
    for_each(&format!("SELECT DISTINCT b.cluster FROM ({query}) AS b"), &[], |row| {
        clusters.room(1).or_raise();
        clusters.extend(row.bigint(0));
    });
    clusters
}

/// Forms clusters anew: a row that is gone may have been what connected the others.
fn form_anew(job: &Job, broken: Vec<i64>) {
    let sql = format!(
        "SELECT DISTINCT t.{} FROM {} AS t WHERE t.cluster OPERATOR(pg_catalog.=) ANY ($1)",
        job.component(),
        job.table.name
    );
    let mut parts = HashMap::new();
    for_each(&sql, &[Argument::of(broken)], |row| {
        if let Some(component) = row.bigint(0) {
            parts.insert(component, component);
        }
    });
    let progress = Progress::new("dedup_into", progress_interval());
    regroup(job, &mut StoredRows::new(job), &parts, true, &progress);
}

/// Keeps the best row of each cluster.
fn keep_others(job: &Job, broken: Vec<i64>, may_be_kept: &str) {
    let keepers = format!(
        "SELECT DISTINCT ON (t.cluster) t.cluster, t.arrival FROM {} AS t \
         WHERE t.cluster OPERATOR(pg_catalog.=) ANY ($1) AND {may_be_kept} \
         ORDER BY t.cluster, t.rank, t.arrival",
        job.table.name
    );
    let mut changes = HashMap::new();
    for_each(&keepers, &[Argument::of(broken)], |row| {
        if let (Some(cluster), Some(keeper)) = (row.bigint(0), row.bigint(1)) {
            changes.insert(cluster, Change { cluster, keeper });
        }
    });
    rewrite(job, &mut StoredRows::new(job), &changes);
}
