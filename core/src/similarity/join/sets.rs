//! Sets of n-grams: extracted from texts, kept in memory or in a file, and loaded part by part.
//!
//! Frequencies are counted in a table of fixed size: two n-grams that share a cell both look more frequent than they are,
//! which costs time and no answer, for the prefix filter needs one order of the n-grams, whichever it is.

use crate::external::{Host, Reader, Result, Run, Runs};
use crate::hash::GOLDEN;
use crate::interrupt::{self, Meter};
use crate::memory::{self, Room};
use crate::similarity::grams::numbers;
use crate::text::Ngrams;

/// The most words of a part, whatever the memory: it is sorted in one pass.
const WIDEST_PART: usize = 2 << 20;
/// The fewest words of a part.
const NARROWEST_PART: usize = 8 << 10;
/// Bytes per word of a part while parts are joined: two parts, and the index of one.
const BYTES_PER_WORD: usize = 64;
const READ: usize = 1 << 16;

/// Sets one after the other: id, number of n-grams, n-grams in order.
type Words = Vec<u64>;

enum Part {
    Memory(Words),
    File { run: Run, words: usize },
}

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
    memory: usize,
    part_words: usize,
    current: Words,
    parts: Vec<Part>,
    /// Words of the parts in memory.
    kept: usize,
    file: Option<Runs<H::File>>,
    pub(super) counts: Counts,
    ngrams: Ngrams,
    meter: Meter,
}

impl<H: Host> Sets<H> {
    pub(super) fn new(n: usize, memory: usize) -> Sets<H> {
        Sets {
            n: n.max(1),
            memory,
            part_words: (memory / BYTES_PER_WORD).clamp(NARROWEST_PART, WIDEST_PART),
            current: Vec::new(),
            parts: Vec::new(),
            kept: 0,
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

    /// Closes the part that is being filled, and moves all parts to a file when they exceed half of the memory.
    fn close_part(&mut self, host: &mut H) -> Result<()> {
        let part = std::mem::take(&mut self.current);
        self.kept += part.len();
        self.parts.push(Part::Memory(part));
        if self.kept <= self.memory / 2 / 8 {
            return Ok(());
        }
        let file = self.file.get_or_insert_with(|| Runs::new(host.file()));
        for part in &mut self.parts {
            if let Part::Memory(words) = part {
                interrupt::check();
                *part = Part::File { run: file.write(words)?, words: words.len() };
            }
        }
        self.kept = 0;
        Ok(())
    }

    /// No more texts; the number of parts.
    pub(super) fn close(&mut self, host: &mut H) -> Result<usize> {
        if !self.current.is_empty() {
            self.close_part(host)?;
        }
        self.ngrams = Ngrams::default();
        Ok(self.parts.len())
    }

    pub(super) fn load(&mut self, part: usize) -> Result<Words> {
        match (&self.parts[part], &mut self.file) {
            (Part::Memory(words), _) => Ok(memory::copy(words)?),
            (Part::File { run, words }, Some(file)) => {
                let mut loaded = memory::with_capacity(*words)?;
                let mut reader = Reader::new(*run, READ);
                while let Some(word) = reader.next(file)? {
                    self.meter.work(1);
                    loaded.push(word);
                }
                Ok(loaded)
            }
            (Part::File { .. }, None) => Ok(Words::new()),
        }
    }
}
