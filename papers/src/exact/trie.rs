//! P1's digit trie (2.3): a text's 32-bit hash is squared and the decimal
//! digits of the square are a path from the root, one node a digit; a path
//! that is there already means a text that came before.
//!
//! The paper claims 100 % precision. In fact among 2.5 million texts some 730 share a 32-bit hash with another,
//! and a hash and its negative have the same square. So the texts at the end of a path are compared, unless the
//! paper's original method is asked for.
//!
//! A node is created only where two paths diverge; the rest of a path is one leaf. The answers are those of the
//! full trie, in a thirtieth of the memory.

use super::set::Arena;
use dedup_core::memory::{OrRaise, Room};

/// No child, no leaf.
const NONE: u32 = u32::MAX;
/// On an edge: the other bits number a leaf, not a node.
const LEAF: u32 = 1 << 31;
/// The eleventh edge of a node: the path ends here.
const END: usize = 10;

struct Leaf {
    square: u64,
    /// The first text of the path, and the next leaf of the same path.
    text: u32,
    next: u32,
}

/// Texts seen so far, as the paper keeps them.
pub struct DigitTrie {
    nodes: Vec<[u32; 11]>,
    leaves: Vec<Leaf>,
    texts: Arena,
    recheck: bool,
}

impl DigitTrie {
    /// An empty trie that compares texts whose paths are equal.
    pub fn new() -> DigitTrie {
        DigitTrie { nodes: vec![[NONE; 11]], leaves: Vec::new(), texts: Arena::default(), recheck: true }
    }

    /// An empty trie as printed: equal paths are equal texts.
    pub fn paper() -> DigitTrie {
        DigitTrie { recheck: false, ..DigitTrie::new() }
    }

    /// Whether `content` came before.
    pub fn seen(&mut self, content: &str) -> bool {
        let hash = i64::from(dotnet_hash(content));
        let square = (hash * hash) as u64;
        self.seen_at(square, content)
    }

    fn seen_at(&mut self, square: u64, content: &str) -> bool {
        let path = Digits::of(square);
        let (mut node, mut depth) = (0, 0);
        loop {
            let edge = path.at(depth);
            let child = self.nodes[node][edge];
            if child == NONE {
                self.nodes[node][edge] = LEAF | self.leaf(square, content, NONE);
                return false;
            }
            if child & LEAF == 0 {
                (node, depth) = (child as usize, depth + 1);
                continue;
            }
            let first = child & !LEAF;
            let other = self.leaves[first as usize].square;
            if other == square {
                return self.seen_among(first, square, content);
            }
            // Two paths part below: give the one that is there a node more.
            let mut below = [NONE; 11];
            below[Digits::of(other).at(depth + 1)] = child;
            self.nodes.room(1).or_raise();
            self.nodes[node][edge] = self.nodes.len() as u32;
            self.nodes.push(below);
        }
    }

    fn seen_among(&mut self, first: u32, square: u64, content: &str) -> bool {
        if !self.recheck {
            return true;
        }
        let mut at = first;
        while at != NONE {
            let leaf = &self.leaves[at as usize];
            if self.texts.get(leaf.text) == content.as_bytes() {
                return true;
            }
            at = leaf.next;
        }
        let next = self.leaves[first as usize].next;
        let new = self.leaf(square, content, next);
        self.leaves[first as usize].next = new;
        false
    }

    fn leaf(&mut self, square: u64, content: &str, next: u32) -> u32 {
        let text = if self.recheck { self.texts.push(content.as_bytes()) } else { 0 };
        self.leaves.room(1).or_raise();
        self.leaves.push(Leaf { square, text, next });
        (self.leaves.len() - 1) as u32
    }
}

impl Default for DigitTrie {
    fn default() -> DigitTrie {
        DigitTrie::new()
    }
}

/// The decimal digits of a number, the first one first.
struct Digits {
    digits: [u8; 20],
    from: usize,
}

impl Digits {
    fn of(mut number: u64) -> Digits {
        let mut all = Digits { digits: [0; 20], from: 20 };
        loop {
            all.from -= 1;
            all.digits[all.from] = (number % 10) as u8;
            number /= 10;
            if number == 0 {
                return all;
            }
        }
    }

    fn at(&self, depth: usize) -> usize {
        self.digits.get(self.from + depth).map_or(END, |&digit| digit.into())
    }
}

/// The hash of a string that P1 ran: `String.GetHashCode` of the 32-bit .NET
/// Framework 4 (Visual Studio 2010), over UTF-16.
fn dotnet_hash(text: &str) -> i32 {
    let step =
        |hash: i32, units: i32| (hash.wrapping_shl(5).wrapping_add(hash).wrapping_add(hash >> 27)) ^ units;
    let mut hashes = [352_654_597i32; 2];
    let mut units = text.encode_utf16();
    let mut turn = 0;
    // Two code units are read as one number; the terminating zero makes up a pair.
    while let Some(low) = units.next() {
        let high = units.next().unwrap_or(0);
        hashes[turn] = step(hashes[turn], i32::from(low) | i32::from(high) << 16);
        turn ^= 1;
    }
    hashes[0].wrapping_add(hashes[1].wrapping_mul(1_566_083_941))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    /// Protects the hash: the well-known value of the empty string.
    #[test]
    fn the_empty_string_hashes_as_in_net() {
        assert_eq!(dotnet_hash(""), 757_602_046);
    }

    /// Protects against the paper's error: texts that share a path are told
    /// apart, unless the paper's way is asked for.
    #[test]
    fn texts_with_one_square_are_told_apart() {
        let (mut exact, mut paper) = (DigitTrie::new(), DigitTrie::paper());
        let seen = |trie: &mut DigitTrie| ["a", "b", "a", "c", "b"].map(|text| trie.seen_at(16, text));
        assert_eq!(seen(&mut exact), [false, false, true, false, true]);
        assert_eq!(seen(&mut paper), [false, true, true, true, true]);
    }

    proptest! {
        /// Every path is found again, and no prefix or extension of it.
        #[test]
        fn equals_a_set_of_numbers(squares in prop::collection::vec(
            prop_oneof![0u64..200, any::<u64>(), 1_000_000_000_000u64..1_000_000_000_100], 0..300)) {
            let (mut trie, mut reference) = (DigitTrie::paper(), HashSet::new());
            for square in squares {
                prop_assert_eq!(trie.seen_at(square, ""), !reference.insert(square));
            }
        }
    }
}
