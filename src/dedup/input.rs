//! The input rows of `dedup`: ids and contents in a temporary file, a few numbers per row in
//! memory.

use crate::pg::host::unwrap_or_raise;
use crate::pg::raise;
use crate::pg::spill::TempFile;
use crate::table::SAMPLE;
use dedup_core::dedup::{Keep, Kind, Standing};
use dedup_core::external::Spill;
use dedup_core::fingerprint::hamming;
use dedup_core::interrupt::checked;
use dedup_core::memory::{OrRaise, Room, collect, copy};
use pgrx::prelude::*;

/// Where a row stands among those of its group, by the ranks that were read.
pub(super) fn standing(ranks: &[i64], row: usize, keep: &Keep) -> Standing {
    let number = row as i64;
    let rank = match keep {
        Keep::First | Keep::Last => keep.rank(number, 0),
        Keep::Longest | Keep::Column { .. } => ranks.get(row).copied(),
    };
    (rank.unwrap_or(0), number)
}

/// Bytes of the length of a row's id, which precedes it and the content in the file.
const HEADER: usize = 4;
/// Ids of so many bytes are read at once.
const SHORT_ID: usize = 32;
const MAX_KEPT: usize = 1 << 20;

/// All rows read so far.
pub(crate) struct Input {
    /// The names of the columns that are compared one by one.
    pub columns: Vec<String>,
    file: TempFile,
    length: u64,
    /// Buffer for a row that is written or read.
    record: Vec<u8>,
    /// The offset of each row in the file.
    at: Vec<u64>,
    pub kinds: Vec<Kind>,
    pub fps: Vec<u64>,
    /// Ranks by which rows are kept, the least one first; empty if by their order.
    pub ranks: Vec<i64>,
    /// The hashes of contents by which equal ones are found, if they are wanted.
    pub hashes: Option<Vec<u128>>,
}

impl Input {
    pub(crate) fn new() -> Input {
        Input {
            columns: Vec::new(),
            file: TempFile::new(),
            length: 0,
            record: Vec::new(),
            at: Vec::new(),
            kinds: Vec::new(),
            fps: Vec::new(),
            ranks: Vec::new(),
            hashes: None,
        }
    }

    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.at.len()
    }

    /// Adds a row and returns its number.
    pub(crate) fn add(&mut self, id: &[u8], content: &str, kind: Kind, fp: u64) -> u32 {
        let number = self.rows();
        if number == u32::MAX as usize {
            raise(
                PgSqlErrorCode::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                "dedup of more than 4294967295 rows",
                "Take the rows in parts.",
            )
        }
        // No value of PostgreSQL is longer than 1 GB.
        let length = (id.len() as u32).to_le_bytes();
        self.record.clear();
        self.record.room(HEADER + id.len() + content.len()).or_raise();
        for part in [&length[..], id, content.as_bytes()] {
            self.record.extend_from_slice(part);
        }
        unwrap_or_raise(self.file.append(&self.record));
        self.at.room(1).or_raise();
        self.kinds.room(1).or_raise();
        self.fps.room(1).or_raise();
        self.at.push(self.length);
        self.length += self.record.len() as u64;
        // Gives back the memory of a long text.
        self.record.shrink_to(MAX_KEPT);
        self.kinds.push(kind);
        self.fps.push(fp);
        number as u32
    }

    /// Takes a row's fingerprint.
    pub(super) fn near(&mut self, row: usize, fp: u64) {
        (self.fps[row], self.kinds[row]) = (fp, Kind::Near);
    }

    /// Fingerprints of the first rows that have one.
    pub(super) fn some_prints(&self) -> Vec<u64> {
        let near = self.kinds.iter().zip(&self.fps).filter(|(kind, _)| **kind == Kind::Near);
        collect(near.map(|(_, fp)| *fp).take(SAMPLE)).or_raise()
    }

    /// Forgets all fingerprints.
    pub(super) fn forget_fingerprints(&mut self) {
        for kind in checked(&mut self.kinds) {
            if *kind == Kind::Near {
                *kind = Kind::Plain;
            }
        }
    }

    /// The distance of two rows, if both have a fingerprint.
    pub(crate) fn distance(&self, a: usize, b: usize) -> Option<u32> {
        let both = [a, b].iter().all(|&row| self.kinds[row] == Kind::Near);
        both.then(|| hamming(self.fps[a], self.fps[b]))
    }

    /// The bytes of a row, `most` of them: the length of its id, the id, its content.
    fn record(&mut self, row: usize, most: usize) -> &[u8] {
        let at = self.at[row];
        let next = self.at.get(row + 1).copied().unwrap_or(self.length);
        let bytes = most.min((next - at) as usize);
        self.record.clear();
        self.record.room(bytes).or_raise();
        self.record.resize(bytes, 0);
        unwrap_or_raise(self.file.read(at, &mut self.record));
        &self.record
    }

    /// The bytes of a row's id.
    pub(crate) fn id(&mut self, row: usize) -> Vec<u8> {
        let record = self.record(row, HEADER + SHORT_ID);
        let end = HEADER + id_length(record);
        let record = if end > record.len() { self.record(row, end) } else { &self.record };
        copy(&record[HEADER..end]).or_raise()
    }

    /// A row's content.
    pub(crate) fn content(&mut self, row: usize) -> String {
        let start = HEADER + id_length(self.record(row, usize::MAX));
        let mut content = std::mem::take(&mut self.record);
        content.drain(..start);
        crate::pg::text(content)
    }
}

/// The length of the id of a row, which its bytes begin with.
fn id_length(record: &[u8]) -> usize {
    record.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes)) as usize
}
