//! Writes a batch to the result in one transaction: its rows, the rows of clusters that were merged
//! or have another kept row, the log of merges.

use super::batch::Batch;
use super::groups::Known;
use super::job::Job;
use super::progress::BatchCounts;
use super::regroup::{Placed, form, regroup};
use super::rewrite::{Change, Compared, compare, rewrite};
use super::stored::StoredRows;
use crate::pg::progress::Progress;
use crate::pg::spi::{Argument, execute};
use dedup_core::dedup::{Group, Member, Stage, Standing};
use dedup_core::groups::{IncrementalClusters, Merge, Pair};
use dedup_core::interrupt;
use pgrx::datum::Uuid;
use std::collections::HashMap;

/// A set of rows.
struct Set {
    /// Its cluster; with a diameter its component.
    cluster: i64,
    /// Its best row.
    best: Standing,
    /// How many rows it has, and how many different texts or clusters.
    members: i64,
    parts: usize,
}

pub(super) fn write(
    job: &Job,
    ids: Argument,
    batch: &Batch,
    stored: &mut StoredRows<'_>,
    (clusters, known): (&mut IncrementalClusters<Pair>, &mut Known),
    progress: &Progress,
) -> BatchCounts {
    let divided = job.options.diameter.is_some();
    let sets = sets(batch, stored, clusters);
    let mut changes = HashMap::new();
    // Components whose groups are formed anew.
    let mut formed: HashMap<i64, i64> = HashMap::new();
    for name in clusters.clusters() {
        let node = clusters.cluster(name);
        let Some(set) = sets.get(&clusters.root(node)) else { continue };
        if divided {
            formed.insert(name, set.cluster);
        } else if name != set.cluster || stored.keeper(name).0 != set.best {
            changes.insert(name, Change { cluster: set.cluster, keeper: set.best.1 });
        }
    }
    let mut of_new = |number: u32| {
        let set = sets.get(&clusters.root(number))?;
        (divided && set.parts > 1 && set.cluster > batch.base).then_some(set.cluster)
    };
    let placed = form(job, stored, batch, &mut of_new, progress);
    let changed = changes.iter().map(|(&name, change)| (name, change.cluster));
    let touched: Vec<i64> = changed.chain(formed.clone()).flat_map(|(name, new)| [name, new]).collect();
    let digest_of_touched = || {
        let which = format!(
            "t.{} OPERATOR(pg_catalog.=) ANY ($1) AND t.arrival OPERATOR(pg_catalog.<=) $2",
            job.component()
        );
        let arguments = [Argument::of(touched.clone()), Argument::of(batch.base)];
        if touched.is_empty() { 0 } else { job.table.digest(&job.base, &which, &arguments) }
    };
    let before = digest_of_touched();
    insert(job, ids, batch, stored, (clusters, known), (&sets, &placed));
    rewrite(job, stored, &changes);
    if divided {
        regroup(job, stored, &formed, false, progress);
    } else {
        count_members(job, batch, &sets);
        log_merges(job, stored, clusters);
    }
    let new = "t.arrival OPERATOR(pg_catalog.>) $1";
    let new = job.table.digest(&job.base, new, &[Argument::of(batch.base)]);
    let arrived = batch.arrival(batch.rows.len() as u32 - 1);
    job.table.leave(before ^ digest_of_touched() ^ new, Some(arrived));
    let merges = if divided { 0 } else { clusters.merges().len() as i64 };
    BatchCounts { base: batch.base, rows: batch.rows.len() as i64, merges }
}

/// The sets that have a new row, by their roots.
fn sets(
    batch: &Batch,
    stored: &StoredRows<'_>,
    clusters: &mut IncrementalClusters<Pair>,
) -> HashMap<u32, Set> {
    let mut sets: HashMap<u32, Set> = HashMap::new();
    for (number, row) in (0u32..).zip(&batch.rows) {
        let root = clusters.root(number);
        let standing = (row.rank, batch.arrival(number));
        let cluster = clusters.name(number).unwrap_or_else(|| batch.arrival(root));
        let set = sets.entry(root).or_insert(Set { cluster, best: standing, members: 0, parts: 0 });
        set.best = set.best.min(standing);
        set.members += 1;
        set.parts += usize::from(row.first == number);
    }
    for name in clusters.clusters() {
        let node = clusters.cluster(name);
        if let Some(set) = sets.get_mut(&clusters.root(node)) {
            let (best, members) = stored.keeper(name);
            set.best = set.best.min(best);
            set.members += members;
            set.parts += 1;
        }
    }
    sets
}

/// Writes with the kept rows of clusters that were there before how many rows these have now.
fn count_members(job: &Job, batch: &Batch, sets: &HashMap<u32, Set>) {
    if job.options.group != Group::Components {
        return;
    }
    let old = sets.values().filter(|set| set.cluster <= batch.base);
    let (kept, members): (Vec<i64>, Vec<i64>) = old.map(|set| (set.best.1, set.members)).unzip();
    let sql = format!(
        "UPDATE {} AS t SET members = u.members FROM unnest($1, $2) AS u(kept, members) \
         WHERE t.arrival OPERATOR(pg_catalog.=) u.kept",
        job.table.name
    );
    if !kept.is_empty() {
        execute(&sql, &[kept, members].map(Argument::of));
    }
}

#[derive(Default)]
pub(super) struct Columns {
    /// Positions in the array of ids.
    n: Vec<i64>,
    keeper: Vec<i64>,
    pub cluster: Vec<i64>,
    pub stage: Vec<&'static str>,
    pub distance: Vec<Option<i32>>,
    pub similarity: Vec<Option<f64>>,
    pub arrival: Vec<i64>,
    pub same_as: Vec<Option<i64>>,
    pub rank: Vec<i64>,
    pub fp: Vec<Option<i64>>,
    pub hash: Vec<Option<Uuid>>,
    pub component: Vec<Option<i64>>,
    pub members: Vec<Option<i64>>,
}

fn insert(
    job: &Job,
    ids: Argument,
    batch: &Batch,
    stored: &mut StoredRows<'_>,
    (clusters, known_sets): (&mut IncrementalClusters<Pair>, &mut Known),
    (sets, placed): (&HashMap<u32, Set>, &HashMap<i64, Placed>),
) {
    let divided = job.options.diameter.is_some();
    let old = |keeper: i64| keeper <= batch.base;
    stored.load_rows(sets.values().map(|set| set.best.1).filter(|&keeper| old(keeper)));
    let mut columns = Columns::default();
    let mut needed = Vec::new();
    for (number, _) in (0u32..).zip(&batch.rows).filter(|_| !divided) {
        let keeper = sets[&clusters.root(number)].best.1;
        if old(keeper) && stored.row(keeper).class != batch.class(number) {
            needed.push(keeper);
        }
    }
    stored.load_contents(needed.into_iter());
    // Rows of equal content have the same distance and similarity.
    let mut classes: HashMap<i64, Compared> = HashMap::new();
    for (number, row) in (0u32..).zip(&batch.rows) {
        interrupt::check();
        let (arrival, class) = (batch.arrival(number), batch.class(number));
        let set = &sets[&clusters.root(number)];
        let place = placed.get(&class);
        // What is to be formed anew is written then, and is told by its missing number of members.
        let later = divided && set.parts > 1 && place.is_none();
        let keeper = if later { arrival } else { place.map_or(set.best.1, |place| place.keeper) };
        let (keeper_class, keeper_fp) = match batch.row(keeper) {
            Some(keeper) => (batch.class(keeper), batch.rows[keeper as usize].fp),
            None => (stored.row(keeper).class, stored.row(keeper).fp),
        };
        let member = Member { number: arrival, class, empty: row.empty };
        let stage = Stage::of(member, Member { number: keeper, class: keeper_class, empty: false });
        let near = stage.known().map(Compared::from).unwrap_or_else(|| {
            *classes.entry(class).or_insert_with(|| {
                let known = place.and_then(|place| place.similarity);
                let known = known.or_else(|| known_sets.similarity(class, keeper_class));
                compare(stored, (arrival, row.fp), (keeper, keeper_fp), known)
            })
        });
        columns.n.push(row.n);
        columns.cluster.push(place.map_or(set.cluster, |place| place.cluster));
        columns.keeper.push(keeper);
        columns.stage.push(stage.name());
        columns.distance.push(near.distance);
        columns.similarity.push(near.similarity);
        columns.arrival.push(arrival);
        columns.same_as.push((class != arrival).then_some(class));
        columns.rank.push(row.rank);
        columns.fp.push(row.fp.map(u64::cast_signed));
        columns.hash.push(row.hash.map(|hash| Uuid::from_bytes(hash.to_be_bytes())));
        columns.component.push(divided.then_some(set.cluster));
        let counted = job.options.group == Group::Components && !later && keeper == arrival;
        columns.members.push(counted.then_some(place.map_or(set.members, |place| place.members)));
    }
    columns.insert(job, ids);
}

/// The columns of the result that are written from arrays.
const WRITTEN: &str = "stage, distance, similarity, arrival, same_as, rank, fp, hash, component, members";

impl Columns {
    /// Kept rows are known by number: of the batch or of the result.
    fn insert(mut self, job: &Job, ids: Argument) {
        let sql = format!(
            "WITH d AS MATERIALIZED (SELECT i.id, u.* FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) \
                 AS u(n, keeper, cluster, {WRITTEN}) \
                 JOIN pg_catalog.unnest($1) WITH ORDINALITY AS i(id, n) ON i.n OPERATOR(pg_catalog.=) u.n) \
             INSERT INTO {0} (id, cluster, keeper, {WRITTEN}) \
             SELECT d.id, d.cluster, coalesce(b.id, k.id), d.stage, d.distance, d.similarity, d.arrival, d.same_as, \
                 d.rank, d.fp, d.hash, d.component, d.members \
             FROM d LEFT JOIN d AS b ON b.arrival OPERATOR(pg_catalog.=) d.keeper \
             LEFT JOIN {0} AS k ON k.arrival OPERATOR(pg_catalog.=) d.keeper ORDER BY d.arrival",
            job.table.name
        );
        let (n, keeper) = (std::mem::take(&mut self.n), std::mem::take(&mut self.keeper));
        let first = [ids, Argument::of(n), Argument::of(keeper)];
        execute(&sql, &[&first[..], &self.others()].concat());
    }

    /// Inserts rows with the ids `own` and `kept`.
    pub(super) fn insert_all(self, job: &Job, own: Argument, kept: Argument) {
        let sql = format!(
            "INSERT INTO {} (id, keeper, cluster, {WRITTEN}) \
             SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS u",
            job.table.name
        );
        execute(&sql, &[&[own, kept][..], &self.others()].concat());
    }

    /// The cluster and what [`WRITTEN`] says.
    fn others(self) -> [Argument; 11] {
        [
            Argument::of(self.cluster),
            Argument::of(self.stage),
            Argument::of(self.distance),
            Argument::of(self.similarity),
            Argument::of(self.arrival),
            Argument::of(self.same_as),
            Argument::of(self.rank),
            Argument::of(self.fp),
            Argument::of(self.hash),
            Argument::of(self.component),
            Argument::of(self.members),
        ]
    }
}

/// Logs which cluster was absorbed by which, because of which two rows.
fn log_merges(job: &Job, stored: &mut StoredRows<'_>, clusters: &IncrementalClusters<Pair>) {
    let merges = clusters.merges();
    if merges.is_empty() {
        return;
    }
    stored.load_contents(merges.iter().flat_map(|merge| [merge.because.a, merge.because.b]));
    let similarity = |pair: Pair| {
        let contents = stored.content(pair.a).zip(stored.content(pair.b));
        contents.map(|(a, b)| job.options.alike.jaccard(&a, &b))
    };
    let similarities: Vec<Option<f64>> = merges.iter().map(|merge| merge.because).map(similarity).collect();
    let number = |of: &dyn Fn(&Merge<Pair>) -> i64| Argument::of(merges.iter().map(of).collect::<Vec<i64>>());
    let distances: Vec<i32> = merges.iter().map(|merge| merge.because.distance as i32).collect();
    let sql = format!(
        "INSERT INTO {} (kept, absorbed, a, b, distance, similarity) \
         SELECT m.kept, m.absorbed, a.id, b.id, m.distance, m.similarity \
         FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY AS m(kept, absorbed, a, b, distance, similarity, n) \
         JOIN {1} AS a ON a.arrival OPERATOR(pg_catalog.=) m.a JOIN {1} AS b ON b.arrival OPERATOR(pg_catalog.=) m.b \
         ORDER BY m.n",
        job.table.merges, job.table.name
    );
    let arguments = [
        number(&|merge| merge.kept),
        number(&|merge| merge.absorbed),
        number(&|merge| merge.because.a),
        number(&|merge| merge.because.b),
        Argument::of(distances),
        Argument::of(similarities),
    ];
    execute(&sql, &arguments);
}
