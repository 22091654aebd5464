//! Verification of candidates on their texts.

use crate::external::{Host, Result, on_threads};
use crate::similarity::jaccard;
use crate::similarity::{Kinds, Particular, particulars};

/// What makes two texts near-duplicates whose fingerprints are near.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Alike {
    /// The least Jaccard coefficient of character n-grams, 0 to 1; 0: any.
    pub similarity: f64,
    /// Characters of an n-gram.
    pub n: usize,
    /// Particulars in which they may not differ.
    pub particulars: Option<Kinds>,
}

impl Alike {
    /// Whether anything is looked at.
    pub fn looks(&self) -> bool {
        self.similarity > 0.0 || self.particulars.is_some()
    }

    /// Whether two texts are alike enough to be one.
    pub fn holds(&self, a: &str, b: &str) -> bool {
        let similar = self.similarity == 0.0 || jaccard(a, b, self.n) >= self.similarity;
        similar && self.differing(a, b).is_empty()
    }

    /// The particulars that count and in which two texts differ.
    pub fn differing(&self, a: &str, b: &str) -> Vec<Particular> {
        self.particulars.map_or_else(Vec::new, |kinds| particulars(a, b, kinds))
    }
}

/// Pairs that are verified at a time.
const BATCH_PAIRS: usize = 1024;
/// Bytes of their texts.
const BATCH_BYTES: usize = 4 << 20;

/// Verifies candidates, many at a time, on several threads.
#[derive(Debug)]
pub struct Verifier<P> {
    alike: Alike,
    threads: usize,
    batch: Vec<(P, [String; 2])>,
    bytes: usize,
    compared: u64,
    verified: u64,
}

impl<P: Sync> Verifier<P> {
    /// No candidates yet.
    pub fn new(alike: Alike, threads: usize) -> Verifier<P> {
        Verifier { alike, threads: threads.max(1), batch: Vec::new(), bytes: 0, compared: 0, verified: 0 }
    }

    /// Takes a candidate, with its texts if they are looked at. `accept` gets those
    /// that are verified, now or later, in the order in which they came.
    ///
    /// # Errors
    /// What the host fails with.
    pub fn add<H: Host>(
        &mut self,
        pair: P,
        texts: impl FnOnce() -> [String; 2],
        host: &mut H,
        accept: impl FnMut(P),
    ) -> Result<()> {
        let texts = if self.alike.looks() { texts() } else { Default::default() };
        self.bytes += texts[0].len() + texts[1].len();
        self.batch.push((pair, texts));
        let full = self.batch.len() == BATCH_PAIRS || self.bytes >= BATCH_BYTES;
        if full || !self.alike.looks() { self.finish(host, accept) } else { Ok(()) }
    }

    /// Verifies the candidates that wait.
    ///
    /// # Errors
    /// What the host fails with.
    pub fn finish<H: Host>(&mut self, host: &mut H, mut accept: impl FnMut(P)) -> Result<()> {
        // Few texts are compared before a thread has started.
        let threads = if self.batch.len() < BATCH_PAIRS / 8 { 1 } else { self.threads };
        let alike = self.alike;
        let holds = |_: &mut (), (_, [a, b]): &(P, [String; 2])| alike.holds(a, b);
        let verdicts = on_threads(&self.batch, &mut vec![(); threads], host, holds)?;
        for ((pair, _), verified) in self.batch.drain(..).zip(verdicts) {
            self.compared += 1;
            if verified {
                self.verified += 1;
                accept(pair);
            }
        }
        self.bytes = 0;
        Ok(())
    }

    /// How many candidates were compared, and how many of them verified.
    pub fn counts(&self) -> (u64, u64) {
        (self.compared, self.verified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::external::MemoryHost;
    use proptest::prelude::*;

    proptest! {
        /// What is accepted is what comparing pair by pair accepts, in the same order,
        /// whatever the threads and batches.
        #[test]
        fn verifies_as_one_by_one(
            texts in prop::collection::vec("[停水电路ab1]{0,6}", 2..40),
            repeated in 1usize..60,
            similarity in prop::sample::select(vec![0.0, 0.3, 0.5, 1.0]),
            numbers in any::<bool>(),
            threads in 1usize..4,
        ) {
            let kinds = Kinds { names: false, dates: false, numbers: true };
            let alike = Alike { similarity, n: 2, particulars: numbers.then_some(kinds) };
            let pairs: Vec<(usize, usize)> = (0..repeated).flat_map(|i| (0..texts.len()).map(move |j| (i, j)))
                .map(|(i, j)| (i % texts.len(), j)).collect();
            let mut found = Vec::new();
            let mut verifier = Verifier::new(alike, threads);
            for &(a, b) in &pairs {
                let both = || [texts[a].clone(), texts[b].clone()];
                verifier.add((a, b), both, &mut MemoryHost, |pair| found.push(pair)).unwrap();
            }
            verifier.finish(&mut MemoryHost, |pair| found.push(pair)).unwrap();
            let holds = |&(a, b): &(usize, usize)| alike.holds(&texts[a], &texts[b]);
            let expected: Vec<_> = pairs.iter().copied().filter(holds).collect();
            prop_assert_eq!(verifier.counts(), (pairs.len() as u64, expected.len() as u64));
            prop_assert_eq!(found, expected);
        }
    }
}
