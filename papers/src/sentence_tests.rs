//! Tests of the sentence matching of P5.

use super::*;
use proptest::prelude::*;

fn of(content: &str) -> Vec<Sentence> {
    split(content, &FxHashSet::default())
}

/// A sentence of a length and first words that are numbers.
fn sentence(words: usize, first: usize) -> Sentence {
    Sentence { range: 0..0, number: 0, words, first: vec![first.to_string()] }
}

#[test]
fn lengths_become_letters() {
    let text = format!("a. {}. {}. {}. b c d.", "x ".repeat(10), "y ".repeat(35), "z ".repeat(36));
    assert_eq!(length_string(&of(&text)), "1az3");
    assert_eq!(of(&text).iter().map(|sentence| sentence.number).collect::<Vec<_>>(), [1, 2, 3, 5]);
    let stop = FxHashSet::from_iter(["the".to_owned()]);
    let sentences = split("The the water. The!", &stop);
    assert_eq!(
        (length_string(&sentences), &sentences[0].first[..]),
        ("10".into(), &["water".to_owned()][..])
    );
}

/// P5's first example: a block of five, the third sentence fails: two blocks
/// of two.
#[test]
fn a_failing_sentence_splits_a_block() {
    let a = of("One two. Three four. Five six seven. Eight nine. Ten eleven.");
    let b = of("One two. Three four. Other six seven. Eight nine. Ten eleven.");
    assert_eq!((length_string(&a), length_string(&b)), ("22322".into(), "22322".into()));
    let expected = [Block { a: 0, b: 0, length: 2 }, Block { a: 3, b: 3, length: 2 }];
    assert_eq!(blocks(&a, &b), expected);
    assert_eq!(similarity(&a, &b), 4.0 / 6.0);
}

/// P5's second example: a block of four, the second and third fail: nothing
/// is left.
#[test]
fn blocks_of_one_are_dropped() {
    let a = of("One two. Three four. Five six seven. Eight nine ten eleven.");
    let b = of("One two. Other four. Other six seven. Eight nine ten eleven.");
    assert_eq!((blocks(&a, &b), similarity(&a, &b)), (vec![], 0.0));
}

#[test]
fn chinese_sentences_in_another_order() {
    let a = of("小区停水三天。物业一直不管！请求有关部门处理。谢谢领导。");
    let b = of("请求有关部门处理。谢谢领导。小区停水三天。物业一直不管！");
    let expected = [Block { a: 0, b: 2, length: 2 }, Block { a: 2, b: 0, length: 2 }];
    assert_eq!((blocks(&a, &b), similarity(&a, &b)), (expected.to_vec(), 1.0));
    assert_eq!((similarity(&of(""), &of("")), similarity(&a, &of(""))), (0.0, 0.0));
}

#[test]
fn wang_compares_lengths_alone() {
    assert_eq!(length_similarity(&[3, 5, 2, 7], &[3, 2, 7]), 3.0 / 4.0);
    assert_eq!(length_similarity(&[3, 5], &[5, 3]), 1.0 / 3.0);
    assert_eq!((length_similarity(&[], &[]), length_similarity(&[1], &[])), (0.0, 0.0));
}

/// P5 to the letter, in quadratic time: on every alignment the runs of equal
/// lengths, verified sentence by sentence, split, short ones dropped. Gives
/// the sentences of `a` that are in a block.
fn reference(a: &[Sentence], b: &[Sentence]) -> Vec<bool> {
    let mut covered = vec![false; a.len()];
    let mut keep = |verified: &mut Vec<usize>| {
        if verified.len() >= SHORTEST_BLOCK {
            verified.iter().for_each(|&at| covered[at] = true);
        }
        verified.clear();
    };
    for shift in 0..a.len() + b.len() {
        let (mut i, mut j) = (shift.saturating_sub(b.len()), b.len().saturating_sub(shift));
        while i < a.len() && j < b.len() {
            // A block of equal lengths…
            let mut length = 0;
            while i + length < a.len() && j + length < b.len() && a[i + length].words == b[j + length].words {
                length += 1;
            }
            // …and what verification leaves of it.
            let mut verified = Vec::new();
            for at in 0..length {
                if a[i + at].first == b[j + at].first {
                    verified.push(i + at);
                } else {
                    keep(&mut verified);
                }
            }
            keep(&mut verified);
            (i, j) = (i + length + 1, j + length + 1);
        }
    }
    covered
}

fn text() -> impl Strategy<Value = Vec<Sentence>> {
    let sentence = (0usize..3, 0usize..3).prop_map(|(words, first)| sentence(words, first));
    prop::collection::vec(sentence, 0..18)
}

proptest! {
    /// The blocks cover what P5's two steps leave, and the similarity counts
    /// it.
    #[test]
    fn equals_the_two_steps_of_p5(a in text(), b in text()) {
        let mut covered = vec![false; a.len()];
        let found = blocks(&a, &b);
        for block in &found {
            covered[block.a..block.a + block.length].fill(true);
        }
        let expected = reference(&a, &b);
        prop_assert_eq!(&covered, &expected);
        let count = |covered: Vec<bool>| covered.iter().filter(|&&covered| covered).count();
        let m = count(expected).min(count(reference(&b, &a)));
        prop_assert_eq!(similarity(&a, &b), jaccard(m, a.len(), b.len()));
        prop_assert_eq!(similarity(&a, &b), similarity(&b, &a));
    }

    /// Every block is true, cannot be made longer where it is, and none lies
    /// in another.
    #[test]
    fn blocks_are_true_and_longest(a in text(), b in text()) {
        let same = |i: usize, j: usize| a[i].words == b[j].words && a[i].first == b[j].first;
        let found = blocks(&a, &b);
        for block in &found {
            prop_assert!(block.length >= SHORTEST_BLOCK);
            prop_assert!((0..block.length).all(|at| same(block.a + at, block.b + at)));
            let (i, j) = (block.a + block.length, block.b + block.length);
            prop_assert!(i == a.len() || j == b.len() || !same(i, j));
            prop_assert!(block.a == 0 || block.b == 0 || !same(block.a - 1, block.b - 1));
        }
        for pair in found.windows(2) {
            prop_assert!(pair[0].a < pair[1].a && pair[0].a + pair[0].length < pair[1].a + pair[1].length);
        }
    }

    /// Against the textbook recursion.
    #[test]
    fn length_similarity_is_the_longest_common_subsequence(
        a in prop::collection::vec(0u32..4, 0..9),
        b in prop::collection::vec(0u32..4, 0..9),
    ) {
        fn longest(a: &[u32], b: &[u32]) -> usize {
            match (a, b) {
                ([x, a @ ..], [y, b @ ..]) if x == y => 1 + longest(a, b),
                ([_, rest_a @ ..], [_, rest_b @ ..]) => longest(rest_a, b).max(longest(a, rest_b)),
                _ => 0,
            }
        }
        prop_assert_eq!(length_similarity(&a, &b), jaccard(longest(&a, &b), a.len(), b.len()));
    }

    /// Against the textbook's table, past the 64 rows and columns of a word.
    #[test]
    fn words_of_bits_equal_the_table(
        a in prop::collection::vec(0u32..12, 0..400),
        b in prop::collection::vec(0u32..12, 0..400),
        symbols in 1u32..12,
    ) {
        let (a, b): (Vec<u32>, Vec<u32>) =
            (a.iter().map(|x| x % symbols).collect(), b.iter().map(|y| y % symbols).collect());
        let mut row = vec![0usize; b.len() + 1];
        for x in &a {
            let mut diagonal = 0;
            for (at, y) in b.iter().enumerate() {
                let above = row[at + 1];
                row[at + 1] = if x == y { diagonal + 1 } else { above.max(row[at]) };
                diagonal = above;
            }
        }
        prop_assert_eq!(longest_common_subsequence(&a, &b), row[b.len()]);
    }
}
