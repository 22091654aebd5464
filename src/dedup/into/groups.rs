//! What new rows are near to, and the clusters that they join, found or
//! bridge.

use super::super::options::Group;
use super::batch::Batch;
use super::job::Job;
use super::stored::{Known, bigint};
use crate::pg::host::{QueryHost, done, threads, work_memory};
use crate::pg::statement::{Argument, each};
use crate::progress::Progress;
use dedup_core::cluster::{Between, Growing, Pair, Pairs, Settings};
use dedup_core::signature::hamming;
use pgrx::check_for_interrupts;

/// Candidates that wait to be verified together.
const WAITING: usize = 1 << 18;

/// If there are more rows for each new one than this, the index is searched;
/// else all of them are compared in one go.
const WORTH_SEARCHING: i64 = 500;

struct Near<'a, 'j> {
    job: &'j Job,
    batch: &'a Batch,
    known: &'a mut Known<'j>,
    clusters: Growing<Pair>,
    waiting: Vec<Pair>,
    /// For Single-Pass: the later row, its distance to an earlier one, that one.
    edges: Vec<(i64, u32, i64)>,
}

/// Puts every new row to its cluster.
pub(super) fn group<'j>(job: &'j Job, batch: &Batch, known: &mut Known<'j>) -> Growing<Pair> {
    let clusters = Growing::new(batch.rows.len());
    let mut near = Near { job, batch, known, clusters, waiting: Vec::new(), edges: Vec::new() };
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
        // A batch says how far the call is, its stages do not.
        let progress = Progress::new("dedup_into", 0.0);
        let mut host = QueryHost::reporting(&progress);
        let mut pairs = Pairs::new(settings);
        for (arrival, fp) in self.batch.distinct() {
            done(pairs.add(arrival, fp, &mut host));
        }
        done(pairs.finish(&mut host, |pair| {
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
        let centres = self.job.options.group == Group::SinglePass;
        let fps: Vec<i64> = new.iter().map(|&(_, fp)| fp.cast_signed()).collect();
        each(&sql, &[Argument::of(fps)], |row| {
            let (Some(n), Some(a), Some(old)) = (bigint(row, 0), bigint(row, 1), bigint(row, 2)) else {
                return;
            };
            let (b, fp) = new[n as usize - 1];
            if !centres || bigint(row, 3) == Some(a) {
                self.add(Pair { a, b, distance: hamming(fp, old.cast_unsigned()) });
            }
        });
    }

    fn compare_all(&mut self, new: &[(i64, u64)], settings: Settings) {
        let progress = Progress::new("dedup_into", 0.0);
        let mut host = QueryHost::reporting(&progress);
        let between = done(Between::new(settings, new, &mut host));
        let chunk = between.chunk();
        let mut others = Vec::new();
        let sql = format!(
            "SELECT t.arrival, t.fp, t.cluster FROM {} AS t WHERE t.same_as IS NULL AND t.fp IS NOT NULL",
            self.job.table.name
        );
        let centres = self.job.options.group == Group::SinglePass;
        let mut join = |others: &mut Vec<(i64, u64)>| {
            done(between.with(others, &mut host, |pair| {
                self.add(pair);
                Ok(true)
            }));
            others.clear();
        };
        each(&sql, &[], |row| {
            let (Some(arrival), Some(fp)) = (bigint(row, 0), bigint(row, 1)) else { return };
            // With Single-Pass only centres take in others.
            if !centres || bigint(row, 2) == Some(arrival) {
                others.push((arrival, fp.cast_unsigned()));
            }
            if others.len() >= chunk {
                join(&mut others);
            }
        });
        join(&mut others);
    }

    fn add(&mut self, pair: Pair) {
        // Most pairs of a large family connect nothing new: they need not wait.
        if (self.batch.row(pair.a).is_some() || self.known.knows(pair.a)) && self.is_connected(&pair) {
            return;
        }
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
        pairs.retain(|pair| !self.is_connected(pair));
        let options = &self.job.options;
        if options.verifies() {
            self.known.load(pairs.iter().map(|pair| pair.a).filter(|&a| a <= base));
        }
        for pair in pairs {
            check_for_interrupts!();
            if self.is_connected(&pair) {
                continue;
            }
            if options.verifies() {
                let contents = self.known.content(pair.a).zip(self.known.content(pair.b));
                if !contents.is_some_and(|(a, b)| options.alike(&a, &b)) {
                    continue;
                }
            }
            match self.job.options.group {
                Group::Components => {
                    let (a, b) = (self.node(pair.a), self.node(pair.b));
                    self.clusters.join(a, b, pair);
                }
                Group::SinglePass => self.edges.push((pair.b, pair.distance, pair.a)),
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
