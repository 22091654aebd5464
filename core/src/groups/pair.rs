//! What is searched for: pairs, how near they are, and who gets them.

use crate::external::Result;

/// Two rows whose fingerprints are near.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The smaller id.
    pub a: i64,
    /// The larger id; equal to `a` for two rows of the same id.
    pub b: i64,
    /// Their Hamming distance, 0 to 64.
    pub distance: u32,
}

impl Pair {
    pub(super) fn new(one: i64, other: i64, distance: u32) -> Pair {
        Pair { a: one.min(other), b: one.max(other), distance }
    }
}

/// Parameters of the search for pairs. Neither memory nor threads change the result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairSearch {
    /// The largest Hamming distance of a pair, 0 to 64.
    pub distance: u32,
    /// Bytes of working memory, beyond which rows go to files; at least 64 KiB are used.
    pub memory: usize,
    /// Threads to compute on; 0 and 1: the caller's own.
    pub threads: usize,
}

/// The consumer of pairs that connect rows.
pub trait Connect<H> {
    /// Takes a pair, and decides then or later whether it joins the sets of its rows.
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()>;

    /// Decides on all pairs that it has.
    fn settle(&mut self, _: &mut H) -> Result<()> {
        Ok(())
    }
}

impl<H, F: FnMut(Pair, &mut H) -> Result<()>> Connect<H> for F {
    fn take(&mut self, pair: Pair, host: &mut H) -> Result<()> {
        self(pair, host)
    }
}

pub(super) type Sink<'s, H> = &'s mut dyn Connect<H>;
