//! Measures equal their definitions, and the join of similar texts comparing all with all.

mod common;

use common::interrupted_after;
use dedup_core::dedup::Alike;
use dedup_core::details::Statistics;
use dedup_core::external::MemoryHost;
use dedup_core::similarity::{
    Compare, Frequencies, Jaccard, Likeness, SimilarPair, SimilarPairs, containment, jaccard,
};
use dedup_core::text::{Normal, normalize};
use proptest::prelude::*;
use std::collections::HashSet;
use std::sync::Arc;

fn expected(texts: &[String], n: usize, threshold: f64) -> Vec<(i64, i64, f64)> {
    let all = (0..texts.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
    let pairs = all.map(|(a, b)| (a as i64, b as i64, jaccard(&texts[a], &texts[b], n)));
    let mut pairs: Vec<_> = pairs.filter(|pair| pair.2 >= threshold).collect();
    pairs.sort_by_key(|&(a, b, _)| (a, b));
    pairs
}

fn found(texts: &[String], n: usize, threshold: f64, memory: usize) -> Vec<(i64, i64, f64)> {
    joined(SimilarPairs::new(n, threshold, memory, 2), texts, &Jaccard)
}

fn joined(
    mut pairs: SimilarPairs<MemoryHost>,
    texts: &[String],
    compare: &(dyn Compare + Sync),
) -> Vec<(i64, i64, f64)> {
    let mut all = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        pairs.add(number as i64, text, &mut MemoryHost).unwrap();
    }
    let take = |pair: SimilarPair, _: &mut MemoryHost| {
        all.push((pair.a, pair.b, pair.similarity));
        Ok(())
    };
    pairs.finish(&mut MemoryHost, compare, take).unwrap();
    all.sort_by_key(|&(a, b, _)| (a, b));
    all
}

proptest! {
    /// Exactly the pairs that comparing every text with every other finds.
    #[test]
    fn equals_all_against_all(
        texts in prop::collection::vec("[水停电小区a，]{0,9}", 0..40),
        n in 1usize..6,
        threshold in prop::sample::select(vec![0.1, 0.25, 0.5, 2.0 / 3.0, 0.8, 1.0]),
    ) {
        prop_assert_eq!(found(&texts, n, threshold, usize::MAX), expected(&texts, n, threshold));
    }
}

/// The greater one of both measures.
struct Greater;

impl Compare for Greater {
    fn similarity(&self, _: [i64; 2], likeness: Likeness) -> f64 {
        likeness.jaccard.max(likeness.cosine.unwrap_or_default())
    }
}

/// Texts of words of which some are in nearly all texts and most in few; every third changes an earlier text.
fn of_words(picks: &[(Vec<u16>, u16)]) -> Vec<String> {
    let word = |pick: u16| format!("w{}", u32::from(pick).pow(2) >> 23);
    let mut texts: Vec<Vec<String>> = Vec::new();
    for (at, (picked, other)) in picks.iter().enumerate() {
        let mut words: Vec<String> = picked.iter().map(|&pick| word(pick)).collect();
        if at % 3 == 2 {
            let changed = &texts[usize::from(*other) % at];
            let kept = changed.iter().zip(0u16..).filter(|(_, place)| !(place ^ other).is_multiple_of(5));
            words.truncate(words.len() / 4);
            words.extend(kept.map(|(word, _)| word.clone()));
        }
        texts.push(words);
    }
    texts.into_iter().map(|words| words.join(" ")).collect()
}

proptest! {
    /// What is left out unseen would not have been found: at a threshold at which nothing is left out the same pairs are found,
    /// with the same similarities, and more. A pair at the limit is found or not as it is judged alone.
    #[test]
    fn nothing_that_is_left_out_is_similar(
        picks in prop::collection::vec((prop::collection::vec(any::<u16>(), 1..60), any::<u16>()), 3..40),
        n in 2usize..6,
        weighed in any::<bool>(),
        threshold in prop::sample::select(vec![0.2, 0.35, 0.5, 0.7, 0.9]),
        memory in prop::sample::select(vec![0, usize::MAX]),
    ) {
        let texts = of_words(&picks);
        let weights = weighed.then(|| Arc::new(Frequencies::of(texts.iter().map(String::as_str), n)));
        let at = |threshold| {
            let pairs = SimilarPairs::new(n, threshold, memory, 2).weighed(weights.clone());
            joined(pairs, &texts, &Greater)
        };
        let (mut all, found) = (at(1e-9), at(threshold));
        all.retain(|pair| pair.2 >= threshold);
        prop_assert_eq!(&found, &all);
        // To the last bit what the judge of a single pair says, who has more to say below 0.35.
        let statistics = weights.map(|frequencies| Arc::new(Statistics { frequencies, ..Statistics::default() }));
        let alike = Alike { similarity: threshold, n, details: None, normal: Normal::default(), statistics, weighed };
        for (a, b, similarity) in found {
            let judged = alike.likeness(&texts[a as usize], &texts[b as usize]);
            prop_assert!(judged == similarity || weighed && judged < 0.35, "{judged} {similarity}");
        }
    }
}

/// Neither parts nor the file change what is found.
#[test]
fn equals_all_against_all_in_little_memory() {
    let words =
        ["小区停水", "路灯不亮", "公交晚点", "噪音扰民", "垃圾清运", "物业收费", "学区划分", "拖欠工资"];
    let text = |at: usize| -> String {
        (0..40).map(|word| words[(at * 7 + word * (1 + at % 5)) * 13 / 3 % 8]).collect::<String>()
            + &at.to_string().repeat(12)
    };
    let texts: Vec<String> = (0..900).map(text).collect();
    let spilled = found(&texts, 3, 0.6, 0);
    assert!(!spilled.is_empty() && spilled == expected(&texts, 3, 0.6));
}

/// An interrupt ends the work wherever it comes: while reading, indexing, joining.
#[test]
fn can_be_interrupted() {
    let texts: Vec<String> =
        (0..3000).map(|at| format!("小区停水{}路灯{}", at % 97, at % 89).repeat(4)).collect();
    let run = || {
        let mut pairs = SimilarPairs::new(2, 0.9, 1 << 16, 1);
        for (id, text) in texts.iter().enumerate() {
            pairs.add(id as i64, text, &mut MemoryHost).unwrap();
        }
        pairs.finish(&mut MemoryHost, &Jaccard, |_, _| Ok(())).unwrap();
    };
    let all = interrupted_after(usize::MAX, run).1;
    assert!(all > 15, "{all}");
    for passed in [0, 1, all / 10, all / 2, all - 1] {
        assert!(interrupted_after(passed, run).0, "{passed}");
    }
    assert!(!interrupted_after(all, run).0);
}

fn grams(text: &str, n: usize) -> HashSet<Vec<char>> {
    let chars: Vec<char> = normalize(text).chars().filter(|c| *c != ' ').collect();
    if chars.is_empty() {
        return HashSet::new();
    }
    if chars.len() < n {
        return HashSet::from([chars]);
    }
    chars.windows(n).map(<[char]>::to_vec).collect()
}

proptest! {
    /// The definitions, over sets of vectors of characters, packed or not.
    #[test]
    fn equal_their_definitions(a in "[ab水区， 😀]{0,14}", b in "[ab水区， 😀]{0,14}", n in 1usize..6) {
        let (x, y) = (grams(&a, n), grams(&b, n));
        let (shared, all) = (x.intersection(&y).count(), x.union(&y).count());
        let ratio = |part, whole| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        prop_assert_eq!(jaccard(&a, &b, n), ratio(shared, all));
        prop_assert_eq!(containment(&a, &b, n), ratio(shared, x.len()));
    }
}
