//! Fingerprints are made on threads while the caller's reads contents: those of a table's rows while the rows are read.

use super::input::Input;
use crate::pg::host::{QueryHost, unwrap_or_raise};
use crate::settings::{threads, work_memory};
use dedup_core::evaluate::Profile;
use dedup_core::external::{Feed, Work, feed};
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::memory::{OrRaise, Room, filled};
use serde_json::Value;
use std::sync::OnceLock;

/// Bytes of the contents that a thread takes at a time.
const BATCH: usize = 1 << 16;
/// Contents of so many bytes are left to the caller's thread, which can be interrupted.
const LONG: usize = 1 << 20;

/// Contents, and the number of each with where it ends.
#[derive(Default)]
struct Batch {
    contents: String,
    ends: Vec<(usize, usize)>,
}

impl Batch {
    fn add(&mut self, number: usize, content: &str) {
        self.contents.room(content.len()).or_raise();
        self.contents.push_str(content);
        self.ends.room(1).or_raise();
        self.ends.push((number, self.contents.len()));
    }

    fn each(&self) -> impl Iterator<Item = (usize, &str)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|end| end.1));
        self.ends.iter().zip(starts).map(|(&(number, end), start)| (number, &self.contents[start..end]))
    }
}

/// Numbers of contents with their fingerprints.
type Made = Vec<(usize, u64)>;

/// Makes fingerprints of what is added.
pub(super) struct Making<'f, 's, 'e, 'w, 'p> {
    feed: &'f mut Feed<'s, 'e, 'w, QueryHost<'p>, Batch, Made>,
    batch: Batch,
}

/// Calls `give` with what makes fingerprints by `recipe`.
pub(super) fn making<'w, G>(
    recipe: &'w (dyn Fn() -> &'w TextRecipe + Sync),
    host: &mut QueryHost<'_>,
    give: impl FnOnce(&mut Making<'_, '_, '_, 'w, '_>) -> G,
) -> G {
    let worker = || -> Work<'w, Batch, Made> {
        let mut extractor = Extractor::new();
        Box::new(move |batch| {
            let mut made = Vec::new();
            made.room(batch.ends.len()).or_raise();
            let recipe = recipe();
            made.extend(
                batch
                    .each()
                    .filter_map(|(number, content)| Some((number, extractor.simhash(content, recipe)?))),
            );
            made
        })
    };
    unwrap_or_raise(feed(threads(), host, &worker, |feed| {
        Ok(give(&mut Making { feed, batch: Batch::default() }))
    }))
}

impl Making<'_, '_, '_, '_, '_> {
    /// Takes a content; `each` gets the fingerprints that are made by now, of contents that have one.
    pub(super) fn add(&mut self, number: usize, content: String, each: &mut impl FnMut(usize, u64)) {
        if content.len() >= LONG {
            let long = Batch { ends: vec![(number, content.len())], contents: content };
            unwrap_or_raise(self.feed.work(long));
        } else {
            self.batch.add(number, &content);
            if self.batch.contents.len() >= BATCH {
                unwrap_or_raise(self.feed.give(std::mem::take(&mut self.batch)));
            }
        }
        while let Some(made) = unwrap_or_raise(self.feed.ready()) {
            made.into_iter().for_each(|(number, fp)| each(number, fp));
        }
    }

    /// Makes those that are left.
    pub(super) fn finish(&mut self, each: &mut impl FnMut(usize, u64)) {
        let batch = std::mem::take(&mut self.batch);
        // Few are made before a thread has started.
        unwrap_or_raise(if self.feed.is_idle() { self.feed.work(batch) } else { self.feed.give(batch) });
        while let Some(made) = unwrap_or_raise(self.feed.awaited()) {
            made.into_iter().for_each(|(number, fp)| each(number, fp));
        }
    }
}

/// Contents by which a recipe is guessed at most, and their bytes.
const GUESSED_BY: (usize, usize) = (1000, 4 << 20);

/// The recipe that the first contents suggest, where all decide: seldom another one.
#[derive(Default)]
pub(super) struct Guess(OnceLock<(Value, TextRecipe)>);

impl Guess {
    /// The recipe.
    pub(super) fn recipe(&self) -> &TextRecipe {
        &self.0.get_or_init(|| (Value::Null, TextRecipe::default())).1
    }

    /// Whether it is the recipe that is written so.
    pub(super) fn is(&self, weights: Option<&Value>) -> bool {
        self.0.get().is_some_and(|(guessed, _)| Some(guessed) == weights)
    }

    fn make(&self, contents: &[(usize, String)]) {
        let mut profile = Profile::default();
        contents.iter().for_each(|(_, content)| profile.add(content));
        let weights = profile.suggest(&[""; 0], 0).recipe;
        if let Ok(recipe) = TextRecipe::from_json(&weights) {
            let _ = self.0.set((weights, recipe));
        }
    }
}

/// Makes the fingerprints of rows that are read, each content's once as far as is seen: what is left out is made later.
pub(super) struct Ahead<'a, 'f, 's, 'e, 'w, 'p> {
    making: &'a mut Making<'f, 's, 'e, 'w, 'p>,
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

impl<'a, 'f, 's, 'e, 'w, 'p> Ahead<'a, 'f, 's, 'e, 'w, 'p> {
    /// `guess`: that of the recipe, if it is not known.
    pub(super) fn new(making: &'a mut Making<'f, 's, 'e, 'w, 'p>, guess: Option<&'a Guess>) -> Self {
        Ahead { making, guess, waiting: Vec::new(), bytes: 0, seen: Vec::new(), rows: 0 }
    }

    /// Whether a content of this hash was seen, by which one is taken for a copy for now.
    fn is_copy(&mut self, hash: u128) -> bool {
        if self.rows >= self.seen.len()
            && (self.seen.len() < LEAST_SEEN || 64 * self.seen.len() < work_memory())
        {
            self.seen = filled(0, LEAST_SEEN.max(2 * self.seen.len())).or_raise();
        }
        self.rows += 1;
        let (place, half) = ((hash >> 32) as usize & (self.seen.len() - 1), hash as u32 | 1);
        std::mem::replace(&mut self.seen[place], half) == half
    }

    /// Takes a row's content; `hash`: of the form by which it equals others, if it can.
    pub(super) fn add(&mut self, number: u32, content: String, hash: Option<u128>, input: &mut Input) {
        if hash.is_some_and(|hash| self.is_copy(hash)) {
            return;
        }
        let Some(guess) = self.guess else {
            return self.making.add(number as usize, content, &mut |row, fp| input.near(row, fp));
        };
        self.bytes += content.len();
        self.waiting.room(1).or_raise();
        self.waiting.push((number as usize, content));
        if self.waiting.len() >= GUESSED_BY.0 || self.bytes >= GUESSED_BY.1 {
            self.guess = None;
            guess.make(&self.waiting);
            for (row, content) in std::mem::take(&mut self.waiting) {
                self.making.add(row, content, &mut |row, fp| input.near(row, fp));
            }
        }
    }

    /// Awaits the fingerprints of all that were taken.
    pub(super) fn finish(&mut self, input: &mut Input) {
        self.making.finish(&mut |row, fp| input.near(row, fp));
    }
}
