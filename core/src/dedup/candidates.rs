//! Pairs of rows that may be near: how they are found, and their way through the judge.

use super::{Alike, Judge, Limits, Options, Rows, Texts};
use crate::details::Fillings;
use crate::external::{Host, Result};
use crate::groups::{Connect, Mark, Pair, PairSearch, PartPairs, UnionFind};
use crate::memory::collect;
use crate::similarity::{Compare, Likeness, SimilarPair, SimilarPairs};
use std::sync::Arc;

/// What candidates are found by. Each pair is found at least once.
pub(super) enum Candidates<H: Host> {
    /// Fingerprints or longer hashes within a distance.
    Near(PartPairs<H>),
    /// Sets of n-grams, as similar as the options say.
    Grams(SimilarPairs<H>, ByGrams),
}

pub(super) struct ByGrams {
    alike: Alike,
    apart: Option<Arc<Fillings>>,
    /// Whether texts that are apart are left out.
    leaves: bool,
}

impl Compare for ByGrams {
    fn may(&self, a: i64, b: i64) -> bool {
        !self.leaves || !self.apart.as_ref().is_some_and(|it| it.differ([a, b].map(|row| row as u32)))
    }

    fn similarity(&self, rows: [i64; 2], likeness: Likeness) -> f64 {
        let of_templates = || self.apart.as_ref().is_some_and(|it| it.have(rows.map(|row| row as u32)));
        self.alike.of(likeness, of_templates)
    }
}

impl<H: Host> Candidates<H> {
    /// By fingerprints; those of rows that are marked apart are left out.
    pub(super) fn by_fingerprint(
        rows: &Rows<H::File>,
        marks: Option<Vec<Mark>>,
        search: PairSearch,
        host: &mut H,
    ) -> Result<Self> {
        let mut pairs = PartPairs::new(rows.parts(), search).marked(marks);
        for row in rows.firsts().filter(|&row| rows.has_fp(row)) {
            pairs.add(row as i64, &rows.hash(row), host)?;
        }
        Ok(Candidates::Near(pairs))
    }

    /// By texts; those that are `apart` are left out if `leaves` says so.
    pub(super) fn by_text(
        options: &Options,
        rows: &mut Rows<H::File>,
        apart: Option<Arc<Fillings>>,
        leaves: bool,
        limits: Limits,
        host: &mut H,
    ) -> Result<Self> {
        host.stage("reading texts", "rows", Some(rows.count() as u64));
        let alike = options.alike.clone();
        let pairs = SimilarPairs::new(alike.n, alike.similarity, limits.memory / 2, limits.threads);
        let mut pairs = pairs.weighed(alike.weights().cloned());
        for row in collect(rows.firsts())? {
            host.step();
            let content = rows.texts.content(row)?;
            pairs.add(row as i64, &alike.form(&content), host)?;
        }
        Ok(Candidates::Grams(pairs, ByGrams { alike, apart, leaves }))
    }

    /// Finds the pairs; those of rows that `known` has in one set may be left out.
    pub(super) fn each(
        self,
        known: Option<&UnionFind>,
        host: &mut H,
        take: &mut dyn Connect<H>,
    ) -> Result<()> {
        match self {
            Candidates::Near(pairs) => pairs.connect(known, host, take),
            Candidates::Grams(pairs, by) => {
                pairs.finish(host, &by, |SimilarPair { a, b, similarity }, host| {
                    take.take(Pair { a, b, distance: nearness(similarity) }, host)
                })?;
                take.settle(host)
            }
        }
    }
}

/// A similarity as a distance, by which the most similar are the nearest.
pub fn nearness(similarity: f64) -> u32 {
    ((1.0 - similarity.clamp(0.0, 1.0)) * f64::from(1 << 24)).round() as u32
}

/// Judges candidates as they are found; `accept` gets those that are the same, and their similarity if it was compared.
pub(super) struct Judging<'g, F, W, A> {
    pub judge: &'g mut Judge<F>,
    pub texts: &'g mut Texts<F>,
    /// How many were found.
    pub found: u64,
    /// Whether a pair can still change something.
    pub wants: W,
    pub accept: A,
}

impl<H, W, A> Connect<H> for Judging<'_, H::File, W, A>
where
    H: Host,
    W: FnMut(Pair) -> bool,
    A: FnMut(Pair, Option<f64>) -> Result<()>,
{
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()> {
        self.found += 1;
        host.step();
        if !(self.wants)(pair) {
            return Ok(());
        }
        self.judge.add(pair, self.texts, host, &mut self.accept)
    }

    fn settle(&mut self, host: &mut H) -> Result<()> {
        self.judge.finish(self.texts, host, &mut self.accept)
    }
}
