//! Dictionaries: custom words and stop words under a versioned name.

use crate::interrupt::checked;
use crate::text::{Segmenter, normalize};
use rustc_hash::FxHashSet;
use std::sync::OnceLock;

/// A frozen dictionary: additional words for the segmentation, and words to leave out.
#[derive(Debug)]
pub struct Dictionary {
    /// Its name and version, `petitions@1`.
    pub name: String,
    words: String,
    /// Its stop words, in their normal form.
    pub stop: FxHashSet<String>,
    /// Made when a recipe first cuts words with it: of many words it takes some tens of milliseconds and megabytes.
    segmenter: OnceLock<Segmenter>,
}

impl Dictionary {
    /// The dictionary of `words`, as [`Segmenter::complete_words`] wrote them, and of stop words in any form.
    pub fn new<'a>(name: &str, words: String, stop: impl IntoIterator<Item = &'a str>) -> Dictionary {
        let stop = checked(stop).map(normalize).filter(|word| !word.is_empty()).collect();
        Dictionary { name: name.to_owned(), words, stop, segmenter: OnceLock::new() }
    }

    /// Cuts text with its words.
    pub fn segmenter(&self) -> &Segmenter {
        if self.words.is_empty() {
            return Segmenter::shared();
        }
        self.segmenter.get_or_init(|| Segmenter::with_words(&self.words))
    }
}

/// Dictionaries are append-only versions: one name, one dictionary.
impl PartialEq for Dictionary {
    fn eq(&self, other: &Dictionary) -> bool {
        self.name == other.name
    }
}
