//! Keys: a fingerprint as each tree orders it.
//!
//! A fingerprint has four blocks of 16 bits (block 0 on top). Tree (i, j) stores it with block i on top; below
//! it the other 48 bits, rotated so that their j-th 12-bit sub-block comes first. The mapping is a bijection
//! and linear over xor, so a tree stores nothing but its key, and distances can be counted on keys.

use crate::external::Record;
use std::fmt;

/// Blocks of a fingerprint.
pub const BLOCKS: usize = 4;
/// Trees of fingerprints, at most: per block a main tree, and three for its hot buckets.
pub const TREES: usize = 16;

const LOW48: u64 = (1 << 48) - 1;

/// The address of a row: heap block and offset, 48 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tid(u64);

impl Tid {
    /// The row at `offset` of heap page `block`.
    pub const fn new(block: u32, offset: u16) -> Self {
        Tid((block as u64) << 16 | offset as u64)
    }

    /// From 48 bits: block above, 16 bits of offset below. Higher bits are dropped.
    pub const fn from_bits(bits: u64) -> Self {
        Tid(bits & LOW48)
    }

    /// As 48 bits.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The heap page.
    pub const fn block(self) -> u32 {
        (self.0 >> 16) as u32
    }

    /// The line pointer on it.
    pub const fn offset(self) -> u16 {
        self.0 as u16
    }

    /// Whether it can be the address of a row: line pointers count from 1, and the highest block number means
    /// "none".
    pub const fn can_be_a_row(self) -> bool {
        self.offset() != 0 && self.block() != u32::MAX
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.block(), self.offset())
    }
}

/// A position in a tree's order: scope, key, then tid, so that any number of equal fingerprints can spread over
/// pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The hash of the scope; 0 in an index without one.
    pub scope: u32,
    /// The fingerprint as this tree orders it.
    pub key: u64,
    /// The row.
    pub tid: Tid,
}

impl Position {
    /// The lowest of all.
    pub const MIN: Position = Position { scope: 0, key: 0, tid: Tid(0) };

    /// The highest of all.
    pub const MAX: Position = Position { scope: u32::MAX, key: u64::MAX, tid: Tid(LOW48) };

    /// The first position of a key in a scope.
    pub const fn start(scope: u32, key: u64) -> Self {
        Position { scope, key, tid: Tid(0) }
    }

    /// The last position of a scope.
    pub(crate) const fn end(scope: u32) -> Self {
        Position { scope, ..Position::MAX }
    }

    /// A low key for the second of two neighbours, as near to the start of a bucket as they allow.
    pub(crate) fn between(before: Position, after: Position) -> Position {
        if before.scope != after.scope {
            Position::start(after.scope, 0)
        } else if before.bucket() != after.bucket() {
            Position::start(after.scope, u64::from(after.bucket()) << 48)
        } else if before.key != after.key {
            Position::start(after.scope, after.key)
        } else {
            after
        }
    }

    /// Whether a bucket begins between two neighbours.
    pub(crate) fn is_cut(before: Position, after: Position) -> bool {
        (before.scope, before.bucket()) != (after.scope, after.bucket())
    }

    /// The key's bucket: the value of the block on top.
    pub const fn bucket(self) -> u16 {
        (self.key >> 48) as u16
    }
}

/// A row while an index is built: of an index with scopes, or of one without, where it takes less memory.
pub trait Row: Record + Send {
    /// Whether it has a scope.
    const SCOPED: bool = Self::LEAD > 0;

    /// The row at a position.
    #[inline]
    fn at(position: Position) -> Self {
        Self::from_parts(position.scope, position.key, position.tid.0)
    }

    /// Its position.
    #[inline]
    fn position(self) -> Position {
        let (scope, key, tid) = self.to_parts();
        Position { scope, key, tid: Tid(tid) }
    }

    /// Replaces its key by `turned` of it.
    #[inline]
    fn turn(&mut self, turned: impl Fn(u64) -> u64) {
        let (scope, key, tid) = self.to_parts();
        *self = Self::from_parts(scope, turned(key), tid);
    }
}

impl Record for Position {
    const BYTES: usize = 18;
    const LEAD: usize = 4;

    #[inline]
    fn to_parts(self) -> (u32, u64, u64) {
        (self.scope, self.key, self.tid.0)
    }

    #[inline]
    fn from_parts(scope: u32, key: u64, tid: u64) -> Self {
        Position { scope, key, tid: Tid(tid) }
    }
}

impl Row for Position {}

/// A position without a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unscoped {
    key: u64,
    tid: Tid,
}

impl Record for Unscoped {
    const BYTES: usize = 14;

    #[inline]
    fn to_parts(self) -> (u32, u64, u64) {
        (0, self.key, self.tid.0)
    }

    #[inline]
    fn from_parts(_: u32, key: u64, tid: u64) -> Self {
        Unscoped { key, tid: Tid(tid) }
    }
}

impl Row for Unscoped {}

/// One of the 16 trees of fingerprints, or the [tree of rows without one](Tree::NULLS).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tree(u8);

impl Tree {
    /// The rows whose fingerprint is NULL, in order of their tids; the keys are 0.
    pub const NULLS: Tree = Tree(TREES as u8);

    /// The main tree of block `i` (0..4): it holds every row.
    pub const fn main(i: usize) -> Self {
        Tree((i as u8 & 3) * 4)
    }

    /// Tree (i, j): for j = 1..4 the second level of block i's hot buckets, for j = 0 its main tree.
    pub const fn new(i: usize, j: usize) -> Self {
        Tree((i as u8 & 3) * 4 + (j as u8 & 3))
    }

    /// From its number, 0 to 16.
    pub const fn from_number(n: u8) -> Option<Self> {
        if n <= TREES as u8 { Some(Tree(n)) } else { None }
    }

    /// Those of fingerprints, main trees and second levels.
    pub fn all() -> impl Iterator<Item = Tree> {
        (0..TREES as u8).map(Tree)
    }

    /// Its number, 0 to 16.
    pub const fn number(self) -> usize {
        self.0 as usize
    }

    /// The block on top, 0..4.
    pub const fn block(self) -> usize {
        (self.0 >> 2 & 3) as usize
    }

    /// The sub-block that comes first below it, 0..4.
    pub const fn sub_block(self) -> usize {
        (self.0 & 3) as usize
    }

    /// Whether it holds every row that has a fingerprint.
    pub const fn is_main(self) -> bool {
        self.0 & 3 == 0 && self.0 < TREES as u8
    }

    /// The greatest key that can stand in it.
    pub(crate) const fn greatest_key(self) -> u64 {
        if self.0 == Tree::NULLS.0 { 0 } else { u64::MAX }
    }

    /// The key of a fingerprint, or of a difference of two.
    #[inline]
    pub const fn key(self, fp: u64) -> u64 {
        let key = fp.rotate_left(16 * self.block() as u32);
        rotate_low(key, 12 * self.sub_block() as u32)
    }

    /// The bucket of a fingerprint: the value of the block on top.
    pub(crate) const fn bucket(self, fp: u64) -> u16 {
        (self.key(fp) >> 48) as u16
    }

    /// The fingerprint of a key.
    #[inline]
    pub const fn fingerprint(self, key: u64) -> u64 {
        let key = rotate_low(key, 48 - 12 * self.sub_block() as u32);
        key.rotate_right(16 * self.block() as u32)
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.sub_block() {
            _ if *self == Tree::NULLS => write!(f, "tree of NULLs"),
            0 => write!(f, "tree of block {}", self.block() + 1),
            j => write!(f, "second level {} of block {}", j, self.block() + 1),
        }
    }
}

/// Rotates the low 48 bits to the left by `n` (0..=48).
#[inline]
pub(crate) const fn rotate_low(key: u64, n: u32) -> u64 {
    let low = key & LOW48;
    (key & !LOW48) | ((low << n | low >> (48 - n)) & LOW48)
}
