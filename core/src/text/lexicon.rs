//! jieba's dictionary as data of the library: nothing is loaded, and all processes share it.

use super::cell::{CHARACTERS, Cell, UNKNOWN};
use std::hint::select_unpredictable;

mod data {
    //! What `build.rs` has written, each number little end first.

    include!(concat!(env!("OUT_DIR"), "/constants.rs"));

    /// Puts what it holds at the beginning of a cache line.
    #[repr(align(64))]
    struct Aligned<T>(T);

    // A static and no constant, of which each unit of code would have a copy.
    macro_rules! table {
        ($name:ident, $bytes:literal) => {
            #[inline]
            pub const fn $name() -> &'static [[u8; $bytes]] {
                const FILE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name)));
                static TABLE: Aligned<[u8; FILE.len()]> =
                    Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/", stringify!($name))));
                TABLE.0.as_chunks().0
            }
        };
    }
    table!(cells, 8);
    // Of each cell that is a word: its tag.
    table!(tags, 1);
    table!(codes, 2);
    // By rank.
    table!(frequencies, 4);
    table!(logarithms, 8);
}

const _: () = assert!(data::codes().len() == CHARACTERS);

/// The sum of the frequencies of all words.
pub const TOTAL: u64 = data::TOTAL;

pub const LOG_TOTAL: f64 = f64::from_bits(data::LOG_TOTAL_BITS);

#[inline]
pub fn code(c: u32) -> u16 {
    data::codes().get(c as usize).map_or(UNKNOWN, |code| u16::from_le_bytes(*code))
}

/// The cell at a place that [`Cell::child_at`] says, or, for a child of the root, at its code.
#[inline]
pub fn cell(at: usize) -> Cell {
    data::cells().get(at).map_or(Cell::EMPTY, |cell| Cell(u64::from_le_bytes(*cell)))
}

/// The cell that a character leads to from another cell; an empty one if no word goes on so.
#[inline]
pub fn next(from: Cell, code: u16) -> Cell {
    let child = cell(from.child_at(code));
    select_unpredictable(child.is_by(code), child, Cell::EMPTY)
}

/// The logarithm of a word's frequency, by its rank; of no word, minus infinity.
#[inline]
pub fn logarithm(rank: usize) -> f64 {
    f64::from_le_bytes(data::logarithms()[rank])
}

pub fn frequency(rank: usize) -> u32 {
    u32::from_le_bytes(data::frequencies()[rank])
}

/// The place of the cell of `word` if it is a word.
pub fn find(word: &str) -> Option<usize> {
    let mut chars = word.chars();
    let mut at = usize::from(code(chars.next()?.into()));
    for c in chars {
        let code = code(c.into());
        at = cell(at).child_at(code);
        if !cell(at).is_by(code) {
            return None;
        }
    }
    (cell(at).rank() > 0).then_some(at)
}

/// The part of speech of a word of jieba's dictionary by its tag there: `ns` (a place), `nr` (a person), `m` (a
/// numeral) and so on; the tags are those of ICTCLAS. `None` if the dictionary does not have the word; it has words
/// in lower case only where that is how they are written.
pub fn tag(word: &str) -> Option<&'static str> {
    let [number] = data::tags()[find(word)?];
    data::TAGS.get(usize::from(number)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_tags_are_those_of_jieba() {
        let text = std::fs::read_to_string(env!("JIEBA_DICTIONARY")).unwrap();
        let (mut count, mut total) = (0, 0);
        for line in text.lines() {
            let [word, times, of] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
            let rank = cell(find(word).expect("a word")).rank();
            assert_eq!((frequency(rank).to_string(), tag(word)), (times.to_owned(), Some(of)));
            assert_eq!(logarithm(rank), f64::from(frequency(rank)).ln());
            (count, total) = (count + 1, total + u64::from(frequency(rank)));
        }
        let words = (1..data::cells().len()).filter(|&at| cell(at).rank() > 0).count();
        assert_eq!((words, TOTAL), (count, total));
    }
}
