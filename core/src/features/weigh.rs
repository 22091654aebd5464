//! Weights of tokens.

use super::recipe::{Scheme, TextRecipe};
use crate::fingerprint::Weight;

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
pub(super) fn of_token(recipe: &TextRecipe, token: &str) -> f64 {
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
pub(super) fn of_occurrences(recipe: &TextRecipe, frequency: u32, token: f64) -> Weight {
    let frequency = f64::from(frequency);
    let scheme = match recipe.scheme {
        Scheme::Tf | Scheme::Tfidf | Scheme::TfidfLen => frequency,
        Scheme::Log => 1.0 + frequency.ln(),
        Scheme::One => 1.0,
    };
    Weight::saturating(scheme * recipe.factor.value() * token)
}

/// Whether every token weighs the same for each time it occurs.
pub(super) fn is_plain_frequency(recipe: &TextRecipe) -> bool {
    recipe.scheme == Scheme::Tf && recipe.terms.is_empty() && recipe.max_df.is_none()
}
