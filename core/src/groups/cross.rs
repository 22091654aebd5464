//! Near pairs of new rows with existing ones, which come a chunk at a time.

use super::blocking::Span;
use super::pair::{Each, Pair, PairSearch};
use super::rows::{Row, Rows};
use super::runs::Place;
use crate::external::{Host, Result};
use crate::memory;

/// New rows, kept sorted for the comparison with others.
pub struct CrossPairs {
    settings: PairSearch,
    rows: Rows,
}

impl CrossPairs {
    /// New rows as (id, fingerprint).
    pub fn new<H: Host>(settings: PairSearch, rows: &[(i64, u64)], host: &mut H) -> Result<CrossPairs> {
        let rows = sorted(rows, settings.threads, host)?;
        Ok(CrossPairs { settings, rows })
    }

    /// The number of other rows to pass to [`CrossPairs::with`] at a time so that the work fits in memory.
    pub fn chunk(&self) -> usize {
        const LEAST: usize = 1 << 13;
        (self.settings.memory / super::rows::BYTES_PER_ROW).saturating_sub(self.rows.fps.len()).max(LEAST)
    }

    /// Finds the pairs of one of these rows with one of the others, each once, in no particular order.
    pub fn with<H: Host>(
        &self,
        others: &[(i64, u64)],
        host: &mut H,
        mut take: impl FnMut(Pair) -> Result<()>,
    ) -> Result<()> {
        let others = sorted(others, self.settings.threads, host)?;
        let place = Place { search: self.settings, cut: None, span: Span::ALL, sets: None };
        place.join(&self.rows, Some(&others), host, &mut Each(|pair, _: &mut H| take(pair)))
    }
}

fn sorted<H: Host>(rows: &[(i64, u64)], threads: usize, host: &mut H) -> Result<Rows> {
    Rows::new(memory::collect(rows.iter().map(|&(id, fp)| Row { fp, id }))?, threads, host)
}
