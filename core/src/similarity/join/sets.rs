//! Sets of n-grams: extracted from texts, kept in memory or, but for the last part, in a file, and loaded part by part.
//!
//! Frequencies are counted in a table of fixed size: two n-grams that share a cell both look more frequent than they are,
//! which costs time and no answer, for the prefix filter needs one order of the n-grams, whichever it is.

use crate::external::{Host, Result, Spill};
use crate::hash::GOLDEN;
use crate::interrupt::{self, Meter};
use crate::memory::{self, Grow, Room};
use crate::similarity::grams::numbers;
use crate::text::Ngrams;

/// The most words of a part, whatever the memory.
const WIDEST_PART: usize = 16 << 20;
/// The fewest words of a part.
const NARROWEST_PART: usize = 8 << 10;
/// Bytes per n-gram of a part while parts are joined: two parts, and the index of one.
const BYTES_PER_WORD: usize = 72;
/// Words that are read at a time.
const READ: usize = 1 << 13;

/// Sets one after the other: id, number of n-grams, n-grams in order.
type Words = Vec<u64>;

/// How often n-grams occur, roughly.
#[derive(Default)]
pub(super) struct Counts {
    cells: Vec<u32>,
    shift: u32,
}

impl Counts {
    /// Nothing counted; in an eighth of `memory` bytes, 4 MiB at most.
    fn new(memory: usize) -> Counts {
        let bits = (memory / 32).clamp(1 << 12, 1 << 20).ilog2();
        Counts { cells: vec![0; 1 << bits], shift: 64 - bits }
    }

    fn cell(&self, gram: u64) -> usize {
        (gram.wrapping_mul(GOLDEN) >> self.shift) as usize
    }

    fn count(&mut self, gram: u64) {
        let cell = self.cell(gram);
        self.cells[cell] = self.cells[cell].saturating_add(1);
    }

    /// What n-grams are ordered by, the rarest first.
    pub(super) fn rank(&self, gram: u64) -> (u32, u64) {
        (self.cells[self.cell(gram)], gram)
    }
}

pub(super) struct Sets<H: Host> {
    n: usize,
    part_words: usize,
    /// The last part; those before it are in the file, each from a byte on and of so many words.
    current: Words,
    parts: Vec<(u64, usize)>,
    file: Option<Stored<H::File>>,
    pub(super) counts: Counts,
    ngrams: Ngrams,
    meter: Meter,
}

impl<H: Host> Sets<H> {
    pub(super) fn new(n: usize, memory: usize) -> Sets<H> {
        Sets {
            n: n.max(1),
            part_words: (memory / BYTES_PER_WORD).clamp(NARROWEST_PART, WIDEST_PART),
            current: Vec::new(),
            parts: Vec::new(),
            file: None,
            counts: Counts::new(memory),
            ngrams: Ngrams::default(),
            meter: Meter::new(),
        }
    }

    /// Adds the set of a text; a text without an n-gram has none.
    pub(super) fn add(&mut self, id: i64, text: &str, host: &mut H) -> Result<()> {
        self.meter.work(text.len());
        self.ngrams.read(text);
        let grams = numbers(&self.ngrams, self.n);
        if grams.is_empty() {
            return Ok(());
        }
        if !self.current.is_empty() && self.current.len() + grams.len() + 2 > self.part_words {
            self.close_part(host)?;
        }
        self.current.room(grams.len() + 2)?;
        self.current.extend([id as u64, grams.len() as u64]);
        self.current.extend(&grams);
        for gram in grams {
            self.counts.count(gram);
        }
        Ok(())
    }

    fn close_part(&mut self, host: &mut H) -> Result<()> {
        interrupt::check();
        let file = self.file.get_or_insert_with(|| Stored { file: host.file(), end: 0 });
        self.parts.grow(file.write(&self.current)?)?;
        self.current.clear();
        Ok(())
    }

    /// No more texts; the number of parts, each of which is replaced by what is `prepared` of it.
    pub(super) fn close(
        &mut self,
        host: &mut H,
        prepared: impl Fn(&[u64]) -> Result<Words>,
    ) -> Result<usize> {
        self.ngrams = Ngrams::default();
        let mut file = None;
        for part in 0..self.parts.len() {
            interrupt::check();
            let words = prepared(&self.load(part)?)?;
            let file = file.get_or_insert_with(|| Stored { file: host.file(), end: 0 });
            self.parts[part] = file.write(&words)?;
        }
        self.current = prepared(&self.current)?;
        self.file = file;
        Ok(self.parts.len() + usize::from(!self.current.is_empty()))
    }

    pub(super) fn load(&mut self, part: usize) -> Result<Words> {
        match (self.parts.get(part), &mut self.file) {
            (Some(&part), Some(file)) => file.read(part),
            // The only one is loaded once.
            _ if self.parts.is_empty() => Ok(std::mem::take(&mut self.current)),
            _ => Ok(memory::copy(&self.current)?),
        }
    }
}

/// Words in a file.
struct Stored<F> {
    file: F,
    end: u64,
}

impl<F: Spill> Stored<F> {
    /// Where they begin, and how many they are.
    fn write(&mut self, words: &[u64]) -> Result<(u64, usize)> {
        let from = self.end;
        for some in words.chunks(READ) {
            let bytes = memory::collect(some.iter().flat_map(|word| word.to_le_bytes()))?;
            self.file.append(&bytes)?;
            self.end += bytes.len() as u64;
        }
        Ok((from, words.len()))
    }

    fn read(&mut self, (mut at, count): (u64, usize)) -> Result<Words> {
        let (mut words, mut bytes) = (memory::with_capacity(count)?, Vec::new());
        while words.len() < count {
            bytes.resize(size_of::<u64>() * READ.min(count - words.len()), 0);
            self.file.read(at, &mut bytes)?;
            at += bytes.len() as u64;
            words.extend(bytes.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)));
        }
        Ok(words)
    }
}
