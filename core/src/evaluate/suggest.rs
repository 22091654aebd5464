//! Suggested settings by the kind of text: recipe, distance, verification.
//!
//! They depend on the length, for one changed character is a large part of a short text and a small part of a
//! long one, and on the script, for two Chinese characters carry as much information as five English letters.
//! The settings are the documented defaults of `docs/internals/measurements.md`; none is fitted to what is the same in the
//! given texts. Those only show how much unrelated ones share: that determines the distance ([`super::Background`]), may
//! raise the threshold ([`Chance`]), says whether all can be compared, and what common words weigh ([`super::weighed`]).

use super::chance::{Chance, steps_of_join};
use crate::details::Frame;
use crate::features::TextRecipe;
use crate::memory::{self, Grow, OrRaise};
use crate::text::{is_spaceless_char, normalize};
use serde_json::{Value, json};
use std::borrow::Cow;

/// The least threshold of verification: half of the n-grams of two texts of equal length are shared, J = 0.5 / 1.5.
const HALF_SHARED: (f64, &str) = (0.333, "Half of the n-grams");
/// The cosine by weights of two texts that share half: of sets as large it is the share.
const WEIGHED: (f64, &str) = (0.5, "Half of the n-grams by their weight");
/// That of long texts without spaces: two fifths are shared, J = 0.4 / 1.6. On the generated petitions that it was
/// chosen by no more were taken for one another, their names compared, than at a half.
const TWO_FIFTHS_SHARED: (f64, &str) = (0.25, "Two fifths of the n-grams");

/// N-grams that a join compares, in all and for each row, up to which the texts of a table are joined: a minute, or, of a million
/// rows, five.
const AFFORDABLE: (f64, f64) = (2e11, 6e5);
/// Pairs that it finds, up to which they are: 2.4 GB of temporary files.
const FOUND: f64 = 2e8;

/// Length and script of texts.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    lengths: Vec<u32>,
    spaceless: u64,
    characters: u64,
    marked_up: u64,
}

/// Suggested settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// Whether no distance of fingerprints is both safe and wide enough, and the texts may be compared themselves, by what that
    /// takes.
    pub short: bool,
    /// Whether fingerprints are of much that is not compared, and the texts may be compared themselves.
    pub framed: bool,
    /// The recipe of the fingerprint.
    pub recipe: Value,
    /// The length, in characters, of the n-grams that verification compares.
    pub n: u32,
    /// The Jaccard similarity, 0 to 1, from which texts count as near-duplicates.
    pub threshold: f64,
    /// The distance that pairs at the threshold have on average, by the closed form 64 acos(2J / (1 + J)) / π.
    pub expected_distance: f64,
    /// The reason, in words.
    pub reason: String,
}

impl Suggestion {
    /// Whether the texts are better compared themselves than by fingerprints within a distance.
    pub fn compares_texts(&self, distance: u32) -> bool {
        self.short || self.framed && f64::from(distance) < self.expected_distance
    }
}

impl Profile {
    /// Adds a text.
    pub fn add(&mut self, text: &str) {
        let normal = normalize(text);
        let length = normal.chars().filter(|&c| c != ' ').count() as u32;
        if length == 0 {
            return;
        }
        self.lengths.grow(length).or_raise();
        self.characters += u64::from(length);
        self.spaceless += normal.chars().filter(|&c| is_spaceless_char(c)).count() as u64;
        let tags = text.match_indices("</").count()
            + text.match_indices("/>").count()
            + text.match_indices("<br").count();
        self.marked_up += u64::from(tags >= 2);
    }

    /// The number of texts added, empty ones not counted.
    pub fn texts(&self) -> usize {
        self.lengths.len()
    }

    /// The length, in characters, that the share `part` (0 to 1) of the texts does not exceed.
    pub fn quantile(&self, part: f64) -> u32 {
        let mut lengths = memory::copy(&self.lengths).or_raise();
        lengths.sort_unstable();
        let at = (part * lengths.len().saturating_sub(1) as f64).round() as usize;
        lengths.get(at).copied().unwrap_or(0)
    }

    /// The settings for such texts in a table of `rows`; `sample` are some of them.
    pub fn suggest<T: AsRef<str>>(&self, sample: &[T], rows: u64) -> Suggestion {
        let frame = Frame::learned_from(sample);
        if !frame.is_of_most() {
            return self.suggest_for(sample, rows, false);
        }
        // Fingerprints are of whole texts: what all have in common would decide.
        let own = sample
            .iter()
            .map(|text| frame.cut(text.as_ref()).map_or(Cow::Borrowed(text.as_ref()), Cow::Owned));
        let own: Vec<Cow<str>> = memory::collect(own).or_raise();
        let mut profile = Profile::default();
        own.iter().for_each(|text| profile.add(text));
        let mut suggestion = profile.suggest_for(&own, rows, true);
        suggestion.reason = format!(
            "Many say the same beside it, as a preface, a footer or the words of a form, which is left out. {}",
            suggestion.reason
        );
        suggestion
    }

    fn suggest_for<T: AsRef<str>>(&self, sample: &[T], rows: u64, framed: bool) -> Suggestion {
        let median = self.quantile(0.5);
        // In a script without spaces between words, three of ten characters at least.
        let chinese = 10 * self.spaceless >= 3 * self.characters.max(1);
        // In a script with spaces, what two texts share first are function words: without them and with
        // frequencies damped, unrelated texts are some 30 bits apart, and a wide distance is safe.
        let words = || json!({"tokens": "words", "weight": "log", "stop": "en"});
        let short = median < if chinese { 40 } else { 120 };
        let (mut recipe, n, (least, part)) = match (short, chinese) {
            (true, true) => (json!({"tokens": "chars", "n": [1, 2]}), 2, WEIGHED),
            (false, true) => (json!({"tokens": "words+chars", "n": 2}), 3, TWO_FIFTHS_SHARED),
            (false, false) => (words(), 5, HALF_SHARED),
            (true, false) => (words(), 3, WEIGHED),
        };
        let chance = Chance::measure(sample, n as usize);
        let threshold = chance.threshold(rows, least);
        let markup = 2 * self.marked_up > self.lengths.len() as u64;
        if markup {
            recipe["markup"] = json!("html");
        }
        let script = if chinese { "without spaces between words" } else { "with spaces between words" };
        let most = AFFORDABLE.0.max(AFFORDABLE.1 * rows as f64);
        let joined = (short || framed)
            && chance.share(threshold) * (rows as f64).powi(2) / 2.0 <= FOUND
            && steps_of_join(sample, n as usize, threshold, rows) <= most;
        let what = match (short, joined) {
            (true, true) => {
                "They are short: one changed character turns many bits, so no distance is both safe and wide enough. \
                 So the texts themselves are compared."
            }
            (true, false) => {
                "They are short and of so few words that comparing all would take minutes, as method text does: \
                 fingerprints find candidates, not all of them."
            }
            _ => {
                "They are long enough for fingerprints to find candidates at a wide distance, and for the texts to decide."
            }
        };
        let why = if threshold > least {
            format!(
                "Unrelated ones have so much in common that they are told apart from Jaccard {threshold} on only."
            )
        } else {
            format!("{part} shared (similarity {least}) tells them from unrelated ones.")
        };
        let texts = match self.texts() as u64 {
            1 => "1 text".to_owned(),
            all if all >= rows => format!("{all} texts"),
            some => format!("{some} of {rows} texts"),
        };
        let reason = format!(
            "{texts} {script}, half up to {median} characters without spaces and nine in ten up to {}{}. {what} {why}",
            self.quantile(0.9),
            if markup { ", most marked up as HTML" } else { "" },
        );
        let cosine = 2.0 * threshold / (1.0 + threshold);
        let expected_distance = 64.0 * cosine.acos() / std::f64::consts::PI;
        Suggestion {
            short: short && joined,
            framed: framed && joined,
            recipe,
            n,
            threshold,
            expected_distance,
            reason,
        }
    }
}

/// The recipe by which most is empty of what is empty by a recipe that is suggested.
pub fn emptying() -> TextRecipe {
    TextRecipe::from_json(&json!({"stop": "en", "markup": "html"})).unwrap_or_default()
}
