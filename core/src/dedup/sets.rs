//! The sets of n-grams of many rows, each made once: in memory as far as they fit, in a file beyond, with a small
//! sketch of each in memory.

use super::Limits;
use crate::external::{Result, Spill};
use crate::memory::{Room, filled};
use crate::similarity::{Grams, Sketched, may_reach};

/// Bytes of a set's place and of a short sketch, for each row: what a table of many rows takes in any case.
pub const BYTES_PER_ROW: usize = size_of::<Place>() + 8 * LEAST_WORDS;
/// Words of a sketch that is made however little memory there is.
const LEAST_WORDS: usize = 8;
const MOST_WORDS: usize = 256;

#[derive(Debug, Clone, Copy)]
struct Place {
    /// The position of its bytes: in memory, and beyond the bytes in memory in the file.
    at: u64,
    sketch: u64,
    /// Its size, or one of the numbers below.
    size: u32,
    words: u16,
}

/// No set is made.
const NONE: u32 = u32::MAX;
/// It is being made.
const AWAITED: u32 = u32::MAX - 1;

/// Sets by the numbers of their rows.
#[derive(Debug)]
pub(super) struct Sets<F> {
    places: Vec<Place>,
    sketches: Vec<u64>,
    /// Words of a sketch at most once there is no more memory for longer ones.
    words: usize,
    kept: Vec<u8>,
    /// Bytes of sets and of sketches to be kept.
    memory: [usize; 2],
    file: F,
    length: u64,
    bytes: Vec<u8>,
}

impl<F: Spill> Sets<F> {
    /// No sets yet, of some `rows` rows. `memory` bytes are for sets, and as many for sketches, which save more of the
    /// reading and so have most of both; a little per row is taken in any case.
    pub(super) fn new(rows: usize, Limits { memory, sketches, .. }: Limits, file: F) -> Sets<F> {
        let words = memory.max(sketches) / 8 / rows.max(1);
        let words = words.clamp(LEAST_WORDS, MOST_WORDS);
        Sets {
            places: Vec::new(),
            sketches: Vec::new(),
            words: 1 << words.ilog2(),
            kept: Vec::new(),
            memory: [memory / 4, (2 * memory - memory / 4).max(sketches)],
            file,
            length: 0,
            bytes: Vec::new(),
        }
    }

    pub(super) fn words(&self) -> usize {
        if 8 * self.sketches.len() < self.memory[1] { MOST_WORDS } else { self.words }
    }

    /// Whether a row's set is to be made; says so once.
    pub(super) fn lacks(&mut self, row: u32) -> Result<bool> {
        let row = row as usize;
        if row >= self.places.len() {
            let more = row + 1 - self.places.len();
            self.places.room(more)?;
            self.places.resize(row + 1, Place { at: 0, size: NONE, sketch: 0, words: 0 });
        }
        let lacks = self.places[row].size == NONE;
        if lacks {
            self.places[row].size = AWAITED;
        }
        Ok(lacks)
    }

    pub(super) fn add(&mut self, row: u32, set: &Grams, sketch: &[u64]) -> Result<()> {
        self.bytes.clear();
        set.write(&mut self.bytes);
        let place = Place {
            at: self.kept.len() as u64 + self.length,
            size: set.len() as u32,
            sketch: self.sketches.len() as u64,
            words: sketch.len() as u16,
        };
        self.sketches.room(sketch.len())?;
        self.sketches.extend_from_slice(sketch);
        // Once one is in the file, all that follow are.
        if self.length == 0 && self.kept.len() + self.bytes.len() <= self.memory[0] {
            self.kept.room(self.bytes.len())?;
            self.kept.extend_from_slice(&self.bytes);
        } else {
            self.file.append(&self.bytes)?;
            self.length += self.bytes.len() as u64;
        }
        self.places[row as usize] = place;
        Ok(())
    }

    fn place(&self, row: u32) -> Option<Place> {
        self.places.get(row as usize).copied().filter(|place| place.size < AWAITED)
    }

    fn sketched(&self, place: Place) -> Sketched<'_> {
        let from = place.sketch as usize;
        Sketched { size: place.size as usize, sketch: &self.sketches[from..from + usize::from(place.words)] }
    }

    /// Whether the coefficient of two rows may reach a threshold; `None`: their sets are not made yet.
    pub(super) fn may_reach(&self, threshold: f64, [a, b]: [u32; 2]) -> Option<bool> {
        let (a, b) = (self.place(a)?, self.place(b)?);
        Some(may_reach(threshold, self.sketched(a), self.sketched(b)))
    }

    /// A row's set, if it is made.
    pub(super) fn get(&mut self, row: u32) -> Result<Option<Grams>> {
        let Some(place) = self.place(row) else { return Ok(None) };
        let bytes = 8 * place.size as usize;
        let kept = self.kept.len() as u64;
        if place.at < kept || bytes == 0 {
            let from = place.at as usize;
            return Ok(Some(Grams::read(self.kept.get(from..from + bytes).unwrap_or_default())));
        }
        let mut read = std::mem::take(&mut self.bytes);
        if read.len() < bytes {
            read = filled(0, bytes)?;
        }
        self.file.read(place.at - kept, &mut read[..bytes])?;
        let set = Grams::read(&read[..bytes]);
        self.bytes = read;
        Ok(Some(set))
    }
}
