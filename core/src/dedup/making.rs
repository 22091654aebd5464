//! Fingerprints are made on threads while the caller's reads contents.

use crate::external::{Feed, Host, Result, Work, feed};
use crate::features::{Extractor, TextRecipe};
use crate::memory::{Grow, OrRaise, Room};

/// Bytes of the contents that a thread takes at a time.
const BATCH: usize = 1 << 16;
/// Contents of so many bytes are left to the caller's thread, which can be interrupted.
const LONG: usize = 1 << 20;

/// Contents with their numbers.
type Batch = Vec<(usize, String)>;
/// Numbers of contents with their fingerprints.
type Made = Vec<(usize, u64)>;

/// Makes fingerprints of what is added.
pub struct Making<'f, 's, 'e, 'w, H: Host> {
    feed: &'f mut Feed<'s, 'e, 'w, H, Batch, Made>,
    batch: Batch,
    /// Of it.
    bytes: usize,
}

/// Calls `give` with what makes fingerprints by `recipe`.
pub fn making<'w, H: Host, G>(
    recipe: &'w (dyn Fn() -> &'w TextRecipe + Sync),
    threads: usize,
    host: &mut H,
    give: impl FnOnce(&mut Making<'_, '_, '_, 'w, H>) -> Result<G>,
) -> Result<G> {
    let worker = || -> Work<'w, Batch, Made> {
        let mut extractor = Extractor::new();
        Box::new(move |batch: Batch| {
            let mut made = Vec::new();
            made.room(batch.len()).or_raise();
            let (recipe, all) = (recipe(), batch.into_iter());
            made.extend(all.filter_map(|(at, content)| Some((at, extractor.simhash(&content, recipe)?))));
            made
        })
    };
    feed(threads, host, &worker, |feed| give(&mut Making { feed, batch: Vec::new(), bytes: 0 }))
}

impl<H: Host> Making<'_, '_, '_, '_, H> {
    /// The host.
    pub fn host(&mut self) -> &mut H {
        self.feed.host()
    }

    /// Takes a content; `each` gets the fingerprints that are made by now, of contents that have one.
    pub fn add(&mut self, number: usize, content: String, each: &mut impl FnMut(usize, u64)) -> Result<()> {
        if content.len() >= LONG {
            self.feed.work(vec![(number, content)])?;
        } else {
            self.bytes += content.len();
            self.batch.grow((number, content))?;
            if self.bytes >= BATCH {
                self.bytes = 0;
                self.feed.give(std::mem::take(&mut self.batch))?;
            }
        }
        while let Some(made) = self.feed.ready()? {
            made.into_iter().for_each(|(number, fp)| each(number, fp));
        }
        Ok(())
    }

    /// Makes those that are left.
    pub fn finish(&mut self, each: &mut impl FnMut(usize, u64)) -> Result<()> {
        let batch = std::mem::take(&mut self.batch);
        // Few are made before a thread has started.
        if self.feed.is_idle() { self.feed.work(batch) } else { self.feed.give(batch) }?;
        while let Some(made) = self.feed.awaited()? {
            made.into_iter().for_each(|(number, fp)| each(number, fp));
        }
        Ok(())
    }
}
