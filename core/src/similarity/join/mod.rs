//! All pairs of texts whose sets of character n-grams are similar, exactly.
//!
//! Suited to short texts: where one changed character changes fifteen bits of a fingerprint, no radius is both
//! safe and wide enough, while the sets are small and their rare members tell which texts can be similar.
//!
//! The method is the prefix filter (Chaudhuri, Ganti and Kaushik 2006; Bayardo,
//! Ma and Srikant 2007; Xiao and others 2008). N-grams are ordered from the
//! rarest to the most frequent. Two sets of a Jaccard coefficient of at least t
//! must share an n-gram among the first |x| - ceil(t |x|) + 1 of each; their
//! sizes differ at most by the factor t; and the remainder after the shared one bounds their overlap. Pairs that
//! pass, and whose 128-bit sketches agree well enough, are compared.
//!
//! Memory is bounded: sets are kept in parts, in a file when they are many, and
//! two parts at a time are joined.

mod prefix;
mod sets;

use crate::external::{Host, MemoryHost, Result};
use crate::interrupt;
use crate::similarity::Frequencies;
pub use prefix::{Compare, Jaccard, SimilarPair};
use prefix::{Index, Join, Loaded, Threshold};
use sets::Sets;
use std::sync::Arc;

/// Collects texts, then finds the similar pairs.
pub struct SimilarPairs<H: Host> {
    threshold: f64,
    sets: Sets<H>,
    weights: Option<Arc<Frequencies>>,
}

impl<H: Host> SimilarPairs<H> {
    /// No texts yet. They will be compared by their character `n`-grams;
    /// `threshold` is above 0 and at most 1; `memory` is the working memory in bytes, of which a minimum is
    /// used in any case.
    pub fn new(n: usize, threshold: f64, memory: usize) -> SimilarPairs<H> {
        SimilarPairs { threshold, sets: Sets::new(n, memory), weights: None }
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
    ///
    /// # Errors
    /// A file or `take` fails, or there is no memory.
    pub fn finish(
        mut self,
        host: &mut H,
        compare: &dyn Compare,
        mut take: impl FnMut(SimilarPair, &mut H) -> Result<()>,
    ) -> Result<()> {
        let parts = self.sets.close(host)?;
        let (counts, weights) = (std::mem::take(&mut self.sets.counts), self.weights.as_deref());
        let by = Threshold { least: self.threshold, counts: &counts, weights };
        for one in 0..parts {
            let left = Loaded::new(self.sets.load(one)?, weights);
            let index = Index::new(&left, by, one + 1 == parts);
            interrupt::check();
            for other in one..parts {
                let right =
                    if other == one { None } else { Some(Loaded::new(self.sets.load(other)?, weights)) };
                let join = Join { by, left: &left, index: &index, right: right.as_ref(), compare };
                join.run(&mut |pair| take(pair, host))?;
            }
        }
        Ok(())
    }
}

/// The pairs of `texts` by their numbers, in memory.
pub fn similar_pairs<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    n: usize,
    threshold: f64,
) -> Vec<SimilarPair> {
    let mut pairs = SimilarPairs::new(n, threshold, usize::MAX);
    let mut found = Vec::new();
    let work = || {
        for (number, text) in texts.into_iter().enumerate() {
            pairs.add(number as i64, text, &mut MemoryHost)?;
        }
        pairs.finish(&mut MemoryHost, &Jaccard, |pair, _| {
            found.push(pair);
            Ok(())
        })
    };
    // In memory only the lack of it fails.
    let _ = work();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interrupt::testing::{checks, interrupted_after};
    use crate::similarity::jaccard;
    use proptest::prelude::*;

    fn expected(texts: &[String], n: usize, threshold: f64) -> Vec<(i64, i64, f64)> {
        let all = (0..texts.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
        let pairs = all.map(|(a, b)| (a as i64, b as i64, jaccard(&texts[a], &texts[b], n)));
        let mut pairs: Vec<_> = pairs.filter(|pair| pair.2 >= threshold).collect();
        pairs.sort_by_key(|&(a, b, _)| (a, b));
        pairs
    }

    fn found(texts: &[String], n: usize, threshold: f64, memory: usize) -> Vec<(i64, i64, f64)> {
        let mut pairs = SimilarPairs::new(n, threshold, memory);
        let mut all = Vec::new();
        for (number, text) in texts.iter().enumerate() {
            pairs.add(number as i64, text, &mut MemoryHost).unwrap();
        }
        let take = |pair: SimilarPair, _: &mut MemoryHost| {
            all.push((pair.a, pair.b, pair.similarity));
            Ok(())
        };
        pairs.finish(&mut MemoryHost, &Jaccard, take).unwrap();
        all.sort_by_key(|&(a, b, _)| (a, b));
        all
    }

    proptest! {
        /// Exactly the pairs that comparing every text with every other finds.
        #[test]
        fn equals_all_against_all(
            texts in prop::collection::vec("[水停电小区a，]{0,9}", 0..40),
            n in 1usize..6,
            threshold in prop::sample::select(vec![0.1, 0.25, 0.5, 2.0 / 3.0, 0.8, 1.0]),
        ) {
            prop_assert_eq!(found(&texts, n, threshold, usize::MAX), expected(&texts, n, threshold));
        }
    }

    /// Neither parts nor the file change what is found.
    #[test]
    fn equals_all_against_all_in_little_memory() {
        let words =
            ["小区停水", "路灯不亮", "公交晚点", "噪音扰民", "垃圾清运", "物业收费", "学区划分", "拖欠工资"];
        let text = |at: usize| -> String {
            (0..40).map(|word| words[(at * 7 + word * (1 + at % 5)) * 13 / 3 % 8]).collect::<String>()
                + &at.to_string().repeat(12)
        };
        let texts: Vec<String> = (0..900).map(text).collect();
        let spilled = found(&texts, 3, 0.6, 0);
        assert!(!spilled.is_empty() && spilled == expected(&texts, 3, 0.6));
    }

    /// An interrupt ends the work wherever it comes: while reading, indexing, joining.
    #[test]
    fn can_be_interrupted() {
        let texts: Vec<String> =
            (0..3000).map(|at| format!("小区停水{}路灯{}", at % 97, at % 89).repeat(4)).collect();
        let run = || {
            let mut pairs = SimilarPairs::new(2, 0.9, 1 << 16);
            for (id, text) in texts.iter().enumerate() {
                pairs.add(id as i64, text, &mut MemoryHost).unwrap();
            }
            pairs.finish(&mut MemoryHost, &Jaccard, |_, _| Ok(())).unwrap();
        };
        let all = checks(run);
        assert!(all > 15, "{all}");
        for passed in [0, 1, all / 10, all / 2, all - 1] {
            assert!(interrupted_after(passed, run), "{passed}");
        }
        assert!(!interrupted_after(all, run));
    }
}
