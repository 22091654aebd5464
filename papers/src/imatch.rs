//! I-Match (Chowdhury, Frieder, Grossman and McCabe 2002): one hash of the set
//! of a text's words that are in a lexicon of words neither too common nor too rare. Texts with equal hashes are duplicates: an equality join, and
//! a btree or hash index, find them.
//!
//! One changed word of the lexicon changes the hash. Randomised lexicons (Kołcz, Chowdhury and Alspector 2004)
//! compensate for that: further hashes, each under a
//! copy of the lexicon without a random part of its words; texts are
//! duplicates if one of their hashes is equal.
//!
//! Under a corpus the tokens are what the corpus counts: of shingles it is P2's I-Match, which hashes those neither too
//! common nor too rare.

use super::terms::words;
use dedup_core::features::{Extractor, TextRecipe};
use dedup_core::hash::city64;
use dedup_core::interrupt::{self, checked};
use dedup_core::memory::{self, OrRaise, Room};
use dedup_core::text::normalize;
use rustc_hash::{FxHashMap, FxHashSet};
use std::ops::RangeInclusive;

/// The words that count.
#[derive(Debug, Clone)]
pub enum Lexicon {
    /// Those of a list, by their hashes.
    Words(FxHashSet<u64>),
    /// The tokens of a recipe whose normalised inverse document frequency in its corpus is within bounds, see
    /// [`LexiconBuilder::words`]. One that the corpus does not know has the highest: 1.
    Corpus(Box<TextRecipe>, RangeInclusive<f64>),
}

impl Lexicon {
    /// The lexicon of some words; their normal forms count.
    pub fn new<'a>(words: impl IntoIterator<Item = &'a str>) -> Lexicon {
        let hashes = checked(words).map(normalize).filter(|word| !word.is_empty());
        Lexicon::Words(hashes.map(|word| city64(word.as_bytes())).collect())
    }

    /// The tokens of a recipe whose normalised inverse document frequency in its corpus is within `bounds`; none if it
    /// has no corpus.
    pub fn of_corpus(recipe: TextRecipe, bounds: RangeInclusive<f64>) -> Lexicon {
        Lexicon::Corpus(Box::new(recipe), bounds)
    }

    /// The hashes of the tokens of `content` that count, each once, ascending.
    fn telling(&self, content: &str) -> Vec<u64> {
        let mut all = Vec::new();
        match self {
            Lexicon::Words(hashes) => words(content, |word| {
                let hash = city64(word.as_bytes());
                if hashes.contains(&hash) {
                    all.push(hash);
                }
            }),
            Lexicon::Corpus(recipe, bounds) => {
                let Some(corpus) = &recipe.corpus else { return all };
                let documents = (corpus.documents as f64).ln();
                let bag = Extractor::new().bag(content, recipe);
                let within =
                    |token: &str| documents > 0.0 && bounds.contains(&(corpus.idf(token) / documents));
                let counted = checked(bag.features()).filter(|feature| within(&feature.text));
                all = memory::collect(counted.map(|feature| feature.hash)).or_raise();
            }
        }
        interrupt::sort_and_dedup(&mut all);
        all
    }

    /// The signature of a text, or `None` if fewer than `least` different
    /// words of it (and no fewer than one) are in the lexicon: a hash of next
    /// to nothing would be shared by texts that have nothing in common. The
    /// order of words and their repetition do not matter.
    pub fn signature(&self, content: &str, least: usize) -> Option<u64> {
        signature(&self.telling(content), 0, least)
    }

    /// The signature under the lexicon itself, then under `copies` copies of
    /// it, each with every word kept with the probability `keep`. The copies
    /// are always the same for the same lexicon. A copy under which the text
    /// has fewer than `least` words gives no signature; equal values stand
    /// for equal words under the same copy.
    pub fn randomized(&self, content: &str, copies: usize, keep: f64, least: usize) -> Vec<u64> {
        let telling = self.telling(content);
        let mut all: Vec<u64> = signature(&telling, 0, least).into_iter().collect();
        let mut kept = Vec::with_capacity(telling.len());
        for copy in 1..=copies as u64 {
            interrupt::check();
            kept.clear();
            kept.extend(checked(&telling).copied().filter(|&word| chance(word, copy) < keep));
            all.extend(signature(&kept, copy, least));
        }
        all
    }
}

/// A number, 0 to 1 but not 1, that depends on a word and a copy only.
fn chance(word: u64, copy: u64) -> f64 {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&word.to_le_bytes());
    bytes[8..].copy_from_slice(&copy.to_le_bytes());
    (city64(&bytes) >> 11) as f64 / (1u64 << 53) as f64
}

fn signature(words: &[u64], copy: u64, least: usize) -> Option<u64> {
    if words.len() < least.max(1) {
        return None;
    }
    let bytes: Vec<u8> = [copy].iter().chain(words).flat_map(|number| number.to_le_bytes()).collect();
    Some(city64(&bytes))
}

/// Counts the documents of each word, to choose a lexicon.
#[derive(Debug, Clone, Default)]
pub struct LexiconBuilder {
    documents: u64,
    /// By word: the frequency, and the last document counted.
    frequencies: FxHashMap<String, (u64, u64)>,
}

impl LexiconBuilder {
    /// No documents.
    pub fn new() -> LexiconBuilder {
        LexiconBuilder::default()
    }

    /// Adds a document. One without words does not count.
    pub fn add(&mut self, content: &str) {
        let this = self.documents + 1;
        words(content, |word| {
            self.documents = this;
            match self.frequencies.get_mut(word) {
                Some((_, last)) if *last == this => {}
                Some((frequency, last)) => (*frequency, *last) = (*frequency + 1, this),
                None => {
                    self.frequencies.room(1).or_raise();
                    self.frequencies.insert(word.to_owned(), (1, this));
                }
            }
        });
    }

    /// The number of documents counted.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The words whose normalised inverse document frequency,
    /// `ln(N / df) / ln(N)`, is within `low..=high`, in the order of their
    /// characters' codes. It is 1 of a word in one document of all, 0 of a
    /// word in every document. With fewer than two documents none.
    pub fn words(&self, low: f64, high: f64) -> Vec<String> {
        let documents = self.documents as f64;
        if self.documents < 2 {
            return Vec::new();
        }
        let within = |frequency: u64| {
            let idf = (documents / frequency as f64).ln() / documents.ln();
            (low..=high).contains(&idf)
        };
        let counted = checked(&self.frequencies).filter(|(_, (frequency, _))| within(*frequency));
        let mut chosen = memory::collect(counted.map(|(word, _)| word.clone())).or_raise();
        interrupt::sort_unstable_by(&mut chosen, String::cmp);
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dedup_core::features::{Corpus, CorpusBuilder, Dictionary, RecipeError, Resolver, missing};
    use proptest::prelude::*;
    use proptest::sample::subsequence;
    use serde_json::json;
    use std::sync::Arc;

    const WORDS: [&str; 8] = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"];

    #[test]
    fn only_words_of_the_lexicon_count() {
        let lexicon = Lexicon::new(["停水", "Gas", "…"]);
        let sign = |text| lexicon.signature(text, 1);
        assert!(sign("小区停水了").is_some());
        assert_eq!(sign("小区停水了"), sign("停水！停水！我们这里停水"));
        assert_ne!(sign("停水"), sign("停水 GAS"));
        assert_eq!(sign("小区"), None);
        assert_eq!(lexicon.signature("停水", 2), None);
        assert_eq!(Lexicon::new([]).signature("停水", 0), None);
    }

    #[test]
    fn the_lexicon_is_chosen_by_idf() {
        let mut builder = LexiconBuilder::new();
        ["a b c", "a b", "a d a d", "a, b", "", "……"].iter().for_each(|text| builder.add(text));
        assert_eq!(builder.documents, 4);
        assert_eq!(builder.words(0.0, 0.0), ["a"]);
        assert_eq!(builder.words(1.0, 1.0), ["c", "d"]);
        assert_eq!(builder.words(0.1, 0.9), ["b"]);
        assert_eq!(LexiconBuilder::new().words(0.0, 1.0), [""; 0]);
    }

    struct One(Arc<Corpus>);

    impl Resolver for One {
        fn corpus(&self, _: &str) -> Result<Arc<Corpus>, RecipeError> {
            Ok(Arc::clone(&self.0))
        }
        fn dictionary(&self, name: &str) -> Result<Arc<Dictionary>, RecipeError> {
            Err(missing("dictionary", name, &[]))
        }
    }

    fn lexicon(texts: &[&str], tokens: serde_json::Value, bounds: RangeInclusive<f64>) -> Lexicon {
        let mut builder = CorpusBuilder::new(TextRecipe::from_json(&tokens).unwrap());
        texts.iter().for_each(|text| builder.add(&mut Extractor::new(), text));
        let (shape, stored) = (builder.shape(), builder.finish());
        let corpus = Corpus::new("c@1", shape, stored.documents, &stored.common).unwrap();
        let recipe = TextRecipe::resolved(&json!({"corpus": "c@1"}), &One(Arc::new(corpus))).unwrap();
        Lexicon::of_corpus(recipe, bounds)
    }

    /// A corpus with bounds is the lexicon that the builder would choose.
    #[test]
    fn a_corpus_is_a_lexicon() {
        let lexicon = lexicon(&["a b c", "a b", "a d a d", "a, b"], json!({"tokens": "words"}), 0.1..=0.9);
        assert_eq!(lexicon.signature("a b c d", 1), Lexicon::new(["b"]).signature("b", 1));
        assert_eq!(lexicon.signature("a", 1), None);
    }

    /// P2: the set of a text's shingles, without those of most texts and those of this text alone.
    #[test]
    fn a_corpus_of_shingles() {
        let texts = ["x y a b c", "x y a b d", "x y e f g", "x y h i j"];
        let lexicon = lexicon(&texts, json!({"tokens": "shingles", "n": 2}), 0.1..=0.9);
        let sign = |text| lexicon.signature(text, 1);
        // Both have "y a" and "a b" of all that more than one and fewer than all texts have.
        assert!(sign(texts[0]).is_some());
        assert_eq!(sign(texts[0]), sign(texts[1]));
        assert_eq!(sign("y a b"), sign(texts[0]));
        assert_ne!(sign("a b"), sign(texts[0]));
        assert_ne!(sign("b a y"), sign(texts[0]));
        assert_eq!(sign(texts[2]), None);
        assert_eq!(lexicon.signature(texts[0], 3), None);
    }

    /// Kołcz: one telling word lost still leaves an equal signature, under a
    /// copy that does not have the word either.
    #[test]
    fn copies_survive_a_lost_word() {
        let lexicon = Lexicon::new(WORDS);
        let whole = lexicon.randomized(&WORDS.join(" "), 20, 0.67, 1);
        let found = (0..WORDS.len()).filter(|&lost| {
            let rest: Vec<&str> = WORDS.iter().copied().filter(|&word| word != WORDS[lost]).collect();
            assert_ne!(lexicon.signature(&rest.join(" "), 1), lexicon.signature(&WORDS.join(" "), 1));
            lexicon.randomized(&rest.join(" "), 20, 0.67, 1).iter().any(|value| whole.contains(value))
        });
        // Each is missed with the probability 0.67^20.
        assert_eq!(found.count(), WORDS.len());
    }

    proptest! {
        /// The order of words, other words among them and repetitions do not
        /// matter; the set does.
        #[test]
        fn order_does_not_matter(
            a in subsequence(&WORDS[..], 1..8).prop_shuffle(),
            b in subsequence(&WORDS[..], 1..8).prop_shuffle(),
            noise in "[x-z ]{0,9}",
        ) {
            let lexicon = Lexicon::new(WORDS);
            let (text, other) = (format!("{} {noise} {}", a.join(" "), a[0]), b.join("，"));
            let (mut x, mut y) = (a.clone(), b);
            x.sort_unstable();
            y.sort_unstable();
            prop_assert_eq!(lexicon.signature(&text, 1) == lexicon.signature(&other, 1), x == y);
            prop_assert_eq!(lexicon.randomized(&text, 3, 0.5, 1), lexicon.randomized(&x.join(" "), 3, 0.5, 1));
        }
    }
}
