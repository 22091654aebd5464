//! What a review asks, against all pairs.

use dedup_core::dedup::{Comparable, DEDUP, EqualTexts, Found, Keep, Limits, Rows, Stage, Written, find};
use dedup_core::evaluate::refit;
use dedup_core::external::{MemoryHost, MemorySpill};
use dedup_core::features::TextRecipe;
use dedup_core::random::SplitMix64;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use serde_json::{Value, json};

const LIMITS: Limits = Limits { memory: 1 << 20, sketches: 0, threads: 1 };

fn found(texts: &[String], options: &Value, decisions: &[([usize; 2], bool)]) -> Found<MemorySpill> {
    let options = Written::new(DEDUP, Some(options.clone())).unwrap().read().unwrap();
    let mut rows = Rows::new(MemorySpill::default(), Keep::First);
    let mut hashes = EqualTexts::new(1 << 20, MemorySpill::default());
    for &(ids, same) in decisions {
        rows.decisions.add(ids.map(|id| id.to_string()), same, true).unwrap();
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

/// Protects that answers about one slot settle all its rows, and no other slot: two that say the values are one free it, one
/// that says they are not leaves it.
#[test]
fn answers_about_a_slot_settle_it() {
    const NAMES: [&str; 12] = [
        "Ashford", "Birch", "Canal", "Dover", "Elm", "Foundry", "Grange", "Harbour", "Iris", "Juniper",
        "Kestrel", "Linden",
    ];
    let text = |at: usize| {
        let (street, who) = (NAMES[at % 12], NAMES[(at * 5 + at / 12) % 12]);
        format!(
            "The lift in {street} Court is broken again and nobody comes to mend it, says tenant {who} to all of us."
        )
    };
    let texts: Vec<String> = (0..144).map(text).collect();
    let options = json!({"method": "text", "similarity": 0.5, "n": 3, "details": ["name", "slot"]});
    let of = |at: usize| (NAMES[at % 12], NAMES[(at * 5 + at / 12) % 12]);
    let pairs = |same_street: bool| {
        let all = (0..144).flat_map(|b| (0..b).map(move |a| [a, b]));
        all.filter(move |&[a, b]| (of(a).0 == of(b).0) == same_street && (of(a).1 == of(b).1) != same_street)
    };
    let refit_of = |options: &Value, decisions: &[([usize; 2], bool)]| {
        refit(&mut found(&texts, options, decisions), LIMITS, &mut MemoryHost).unwrap()
    };
    let refit = |decisions: &[([usize; 2], bool)]| refit_of(&options, decisions);
    let tenants: Vec<_> = pairs(true).step_by(7).take(2).map(|pair| (pair, true)).collect();
    let streets: Vec<_> = pairs(false).step_by(5).take(2).map(|pair| (pair, false)).collect();
    let none: Vec<String> = Vec::new();
    assert_eq!(refit(&tenants).slots, ["says tenant ___"]);
    assert_eq!(refit(&[&tenants[..], &streets[..]].concat()).slots, ["says tenant ___"]);
    assert_eq!(refit(&tenants[..1]).slots, none);
    assert_eq!(refit(&[&tenants[..], &[(pairs(true).next_back().unwrap(), false)]].concat()).slots, none);
    assert_eq!(refit(&[&tenants[..1], &[(tenants[1].0, false)]].concat()).slots, none);
    // Beside a slot that is named: one that tells still does, one that is free stays so.
    let beside = |slots: Value| {
        let mut options = options.clone();
        options["slots"] = slots;
        let both = [[0, 13], [1, 14], [2, 15]].map(|pair| (pair, true));
        assert!(
            both.iter().all(|(pair, _)| of(pair[0]).0 != of(pair[1]).0 && of(pair[0]).1 != of(pair[1]).1)
        );
        refit_of(&options, &both).slots
    };
    assert_eq!(beside(json!({"lift in ___": true})), none);
    assert_eq!(beside(json!({"lift in ___": false})), ["says tenant ___"]);
    // A question about it is asked until it is settled.
    let asks = |decisions: &[([usize; 2], bool)]| {
        let review = found(&texts, &options, decisions).review(5, LIMITS, &mut MemoryHost).unwrap();
        let slots = review.questions.into_iter().filter(|it| it.kind == "slot");
        let mut asked: Vec<bool> = slots.map(|it| of(it.rows[0]).0 == of(it.rows[1]).0).collect();
        asked.sort();
        asked
    };
    let (both, street, tenant) = (vec![false, true], vec![false], vec![true]);
    assert_eq!([asks(&[]), asks(&tenants[..1])], [both.clone(), both]);
    assert_eq!([asks(&tenants), asks(&streets[..1])], [street, tenant]);
}
