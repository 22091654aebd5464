//! SpotSigs (Theobald, Siddharth and Paepcke 2008; P5's comparison): the words
//! that follow a function word. Running prose is full of function words, the menus and advertisements around it
//! are not, so the spots lie in the relevant text.
//!
//! For every occurrence of an *antecedent* the spot signature is the
//! antecedent and a chain of `chain` words after it, each the `distance`-th
//! that is not a stop word after the one before. Texts are compared by the
//! Jaccard similarity of the multisets of their spots
//! ([`dedup_core::similarity::Overlap::of_multisets`]); candidates share a spot.

use super::terms::word_list;
use dedup_core::interrupt::{Meter, check, checked};
use dedup_core::text::normalize;
use rustc_hash::FxHashSet;

/// Antecedents for Chinese and English: function words that hardly occur
/// outside of sentences.
pub const ANTECEDENTS: &[&str] = &[
    "的", "了", "是", "在", "和", "有", "就", "都", "也", "被", "把", "对", "从", "为", "与", "a", "an",
    "the", "is", "are", "was", "were", "be", "been", "have", "has", "had", "do", "did", "can", "will", "to",
    "that",
];

/// The parameters of spots.
#[derive(Debug, Clone, PartialEq)]
pub struct Spots {
    antecedents: FxHashSet<String>,
    stop: FxHashSet<String>,
    distance: usize,
    chain: usize,
}

impl Spots {
    /// Spots of the given antecedents (their normal forms), chains of `chain`
    /// words, every `distance`-th word that is neither an antecedent nor a
    /// stop word. `distance` and `chain` are at least 1.
    pub fn new<'a>(
        antecedents: impl IntoIterator<Item = &'a str>,
        stop: impl IntoIterator<Item = &'a str>,
        distance: usize,
        chain: usize,
    ) -> Spots {
        let antecedents: FxHashSet<String> = checked(antecedents).map(normalize).collect();
        let mut stop: FxHashSet<String> = checked(stop).map(normalize).collect();
        stop.extend(checked(&antecedents).cloned());
        Spots { antecedents, stop, distance: distance.max(1), chain: chain.max(1) }
    }

    /// The spots of a text in order, `antecedent:word:…`, as often as they
    /// occur. An antecedent that too few words follow has none.
    pub fn of(&self, content: &str) -> Vec<String> {
        let list = word_list(content);
        let mut meter = Meter::new();
        let mut count = |word: &&String| {
            meter.work(1);
            !self.stop.contains(*word)
        };
        let counted: Vec<&String> = list.iter().filter(&mut count).collect();
        // How many of them stand before the word that is looked at.
        let mut passed = 0;
        let mut all = Vec::new();
        for word in &list {
            if count(&word) {
                passed += 1;
            } else if self.antecedents.contains(word) {
                let chain = counted[passed..].iter().skip(self.distance - 1).step_by(self.distance);
                let chain = chain.take(self.chain);
                if chain.len() == self.chain {
                    check();
                    let mut spot = word.clone();
                    chain.for_each(|next| {
                        spot.push(':');
                        spot.push_str(next);
                    });
                    all.push(spot);
                }
            }
        }
        all
    }
}

impl Default for Spots {
    /// The antecedents [`ANTECEDENTS`], no further stop words, the two next
    /// words.
    fn default() -> Self {
        Spots::new(ANTECEDENTS.iter().copied(), [], 1, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The example of the SpotSigs paper in other words: a(1,2) and the(1,2).
    #[test]
    fn chains_skip_stop_words() {
        let spots = |distance, chain| Spots::new(["a", "the"], ["to", "of", "in"], distance, chain);
        let text = "At a meeting to open the new bridge of Riverton.";
        assert_eq!(spots(1, 2).of(text), ["a:meeting:open", "the:new:bridge"]);
        assert_eq!(spots(2, 2).of(text), ["a:open:bridge"]);
        assert_eq!(spots(1, 4).of(text), ["a:meeting:open:new:bridge"]);
        assert_eq!(Spots::default().of("停水"), [""; 0]);
        assert_eq!(Spots::default().of("小区的水管在漏水，物业不管")[0], "的:水管:漏水");
    }

    proptest! {
        /// Every spot is what scanning from its antecedent gives.
        #[test]
        fn equals_a_plain_scan(text in "[axyz的水电 ]{0,30}", distance in 1usize..4, chain in 1usize..4) {
            let spots = Spots::new(["a", "的"], ["x"], distance, chain);
            let list = word_list(&text);
            let mut expected = Vec::new();
            for (at, word) in list.iter().enumerate().filter(|(_, word)| ["a", "的"].contains(&word.as_str())) {
                let (mut spot, mut links, mut step) = (word.clone(), 0, 0);
                for next in &list[at + 1..] {
                    if ["a", "的", "x"].contains(&next.as_str()) || links == chain {
                        continue;
                    }
                    step += 1;
                    if step == distance {
                        (spot, links, step) = (format!("{spot}:{next}"), links + 1, 0);
                    }
                }
                if links == chain {
                    expected.push(spot);
                }
            }
            prop_assert_eq!(spots.of(&text), expected);
        }
    }
}
