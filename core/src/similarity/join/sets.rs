//! Sets of n-grams: extracted from texts, kept in memory or, but for the last part, in a file, and loaded part by part.
//!
//! Frequencies are counted in a table of fixed size: two n-grams that share a cell both look more frequent than they are,
//! which costs time and no answer, for the prefix filter needs one order of the n-grams, whichever it is.

use crate::external::{Error, Host, Result, Run, Runs};
use crate::hash::GOLDEN;
use crate::interrupt::{self, Meter};
use crate::memory::{self, Grow, Room};
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
    /// The last part; those before it are in the file, each of so many words.
    current: Words,
    parts: Vec<(Run, usize)>,
    file: Option<Runs<H::File>>,
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
        let file = self.file.get_or_insert_with(|| Runs::new(host.file()));
        self.parts.grow((file.write(&self.current)?, self.current.len()))?;
        self.current.clear();
        Ok(())
    }

    /// No more texts; the number of parts.
    pub(super) fn close(&mut self) -> usize {
        self.ngrams = Ngrams::default();
        self.parts.len() + usize::from(!self.current.is_empty())
    }

    pub(super) fn load(&mut self, part: usize) -> Result<Words> {
        let (Some(&(run, words)), Some(file)) = (self.parts.get(part), &mut self.file) else {
            return Ok(memory::copy(&self.current)?);
        };
        let mut loaded = memory::with_capacity(words)?;
        file.for_each(&[run], READ, |_, word| loaded.grow(word).map_err(Error::from))?;
        Ok(loaded)
    }
}
