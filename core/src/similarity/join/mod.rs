//! All pairs of texts whose sets of character n-grams are similar, exactly.
//!
//! Suited to short texts: where one changed character changes fifteen bits of a fingerprint, no radius is both
//! safe and wide enough, while the sets are small and their rare members tell which texts can be similar.
//!
//! The method is the prefix filter (Chaudhuri, Ganti and Kaushik 2006; Bayardo,
//! Ma and Srikant 2007; Xiao and others 2008). N-grams are ordered from the
//! rarest to the most frequent. Two sets of a Jaccard coefficient of at least t
//! must share an n-gram among the first |x| - ceil(t |x|) + 1 of each; their
//! sizes differ at most by the factor t; and the remainder after the shared one bounds their overlap. Of pairs that
//! pass, and whose 128-bit sketches agree well enough, what they share in the prefixes is added up; those are compared that
//! would reach t if all that is more frequent were shared too (Anastasiu and Karypis 2014).
//!
//! Memory is bounded: sets are kept in parts, in a file if they are more than one, and
//! two parts at a time are joined.

mod prefix;
mod sets;

use crate::external::{Host, Result};
use crate::interrupt;
use crate::memory::collect;
use crate::similarity::Frequencies;
use prefix::{BLOCK, Index, Join, Loaded, Threshold, Work};
pub use prefix::{Compare, Jaccard, SimilarPair};
use sets::Sets;
use std::sync::Arc;

/// Collects texts, then finds the similar pairs.
pub struct SimilarPairs<H: Host> {
    threshold: f64,
    sets: Sets<H>,
    weights: Option<Arc<Frequencies>>,
    threads: usize,
}

impl<H: Host> SimilarPairs<H> {
    /// No texts yet. They will be compared by their character `n`-grams, on so many `threads`;
    /// `threshold` is above 0 and at most 1; `memory` is the working memory in bytes, of which a minimum is
    /// used in any case.
    pub fn new(n: usize, threshold: f64, memory: usize, threads: usize) -> SimilarPairs<H> {
        SimilarPairs { threshold, sets: Sets::new(n, memory), weights: None, threads }
    }

    /// Pairs are also found whose cosine by these weights reaches the threshold.
    pub fn weighed(self, weights: Option<Arc<Frequencies>>) -> SimilarPairs<H> {
        SimilarPairs { weights, ..self }
    }

    /// Adds a text. One without an n-gram is in no pair.
    pub fn add(&mut self, id: i64, text: &str, host: &mut H) -> Result<()> {
        self.sets.add(id, text, host)
    }

    /// Finds every pair that `compare` finds as similar as the threshold, each once. The same texts in the same order and
    /// memory give the same order of pairs.
    pub fn finish(
        mut self,
        host: &mut H,
        compare: &(dyn Compare + Sync),
        mut take: impl FnMut(SimilarPair, &mut H) -> Result<()>,
    ) -> Result<()> {
        let (counts, weights) = (std::mem::take(&mut self.sets.counts), self.weights.as_deref());
        let by = Threshold { least: self.threshold, counts: &counts, weights };
        let parts = self.sets.close(host, |words| Loaded::prepared(words, by))?;
        for one in 0..parts {
            let left = Loaded::new(self.sets.load(one)?)?;
            let blocks = (0..left.len()).step_by(BLOCK).map(|from| from..left.len().min(from + BLOCK));
            let indexes = collect(blocks.map(|sets| {
                let alone = one + 1 == parts && sets.end == left.len();
                Index::new(&left, sets, alone)
            }))?
            .into_iter()
            .collect::<Result<Vec<Index>>>()?;
            for other in one..parts {
                interrupt::check();
                let right = if other == one { None } else { Some(Loaded::new(self.sets.load(other)?)?) };
                for index in &indexes {
                    let works = (0..self.threads.max(1)).map(|_| Work::new(index));
                    let mut works = works.collect::<Result<Vec<Work>>>()?;
                    let join = Join { by, left: &left, index, right: right.as_ref(), compare };
                    join.run(&mut works, host, &mut take)?;
                }
            }
        }
        Ok(())
    }
}
