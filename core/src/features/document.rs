//! Features of a nested document (P2 keeps its rows in MongoDB): a leaf is known by the path of keys to it,
//! `address.city`, as a value of a row is by its column. The elements of an array have the path of the array, and their
//! order does not count.
//!
//! The recipe is that of a row, its columns being paths. A path stands for the leaf there and for all that lies below
//! it, but for what a longer path of the recipe stands for; the empty path stands for the whole document.

use super::bag::Bag;
use super::extract::Extractor;
use super::row::{Each, RowRecipe};
use crate::memory::{Grow, OrRaise, Room};

/// A document as it is read, from its first brace to its last. No depth is too deep: what is open is kept in a list.
pub struct Document<'r> {
    recipe: &'r RowRecipe,
    each: Each<'r>,
    path: String,
    /// The recipe's column that stands for the path.
    column: Option<usize>,
    /// Path and column of each object that is open.
    open: Vec<(usize, Option<usize>)>,
    /// No path of the recipe is longer.
    longest: usize,
}

impl<'r> Document<'r> {
    fn new(recipe: &'r RowRecipe, each: Each<'r>) -> Document<'r> {
        let longest = recipe.columns.iter().map(|(path, _)| path.len()).max().unwrap_or(0);
        let mut document =
            Document { recipe, each, path: String::new(), column: None, open: Vec::new(), longest };
        document.column = document.named(0);
        document
    }

    /// An object begins.
    pub fn begin(&mut self) {
        self.open.grow((self.path.len(), self.column)).or_raise();
    }

    /// An object ends.
    pub fn end(&mut self) {
        if let Some((length, column)) = self.open.pop() {
            self.path.truncate(length);
            self.column = column;
        }
    }

    /// The next key of the object. One with a dot in it is as good as two.
    pub fn key(&mut self, key: &str) {
        let Some(&(length, column)) = self.open.last() else { return };
        self.path.truncate(length);
        self.column = column;
        self.path.room(key.len() + 1).or_raise();
        if self.open.len() > 1 {
            self.path.push('.');
        }
        let from = self.path.len();
        self.path.push_str(key);
        for at in from..=self.path.len().min(self.longest) {
            if matches!(self.path.as_bytes().get(at), None | Some(b'.')) {
                self.column = self.named(at).or(self.column);
            }
        }
    }

    /// A text, a number or the like: the value of the last key, or an element of it.
    pub fn leaf(&mut self, value: &str) {
        if let Some(column) = self.column {
            (self.each)(column, &self.path, value);
        }
    }

    /// The column whose name is the path's beginning of this length.
    fn named(&self, length: usize) -> Option<usize> {
        let path = self.path.get(..length)?;
        self.recipe.columns.binary_search_by(|(name, _)| name.as_str().cmp(path)).ok()
    }
}

impl RowRecipe {
    /// The fingerprint of the document that `read` reads.
    pub fn simhash_document(
        &self,
        extractor: &mut Extractor,
        read: impl FnOnce(&mut Document<'_>),
    ) -> Option<u64> {
        self.simhash_of(extractor, |each| read(&mut Document::new(self, each)))
    }

    /// The features of the document that `read` reads.
    pub fn bag_document(&self, extractor: &mut Extractor, read: impl FnOnce(&mut Document<'_>)) -> Bag {
        self.bag_of(extractor, |each| read(&mut Document::new(self, each)))
    }
}
