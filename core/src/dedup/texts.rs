//! Ids and contents of rows, in a file.

use crate::external::{Result, Spill};
use crate::memory::{Grow, Room, copy, copy_str};

/// Bytes of the length of a row's id, which precedes it and the content in the file.
const HEADER: usize = 4;
/// Ids of so many bytes are read at once.
const SHORT_ID: usize = 32;
/// Bytes of the buffer that are kept after a long text.
const MAX_KEPT: usize = 1 << 20;

/// Ids and contents in a file.
#[derive(Debug, Default)]
pub struct Texts<F> {
    file: F,
    /// Where each row begins, and where the next will.
    at: Vec<u64>,
    length: u64,
    /// Buffer for a row that is written or read.
    record: Vec<u8>,
}

impl<F: Spill> Texts<F> {
    pub(super) fn new(file: F) -> Texts<F> {
        Texts { file, at: Vec::new(), length: 0, record: Vec::new() }
    }

    pub(super) fn add(&mut self, id: &[u8], content: &str) -> Result<()> {
        // No value of PostgreSQL is longer than 1 GB.
        let length = (id.len() as u32).to_le_bytes();
        self.record.clear();
        self.record.room(HEADER + id.len() + content.len())?;
        for part in [&length[..], id, content.as_bytes()] {
            self.record.extend_from_slice(part);
        }
        self.file.append(&self.record)?;
        self.at.grow(self.length)?;
        self.length += self.record.len() as u64;
        self.record.shrink_to(MAX_KEPT);
        Ok(())
    }

    /// The bytes of a row, `most` of them: the length of its id, the id, its content.
    fn record(&mut self, row: usize, most: usize) -> Result<&[u8]> {
        let bytes = most.min(self.bytes(row));
        self.record.clear();
        self.record.room(bytes)?;
        self.record.resize(bytes, 0);
        self.file.read(self.at[row], &mut self.record)?;
        Ok(&self.record)
    }

    /// The bytes that a row takes.
    pub fn bytes(&self, row: usize) -> usize {
        (self.at.get(row + 1).copied().unwrap_or(self.length) - self.at[row]) as usize
    }

    /// The bytes of a row's id.
    pub fn id(&mut self, row: usize) -> Result<Vec<u8>> {
        let record = self.record(row, HEADER + SHORT_ID)?;
        let end = HEADER + id_length(record);
        let record = if end > record.len() { self.record(row, end)? } else { &self.record };
        Ok(copy(&record[HEADER..end])?)
    }

    /// A row's content.
    pub fn content(&mut self, row: usize) -> Result<String> {
        let record = self.record(row, usize::MAX)?;
        // What was added is text. The standard library looks at other characters than ASCII one by one.
        let content = simdutf8::basic::from_utf8(&record[HEADER + id_length(record)..]).unwrap_or_default();
        let content = copy_str(content)?;
        self.record.truncate(MAX_KEPT);
        self.record.shrink_to(MAX_KEPT);
        Ok(content)
    }
}

fn id_length(record: &[u8]) -> usize {
    record.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize
}
