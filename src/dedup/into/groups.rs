//! Finds the rows near new ones, and the clusters that new rows join, start or merge.

use super::batch::Batch;
use super::job::Job;
use super::stars::Stars;
use super::stored::StoredRows;
use crate::groups::check_length;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::pg::progress::Progress;
use crate::pg::spi::{Argument, for_each};
use crate::pg::spill::TempFile;
use crate::settings::{threads, work_memory};
use dedup_core::dedup::{self, Alike, Group, Judge, Keep, Method, Order, nearness};
use dedup_core::external::Result;
use dedup_core::fingerprint::hamming;
use dedup_core::groups::{
    Candidate, Connect, CrossPairs, IncrementalClusters, Pair, Pairs, Settings, SharedSets, is_search_cheaper,
};
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room, collect, with_capacity};
use dedup_core::similarity::{SimilarPair, SimilarPairs};
use std::collections::HashMap;

/// Candidate pairs verified together.
const WAITING: usize = 1 << 18;

/// Pairs verified first; the next parts grow.
const FIRST: usize = 1 << 10;

struct Grouping<'a, 'j> {
    job: &'j Job,
    progress: &'a Progress,
    batch: &'a Batch,
    stored: &'a mut StoredRows<'j>,
    clusters: IncrementalClusters<Pair>,
    waiting: Vec<Pair>,
    /// The cluster looked up last (0: none), and its node if it has one.
    asked: (i64, Option<u32>),
    /// The verified pairs of Single-Pass.
    candidates: Vec<Candidate>,
    stars: Stars,
    /// New rows that pairs of new rows have connected.
    among: &'a SharedSets,
    judge: Judge<TempFile>,
    /// Rows as the verifier numbers them.
    numbers: HashMap<i64, u32>,
    arrivals: Vec<i64>,
}

/// The sets of n-grams of rows that were compared.
pub(super) struct Known {
    judge: Judge<TempFile>,
    numbers: HashMap<i64, u32>,
}

impl Known {
    /// The similarity of two rows, if both were compared with others or each other.
    pub(super) fn similarity(&mut self, a: i64, b: i64) -> Option<f64> {
        let rows = [*self.numbers.get(&a)?, *self.numbers.get(&b)?];
        unwrap_or_raise(self.judge.known(rows))
    }
}

/// Assigns every new row to a cluster.
pub(super) fn group<'j>(
    job: &'j Job,
    batch: &Batch,
    stored: &mut StoredRows<'j>,
    progress: &Progress,
) -> (IncrementalClusters<Pair>, Known) {
    let clusters = IncrementalClusters::new(batch.rows.len());
    let among = SharedSets::new(batch.base + 1, batch.rows.len());
    let mut grouping = Grouping {
        job,
        progress,
        batch,
        stored,
        clusters,
        waiting: Vec::new(),
        asked: (0, None),
        candidates: Vec::new(),
        stars: Stars::new(batch),
        among: &among,
        judge: Judge::new(job.options.alike, threads(), batch.rows.len(), work_memory(), TempFile::new()),
        numbers: HashMap::new(),
        arrivals: Vec::new(),
    };
    grouping.join_equal();
    if let Some(distance) = job.distance() {
        let settings = Settings { distance, memory: work_memory(), threads: threads() };
        match job.options.method {
            Method::Fingerprint => {
                grouping.among_new(settings);
                grouping.with_old(settings);
            }
            Method::Text | Method::Records => grouping.by_text(),
        }
        grouping.verify();
        let because = |pair: &Candidate| Pair {
            a: pair.earlier,
            b: batch.arrival(pair.later),
            distance: pair.distance,
        };
        grouping.clusters.single_pass(std::mem::take(&mut grouping.candidates), because);
        if grouping.is_divided() {
            grouping.divide(distance);
        }
    }
    (grouping.clusters, Known { judge: grouping.judge, numbers: grouping.numbers })
}

impl Connect<QueryHost<'_>> for Grouping<'_, '_> {
    fn take(&mut self, pair: Pair, _: &mut QueryHost<'_>) -> Result<()> {
        self.progress.step();
        self.add(pair);
        Ok(())
    }

    fn settle(&mut self, _: &mut QueryHost<'_>) -> Result<()> {
        self.verify();
        Ok(())
    }
}

impl Grouping<'_, '_> {
    fn join_equal(&mut self) {
        for (number, row) in (0u32..).zip(&self.batch.rows) {
            let with = match row.old {
                Some(old) => self.clusters.cluster(self.stored.row(old).cluster),
                None => row.first,
            };
            // Equal rows merge no clusters, so the pair is never logged.
            self.clusters.join(number, with, Pair { a: 0, b: 0, distance: 0 });
        }
    }

    fn among_new(&mut self, settings: Settings) {
        let progress = self.progress;
        progress.stage("finding near fingerprints in a batch", "candidate pairs", None);
        let mut host = QueryHost::reporting(progress);
        let mut pairs = Pairs::new(settings);
        for (arrival, fp) in self.batch.distinct() {
            unwrap_or_raise(pairs.add(arrival, fp, &mut host));
        }
        match self.job.options.group {
            Group::Components | Group::Star => {
                let among = self.among;
                unwrap_or_raise(pairs.connect(among, &mut host, self));
            }
            Group::SinglePass => {
                unwrap_or_raise(pairs.finish(&mut host, |pair, host| self.take(pair, host)));
            }
        }
    }

    fn with_old(&mut self, settings: Settings) {
        let new: Vec<(i64, u64)> = self.batch.distinct().collect();
        if self.batch.base == 0 || new.is_empty() {
            return;
        }
        let few = is_search_cheaper(new.len(), self.batch.base as usize, settings.distance);
        if few && self.job.table.has_search_index() {
            self.search(&new, settings.distance);
        } else {
            self.compare_all(&new, settings);
        }
    }

    /// All similar texts of new rows among each other and with earlier ones.
    fn by_text(&mut self) {
        let progress = self.progress;
        progress.stage("finding similar texts", "pairs", None);
        let mut host = QueryHost::reporting(progress);
        let Alike { similarity, n, normal, .. } = self.job.options.alike;
        let mut pairs = SimilarPairs::new(n, similarity, work_memory());
        let new: HashMap<i64, u64> = self.batch.distinct().collect();
        if new.is_empty() {
            return;
        }
        let mut old: HashMap<i64, (i64, u64)> = HashMap::new();
        if self.batch.base > 0 {
            let sql = format!(
                "SELECT t.arrival, t.cluster, t.fp FROM {} AS t WHERE t.same_as IS NULL AND t.fp IS NOT NULL{}",
                self.job.table.name,
                self.only_kept()
            );
            for_each(&sql, &[], |row| {
                if let (Some(arrival), Some(cluster), Some(fp)) =
                    (row.bigint(0), row.bigint(1), row.bigint(2))
                {
                    old.room(1).or_raise();
                    old.insert(arrival, (cluster, fp.cast_unsigned()));
                }
            });
            self.stored.load_contents(old.keys().copied());
        }
        let mut arrivals: Vec<i64> = collect(old.keys().chain(new.keys()).copied()).or_raise();
        arrivals.sort_unstable();
        for arrival in arrivals {
            let Some(content) = self.stored.content(arrival) else { continue };
            check_length(&arrival.to_string(), content.len());
            unwrap_or_raise(pairs.add(arrival, &normal.form(&content), &mut host));
        }
        let fp = |arrival: i64| new.get(&arrival).copied().or_else(|| old.get(&arrival).map(|it| it.1));
        unwrap_or_raise(pairs.finish(&mut host, |SimilarPair { a, b, similarity }, _| {
            progress.step();
            // Components log the distance; elsewhere the most similar is the nearest.
            let distance = match self.job.options.group {
                Group::Components => fp(a).zip(fp(b)).map_or(64, |(a, b)| hamming(a, b)),
                Group::SinglePass | Group::Star => nearness(similarity),
            };
            let wanted = match old.get(&a) {
                None => true,
                Some(&(cluster, _)) => self.wants(cluster, a, b),
            };
            if new.contains_key(&b) && wanted {
                self.add(Pair { a, b, distance });
            }
            Ok(())
        }));
    }

    fn search(&mut self, new: &[(i64, u64)], distance: u32) {
        let table = &self.job.table;
        let sql = format!(
            "SELECT f.n, t.arrival, t.fp, t.{} FROM pg_catalog.unnest($1) WITH ORDINALITY AS f(fp, n) \
             JOIN {} AS t ON {}.near_dup(t.fp, f.fp, {distance}) \
             WHERE t.same_as IS NULL{}",
            self.job.component(),
            table.name,
            table.tools,
            self.only_kept()
        );
        let fps: Vec<i64> = new.iter().map(|&(_, fp)| fp.cast_signed()).collect();
        for_each(&sql, &[Argument::of(fps)], |row| {
            let (Some(n), Some(a), Some(old)) = (row.bigint(0), row.bigint(1), row.bigint(2)) else {
                return;
            };
            let (b, fp) = new[n as usize - 1];
            if row.bigint(3).is_some_and(|cluster| self.wants(cluster, a, b)) {
                self.add(Pair { a, b, distance: hamming(fp, old.cast_unsigned()) });
            }
        });
    }

    fn compare_all(&mut self, new: &[(i64, u64)], settings: Settings) {
        let progress = self.progress;
        progress.stage("finding near fingerprints of earlier rows", "candidate pairs", None);
        let mut host = QueryHost::reporting(progress);
        let between = unwrap_or_raise(CrossPairs::new(settings, new, &mut host));
        let chunk = between.chunk();
        // Rows of the result get negative numbers, which are indexes into `rows`: a large group has
        // many more pairs than rows.
        let (mut others, mut rows) = (Vec::new(), Vec::new());
        let sql = format!(
            "SELECT t.arrival, t.fp, t.{} FROM {} AS t WHERE t.same_as IS NULL AND t.fp IS NOT NULL{}",
            self.job.component(),
            self.job.table.name,
            self.only_kept()
        );
        let mut join = |others: &mut Vec<(i64, u64)>, rows: &mut Vec<(i64, i64)>| {
            unwrap_or_raise(between.with(others, &mut host, |pair| {
                progress.step();
                let (a, cluster) = rows[(-1 - pair.a) as usize];
                if self.wants(cluster, a, pair.b) {
                    self.add(Pair { a, ..pair });
                }
                Ok(())
            }));
            others.clear();
            rows.clear();
        };
        for_each(&sql, &[], |row| {
            let (Some(arrival), Some(fp), Some(cluster)) = (row.bigint(0), row.bigint(1), row.bigint(2))
            else {
                return;
            };
            others.room(1).or_raise();
            rows.room(1).or_raise();
            others.push((-1 - rows.len() as i64, fp.cast_unsigned()));
            rows.push((arrival, cluster));
            if others.len() >= chunk {
                join(&mut others, &mut rows);
            }
        });
        join(&mut others, &mut rows);
    }

    /// The condition on earlier rows: those that are kept are the centres of stars.
    fn only_kept(&self) -> &'static str {
        match self.job.options.group {
            Group::Star => " AND t.stage OPERATOR(pg_catalog.=) 'kept'",
            Group::Components | Group::SinglePass => "",
        }
    }

    /// Whether a candidate, of an earlier row and a new one, can change anything.
    fn wants(&mut self, cluster: i64, earlier: i64, new: i64) -> bool {
        match self.job.options.group {
            Group::Star => return !self.is_connected(&Pair { a: earlier, b: new, distance: 0 }),
            // Only centres take in others.
            Group::SinglePass => return cluster == earlier,
            Group::Components => {}
        }
        // In a large group, all pairs but the first look up the same cluster.
        if self.asked.0 != cluster {
            self.asked = (cluster, self.clusters.find_cluster(cluster));
        }
        let (Some(node), Some(row)) = (self.asked.1, self.batch.row(new)) else {
            self.asked.0 = 0;
            return true;
        };
        self.clusters.root(node) != self.clusters.root(row)
    }

    fn add(&mut self, pair: Pair) {
        // Most pairs of a large group connect nothing new.
        if self.batch.row(pair.a).is_some() && self.is_connected(&pair) {
            return;
        }
        self.waiting.room(1).or_raise();
        self.waiting.push(pair);
        if self.waiting.len() >= WAITING {
            self.verify();
        }
    }

    /// The node of a row.
    fn node(&mut self, arrival: i64) -> u32 {
        match self.batch.row(arrival) {
            Some(row) => row,
            None => self.clusters.cluster(self.stored.row(arrival).cluster),
        }
    }

    /// Whether stars are divided out of components: those by texts have all similar pairs.
    fn is_divided(&self) -> bool {
        self.job.options.group == Group::Star && self.job.options.method == Method::Fingerprint
    }

    /// Whether a pair would connect nothing new.
    fn is_connected(&mut self, pair: &Pair) -> bool {
        match self.job.options.group {
            Group::Components => {
                let (a, b) = (self.node(pair.a), self.node(pair.b));
                self.clusters.root(a) == self.clusters.root(b)
            }
            Group::Star if self.is_divided() => {
                let [a, b] = [pair.a, pair.b].map(|arrival| self.stars.find(self.batch, arrival));
                a.is_some() && a == b
            }
            Group::SinglePass | Group::Star => false,
        }
    }

    /// Verifies the waiting pairs on the text, the nearest first.
    fn verify(&mut self) {
        let mut pairs = std::mem::take(&mut self.waiting);
        pairs.sort_unstable_by_key(|pair| (pair.distance, pair.a, pair.b));
        let base = self.batch.base;
        self.stored.load_rows(pairs.iter().map(|pair| pair.a).filter(|&a| a <= base));
        // In a large group the first pairs connect most rows, and the contents of the others need
        // not be read. So a few pairs are verified first, and then more and more.
        let (mut rest, mut few) = (&pairs[..], FIRST);
        while !rest.is_empty() {
            let (some, others) = rest.split_at(few.min(rest.len()));
            let some: Vec<Pair> = some.iter().copied().filter(|pair| !self.is_connected(pair)).collect();
            if self.job.options.alike.looks() {
                self.stored.load_contents(some.iter().map(|pair| pair.a).filter(|&a| a <= base));
            }
            self.verify_all(some);
            (rest, few) = (others, few * 4);
        }
    }

    /// Verifies pairs, and joins those that are verified in their order.
    fn verify_all(&mut self, pairs: Vec<Pair>) {
        let mut host = QueryHost::reporting(self.progress);
        let mut accepted = Vec::new();
        let mut accept = |pair: Pair| {
            accepted.push(pair);
            Ok(())
        };
        for pair in pairs {
            let [a, b] = [pair.a, pair.b].map(|arrival| self.number(arrival).into());
            let Grouping { judge, stored, arrivals, .. } = self;
            let mut text = |row: u32| Ok(stored.content(arrivals[row as usize]).unwrap_or_default());
            unwrap_or_raise(judge.add(Pair { a, b, ..pair }, &mut text, &mut host, &mut accept));
        }
        let Grouping { judge, stored, arrivals, .. } = self;
        let mut text = |row: u32| Ok(stored.content(arrivals[row as usize]).unwrap_or_default());
        unwrap_or_raise(judge.finish(&mut text, &mut host, &mut accept));
        for Pair { a, b, distance } in accepted {
            let [a, b] = [a, b].map(|row| self.arrivals[row as usize]);
            self.accept(Pair { a, b, distance });
        }
    }

    /// The number of a row for the verifier.
    fn number(&mut self, arrival: i64) -> u32 {
        self.numbers.room(1).or_raise();
        self.arrivals.room(1).or_raise();
        *self.numbers.entry(arrival).or_insert_with(|| {
            self.arrivals.push(arrival);
            self.arrivals.len() as u32 - 1
        })
    }

    /// Takes a verified pair.
    fn accept(&mut self, pair: Pair) {
        if let (Some(a), Some(b)) = (self.batch.row(pair.a), self.batch.row(pair.b)) {
            self.among.union(a, b);
        }
        match self.job.options.group {
            Group::Components => {
                let (a, b) = (self.node(pair.a), self.node(pair.b));
                self.clusters.join(a, b, pair);
            }
            Group::Star if self.is_divided() => self.stars.join(self.batch, pair),
            Group::SinglePass | Group::Star => {
                let (Some(later), node) = (self.batch.row(pair.b), self.node(pair.a)) else { return };
                self.candidates.room(1).or_raise();
                self.candidates.push(Candidate { later, distance: pair.distance, earlier: pair.a, node });
            }
        }
    }

    /// Gives each new row to the nearest row that is kept and that it repeats, or keeps it: what `dedup` does with the
    /// components of all rows, with those of the new ones and the kept ones near them.
    fn divide(&mut self, distance: u32) {
        self.progress.stage("dividing groups", "pairs", None);
        let mut stars = std::mem::replace(&mut self.stars, Stars::new(self.batch));
        stars.joined.sort_unstable();
        let new = self.batch.rows.len();
        let nodes = new + stars.old.len();
        let mut first: Vec<u32> = with_capacity(nodes).or_raise();
        let mut fps: Vec<u64> = with_capacity(nodes).or_raise();
        for row in checked(&self.batch.rows) {
            first.push(row.first);
            fps.push(row.fp.unwrap_or(0));
        }
        for (number, &arrival) in checked((new as u32..).zip(&stars.old)) {
            first.push(number);
            fps.push(self.stored.row(arrival).fp.unwrap_or(0));
        }
        let arrivals: Vec<i64> = collect((0..new as u32).map(|row| self.batch.arrival(row))).or_raise();
        let arrival = |row: usize| arrivals.get(row).copied().unwrap_or_else(|| stars.old[row - new]);
        let mut order = Order::default();
        order.ranks = collect((0..nodes).map(arrival)).or_raise();
        order.keep = Keep::Longest;
        let texts = unwrap_or_raise(order.of_texts(&first));
        let mut host = QueryHost::reporting(self.progress);
        let verify = |a: u32, b: u32| {
            // What was kept stays so.
            if a.min(b) as usize >= new {
                return Ok(false);
            }
            self.progress.step();
            let [a, b] = [a, b].map(|row| self.number(arrival(row as usize)).into());
            let Grouping { judge, stored, arrivals, .. } = self;
            let mut text = |row: u32| Ok(stored.content(arrivals[row as usize]).unwrap_or_default());
            judge.holds(Pair { a, b, distance: 0 }, &mut text, &mut host)
        };
        let divided = dedup::stars(&mut stars.sets, &stars.joined, &texts, (&fps, distance), verify);
        let mut divided = unwrap_or_raise(divided);
        let mut of_old: HashMap<u32, u32> = HashMap::new();
        for (number, &arrival) in checked((new as u32..).zip(&stars.old)) {
            of_old.room(1).or_raise();
            of_old.insert(divided.find(number), self.clusters.cluster(self.stored.row(arrival).cluster));
        }
        let unlogged = Pair { a: 0, b: 0, distance: 0 };
        for row in checked(0..new as u32) {
            let root = divided.find(row);
            self.clusters.join(row, root, unlogged);
            if let Some(&cluster) = of_old.get(&root) {
                self.clusters.join(row, cluster, unlogged);
            }
        }
    }
}
