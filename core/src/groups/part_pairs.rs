//! All pairs of rows whose fingerprints have one part of 64 bits or several, and are within a distance.
//!
//! By the pigeonhole principle, as in [an index](crate::banding::PartsScan): the parts of a pair are within their radii in one
//! part at least. The pairs of each part are found as those of 64 bits are; the first part in which a pair is near reports it, if
//! the whole is. The whole fingerprints wait in memory, or in a file.

use super::mark::Mark;
use super::pair::{Pair, PairSearch, Sink};
use super::pairs::Pairs;
use super::union_find::UnionFind;
use crate::banding::radius;
use crate::external::{Host, Result, Spill};
use crate::memory::Room;

/// Collects rows, then finds their near pairs.
pub struct PartPairs<H: Host> {
    parts: usize,
    distance: u32,
    /// Of the first parts: those whose radius is not negative.
    pairs: Vec<Pairs<H>>,
    /// Of each row the id and the parts; the first rows are in the file.
    rows: Vec<u64>,
    limit: usize,
    file: Option<H::File>,
    filed: usize,
}

impl<H: Host> PartPairs<H> {
    /// No rows yet, whose fingerprints will have so many parts.
    pub fn new(parts: usize, settings: PairSearch) -> Self {
        let memory = if parts == 1 { settings.memory } else { settings.memory / (parts + 1) };
        let radii = (0..parts).filter_map(|part| u32::try_from(radius(settings.distance, part, parts)).ok());
        let pairs =
            radii.map(|distance| Pairs::new(PairSearch { distance: distance.min(64), memory, ..settings }));
        let (pairs, limit) = (pairs.collect(), memory / size_of::<u64>());
        PartPairs { parts, distance: settings.distance, pairs, rows: Vec::new(), limit, file: None, filed: 0 }
    }

    /// Leaves out pairs that are [marked](Pairs::marked) apart, if fingerprints have one part.
    pub fn marked(mut self, marks: Option<Vec<Mark>>) -> Self {
        if self.parts == 1 {
            self.pairs = self.pairs.pop().map(|pairs| pairs.marked(marks)).into_iter().collect();
        }
        self
    }

    /// Adds a row. Ids may repeat: rows with the same id are different rows.
    pub fn add(&mut self, id: i64, fingerprint: &[u64], host: &mut H) -> Result<()> {
        if self.parts == 1 {
            return self.pairs[0].add(id, fingerprint[0], host);
        }
        let width = self.parts + 1;
        if self.rows.len() + width > self.limit && !self.rows.is_empty() {
            let bytes: Vec<u8> = self.rows.iter().flat_map(|word| word.to_le_bytes()).collect();
            self.file.get_or_insert_with(|| host.file()).append(&bytes)?;
            self.filed += self.rows.len();
            self.rows.clear();
        }
        let number = (self.filed + self.rows.len()) / width;
        self.rows.room(width)?;
        self.rows.push(id.cast_unsigned());
        self.rows.extend(fingerprint);
        self.pairs
            .iter_mut()
            .zip(fingerprint)
            .try_for_each(|(pairs, part)| pairs.add(number as i64, *part, host))
    }

    /// The id and the parts of a row.
    fn row(&mut self, number: i64) -> Result<Vec<u64>> {
        let (width, at) = (self.parts + 1, number as usize * (self.parts + 1));
        let Some(file) = self.file.as_mut().filter(|_| at < self.filed) else {
            return Ok(self.rows[at - self.filed..][..width].to_vec());
        };
        let mut bytes = vec![0; width * size_of::<u64>()];
        file.read((at * size_of::<u64>()) as u64, &mut bytes)?;
        Ok(bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect())
    }

    /// Finds pairs that connect rows as all pairs do, by 64 bits as [`Pairs::connect`] does; all are decided on in the end.
    pub fn connect(mut self, sets: Option<&UnionFind>, host: &mut H, sink: Sink<'_, H>) -> Result<()> {
        match sets {
            Some(sets) if self.parts == 1 => self.pairs.remove(0).connect(sets, host, sink),
            _ => {
                self.finish(host, |pair, host| sink.take(pair, host))?;
                sink.settle(host)
            }
        }
    }

    /// Finds every pair, each once, in no particular order.
    pub fn finish(mut self, host: &mut H, mut take: impl FnMut(Pair, &mut H) -> Result<()>) -> Result<()> {
        if self.parts == 1 {
            return self.pairs.remove(0).finish(host, take);
        }
        for (part, pairs) in std::mem::take(&mut self.pairs).into_iter().enumerate() {
            pairs.finish(host, |pair, host| {
                let (a, b) = (self.row(pair.a)?, self.row(pair.b)?);
                let apart = |part: usize| (a[part + 1] ^ b[part + 1]).count_ones();
                let distance = (0..self.parts).map(apart).sum();
                let is_first = (0..part).all(|it| apart(it) as i32 > radius(self.distance, it, self.parts));
                if !is_first || distance > self.distance {
                    return Ok(());
                }
                take(Pair::new(a[0].cast_signed(), b[0].cast_signed(), distance), host)
            })?;
        }
        Ok(())
    }
}
