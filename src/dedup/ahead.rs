//! Fingerprints of a table's rows are made while the rows are read.

use crate::pg::{QueryHost, TempFile, work_memory};
use dedup_core::dedup::{self, Making};
use dedup_core::evaluate::Profile;
use dedup_core::external::Result;
use dedup_core::features::TextRecipe;
use dedup_core::memory::{Room, filled};
use serde_json::Value;
use std::sync::OnceLock;

pub(super) type Rows = dedup::Rows<TempFile>;

/// Contents by which a recipe is guessed at most, and their bytes.
const GUESSED_BY: (usize, usize) = (1000, 4 << 20);

/// The recipe that the first contents suggest. All contents decide in the end, seldom for another one.
#[derive(Default)]
pub(super) struct Guess(OnceLock<(Value, TextRecipe)>);

impl Guess {
    pub(super) fn recipe(&self) -> &TextRecipe {
        &self.0.get_or_init(|| (Value::Null, TextRecipe::default())).1
    }

    /// Whether it is the recipe that is written so.
    pub(super) fn is(&self, recipe: Option<&Value>) -> bool {
        self.0.get().is_some_and(|(guessed, _)| Some(guessed) == recipe)
    }

    fn make(&self, contents: &[(usize, String)]) {
        let mut profile = Profile::default();
        contents.iter().for_each(|(_, content)| profile.add(content));
        let recipe = profile.suggest(&[""; 0], 0).recipe;
        if let Ok(read) = TextRecipe::from_json(&recipe) {
            let _ = self.0.set((recipe, read));
        }
    }
}

/// Makes the fingerprints of rows that are read, each content's once as far as is seen: what is left out is made later.
pub(super) struct Ahead<'a, 's, 'e, 'w, 'p> {
    making: &'a mut Making<'s, 'e, 'w, QueryHost<'p>>,
    /// To be made, with what it is made by.
    guess: Option<&'a Guess>,
    waiting: Vec<(usize, String)>,
    bytes: usize,
    /// Halves of the hashes of contents, each at the place that the other half says.
    seen: Vec<u32>,
    rows: usize,
}

/// Hashes that are remembered at least.
const LEAST_SEEN: usize = 1 << 10;

impl<'a, 's, 'e, 'w, 'p> Ahead<'a, 's, 'e, 'w, 'p> {
    /// `guess`: that of the recipe, if it is not known.
    pub(super) fn new(making: &'a mut Making<'s, 'e, 'w, QueryHost<'p>>, guess: Option<&'a Guess>) -> Self {
        Ahead { making, guess, waiting: Vec::new(), bytes: 0, seen: Vec::new(), rows: 0 }
    }

    /// Whether a content of this hash was seen, by which one is taken for a copy for now.
    fn is_copy(&mut self, hash: u128) -> Result<bool> {
        if self.rows >= self.seen.len()
            && (self.seen.len() < LEAST_SEEN || 64 * self.seen.len() < work_memory())
        {
            self.seen = filled(0, LEAST_SEEN.max(2 * self.seen.len()))?;
        }
        self.rows += 1;
        let (place, half) = ((hash >> 32) as usize & (self.seen.len() - 1), hash as u32 | 1);
        Ok(std::mem::replace(&mut self.seen[place], half) == half)
    }

    /// Takes a row's content; `hash`: of the form by which it equals others, if it can.
    pub(super) fn add(
        &mut self,
        row: usize,
        content: String,
        hash: Option<u128>,
        rows: &mut Rows,
    ) -> Result<()> {
        if let Some(hash) = hash
            && self.is_copy(hash)?
        {
            return Ok(());
        }
        let Some(guess) = self.guess else {
            return self.making.add(row, content, &mut |row, fp| rows.set_fp(row, fp));
        };
        self.bytes += content.len();
        self.waiting.room(1)?;
        self.waiting.push((row, content));
        if self.waiting.len() >= GUESSED_BY.0 || self.bytes >= GUESSED_BY.1 {
            self.guess = None;
            guess.make(&self.waiting);
            for (row, content) in std::mem::take(&mut self.waiting) {
                self.making.add(row, content, &mut |row, fp| rows.set_fp(row, fp))?;
            }
        }
        Ok(())
    }

    /// Awaits the fingerprints of all that were taken.
    pub(super) fn finish(&mut self, rows: &mut Rows) -> Result<()> {
        self.making.finish(&mut |row, fp| rows.set_fp(row, fp))
    }
}
