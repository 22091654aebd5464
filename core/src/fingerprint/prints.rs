use super::hamming;
use std::ops::Range;

/// Fingerprints of one length, a multiple of 64 bits, one after the other.
#[derive(Debug, Clone, Copy)]
pub struct Prints<'p> {
    words: &'p [u64],
    parts: usize,
}

impl<'p> From<&'p [u64]> for Prints<'p> {
    fn from(words: &'p [u64]) -> Self {
        Prints { words, parts: 1 }
    }
}

impl<'p> Prints<'p> {
    /// Fingerprints of so many parts of 64 bits, at least one.
    pub fn of_parts(words: &'p [u64], parts: usize) -> Self {
        Prints { words, parts }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.words.len() / self.parts
    }

    /// Parts of each.
    pub fn parts(&self) -> usize {
        self.parts
    }

    /// Bits of each.
    pub fn bits(&self) -> u32 {
        u64::BITS * self.parts as u32
    }

    /// The parts of one.
    pub fn get(&self, at: usize) -> &'p [u64] {
        &self.words[at * self.parts..][..self.parts]
    }

    /// The Hamming distance of two of them.
    pub fn distance(&self, a: usize, b: usize) -> u32 {
        self.get(a).iter().zip(self.get(b)).map(|(&a, &b)| hamming(a, b)).sum()
    }

    /// Shows the distances of one to some of them, in their order.
    pub fn distances(&self, of: usize, to: Range<usize>, mut see: impl FnMut(usize, u32)) {
        match self.get(of) {
            &[one] => self.words[to.clone()].iter().zip(to).for_each(|(&it, at)| see(at, hamming(one, it))),
            _ => to.for_each(|at| see(at, self.distance(of, at))),
        }
    }
}
