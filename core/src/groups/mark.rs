//! What tells rows apart before they are compared.

use super::rows::{Hit, Rows};
use crate::external::Result;
use crate::memory;

/// What is known of a row. Two rows of a kind are apart that have another value in a bit that is known of both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Mark {
    /// Rows of other kinds are never apart.
    pub kind: u32,
    /// The bits that are known.
    pub known: u64,
    /// The values of these; 0 elsewhere.
    pub value: u64,
}

impl Mark {
    /// Whether two rows are apart.
    #[inline]
    pub fn is_apart(&self, other: &Mark) -> bool {
        self.kind == other.kind && (self.value ^ other.value) & self.known & other.known != 0
    }

    /// What is known of both rows, and the same.
    fn both(self, other: Mark) -> Mark {
        let same = if self.kind == other.kind { !(self.value ^ other.value) } else { 0 };
        let known = self.known & other.known & same;
        Mark { kind: self.kind, known, value: self.value & known }
    }
}

/// What is known of the rows of each distinct fingerprint.
#[derive(Clone, Copy)]
pub(super) struct Apart<'a> {
    pub left: &'a [Mark],
    pub right: &'a [Mark],
}

impl Apart<'_> {
    #[inline]
    pub fn are(&self, (left, right): Hit) -> bool {
        self.left[left as usize].is_apart(&self.right[right as usize])
    }
}

impl Rows {
    /// What is known of all rows of each distinct fingerprint, by what is known of each row.
    pub fn marks(&self, marks: &[Mark]) -> Result<Vec<Mark>> {
        let of = |number| {
            let known = self.run(number).iter().map(|row| marks[row.id as usize]);
            known.reduce(Mark::both).unwrap_or_default()
        };
        Ok(memory::collect((0..self.fps.len()).map(of))?)
    }
}
