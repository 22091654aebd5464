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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    fn read(json: &Value, document: &mut Document<'_>) {
        match json {
            Value::Object(members) => {
                document.begin();
                for (key, value) in members {
                    document.key(key);
                    read(value, document);
                }
                document.end();
            }
            Value::Array(elements) => elements.iter().for_each(|element| read(element, document)),
            Value::String(text) => document.leaf(text),
            Value::Number(number) => document.leaf(&number.to_string()),
            Value::Bool(truth) => document.leaf(if *truth { "t" } else { "f" }),
            Value::Null => {}
        }
    }

    /// What the module says, by the whole list of leaves: every prefix of a path is looked up, the longest first.
    fn leaves(json: &Value, path: Option<String>, all: &mut Vec<(String, String)>) {
        match json {
            Value::Object(members) => members.iter().for_each(|(key, value)| {
                let path = path.as_ref().map_or(key.clone(), |path| format!("{path}.{key}"));
                leaves(value, Some(path), all);
            }),
            Value::Array(elements) => elements.iter().for_each(|it| leaves(it, path.clone(), all)),
            Value::Null => {}
            Value::String(text) => all.push((path.unwrap_or_default(), text.clone())),
            other => all.push((path.unwrap_or_default(), other.to_string())),
        }
    }

    fn covering(path: &str, recipe: &RowRecipe) -> Option<usize> {
        let ends = path.match_indices('.').map(|(at, _)| at).chain([path.len()]);
        let prefixes: Vec<&str> = [""].into_iter().chain(ends.map(|end| &path[..end])).collect();
        prefixes.iter().rev().find_map(|prefix| recipe.columns.iter().position(|(name, _)| name == prefix))
    }

    /// Nothing is called again for a level, and a long path is not searched for where no name is as long.
    #[test]
    fn depth_does_not_matter() {
        let recipe = RowRecipe::from_json(&json!({"a.a": 2})).unwrap();
        let depth = 200_000;
        let print = recipe.simhash_document(&mut Extractor::new(), |document| {
            (0..depth).for_each(|_| {
                document.begin();
                document.key("a");
            });
            document.leaf("x");
            (0..=depth).for_each(|_| document.end());
            document.key("a");
            document.leaf("y");
        });
        assert!(print.is_some());
    }

    fn any_document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            "[水停区ab，. ]{0,6}".prop_map(Value::from),
            any::<i8>().prop_map(Value::from),
            Just(Value::Null)
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::vec(("[ab]|a\\.b|b\\.|", inner), 0..4)
                    .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()))
            ]
        })
    }

    proptest! {
        /// Each leaf counts once, under the longest path that stands for it; sums and bag are one fingerprint.
        #[test]
        fn every_leaf_is_where_its_path_says(
            document in any_document(),
            paths in prop::collection::btree_map("|[ab](\\.[ab]){0,2}", prop::sample::select(vec![
                json!(2), json!(0), json!("log"), json!({"tokens": "words", "factor": 3}),
            ]), 1..4),
        ) {
            let recipe = RowRecipe::from_json(&json!(paths)).unwrap();
            let mut all = Vec::new();
            leaves(&document, None, &mut all);
            let expected = recipe.bag_of(&mut Extractor::new(), |each| {
                for (path, value) in &all {
                    if let Some(column) = covering(path, &recipe) {
                        each(column, path, value);
                    }
                }
            });
            let mut extractor = Extractor::new();
            let bag = recipe.bag_document(&mut extractor, |it| read(&document, it));
            prop_assert_eq!(bag.features(), expected.features());
            prop_assert_eq!(recipe.simhash_document(&mut extractor, |it| read(&document, it)), bag.simhash());
        }
    }
}
