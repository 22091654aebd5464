//! The plain exact way: 128-bit hashes, and equality where they agree.

use dedup_core::hash::murmur3_128;
use dedup_core::memory::{OrRaise, Room};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The earlier texts, by the number under which they were added.
pub trait Texts {
    /// What reading a text can fail with.
    type Error;

    /// Whether text `number` is `content`.
    ///
    /// # Errors
    /// What reading fails with.
    fn is(&mut self, number: u32, content: &[u8]) -> Result<bool, Self::Error>;
}

/// Texts in memory, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Arena {
    pub(crate) fn push(&mut self, content: &[u8]) -> u32 {
        self.bytes.room(content.len()).or_raise();
        self.ends.room(1).or_raise();
        self.bytes.extend_from_slice(content);
        self.ends.push(self.bytes.len());
        (self.ends.len() - 1) as u32
    }

    pub(crate) fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = if number == 0 { 0 } else { self.ends[number - 1] };
        &self.bytes[start..self.ends[number]]
    }
}

/// Hashes are as good as random: take some of their bits.
#[derive(Default)]
struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = bytes.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
    }
    fn write_u128(&mut self, hash: u128) {
        self.0 = hash as u64;
    }
}

/// Texts seen so far. Takes about 32 bytes per distinct text; the texts themselves are kept by the caller, or by
/// the set itself in [`ExactSet::seen`].
#[derive(Default)]
pub struct ExactSet {
    first: HashMap<u128, u32, BuildHasherDefault<Taken>>,
    /// Texts with the 128-bit hash of another text; no such pair is known.
    collided: Vec<(u128, u32)>,
    texts: Arena,
}

impl ExactSet {
    /// An empty set.
    pub fn new() -> ExactSet {
        ExactSet::default()
    }

    /// The number of the earlier text that equals `content`; if there is
    /// none, `content` is remembered under `number`.
    ///
    /// # Errors
    /// Reading an earlier text fails.
    pub fn find_or_add<T: Texts>(
        &mut self,
        number: u32,
        content: &[u8],
        texts: &mut T,
    ) -> Result<Option<u32>, T::Error> {
        let [low, high] = murmur3_128(content, 0);
        let hash = u128::from(high) << 64 | u128::from(low);
        self.first.room(1).or_raise();
        let first = *self.first.entry(hash).or_insert(number);
        if first == number {
            return Ok(None);
        }
        if texts.is(first, content)? {
            return Ok(Some(first));
        }
        for &(other, at) in &self.collided {
            if other == hash && texts.is(at, content)? {
                return Ok(Some(at));
            }
        }
        self.collided.push((hash, number));
        Ok(None)
    }

    /// Whether `content` came before; keeps the texts itself.
    pub fn seen(&mut self, content: &[u8]) -> bool {
        let mut arena = std::mem::take(&mut self.texts);
        let number = arena.ends.len() as u32;
        let found = match self.find_or_add(number, content, &mut arena) {
            Ok(found) => found.is_some(),
            Err(never) => match never {},
        };
        if !found {
            arena.push(content);
        }
        self.texts = arena;
        found
    }
}

impl Texts for Arena {
    type Error = std::convert::Infallible;

    fn is(&mut self, number: u32, content: &[u8]) -> Result<bool, Self::Error> {
        Ok(self.get(number) == content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        /// Equal to the standard library's set.
        #[test]
        fn equals_a_set(texts in prop::collection::vec("[a-c]{0,3}", 0..80)) {
            let (mut set, mut reference) = (ExactSet::new(), HashSet::new());
            for text in &texts {
                prop_assert_eq!(set.seen(text.as_bytes()), !reference.insert(text));
            }
        }
    }
}
