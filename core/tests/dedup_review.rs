//! What a review asks, against all pairs.

use dedup_core::dedup::{Comparable, DEDUP, EqualTexts, Found, Keep, Limits, Rows, Stage, Written, find};
use dedup_core::external::{MemoryHost, MemorySpill};
use dedup_core::features::TextRecipe;
use dedup_core::random::SplitMix64;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};

const LIMITS: Limits = Limits { memory: 1 << 20, threads: 1 };

fn found(texts: &[String], options: &Value, decisions: &[([usize; 2], bool)]) -> Found<MemorySpill> {
    let options = Written::new(DEDUP, Some(options.clone())).unwrap().read().unwrap();
    let mut rows = Rows::new(MemorySpill::default(), Keep::First);
    let mut hashes = EqualTexts::new(1 << 20, MemorySpill::default());
    for &(ids, same) in decisions {
        rows.decisions.add(ids.map(|id| id.to_string()), same).unwrap();
    }
    for (row, text) in texts.iter().enumerate() {
        rows.add(b"id", text, Comparable::Plain, 0).unwrap();
        rows.decisions.meet(row as u32, &row.to_string()).unwrap();
        hashes.add(row as u32, text.as_bytes()).unwrap();
    }
    find(options, &TextRecipe::default(), rows, hashes, false, LIMITS, &mut MemoryHost).unwrap()
}

/// What follows of all pairs; `None`: decisions contradict each other.
fn closure(decisions: &[([usize; 2], bool)], count: usize) -> Option<Vec<Vec<Option<bool>>>> {
    let mut unit: Vec<usize> = (0..count).collect();
    for ([a, b], _) in decisions.iter().filter(|it| it.1) {
        let (x, y) = (unit[*a], unit[*b]);
        unit.iter_mut().filter(|it| **it == y).for_each(|it| *it = x);
    }
    let apart = |x, y| {
        let is_it = |([a, b], same): &([usize; 2], bool)| {
            !same && [[unit[*a], unit[*b]], [unit[*b], unit[*a]]].contains(&[x, y])
        };
        decisions.iter().any(is_it)
    };
    let of = |a: usize, b: usize| match unit[a] == unit[b] {
        true => Some(true),
        false => apart(unit[a], unit[b]).then_some(false),
    };
    if (0..count).any(|a| apart(unit[a], unit[a])) {
        return None;
    }
    Some((0..count).map(|a| (0..count).map(|b| of(a, b)).collect()).collect())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 8,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("proptest-regressions/dedup/review.txt"))),
        ..ProptestConfig::default()
    })]

    /// Against all pairs: what is asked is not decided, says what is so now, is nearest first, and no answer says anything
    /// about another question. Answered, it is never asked again, and in the end nothing is left to ask.
    #[test]
    fn questions_are_open_and_independent(
        texts in prop::collection::vec("[停水电路ab]{2,7}|[ab]{3}停水路[12]", 2..16),
        method in prop::sample::select(vec!["fingerprint", "text"]),
        rule in prop::sample::select(vec!["star", "components"]),
        details in any::<bool>(),
        (most, seed) in (1usize..9, any::<u64>()),
    ) {
        let details = if details { json!(["number", "name", "slot"]) } else { json!([]) };
        let options = json!({"method": method, "group": rule, "distance": 30, "similarity": 0.4, "n": 1, "details": details});
        let mut answers = SplitMix64::new(seed);
        let mut decided: Vec<([usize; 2], bool)> = Vec::new();
        for round in 0.. {
            prop_assert!(round < 300);
            let mut of = found(&texts, &options, &decided);
            let questions = of.review(most, LIMITS, &mut MemoryHost).unwrap().questions;
            prop_assert_eq!(&questions, &of.review(most, LIMITS, &mut MemoryHost).unwrap().questions);
            prop_assert!(questions.len() <= most);
            let mut known = closure(&decided, texts.len()).unwrap();
            let mut all = decided.clone();
            for question in &questions {
                let [a, b] = question.rows;
                prop_assert!(known[a][b].is_none() && texts[a] != texts[b]);
                prop_assert_eq!(question.same, of.keeper(a) == of.keeper(b));
                let likeness = of.options.alike.likeness(&texts[a], &texts[b]);
                prop_assert!((likeness - question.score).abs() < 1e-6);
                let one = of.options.alike.one(&texts[a], &texts[b]).is_some();
                match question.kind {
                    "above" => prop_assert!(question.same),
                    "below" => prop_assert!(!question.same && of.stand([a as u32, b as u32]).unwrap() < 0.0),
                    _ => prop_assert!(question.same || !one),
                }
                all.push((question.rows, answers.below(2) == 0));
                // Whatever the answers before it, nothing followed.
                known = closure(&all[..all.len() - 1], texts.len()).unwrap();
                prop_assert!(known[a][b].is_none());
            }
            prop_assert!(closure(&all, texts.len()).is_some());
            if questions.is_empty() {
                // Of pairs that hang on the limit none was left.
                for (a, known) in known.iter().enumerate() {
                    let kept = of.keeper(a);
                    let near = rule == "star" && of.stage(a) == Stage::Near && of.stand([kept as u32, a as u32]).unwrap() >= 0.0;
                    prop_assert!(!near || known[kept].is_some(), "{} {}", a, kept);
                }
                break;
            }
            decided = all;
        }
    }
}
