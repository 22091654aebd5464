//! SCAM (Shivakumar and Garcia-Molina 1995; surveys of P1 and P2): to what extent one text is a part of another, by the relative frequencies of their words.
//!
//! Only words that both texts use about equally often count, the *closeness
//! set*: `f / g + g / f < ε` for the frequencies f and g of a word in the two.
//! Over it, `subset(A, B) = Σ f g / Σ f²`, the lower sum over all words of A.

use super::terms::word_list;
use dedup_core::interrupt::checked;
use rustc_hash::FxHashMap;

/// The usual ε: frequencies up to twice one another are close.
pub const EPSILON: f64 = 2.5;

/// Word frequencies of a text.
fn frequencies(content: &str) -> FxHashMap<String, f64> {
    let mut all = FxHashMap::default();
    checked(word_list(content)).for_each(|word| *all.entry(word).or_default() += 1.0);
    all
}

fn subset_of(a: &FxHashMap<String, f64>, b: &FxHashMap<String, f64>, epsilon: f64) -> f64 {
    let (mut close, mut all) = (0.0, 0.0);
    for (word, f) in checked(a) {
        all += f * f;
        if let Some(g) = b.get(word).filter(|&g| f / g + g / f < epsilon) {
            close += f * g;
        }
    }
    // Words that B uses more often than A can lift the sum past 1.
    if all == 0.0 { 0.0 } else { f64::min(close / all, 1.0) }
}

/// The extent, 0 to 1, to which text `a` is a part of text `b`. Not symmetric. `epsilon`
/// is above 2: at 2 and below no word is close, not even in equal texts.
pub fn subset(a: &str, b: &str, epsilon: f64) -> f64 {
    subset_of(&frequencies(a), &frequencies(b), epsilon)
}

/// SCAM's similarity, 0 to 1: the larger of the two subset measures.
///
/// ```
/// use dedup_detectors::scam::{EPSILON, similarity, subset};
/// let (part, whole) = ("a b", "a b c d");
/// assert_eq!((subset(part, whole, EPSILON), subset(whole, part, EPSILON)), (1.0, 0.5));
/// assert_eq!(similarity(whole, part, EPSILON), 1.0);
/// ```
pub fn similarity(a: &str, b: &str, epsilon: f64) -> f64 {
    let (a, b) = (frequencies(a), frequencies(b));
    f64::max(subset_of(&a, &b, epsilon), subset_of(&b, &a, epsilon))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_close_words_count() {
        // a: 2 and 1, 2/1 + 1/2 = 2.5, not below ε; b: 1 and 1.
        assert_eq!(subset("a a b", "a b", EPSILON), 1.0 / 5.0);
        assert_eq!(subset("a a b", "a b", 2.6), 3.0 / 5.0);
        assert_eq!(subset("a b", "a a b", 2.6), 1.0);
        assert_eq!((subset("", "", EPSILON), similarity("。", "a", EPSILON)), (0.0, 0.0));
    }

    proptest! {
        #[test]
        fn a_similarity(a in "[a-d ]{0,20}", b in "[a-d ]{0,20}") {
            let s = similarity(&a, &b, EPSILON);
            prop_assert!((0.0..=1.0).contains(&s));
            prop_assert_eq!(s, similarity(&b, &a, EPSILON));
            let itself = f64::from(u8::from(!a.trim().is_empty()));
            prop_assert_eq!(similarity(&a, &a, EPSILON), itself);
        }
    }
}
