//! What new rows are near to, and the clusters that they join, found or
//! bridge.

use super::super::options::Group;
use super::batch::Batch;
use super::job::Job;
use super::stored::Known;
use crate::pg::host::{QueryHost, done};
use crate::pg::spi::{Argument, for_each};
use crate::progress::Progress;
use crate::settings::{threads, within_memory_limit, work_memory};
use dedup_core::cluster::{Between, Growing, Pair, Pairs, Settings};
use dedup_core::interrupt;
use dedup_core::memory::{OrRaise, Room};
use dedup_core::signature::hamming;

/// Candidates that wait to be verified together.
const WAITING: usize = 1 << 18;

/// Of those, how many are verified first.
const FIRST: usize = 1 << 10;

/// If there are more rows for each new one than this, the index is searched;
/// else all of them are compared in one go.
const WORTH_SEARCHING: i64 = 500;

struct Near<'a, 'j> {
    job: &'j Job,
    progress: &'a Progress,
    batch: &'a Batch,
    known: &'a mut Known<'j>,
    clusters: Growing<Pair>,
    waiting: Vec<Pair>,
    /// The cluster that was asked for last, and its node if it has one; 0: none.
    asked: (i64, Option<u32>),
    /// For Single-Pass: the later row, its distance to an earlier one, that one.
    edges: Vec<(i64, u32, i64)>,
}

/// Puts every new row to its cluster.
pub(super) fn group<'j>(
    job: &'j Job,
    batch: &Batch,
    known: &mut Known<'j>,
    progress: &Progress,
) -> Growing<Pair> {
    let clusters = Growing::new(batch.rows.len());
    let mut near = Near {
        job,
        progress,
        batch,
        known,
        clusters,
        waiting: Vec::new(),
        asked: (0, None),
        edges: Vec::new(),
    };
    near.join_equal();
    if let Some(distance) = job.options.distance {
        let settings = Settings { distance, memory: work_memory(), threads: threads() };
        near.among_new(settings);
        near.with_old(settings);
        near.verify();
        near.follow_centres();
    }
    near.clusters
}

impl Near<'_, '_> {
    fn join_equal(&mut self) {
        for (number, row) in (0u32..).zip(&self.batch.rows) {
            let with = match row.old {
                Some(old) => self.clusters.cluster(self.known.row(old).cluster),
                None => row.first,
            };
            // Equal rows bridge nothing, so nobody asks why.
            self.clusters.join(number, with, Pair { a: 0, b: 0, distance: 0 });
        }
    }

    fn among_new(&mut self, settings: Settings) {
        let progress = self.progress;
        progress.stage("finding near fingerprints in a batch", "candidate pairs", None);
        let mut host = QueryHost::reporting(progress);
        let mut pairs = Pairs::new(settings);
        for (arrival, fp) in self.batch.distinct() {
            done(pairs.add(arrival, fp, &mut host));
        }
        done(pairs.finish(&mut host, |pair| {
            progress.step();
            self.add(pair);
            Ok(true)
        }));
    }

    fn with_old(&mut self, settings: Settings) {
        let new: Vec<(i64, u64)> = self.batch.distinct().collect();
        if self.batch.base == 0 || new.is_empty() {
            return;
        }
        let few = self.batch.base / new.len() as i64 > WORTH_SEARCHING;
        if few && self.job.table.has_search_index() {
            self.search(&new, settings.distance);
        } else {
            self.compare_all(&new, settings);
        }
    }

    fn search(&mut self, new: &[(i64, u64)], distance: u32) {
        let table = &self.job.table;
        let sql = format!(
            "SELECT f.n, t.arrival, t.fp, t.cluster FROM pg_catalog.unnest($1) WITH ORDINALITY AS f(fp, n) \
             JOIN {} AS t ON {}.near_dup(t.fp, f.fp, {distance}) \
             WHERE t.same_as IS NULL",
            table.name, table.tools
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
        let between = done(Between::new(settings, new, &mut host));
        let chunk = between.chunk();
        // Others go by their places below zero, so that what is known of them is at
        // hand: a large family has many more pairs than rows.
        let (mut others, mut rows) = (Vec::new(), Vec::new());
        let sql = format!(
            "SELECT t.arrival, t.fp, t.cluster FROM {} AS t WHERE t.same_as IS NULL AND t.fp IS NOT NULL",
            self.job.table.name
        );
        let mut join = |others: &mut Vec<(i64, u64)>, rows: &mut Vec<(i64, i64)>| {
            done(between.with(others, &mut host, |pair| {
                progress.step();
                let (a, cluster) = rows[(-1 - pair.a) as usize];
                if self.wants(cluster, a, pair.b) {
                    self.add(Pair { a, ..pair });
                }
                Ok(true)
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

    /// Whether a candidate, of an earlier row and a new one, can change anything.
    fn wants(&mut self, cluster: i64, earlier: i64, new: i64) -> bool {
        if self.job.options.group == Group::SinglePass {
            // Only centres take in others.
            return cluster == earlier;
        }
        // Of a large family, all but the first ask for the same cluster.
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
        // Most pairs of a large family connect nothing new: they need not wait.
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
            None => self.clusters.cluster(self.known.row(arrival).cluster),
        }
    }

    /// Whether a pair need not be looked at: it would connect nothing new.
    fn is_connected(&mut self, pair: &Pair) -> bool {
        if self.job.options.group == Group::SinglePass {
            return false;
        }
        let (a, b) = (self.node(pair.a), self.node(pair.b));
        self.clusters.root(a) == self.clusters.root(b)
    }

    /// Verifies on the text what waits, the nearest first.
    fn verify(&mut self) {
        let mut pairs = std::mem::take(&mut self.waiting);
        pairs.sort_unstable_by_key(|pair| (pair.distance, pair.a, pair.b));
        let base = self.batch.base;
        self.known.learn(pairs.iter().map(|pair| pair.a).filter(|&a| a <= base));
        // Of a large family the first pairs connect most rows: contents of the others
        // are not read. So a few are verified first, and then more and more.
        let (mut rest, mut few) = (&pairs[..], FIRST);
        while !rest.is_empty() {
            let (some, others) = rest.split_at(few.min(rest.len()));
            let some: Vec<Pair> = some.iter().copied().filter(|pair| !self.is_connected(pair)).collect();
            if self.job.options.verifies() {
                self.known.load(some.iter().map(|pair| pair.a).filter(|&a| a <= base));
            }
            for pair in some {
                self.verify_pair(pair);
            }
            (rest, few) = (others, few * 4);
        }
    }

    fn verify_pair(&mut self, pair: Pair) {
        interrupt::check();
        if self.is_connected(&pair) {
            return;
        }
        let options = &self.job.options;
        if options.verifies() {
            let contents = self.known.content(pair.a).zip(self.known.content(pair.b));
            if !contents.is_some_and(|(a, b)| options.alike(&a, &b)) {
                return;
            }
        }
        match options.group {
            Group::Components => {
                let (a, b) = (self.node(pair.a), self.node(pair.b));
                self.clusters.join(a, b, pair);
            }
            Group::SinglePass => {
                within_memory_limit(self.edges.len() * size_of::<(i64, u32, i64)>());
                self.edges.room(1).or_raise();
                self.edges.push((pair.b, pair.distance, pair.a));
            }
        }
    }

    /// Single-Pass: each row to its nearest earlier centre, the oldest of those.
    fn follow_centres(&mut self) {
        let mut edges = std::mem::take(&mut self.edges);
        edges.sort_unstable();
        for of_row in edges.chunk_by(|one, other| one.0 == other.0) {
            // Rows come in order, so whether an earlier one is a centre is known.
            let centre = of_row.iter().find(|&&(_, _, earlier)| match self.batch.row(earlier) {
                None => true,
                Some(row) => self.clusters.root(row) == row && self.clusters.name(row).is_none(),
            });
            if let Some(&(arrival, distance, earlier)) = centre {
                let (a, b) = (self.node(earlier), self.node(arrival));
                self.clusters.join(a, b, Pair { a: earlier, b: arrival, distance });
            }
        }
    }
}
