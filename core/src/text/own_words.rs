//! Words beside those of jieba's dictionary, and other frequencies for some of those.

use super::lexicon;
use crate::memory::{Grow, OrRaise, Room};
use rustc_hash::{FxHashMap, FxHashSet};

/// Own words, as a trie of characters.
#[derive(Debug)]
pub struct OwnWords {
    /// The child by a character of the node with a number.
    nodes: FxHashMap<(u32, char), Node>,
    /// The frequency of each word, and its logarithm.
    words: Vec<(u64, f64)>,
    /// The cells of those words that jieba's dictionary has too: their frequencies there do not count.
    replaced: FxHashSet<usize>,
    /// The sum of the frequencies of all words, jieba's and own.
    total: u64,
}

/// A node of the trie: its number, and the place after that of the word that ends here; 0 if none does.
#[derive(Debug, Clone, Copy)]
pub struct Node(u32, u32);

impl OwnWords {
    pub fn new() -> OwnWords {
        OwnWords {
            nodes: FxHashMap::default(),
            words: Vec::new(),
            replaced: FxHashSet::default(),
            total: lexicon::TOTAL,
        }
    }

    pub const ROOT: Node = Node(0, 0);

    #[inline]
    pub fn child(&self, node: Node, c: char) -> Option<Node> {
        self.nodes.get(&(node.0, c)).copied()
    }

    /// The logarithm of the frequency of the word that ends at a node, if one does.
    #[inline]
    pub fn logarithm(&self, node: Node) -> Option<f64> {
        Some(self.word(node)?.1)
    }

    fn word(&self, node: Node) -> Option<(u64, f64)> {
        self.words.get((node.1 as usize).checked_sub(1)?).copied()
    }

    /// Whether the word of a cell has another frequency here.
    #[inline]
    pub fn replaces(&self, cell: usize) -> bool {
        self.replaced.contains(&cell)
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Adds a word, or gives the word another frequency; it is at least 1.
    pub fn add(&mut self, word: &str, frequency: u64) {
        self.total = self.total.saturating_sub(self.frequency(word).unwrap_or(0)).saturating_add(frequency);
        if let Some(cell) = lexicon::find(word) {
            self.replaced.room(1).or_raise();
            self.replaced.insert(cell);
        }
        let (mut parent, mut characters) = (0, word.chars().peekable());
        while let Some(c) = characters.next() {
            self.nodes.room(1).or_raise();
            let new = Node(self.nodes.len() as u32 + 1, 0);
            let node = self.nodes.entry((parent, c)).or_insert(new);
            parent = node.0;
            if characters.peek().is_none() {
                if node.1 == 0 {
                    self.words.grow((0, 0.0)).or_raise();
                    node.1 = self.words.len() as u32;
                }
                self.words[node.1 as usize - 1] = (frequency, (frequency as f64).ln());
            }
        }
    }

    /// The frequency of a word, own or jieba's.
    pub fn frequency(&self, word: &str) -> Option<u64> {
        let own = word.chars().try_fold(Self::ROOT, |node, c| self.child(node, c));
        let own = own.and_then(|node| self.word(node)).map(|(frequency, _)| frequency);
        own.or_else(|| Some(lexicon::frequency(lexicon::cell(lexicon::find(word)?).rank()).into()))
    }
}
