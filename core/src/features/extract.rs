//! Extracts the weighted features of a text by a recipe.

use super::bag::Bag;
use super::recipe::{Hash, Scheme, TextRecipe, Tokens};
use crate::fingerprint::{SimHash, Weight};
use crate::hash::city64;
use crate::interrupt::{self, Meter, checked};
use crate::memory::{self, Grow, OrRaise, Room};
use crate::text::{Characters, Normal, PIECE_BYTES, char_ngrams, compact, normalize_into};
use rustc_hash::FxHashMap;

/// Extracts features of texts; reuses its buffers.
#[derive(Default)]
pub struct Extractor {
    normal: String,
    compacted: String,
    feature: String,
    counts: FxHashMap<u64, Counted>,
    texts: Vec<String>,
    characters: Characters,
}

/// A feature under a scheme that needs its frequency.
#[derive(Clone, Copy)]
struct Counted {
    frequency: u32,
    /// The number of its text, if texts are kept.
    text: u32,
    /// What one token of it weighs, whatever the frequency.
    token: f64,
}

/// The extractor keeps buffers for this many features; larger ones are freed, so that they do not slow down the
/// texts that follow.
const KEPT_FEATURES: usize = 1 << 14;
const KEPT_BYTES: usize = 1 << 20;

impl Extractor {
    /// An extractor with empty buffers.
    pub fn new() -> Extractor {
        Extractor::default()
    }

    /// The fingerprint of one text, or `None` if it has no feature.
    pub fn simhash(&mut self, text: &str, recipe: &TextRecipe) -> Option<u64> {
        let mut sums = SimHash::new();
        self.text_into_sums(&mut sums, text, recipe);
        sums.finish()
    }

    /// The features of one text.
    pub fn bag(&mut self, text: &str, recipe: &TextRecipe) -> Bag {
        let mut bag = Bag::default();
        self.text_into_bag(&mut bag, None, text, recipe);
        bag
    }

    /// Adds the features of a running text to `sums`.
    pub(super) fn text_into_sums(&mut self, sums: &mut SimHash, text: &str, recipe: &TextRecipe) {
        if !is_plain_frequency(recipe) {
            let (counts, texts) = self.count(text, recipe, false);
            // Most features occur once and have no weight of their own: those
            // weigh the same, and counting is much faster than adding.
            sums.set_unit(of_occurrences(recipe, 1, 1.0));
            for (&hash, counted) in checked(&counts) {
                if counted.frequency == 1 && counted.token == 1.0 {
                    sums.count(hash);
                } else {
                    sums.add(hash, of_occurrences(recipe, counted.frequency, counted.token));
                }
            }
            self.release(counts, texts);
            return;
        }
        // Term frequency needs no table: adding a feature again is counting it.
        sums.set_unit(recipe.factor);
        let as_it_is = recipe.normal == Normal::default();
        if !as_it_is || !count_plain(sums, text, recipe, &mut self.characters) {
            recipe.normal.write(text, &mut self.normal);
            if !count_plain(sums, &self.normal, recipe, &mut self.characters) {
                self.each_token_of_normal(recipe, |token| sums.count(recipe.hash.of(token)));
            }
        }
        self.keep_small();
    }

    /// Adds the features of a running text, the value of `column` if it is part of a row, to `bag`.
    pub(super) fn text_into_bag(
        &mut self,
        bag: &mut Bag,
        column: Option<usize>,
        text: &str,
        recipe: &TextRecipe,
    ) {
        let (counts, texts) = self.count(text, recipe, true);
        let counted = checked(&counts).map(|(&hash, &counted)| (hash, counted));
        let mut counted = memory::collect(counted).or_raise();
        let text_of = |counted: &Counted| &texts[counted.text as usize];
        interrupt::sort_unstable_by(&mut counted, |a, b| text_of(&a.1).cmp(text_of(&b.1)));
        for (hash, counted) in checked(&counted) {
            let weight = of_occurrences(recipe, counted.frequency, counted.token);
            if !weight.is_zero() {
                bag.add(column, text_of(counted), *hash, weight);
            }
        }
        drop(counted);
        self.release(counts, texts);
    }

    /// Keeps what [`Extractor::count`] lent for the next text, but not the room
    /// that only an unusually long text needs.
    fn release(&mut self, counts: FxHashMap<u64, Counted>, mut texts: Vec<String>) {
        if counts.capacity() <= KEPT_FEATURES {
            self.counts = counts;
        }
        texts.clear();
        if texts.capacity() <= KEPT_FEATURES {
            self.texts = texts;
        }
        self.keep_small();
    }

    /// Frees what only an unusually long text or path needs.
    pub(super) fn keep_small(&mut self) {
        self.characters.keep_small();
        for buffer in [&mut self.normal, &mut self.compacted, &mut self.feature] {
            if buffer.capacity() > KEPT_BYTES {
                *buffer = String::new();
            }
        }
    }

    /// The single feature of a short field: the column's name, `=`, and the
    /// whole normal form. `None` if nothing is left of the value.
    pub(super) fn value(&mut self, column: &str, value: &str) -> Option<&str> {
        normalize_into(value, &mut self.normal);
        if self.normal.is_empty() {
            return None;
        }
        // Of a number the sign is no punctuation.
        let is_negative = value.trim_start().starts_with('-') && value.trim().parse::<f64>().is_ok();
        self.feature.clear();
        // A document's path is as long as its keys.
        self.feature.room(column.len() + self.normal.len() + "=-".len()).or_raise();
        self.feature.extend([column, "=", if is_negative { "-" } else { "" }, &self.normal]);
        Some(&self.feature)
    }

    /// The features of a text by their hashes and, if they are kept, their
    /// texts. Lent, so that an interrupt, which unwinds, frees them.
    fn count(
        &mut self,
        text: &str,
        recipe: &TextRecipe,
        keep_texts: bool,
    ) -> (FxHashMap<u64, Counted>, Vec<String>) {
        let (mut counts, mut texts) = (std::mem::take(&mut self.counts), std::mem::take(&mut self.texts));
        counts.clear();
        self.each_token(text, recipe, |token| {
            let new = || {
                if keep_texts {
                    texts.grow(token.to_owned()).or_raise();
                }
                Counted {
                    frequency: 0,
                    text: texts.len().saturating_sub(1) as u32,
                    token: of_token(recipe, token),
                }
            };
            counts.room(1).or_raise();
            counts.entry(recipe.hash.of(token)).or_insert_with(new).frequency += 1;
        });
        (counts, texts)
    }

    /// Calls `each` with every token of the text, in order, repetitions included.
    pub(super) fn each_token(&mut self, text: &str, recipe: &TextRecipe, each: impl FnMut(&str)) {
        recipe.normal.write(text, &mut self.normal);
        self.each_token_of_normal(recipe, each);
    }

    fn each_token_of_normal(&mut self, recipe: &TextRecipe, mut each: impl FnMut(&str)) {
        let Extractor { normal, compacted, .. } = self;
        let mut emit = |token: &str| {
            if recipe.stop.is_empty() || !recipe.stop.contains(token) {
                each(token);
            }
        };
        if matches!(recipe.tokens, Tokens::Words | Tokens::WordsAndChars) {
            recipe.segmenter().words(normal, recipe.hmm, &mut emit);
        }
        if matches!(recipe.tokens, Tokens::Chars | Tokens::WordsAndChars) {
            compact(normal, compacted);
            recipe.n.iter().for_each(|&n| char_ngrams(compacted, n, &mut emit));
        }
        if recipe.tokens == Tokens::Shingles {
            let mut words = Vec::new();
            recipe.segmenter().words(normal, recipe.hmm, |word| words.grow(word).or_raise());
            let mut meter = Meter::new();
            for &n in &recipe.n {
                if !words.is_empty() && words.len() < n {
                    emit(&words.join(" "));
                }
                words.windows(n).for_each(|window| {
                    meter.work(4 + n);
                    emit(&window.join(" "));
                });
            }
        }
    }
}

/// Counts the words, and the runs of characters if the recipe has those, of a text of Chinese and ASCII, as most are: no
/// token needs a string of its own. Whether it could.
fn count_plain(sums: &mut SimHash, text: &str, recipe: &TextRecipe, characters: &mut Characters) -> bool {
    let words = matches!(recipe.tokens, Tokens::Words | Tokens::WordsAndChars);
    let plain = recipe.stop.is_empty() && recipe.dictionary.is_none() && !recipe.hmm;
    if !words || !plain || text.len() > PIECE_BYTES || !characters.read(text) {
        return false;
    }
    match recipe.hash {
        Hash::City64 => count_read(sums, recipe, characters, city64),
        hash => {
            count_read(sums, recipe, characters, |bytes| hash.of(str::from_utf8(bytes).unwrap_or_default()))
        }
    }
    true
}

fn count_read(
    sums: &mut SimHash,
    recipe: &TextRecipe,
    characters: &mut Characters,
    hash: impl Fn(&[u8]) -> u64,
) {
    if recipe.tokens == Tokens::WordsAndChars {
        for &n in &recipe.n {
            // A text shorter than `n` is one run of itself.
            let n = n.min(characters.count()).max(1);
            let mut meter = Meter::new();
            for run in characters.runs(n) {
                meter.work(1 + n / 16);
                sums.count(hash(run));
            }
        }
    }
    characters.words(|word| sums.count(hash(word)));
}

/// P3's weight of a word of `characters` characters, formula (5): the normal
/// distribution of the lengths of Chinese terms, with its peak at 1.
pub fn length_weight(characters: usize) -> f64 {
    const MEAN: f64 = 4.51;
    const DEVIATION: f64 = 2.207;
    let off = characters as f64 - MEAN;
    (-off * off / (2.0 * DEVIATION * DEVIATION)).exp()
}

/// The part of a token's weight that does not depend on how often it occurs:
/// its own weight, what the corpus says of it, its length.
fn of_token(recipe: &TextRecipe, token: &str) -> f64 {
    let mut weight = 1.0;
    if !recipe.terms.is_empty() {
        weight = recipe.terms.get(token).copied().unwrap_or(Weight::ONE).value();
    }
    let Some(corpus) = &recipe.corpus else { return weight };
    if recipe.max_df.is_some_and(|share| corpus.share(token) > share) {
        return 0.0;
    }
    match recipe.scheme {
        Scheme::Tf | Scheme::Log | Scheme::One => weight,
        Scheme::Tfidf => weight * corpus.idf(token),
        Scheme::TfidfLen => weight * corpus.idf(token) * (1.0 + length_weight(token.chars().count())),
    }
}

/// The weight of a token that occurs `frequency` times.
fn of_occurrences(recipe: &TextRecipe, frequency: u32, token: f64) -> Weight {
    let frequency = f64::from(frequency);
    let scheme = match recipe.scheme {
        Scheme::Tf | Scheme::Tfidf | Scheme::TfidfLen => frequency,
        Scheme::Log => 1.0 + frequency.ln(),
        Scheme::One => 1.0,
    };
    Weight::saturating(scheme * recipe.factor.value() * token)
}

/// Whether every token weighs the same for each time it occurs.
fn is_plain_frequency(recipe: &TextRecipe) -> bool {
    recipe.scheme == Scheme::Tf && recipe.terms.is_empty() && recipe.max_df.is_none()
}
