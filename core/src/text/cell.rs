//! How jieba's dictionary lies in the library: `build.rs` writes by this what `lexicon` reads.
//!
//! A trie of characters as a double array (Aoe 1989). A node is a cell. Its child by a character stands at the node's
//! base plus the character's code, if the cell there says that it is reached by that code: no two nodes have one base,
//! so the code alone tells whose child a cell is. The base of the root is 0.

/// A node: the code it is reached by, its base, the rank of its frequency (0 if it is no word), and the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell(pub u64);

const CODE_BITS: u32 = 14;
const BASE_BITS: u32 = 20;
const RANK_BITS: u32 = 13;
/// One bit for each remainder of the codes of the children: of most characters that are no child it says so without
/// a look at another cell.
const FILTER_BITS: u32 = 16;

const BASE_AT: u32 = CODE_BITS;
const RANK_AT: u32 = BASE_AT + BASE_BITS;
const FILTER_AT: u32 = u64::BITS - FILTER_BITS;

/// Characters from here on are in no word.
pub const CHARACTERS: usize = 0xA000;
/// The code of characters that are in no word. No cell is reached by it.
pub const UNKNOWN: u16 = 0;
/// What cells have for a code that are reached by none: those of the root's children, and empty ones.
pub const NO_CODE: u64 = (1 << CODE_BITS) - 1;

impl Cell {
    pub const EMPTY: Cell = Cell(NO_CODE);

    /// A cell that is reached by `code`.
    #[allow(dead_code, reason = "only build.rs makes cells")]
    pub fn new(code: u64, base: u64, rank: u64, children: impl Iterator<Item = u16>) -> Cell {
        assert!(code <= NO_CODE && base >> BASE_BITS == 0 && rank >> RANK_BITS == 0);
        let filter = children.fold(0, |filter, code| filter | 1 << filter_bit(code));
        Cell(code | base << BASE_AT | rank << RANK_AT | filter)
    }
}

#[allow(dead_code, reason = "build.rs only makes cells")]
impl Cell {
    /// Where the child by `code` stands if there is one; the first cell, which is nobody's child, if the filter says
    /// that there is none.
    #[inline]
    pub fn child_at(self, code: u16) -> usize {
        let may_be = self.0 >> filter_bit(code) & 1 > 0;
        std::hint::select_unpredictable(may_be, self.base() + u64::from(code), 0) as usize
    }

    /// Whether any word goes on from here.
    #[inline]
    pub fn has_children(self) -> bool {
        self.0 >> FILTER_AT > 0
    }

    #[inline]
    pub fn is_by(self, code: u16) -> bool {
        self.0 & NO_CODE == u64::from(code)
    }

    /// The rank of the word's frequency; 0 if it is no word.
    #[inline]
    pub fn rank(self) -> usize {
        (self.0 >> RANK_AT & ((1 << RANK_BITS) - 1)) as usize
    }

    /// The base of its children; 0 if it has none.
    fn base(self) -> u64 {
        self.0 >> BASE_AT & ((1 << BASE_BITS) - 1)
    }
}

#[inline]
fn filter_bit(code: u16) -> u32 {
    FILTER_AT + u32::from(code) % FILTER_BITS
}
