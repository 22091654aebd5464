//! Edits of a text: the papers' ways to make a near-duplicate.

use petition_desk::rng::Rng;

/// Takes a share of the characters out, in runs of up to eight.
pub fn delete(text: &str, share: f64, rng: &mut Rng) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let mut left = (characters.len() as f64 * share).round() as usize;
    while left > 0 && !characters.is_empty() {
        let run = (1 + rng.below(8)).min(left).min(characters.len());
        let at = rng.below(characters.len() - run + 1);
        characters.drain(at..at + run);
        left -= run;
    }
    characters.into_iter().collect()
}

/// Puts runs of up to eight characters of another text in, a share of the
/// text's length altogether.
pub fn insert(text: &str, other: &str, share: f64, rng: &mut Rng) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    let foreign: Vec<char> = other.chars().collect();
    let mut left = (characters.len() as f64 * share).round() as usize;
    while left > 0 && !foreign.is_empty() {
        let run = (1 + rng.below(8)).min(left).min(foreign.len());
        let (from, at) = (rng.below(foreign.len() - run + 1), rng.below(characters.len() + 1));
        characters.splice(at..at, foreign[from..from + run].iter().copied());
        left -= run;
    }
    characters.into_iter().collect()
}

/// Puts the sentences (and clauses) into another order.
pub fn reorder(text: &str, rng: &mut Rng) -> String {
    let mut parts = Vec::new();
    dedup_detectors::sentences::clauses(text, |range| parts.push(&text[range]));
    for at in (1..parts.len()).rev() {
        parts.swap(at, rng.below(at + 1));
    }
    parts.concat()
}
